"""Times and limits of the stand-in, and what enforces the limits."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]
Active = Callable[[], bool]
"""Returns True while the client is connected."""

POLL = 0.01
RATE_LIMITED = "rate limited, there is too many requests, please retry later"


class Refused(Exception):
    """A plain error of the server, which the client receives as UNKNOWN."""


@dataclass
class Times:
    """Times in seconds. Comments give the real ones."""

    first_push: float = 2.0  # 2: the base of the queue's rate limit. Without a table, one retry follows after three times this value
    switch: float = 0.2  # minutes
    reset: float = 0.5  # 3 to 7: after the result, the state machine ends the streams and forgets the switch
    empty_order: float = 0.5  # 3 and more: an order without nodes blocks later ones
    result_wait: float = 900.0  # 900
    ok_at_deadline: bool = False  # chance: when the deadline of the client has come, the server may end the stream without an error
    fault_signal: float = 0.05  # 0.3 to 3


@dataclass
class Limits:
    """Limits for requests per second, connections, streams, pings and bytes; None for no limit. Comments give the real ones."""

    unary: int | None = None  # 1000
    faults: int | None = None  # 10 per second
    fault_queue: int = 50  # queries that wait
    jobs: int | None = None  # 20 new streams per second, from 26.0 on
    connections: int | None = None  # 1024, and 512 from one address; set, it enables a listener that counts
    connections_of_one: int | None = None
    streams: int = 64  # of one connection
    ping_ms: int | None = None  # by version; a client that pings more often is disconnected
    receive: int = 4 << 20
    send: int | None = None  # 8 MiB
    subscriptions: int = 20  # streams of jobs for each role, from 26.0 on
    clients: int | None = None  # by version: clients of jobs
    npus: int = 40000  # 40000: with more, HcclJson is empty


class Bucket:
    """A token bucket that refills at ``refill`` per second, by default at its size."""

    def __init__(self, size: int | None, refill: float | None = None) -> None:
        self._size, self._left, self._at = size, float(size or 0), time.monotonic()
        self._refill = float(size or 0) if refill is None else refill
        self._lock = threading.Lock()

    def take(self) -> bool:
        if self._size is None:
            return True
        with self._lock:
            now = time.monotonic()
            self._left = min(self._size, self._left + (now - self._at) * self._refill)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True


class Waiting:
    """A bucket before which ``places`` callers may wait."""

    def __init__(self, size: int | None, places: int) -> None:
        self._bucket, self._places = Bucket(size), places
        self._lock, self._waiting = threading.Lock(), 0

    def enter(self) -> None:
        """Return when it is the caller's turn. Raises Refused if all places are taken."""
        if self._bucket.take():
            return
        with self._lock:
            if self._waiting >= self._places:
                raise Refused(RATE_LIMITED)
            self._waiting += 1
        try:
            while not self._bucket.take():
                time.sleep(POLL)
        finally:
            with self._lock:
                self._waiting -= 1


class Publisher:
    """The only queue of a job: if two clients subscribe, each message reaches one of them."""

    def __init__(self) -> None:
        self.messages: queue.Queue[Message] = queue.Queue(1000)
        self.stopped = threading.Event()

    def listen(self, active: Active, own: queue.Queue[Message] | None = None) -> Iterator[Message]:
        """Yield messages until another client registers, without an error. ``own``: messages for this subscriber only."""
        while active() and not self.stopped.is_set():
            try:
                if own is not None and not own.empty():
                    yield own.get_nowait()
                yield self.messages.get(timeout=POLL)
            except queue.Empty:
                continue
