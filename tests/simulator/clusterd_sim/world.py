"""The state of the stand-in: the jobs, the version of ClusterD, and its services. The rank tables are here, the other services in files of their own.

A refusal of a stream or a call is a ``Refused``, which reaches the client as gRPC UNKNOWN with this text, like a plain Go error.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from .fault_service import Faults
from .limits import Active, Limits, Message, Publisher, Refused, Times
from .profiles import NEWEST, PROFILES
from .summary_service import Summaries
from .switches import Switches

__all__ = ["Job", "Limits", "Message", "Refused", "Times", "World"]


@dataclass
class Job:
    """``nodes``: the devices of each node, as strings. ``reported``: nodes that the device plugin has reported, by default all. ``table``: the global rank
    table, empty until one is complete. ``hccl``: the rank table of the job. ``trainer``: what the training process does with a switch (``ok``, ``pause fails``,
    ``switch fails``, ``continue fails``, ``silent``), unless ``result`` is the text of the result."""

    id: str
    nodes: dict[str, list[str]] = field(default_factory=dict)
    name: str = "train"
    namespace: str = "default"
    framework: str = "pytorch"
    status: str = "running"
    registered: bool = True
    initialised: bool = True
    recovery: bool = True
    reported: set[str] | None = None
    super_pods: dict[str, int] = field(default_factory=dict)
    idle: bool = True
    node_ready: bool = True
    trainer: str = "ok"
    result: str = ""
    table: str = ""
    hccl: str = ""


class World:
    """``mindie``: ids of MindIE jobs, which are labels and not jobs of their own."""

    def __init__(self, jobs: tuple[Job, ...] = (), times: Times | None = None, limits: Limits | None = None, version: str = NEWEST,
                 mindie: frozenset[str] = frozenset()) -> None:
        self.jobs = {job.id: job for job in jobs}
        self.times, self.limits, self.profile, self.mindie = times or Times(), limits or Limits(), PROFILES[version], mindie
        self.publishers: dict[str, Publisher] = {}
        self._sent: dict[str, str] = {}
        self.faults, self.switches, self.summaries = Faults(self), Switches(self), Summaries(self)
        self._lock = threading.RLock()

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
        first: queue.Queue[Message] = queue.Queue()
        ended = threading.Event()
        threading.Thread(target=self._generate, args=(job, ended, first), daemon=True).start()
        try:
            yield from publisher.listen(active, first)
        finally:
            ended.set()
            with self._lock:
                if self.publishers.get(job) is publisher:
                    del self.publishers[job]

    def _generate(self, job: str, ended: threading.Event, first: queue.Queue[Message]) -> None:
        """Generate the rank table that a subscription asks for."""
        for pause in (self.times.first_push, 2 * self.times.first_push):
            if ended.wait(pause):
                return
            table = self.jobs[job].table if job in self.jobs else ""
            if table:
                self._sent[job] = table
                first.put({"jobId": job, "rankTable": table})
                return

    def push(self, job: str, table: str | None = None) -> bool:
        """Send the table to one of the subscribers, even if it did not change. Nothing is sent for unknown or incomplete jobs."""
        known = self.jobs.get(job)
        text = table if table is not None else known.table if known else ""
        publisher = self.publishers.get(job)
        if not text or publisher is None:
            return False
        self._sent[job] = text
        publisher.messages.put({"jobId": job, "rankTable": text})
        return True

    def change(self, job: str, table: str) -> bool:
        """Send the table after an event on a ConfigMap. Nothing is sent if it did not change, or if no instance is complete any more."""
        return bool(table) and self._sent.get(job) != table and self.push(job, table)
