"""The state of the stand-in and the behavior of its services: the queues of the rank tables, the checks and the state machine of a switch, the limits.

A refusal of a stream or a call is a ``Refused``, which reaches the client as gRPC UNKNOWN with this text, like a plain Go error.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]
Active = Callable[[], bool]
"""Returns True while the client is connected."""

POLL = 0.01
ROLES = ("CCAgent", "DefaultUser1", "DefaultUser2", "FdAgent")
FINISHED = "switch nic finish"


class Refused(Exception):
    """A plain error of the server."""


@dataclass
class Job:
    """``nodes``: the devices of each node, as strings. ``reported``: nodes that the device plugin has reported, by default all. ``table``: the global rank
    table, empty until one is complete. ``hccl``: the rank table of the job."""

    id: str
    nodes: dict[str, list[str]] = field(default_factory=dict)
    name: str = "train"
    namespace: str = "default"
    status: str = "running"
    registered: bool = True
    reported: set[str] | None = None
    super_pods: dict[str, int] = field(default_factory=dict)
    idle: bool = True
    result: str = FINISHED
    table: str = ""
    hccl: str = ""


@dataclass
class Times:
    """Times in seconds. Comments give the real ones."""

    first_push: float = 2.0  # 2: the base of the queue's rate limit. Without a table, one retry follows after three times this value
    switch: float = 0.2  # minutes
    switch_starts: float = 0.0  # the event is processed shortly after the answer
    result_wait: float = 900.0  # 900


@dataclass
class Limits:
    """Limits for requests per second, connections, streams, pings and bytes; None for no limit. Comments give the real ones."""

    unary: int | None = None  # 1000
    faults: int | None = None  # 10
    jobs: int | None = None  # 20
    connections: int | None = None  # 1024, and 512 from one address; set, it enables a listener that counts
    connections_of_one: int | None = None
    streams: int = 64  # of one connection
    ping_ms: int = 3000  # a client that pings more often is disconnected
    receive: int = 4 << 20
    subscriptions: int = 20  # 20 for each role
    clients: int = 100000  # 100000
    npus: int = 40000  # 40000: with more, HcclJson is empty


class Bucket:
    """A token bucket that refills at its size per second."""

    def __init__(self, size: int | None) -> None:
        self._size, self._left, self._at = size, float(size or 0), time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> bool:
        if self._size is None:
            return True
        with self._lock:
            now = time.monotonic()
            self._left = min(self._size, self._left + (now - self._at) * self._size)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True


class Publisher:
    """The only queue of a job: if two clients subscribe, each message reaches one of them."""

    def __init__(self) -> None:
        self.messages: queue.Queue[Message] = queue.Queue(1000)
        self.stopped = threading.Event()

    def listen(self, active: Active) -> Iterator[Message]:
        """Yield messages until another client registers, without an error."""
        while active() and not self.stopped.is_set():
            try:
                yield self.messages.get(timeout=POLL)
            except queue.Empty:
                continue


class World:
    """Jobs, publishers, switches."""

    def __init__(self, jobs: tuple[Job, ...] = (), times: Times | None = None, limits: Limits | None = None) -> None:
        self.jobs = {job.id: job for job in jobs}
        self.times, self.limits = times or Times(), limits or Limits()
        self.faults: Message = {"uuid": "u", "jobId": "-1", "signalType": "normal", "nodeFaultInfo": []}
        self.fault_qps = Bucket(self.limits.faults)
        self.job_qps = Bucket(self.limits.jobs)
        self.publishers: dict[str, Publisher] = {}
        self.fault_publishers: dict[tuple[str, str], Publisher] = {}
        self._clients: dict[str, str] = {}
        self._subscribed: dict[str, int] = dict.fromkeys(ROLES, 0)
        self._switching: dict[str, queue.Queue[str]] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        self.silent_results = False
        """True if no result of a switch ever arrives."""

    # config.Config
    def register(self, request: Message) -> Message:
        with self._lock:
            old = self.publishers.get(request["jobId"])
            if old is not None:
                old.stopped.set()
            self.publishers[request["jobId"]] = Publisher()
        return {"code": 0, "info": "register success"}

    def rank_tables(self, request: Message, active: Active) -> Iterator[Message]:
        job = request["jobId"]
        publisher = self.publishers.get(job)
        if publisher is None:
            raise Refused(f"jobId={job} not registered, role={request['role']}")
        threading.Thread(target=self._generate, args=(job, publisher), daemon=True).start()
        try:
            yield from publisher.listen(active)
        finally:
            publisher.stopped.set()
            with self._lock:
                if self.publishers.get(job) is publisher:
                    del self.publishers[job]

    def _generate(self, job: str, publisher: Publisher) -> None:
        """Generate the rank table after a subscription."""
        for pause in (self.times.first_push, 2 * self.times.first_push):
            if publisher.stopped.wait(pause) or self.push(job):
                return

    def push(self, job: str, table: str | None = None) -> bool:
        """Send the table after an event on a ConfigMap or a pod, even if it did not change. Nothing is sent for unknown or incomplete jobs."""
        known = self.jobs.get(job)
        text = table if table is not None else known.table if known else ""
        publisher = self.publishers.get(job)
        if not text or publisher is None:
            return False
        publisher.messages.put({"jobId": job, "rankTable": text})
        return True

    # Recover
    def switch(self, request: Message) -> Message:
        with self._lock:
            code, info = self._refusal(request)
            if code == 0:
                self._start(self.jobs[request["jobID"]])
            return {"code": code, "info": info}

    def _refusal(self, request: Message) -> tuple[int, str]:
        job = self.jobs.get(request["jobID"])
        if job is None:
            return 413, f"job:{request['jobID']} not exist"
        if not job.registered:
            return 413, f"job:{job.id} is not registered"
        if job.status != "running":
            return 413, f"job:{job.id} is not running"
        for node, lists in request["nicOps"].items():
            if node not in job.nodes or (job.reported is not None and node not in job.reported):
                return 413, f"node:{node} not exist in job:{job.id}"
            if len(lists["dev"]) != len(lists["op"]):
                return 413, "dev and op length is not equal"
            if not lists["dev"]:
                return 413, "dev or op is empty"
            for device in lists["dev"]:
                if device not in job.nodes[node]:
                    return 413, f"device:{device} not exist in node:{node}"
            if job.super_pods.get(node, 0) < 0:
                return 413, f"node:{node} should operate in superPodID"
        if not job.idle:
            return 411, f"jobId={job.id} nic is swtiching, or job recovering"
        return 0, "switching operation was successfully distributed"

    def _start(self, job: Job) -> None:
        job.idle = False
        results: queue.Queue[str] = queue.Queue()

        def begin() -> None:
            self._switching[job.id] = results
            threading.Timer(self.times.switch, end).start()

        def end() -> None:
            if not self.silent_results:
                results.put(job.result)
                job.idle = True

        threading.Timer(self.times.switch_starts, begin).start() if self.times.switch_starts else begin()

    def switch_result(self, request: Message, active: Active) -> Iterator[Message]:
        job = request["jobID"]
        if job not in self.jobs or not self.jobs[job].registered:
            raise Refused(f"jobId={job} not registed")
        results = self._switching.get(job)
        if results is None:
            raise Refused(f"jobId={job} is not swtiching nic")
        until = time.monotonic() + self.times.result_wait
        while active() and time.monotonic() < until:
            try:
                text = results.get(timeout=POLL)
            except queue.Empty:
                continue
            self._switching.pop(job, None)
            yield {"jobID": job, "msg": text}
            return

    # fault.Fault
    def fault_register(self, request: Message) -> Message:
        if not request["role"]:
            raise Refused("request is nil or role is empty")
        job = request["jobId"] or "-1"
        if job != "-1" and job not in self.jobs:
            raise Refused(f"jobId={job} not exist and is not multi-instance")
        with self._lock:
            old = self.fault_publishers.get((job, request["role"]))
            if old is not None:
                old.stopped.set()
            self.fault_publishers[job, request["role"]] = Publisher()
        return {"code": 0, "info": "register success"}

    def fault_query(self, request: Message) -> Message:
        if not self.fault_qps.take():
            raise Refused("rate limited, there is too many requests, please retry later")
        job = request["jobId"]
        if job and not 8 <= len(job) <= 128:
            raise Refused(f"job with jobId: {job} is invalid")
        if job and job not in self.jobs:
            return {"code": 200, "info": f"job with jobId: {job} not found fault info"}
        return {"code": 200, "info": "Succeed", "faultSignal": {**self.faults, "jobId": job or "-1"}}

    def fault_signals(self, request: Message, active: Active) -> Iterator[Message]:
        job = request["jobId"] or "-1"
        publisher = self.fault_publishers.get((job, request["role"]))
        if publisher is None:
            raise Refused(f"jobId={job} not registered, role={request['role']}")
        publisher.messages.put({**self.faults, "jobId": job})
        yield from publisher.listen(active)

    # job.Job
    def job_register(self, request: Message) -> Message:
        if request["role"] not in ROLES:
            raise Refused(f"role:{request['role']} is not in whitelist")
        if not self.job_qps.take():
            return {"code": 429, "info": "too many requests"}  # a refusal with its own text
        if len(self._clients) >= self.limits.clients:
            return {"code": 429, "info": f"client num limit, max client num is {self.limits.clients}"}
        client = f"client-{next(self._numbers)}"
        self._clients[client] = request["role"]
        return {"code": 200, "info": "registration successful", "clientId": client}

    def _summary(self, job: Job) -> Message:
        large = sum(map(len, job.nodes.values())) > self.limits.npus
        return {"uuid": f"u-{job.id}", "jobId": job.id, "jobName": job.name, "namespace": job.namespace, "frameWork": "pytorch", "jobStatus": job.status,
                "time": "1700000000", "cmIndex": "0", "total": "1", "HcclJson": "" if large else job.hccl, "operator": "add"}

    def job_list(self, request: Message, active: Active) -> Iterator[Message]:
        client, role = request["clientId"], request["role"]
        if self._clients.get(client) != role:
            raise Refused(f"invalid clientId: {client}, please register first")
        with self._lock:
            if self._subscribed[role] >= self.limits.subscriptions:
                raise Refused(f"role {role} exceeded max subscription limit: current {self._subscribed[role]}, max {self.limits.subscriptions}")
            self._subscribed[role] += 1
        try:
            for job in self.jobs.values():  # one message each: the real server fills messages up to 40000 NPUs
                yield {"jobSummarySignals": [self._summary(job)], "ReportTime": "1700000000000", "JobTotalNum": len(self.jobs)}
            while active():
                time.sleep(POLL)
        finally:
            with self._lock:
                self._subscribed[role] -= 1
                self._clients.pop(client, None)
