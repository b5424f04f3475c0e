"""The service job.Job. Up to 7.3.0, the number of registered clients is limited, and a client leaves only when a subscription ends."""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .limits import POLL, RATE_LIMITED, Active, Bucket, Message, Refused

if TYPE_CHECKING:
    from .world import Job, World


class _Client:
    def __init__(self, role: str) -> None:
        self.role = role
        self.changes: queue.Queue[Message] = queue.Queue(10)  # what is more is dropped
        self.streams = 0
        self.closed = threading.Event()


class Summaries:
    """The clients of job summaries."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.clients: dict[str, _Client] = {}
        self._new_streams = Bucket(world.limits.jobs)
        self._lock = threading.RLock()

    def register(self, request: Message) -> Message:
        profile, role = self._world.profile, request["role"]
        if role not in profile.job_roles:
            raise Refused(f"role:{role} is not in whitelist")
        with self._lock:
            most = profile.job_clients if self._world.limits.clients is None else self._world.limits.clients
            if len(self.clients) >= most:
                return {"code": 429, "info": "too many clients registered"}
            client = str(uuid.uuid4())
            self.clients[client] = _Client(role)
        return {"code": 200, "info": "registration successful", "clientId": client}

    def summary(self, job: Job, operator: str = "add") -> Message:
        large = sum(map(len, job.nodes.values())) > self._world.limits.npus
        return {"uuid": str(uuid.uuid4()), "jobId": job.id, "jobName": job.name, "namespace": job.namespace, "frameWork": job.framework,
                "jobStatus": job.status,
                "time": "1700000000", "cmIndex": "0", "total": "2" if large else "1", "HcclJson": "" if large else job.hccl, "operator": operator}

    def change(self, job: Job, operator: str = "add") -> None:
        """Send a change to all subscribers."""
        if operator == "delete" and not self._world.profile.tells_delete:
            return
        with self._lock:
            for client in self.clients.values():
                if not client.changes.full():
                    client.changes.put(self.summary(job, operator))

    def _opened(self, request: Message) -> _Client:
        """Return the client of a new stream. Raises Refused."""
        number, role, profile = request["clientId"], request["role"], self._world.profile
        client = self.clients.get(number)
        if profile.job_list and not self._new_streams.take():
            raise Refused(RATE_LIMITED)
        if client is None:
            raise Refused(f"invalid clientId: {number}, please register first")
        if not profile.job_list:
            client.streams += 1
            return client
        if client.role != role:
            raise Refused(f"invalid role: {role}, please check role first")
        streams, most = sum(one.streams for one in self.clients.values() if one.role == role), self._world.limits.subscriptions
        if streams >= most:
            raise Refused(f"role {role} exceeded max subscription limit: current {streams}, max {most}")
        if client.streams:  # the second stream of a client ends the first
            client.closed.set()
            client = self.clients[number] = _Client(role)
        client.streams = 1
        return client

    def _changes(self, request: Message, client: _Client, active: Active) -> Iterator[Message]:
        """Yield the changes until the client leaves, which ends its registration, and up to 7.3.0 its other streams."""
        number = request["clientId"]
        try:
            while active():
                if client.closed.is_set():
                    if self._world.profile.job_list:
                        return
                    raise Refused("client channel closed")
                try:
                    yield client.changes.get(timeout=POLL)
                except queue.Empty:
                    continue
        finally:
            with self._lock:
                client.streams -= 1
                client.closed.set()
                if self.clients.get(number) is client:
                    del self.clients[number]

    def signals(self, request: Message, active: Active) -> Iterator[Message]:
        with self._lock:
            client = self._opened(request)
        if request["role"] in self._world.profile.all_first:
            yield from map(self.summary, self._world.jobs.values())
        yield from self._changes(request, client, active)

    def lists(self, request: Message, active: Active) -> Iterator[Message]:
        with self._lock:
            client = self._opened(request)
        jobs = list(self._world.jobs.values())
        for job in jobs:  # one message each: the real server fills messages up to 40000 NPUs
            yield {"jobSummarySignals": [self.summary(job)], "ReportTime": "1700000000000", "JobTotalNum": len(jobs)}
        for change in self._changes(request, client, active):
            yield {"jobSummarySignals": [change], "ReportTime": "1700000000000", "JobTotalNum": 1}
