"""The service Recover: the checks of an order, and the state machine of a switch.

A switch runs, ends with a result, and is forgotten some seconds later by the reset. The result is buffered until then. An order between the result and the
reset is accepted, but the reset runs into it: its stream ends without a message.
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .limits import POLL, Active, Message, Refused

if TYPE_CHECKING:
    from .world import Job, World

FINISHED = "switch nic finish"
DISTRIBUTED = "switching operation was successfully distributed"
OUTCOMES = {"ok": FINISHED, "switch fails": "switch nic failed, switch nic failed", "continue fails": "switch nic failed, continue train failed"}


class _Switch:
    """A running or ended switch of one job."""

    def __init__(self) -> None:
        self.result: queue.Queue[str] = queue.Queue()
        self.ended = False
        self.reset = threading.Event()


class Switches:
    """The switches of all jobs."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._switches: dict[str, _Switch] = {}
        self._blocked: dict[str, tuple[float, int]] = {}
        self._lock = threading.RLock()
        self.silent = False
        """True if no result of a switch ever arrives."""

    def order(self, request: Message) -> Message:
        with self._lock:
            code, info = self._refusal(request)
            if code == 0:
                self._accept(self._world.jobs[request["jobID"]], bool(request["nicOps"]))
            return {"code": code, "info": info}

    def _refusal(self, request: Message) -> tuple[int, str]:
        job = self._world.jobs.get(request["jobID"])
        if job is None:
            return 413, f"job:{request['jobID']} not exist"
        if not job.registered:
            return 413, f"job:{job.id} is not registered"
        if job.status != "running":
            return 413, f"job:{job.id} is not running"
        wrong = next(filter(None, (_wrong(job, node, lists) for node, lists in request["nicOps"].items())), None)
        if wrong:
            return 413, wrong
        if self._busy(job, bool(request["nicOps"])):
            return 411, f"jobId={job.id} nic is swtiching, or job recovering"
        return 0, DISTRIBUTED

    def _busy(self, job: Job, real: bool) -> bool:
        until, empty = self._blocked.get(job.id, (0.0, 0))
        if time.monotonic() < until and (real or empty >= self._world.profile.empty_orders):
            return True
        running = self._switches.get(job.id)
        recovering = not job.node_ready and self._world.profile.recovering_411
        return not job.idle or recovering or (running is not None and not running.ended)

    def _accept(self, job: Job, real: bool) -> None:
        times = self._world.times
        if not real:
            until, count = self._blocked.get(job.id, (0.0, 0))
            self._blocked[job.id] = (time.monotonic() + times.empty_order, count + 1 if time.monotonic() < until else 1)
            return
        before = self._switches.get(job.id)
        switch = self._switches[job.id] = _Switch()
        if before is not None and not before.reset.is_set():
            switch.ended, switch.reset = True, before.reset  # the reset of the previous switch ends this one, too
            return
        threading.Timer(times.switch, self._end, (job, switch)).start()

    def _end(self, job: Job, switch: _Switch) -> None:
        if self.silent or job.trainer == "silent":
            return
        with self._lock:
            switch.result.put(self._text(job))
            switch.ended = True
        threading.Timer(self._world.times.reset, self._forget, (job, switch)).start()

    def _text(self, job: Job) -> str:
        if job.result:
            return job.result
        return self._world.profile.pause_failed if job.trainer == "pause fails" else OUTCOMES[job.trainer]

    def _forget(self, job: Job, switch: _Switch) -> None:
        with self._lock:
            switch.reset.set()
            if self._switches[job.id].reset is switch.reset:
                del self._switches[job.id]

    def result(self, request: Message, active: Active) -> Iterator[Message]:
        job = request["jobID"]
        if job not in self._world.jobs or not self._world.jobs[job].registered:
            raise Refused(f"jobId={job} not registed")
        switch = self._switches.get(job)
        if switch is None:
            raise Refused(f"jobId={job} is not swtiching nic")
        until = time.monotonic() + self._world.times.result_wait
        while active() and time.monotonic() < until:
            try:
                yield {"jobID": job, "msg": switch.result.get(timeout=POLL)}
            except queue.Empty:
                if switch.reset.is_set():
                    return
                continue
            return

    # the training process
    def init(self, request: Message) -> Message:
        job = self._world.jobs.get(request["jobId"])
        if job is None:
            return {"code": 502, "info": f"job(uid={request['jobId']}) one of jobName, pgName, ns is empty"}
        if not job.recovery:
            return {"code": 403, "info": f"job(uid={job.id}) {self._world.profile.recovery_off}"}
        job.initialised = True
        return {"code": 0, "info": f"job(uid={job.id}) init success"}

    def register(self, request: Message) -> Message:
        job = self._world.jobs.get(request["jobId"])
        if job is None or not job.initialised:
            return {"code": 408, "info": f"jobId={request['jobId']} not inited"}
        job.registered = True
        return {"code": 0, "info": "register success"}

    def notifications(self, request: Message, active: Active) -> Iterator[Message]:
        job = self._world.jobs.get(request["jobId"])
        if job is None or not job.registered:
            raise Refused(f"jobId={request['jobId']} not registed, please wait agent register")
        while active():
            time.sleep(POLL)
        yield from ()

    def report(self, method: str) -> Callable[[Message], Message]:
        """Return the answer to reports of the training process."""
        return lambda request: {"code": 0, "info": f"jobId={request['jobId']}, uuid={uuid.uuid4()}, receive {method}"}

    def reply(self, _request: Message) -> Message:
        return {"code": 0, "info": "reply success"}


def _wrong(job: Job, node: str, lists: Message) -> str | None:
    if node not in job.nodes or (job.reported is not None and node not in job.reported):
        return f"node:{node} not exist in job:{job.id}"
    if len(lists["dev"]) != len(lists["op"]):
        return "dev and op length is not equal"
    if not lists["dev"]:
        return "dev or op is empty"
    for device in lists["dev"]:
        if device not in job.nodes[node]:
            return f"device:{device} not exist in node:{node}"
    if job.super_pods.get(node, 0) < 0:
        return f"node:{node} should operate in superPodID"
    return None
