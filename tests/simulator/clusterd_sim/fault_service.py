"""The service fault.Fault. A signal concerns one job, also in a watch of the whole cluster, and a healthy job has none."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .limits import Active, Message, Publisher, Refused, Waiting

if TYPE_CHECKING:
    from .world import World

MINDIE_ROLES = ("mindie-ms-server", "mindie-ms-controller", "mindie-ms-coordinator")
_ID = re.compile(r"[!-~]{8,128}")
CLUSTER = "-1"


class Faults:
    """``nodes``: the faults by job; those of the cluster are under an empty id."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.nodes: dict[str, list[Message]] = {}
        self.publishers: dict[tuple[str, str], Publisher] = {}
        self._queue = Waiting(world.limits.faults, world.limits.fault_queue)
        self._lock = threading.RLock()

    def _key(self, request: Message) -> tuple[str, str]:
        return request["jobId"], request["role"] if self._world.profile.fault_roles else ""

    def _known(self, job: str, role: str) -> bool:
        if not job:
            return self._world.profile.fault_roles
        if job in self._world.mindie:
            return role in MINDIE_ROLES
        return job in self._world.jobs

    def register(self, request: Message) -> Message:
        self._require_role(request)
        job = request["jobId"]
        if not self._known(job, request["role"]):
            raise Refused(f"jobId={job} not exist and is not multi-instance")
        with self._lock:
            old = self.publishers.get(self._key(request))
            if old is not None:
                old.stopped.set()
            self.publishers[self._key(request)] = Publisher()
        return {"code": 0, "info": "register success"}

    def _require_role(self, request: Message) -> None:
        if self._world.profile.fault_roles and not request["role"]:
            raise Refused("request is nil or role is empty")

    def _signal(self, job: str, nodes: list[Message]) -> Message:
        return {"uuid": str(uuid.uuid4()), "jobId": job or CLUSTER, "signalType": "fault" if nodes else "normal", "nodeFaultInfo": nodes}

    def report(self, job: str, nodes: list[Message]) -> None:
        """Set the faults of a job, and send them to its subscribers and to those of the cluster. Nothing is sent if they did not change."""
        with self._lock:
            if self.nodes.get(job, []) == nodes:
                return
            self.nodes[job] = nodes
            for (wanted, _role), publisher in self.publishers.items():
                if wanted in ("", job):
                    publisher.messages.put(self._signal(job, nodes))

    def query(self, request: Message) -> Message:
        self._queue.enter()
        job = request["jobId"]
        if job and not _ID.fullmatch(job):
            raise Refused(f"job with jobId: {job} is invalid")
        if not job:
            everywhere = self.nodes.get("") or [node for nodes in self.nodes.values() for node in nodes]
            return {"code": 200, "info": "Succeed", "faultSignal": self._signal("", everywhere)}
        if job not in self._world.jobs:
            return {"code": 200, "info": f"job with jobId: {job} not found fault info"}
        return {"code": 200, "info": "all info returned", "faultSignal": self._signal(job, self.nodes.get(job, []))}

    def signals(self, request: Message, active: Active) -> Iterator[Message]:
        self._require_role(request)
        key = self._key(request)
        with self._lock:
            publisher = self.publishers.get(key)
            if publisher is None:
                raise Refused(f"jobId={request['jobId']} not registered, role={request['role']}")
            for job, nodes in self.nodes.items():
                if nodes and job and request["jobId"] in ("", job):
                    publisher.messages.put(self._signal(job, nodes))
        try:
            yield from publisher.listen(active)
        finally:
            with self._lock:
                if self.publishers.get(key) is publisher:
                    del self.publishers[key]
