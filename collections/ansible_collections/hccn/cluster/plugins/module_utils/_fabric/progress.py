# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The progress of a run: each runner counts its own pairs and reports them to the reporters, which keep the sum in STATE_DIR/RUN_ID/fabric.json.

Every report goes to every reporter and holds all counts, so that a reporter that dies loses nothing that the next one does not know. Reports and answers also
carry the membership (``Membership.share``), so that all hosts learn of a dead host within a few seconds, even those that have not met it yet.

No host knows how long Ansible takes to start a thousand hosts. The controller announces to a reporter when every runner has started (``mark_started``), and
the answers of the reporter announce it to all others: a host that does not appear soon after will not come. Without the announcement ``meeting_timeout``
bounds the wait.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set

from .._core.errors import HccnError
from .._core.numbers import is_integer, is_number
from .._core.samples import GBIT, MICROSECONDS, Worth, worth
from .._core.untrusted_text import json_object
from . import journal as journals
from .membership import Membership, interval_s
from .pair_scheduler import PairScheduler
from .plan import Plan
from .transport import CONNECT_SECONDS, NAMES_A_LINE, Body, Channel, call

NUMBERS = ("total", "done", "failed", "round")
NAMES_SHOWN = 8


class Counts:
    """Counts of the pairs that this host measures. They only grow, so that a later report makes up for a lost one."""

    def __init__(self, host: str, total: int, records: Iterable[Mapping[str, Any]] = ()) -> None:
        """``records``: of pairs that are already settled."""
        self._host = host
        self._lock = threading.Lock()
        self._total = total
        self._done = self._failed = self._round = 0
        self._slowest: Optional[Body] = None
        self._over = False
        for entry in records:
            self.add(entry)

    def add(self, entry: Mapping[str, Any]) -> None:
        """Count a record."""
        found = worth(entry.get("samples") or ())
        with self._lock:
            self._done += 1
            self._failed += entry["status"] != "ok"
            self._round = max(self._round, entry["context"]["round"])
            if found is not None and (self._slowest is None or is_slower(found.unit, found.value, self._slowest["value"])):
                self._slowest = _slowest(found, entry)

    def end(self) -> None:
        """Mark the run of this host as over."""
        with self._lock:
            self._over = True

    def as_body(self) -> Body:
        """Return the report to a reporter."""
        with self._lock:
            found: Body = {"type": "report", "host": self._host, "total": self._total, "done": self._done, "failed": self._failed, "round": self._round,
                           "over": self._over}
            return found if self._slowest is None else {**found, "slowest": dict(self._slowest)}


def is_slower(unit: str, value: float, than: float) -> bool:
    return value < than if unit == GBIT else value > than


def _slowest(found: Worth, entry: Mapping[str, Any]) -> Body:
    endpoints = {side: "%s NPU %d" % (entry[side]["host"], entry[side]["device"]) for side in ("source", "target")}
    return {"value": found.value, "unit": found.unit, **endpoints}


class ProgressAggregator:
    """Collects the counts that all hosts report to this one, and adds them up. ``membership`` knows which hosts are over or silent."""

    def __init__(self, membership: Membership, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._membership = membership
        self._path = path
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()
        self._counts: Dict[str, Body] = {}
        if os.path.lexists(started_path(path)):
            os.unlink(started_path(path))  # of an earlier run of this name

    def take(self, body: Mapping[str, Any]) -> None:
        """Take a host's counts. They come from the network: whatever does not have the form of ``Counts.as_body`` is ignored."""
        host = body.get("host")
        if not isinstance(host, str) or host not in self._membership.hosts or any(not _is_count(body.get(name)) for name in NUMBERS):
            return
        with self._lock:
            self._counts[host] = {**{name: body[name] for name in NUMBERS}, "slowest": _checked_slowest(body.get("slowest"))}
        self._membership.reported(host, body.get("over") is True, self._clock())

    def summary(self) -> Body:
        """Return the progress of all hosts, as rdma_perf_info returns it."""
        now = self._clock()
        with self._lock:
            counts = dict(self._counts)
        silent = self._membership.silent(now)
        reports = list(counts.values())
        rounds = sorted(one["round"] for one in reports if one["total"])
        return {
            "hosts": len(self._membership.hosts), "hosts_heard": len(reports), "hosts_over": len(self._membership.over_among(counts)),
            "silent": silent[:NAMES_SHOWN], "hosts_silent": len(silent), "over": self._membership.all_over(now),
            "pairs_done": sum(one["done"] for one in reports), "pairs_failed": sum(one["failed"] for one in reports),
            "round": rounds[len(rounds) // 2] if rounds else 0, "slowest": _slowest_of([one["slowest"] for one in reports if one["slowest"]]),
            "seconds": round(now - self._began, 1),
        }

    def is_all_started(self) -> bool:
        """Return whether ``mark_started`` was called since the run began."""
        return os.path.exists(started_path(self._path))

    def is_over(self) -> bool:
        """Return whether every host is over or lost."""
        return self._membership.all_over(self._clock())

    def write(self) -> None:
        """Write the summary for ``read``. A full disk does not stop the measurements."""
        try:
            with open(self._path + ".new", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
                json.dump({**self.summary(), "written_at": time.monotonic()}, stream)  # the wall clock may be set in the meantime
            os.replace(self._path + ".new", self._path)
        except OSError:
            pass


def path_of(state_dir: str, run_id: str) -> str:
    return os.path.join(os.path.dirname(journals.path_of(state_dir, run_id)), journals.FABRIC)


def mark_started(state_dir: str, run_id: str) -> None:
    """Announce to the reporter on this host that every runner has started. If that cannot be written, the run waits for its ``meeting_timeout``."""
    try:
        os.close(os.open(started_path(path_of(state_dir, run_id)), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    except OSError:
        pass


def started_path(path: str) -> str:
    return os.path.join(os.path.dirname(path), journals.STARTED)


def read(state_dir: str, run_id: str) -> Optional[Body]:
    """Return the summary with its ``age`` in seconds, None if this host is not a reporter of the run or has not written one yet."""
    try:
        with open(path_of(state_dir, run_id), "rb") as stream:
            found = json_object(stream.read()) or {}
    except OSError:
        return None
    written_at = found.pop("written_at", None)
    if not is_number(written_at) or not isinstance(found.get("over"), bool):
        return None  # written by another release
    return {**found, "age": round(max(0.0, time.monotonic() - written_at), 1)}


def _is_count(value: Any) -> bool:
    return is_integer(value) and 0 <= value < 1 << 40


def _checked_slowest(reported: Any) -> Optional[Body]:
    if not isinstance(reported, dict) or reported.get("unit") not in (GBIT, MICROSECONDS):
        return None
    value, endpoints = reported.get("value"), {side: str(reported.get(side))[:128] for side in ("source", "target")}
    if not is_number(value) or not 0 < value < 1e12:
        return None
    return {"value": float("%.3g" % value), "unit": reported["unit"], **endpoints}


def _slowest_of(measurements: Sequence[Body]) -> Optional[Body]:
    slowest: Optional[Body] = None
    for one in measurements:
        if slowest is None or is_slower(str(one["unit"]), one["value"], slowest["value"]):
            slowest = one
    return slowest


SLOW_REPORTER_TURNS = 10
"""A call to a host that does not even refuse connections takes its time, so a slow reporter is called only at every tenth turn."""
LAST_TRIES = 3
LAST_PAUSE_SECONDS = 0.5
LINGER_POLL_SECONDS = 0.25
LINGER_WRITE_SECONDS = 1.0


class ProgressReporter:
    """Sends the progress of this host to the reporters. A reporter also collects the reports of all hosts in its ``aggregator``, None on other hosts."""

    def __init__(self, plan: Plan, key: bytes, membership: Membership, scheduler: PairScheduler, counts: Counts,
                 aggregator: Optional[ProgressAggregator]) -> None:
        self._plan = plan
        self._key = key
        self._membership = membership
        self._scheduler = scheduler
        self._counts = counts
        self._interval_s = interval_s(len(plan.controls))
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self.aggregator = aggregator

    def start(self) -> None:
        if self._membership.reporters(slow=True) or self.aggregator:
            self._thread = threading.Thread(target=self.report_repeatedly, args=(self._stop.wait,), daemon=True)
            self._thread.start()

    def take(self, channel: Channel, body: Body) -> None:
        """Take the report of another host, and answer it. Raises HccnError."""
        if self.aggregator is None:
            channel.send({"type": "refused", "error": HccnError("peer_refused", "%s is not a reporter" % self._plan.host).as_dict()})
            return
        self.aggregator.take(body)
        if body.get("host") in self._membership.reporters(slow=True):
            if body.get("all_over") is True:
                self._membership.all_appeared(time.monotonic())
            self._note_started(body)
        answer = {"type": "noted", "over": self._membership.over_among(_names(body.get("awaits"))), **self._started()}
        channel.send(self._membership.attach(answer))

    def _started(self) -> Body:
        return {"started": True} if self._membership.knows_all_started() else {}

    def _note_started(self, body: Body) -> None:
        if body.get("started") is True:
            self._membership.all_started(time.monotonic())

    def report_repeatedly(self, wait: Callable[[float], bool]) -> None:
        """Report in turns. ``wait`` waits for some seconds, and returns True at the end of the run."""
        turn = 0
        while not self._is_end(wait, self._interval_s if turn else 0.0):
            for host in self._membership.reporters(slow=turn % SLOW_REPORTER_TURNS == 0):
                self.report(host)
            self.update_summary()
            turn += 1

    def _is_end(self, wait: Callable[[float], bool], seconds: float) -> bool:
        """Wait for the next turn; return True at the end of the run."""
        began = time.monotonic()
        ended = wait(seconds)
        self._membership.was_suspended(time.monotonic() - began - seconds)
        return ended

    def update_summary(self) -> None:
        """Add the counts of this host to the summary, and write it. Do nothing on a host that is not a reporter."""
        if self.aggregator is not None:
            if self.aggregator.is_all_started():
                self._membership.all_started(time.monotonic())
            self.aggregator.take(self._counts.as_body())
            self.aggregator.write()

    def report(self, host: str, **more: Any) -> bool:
        """Send the counts to a reporter, and learn from its answer. Return False if it does not answer."""
        began = time.monotonic()
        try:
            self._exchange(host, more)
        except HccnError:
            self._membership.reporter_failed(host, time.monotonic() - began)
            return False
        self._membership.reporter_answered(host)
        return True

    def _exchange(self, host: str, more: Body) -> None:
        channel = call(host, self._plan.controls[host], self._key, self._plan.run_id, CONNECT_SECONDS)
        try:
            known = self._started() if self.aggregator is not None else {}
            awaited = sorted(self._scheduler.awaited())[:NAMES_A_LINE]
            channel.send(self._membership.attach({**self._counts.as_body(), "awaits": awaited, **known, **more}))
            answer = self._membership.detach(channel.receive(CONNECT_SECONDS))
        finally:
            channel.close()
        self._note_started(answer)
        self._membership.over(_names(answer.get("over")))

    def end(self) -> None:
        """Send the last report at once: this host is over. Retry reporters that do not answer, since they may be starting or stopping."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(3 * CONNECT_SECONDS)
        self._counts.end()
        reached: Set[str] = set()
        for number in range(LAST_TRIES):
            missing = [host for host in self._membership.reporters(slow=False) if host not in reached]
            if not missing:
                break
            if number:
                time.sleep(LAST_PAUSE_SECONDS)
            reached.update(host for host in missing if self.report(host))
        self.update_summary()

    def linger(self, until: float) -> None:
        """On a reporter, collect reports until all hosts are over or lost, at the latest until ``until`` on the monotonic clock."""
        if self.aggregator is None:
            return
        written = 0.0
        while time.monotonic() < until and not self.aggregator.is_over():
            time.sleep(LINGER_POLL_SECONDS)
            if time.monotonic() - written > LINGER_WRITE_SECONDS:
                self.update_summary()
                written = time.monotonic()
        self.aggregator.write()
        if self.aggregator.is_over():  # a host that died after its first report may have sent it to this reporter only
            for host in self._membership.reporters(slow=False):
                self.report(host, all_over=True)


def _names(value: Any) -> List[Any]:
    """Return a value from the network if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []
