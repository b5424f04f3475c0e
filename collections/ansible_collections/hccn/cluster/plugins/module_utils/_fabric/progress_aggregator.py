# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""How far a run is: each runner counts its own pairs, a reporter knows the counts of all and keeps their sum in STATE_DIR/RUN_ID/fabric.json."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence

from .._core.samples import GBIT, MICROSECONDS, Worth, worth
from . import journal as journals
from .channel import CONNECT_SECONDS
from .membership import Membership

NUMBERS = ("total", "done", "failed", "round")
NAMES_SHOWN = 8

LEAST_SECONDS = 2.0
HOSTS_A_SECOND = 50
"""A reporter measures, too: with more hosts each reports more seldom."""
SILENT_REPORTS = 4

Body = Dict[str, Any]


def interval_s(hosts: int) -> float:
    """Seconds between two reports of a host."""
    return max(LEAST_SECONDS, hosts / HOSTS_A_SECOND)


def silent_after_s(hosts: int) -> float:
    """Seconds without a report after which a host is silent."""
    return SILENT_REPORTS * interval_s(hosts) + CONNECT_SECONDS


class Counts:
    """Of the pairs that this host measures. Counts only grow, so that a later report makes up for one that was lost."""

    def __init__(self, host: str, total: int, records: Iterable[Mapping[str, Any]] = ()) -> None:
        """``records``: what is settled already."""
        self._host = host
        self._lock = threading.Lock()
        self._total = total
        self._done = self._failed = self._round = 0
        self._slowest: Optional[Body] = None
        self._over = False
        for entry in records:
            self.add(entry)

    def add(self, entry: Mapping[str, Any]) -> None:
        """A record was written."""
        found = worth(entry.get("samples") or ())
        with self._lock:
            self._done += 1
            self._failed += entry["status"] != "ok"
            self._round = max(self._round, entry["context"]["round"])
            if found is not None and (self._slowest is None or is_slower(found.unit, found.value, self._slowest["value"])):
                self._slowest = _slowest(found, entry)

    def end(self) -> None:
        """Nothing more will come."""
        with self._lock:
            self._over = True

    def as_body(self) -> Body:
        """The line for a reporter."""
        with self._lock:
            found: Body = {"type": "report", "host": self._host, "total": self._total, "done": self._done, "failed": self._failed, "round": self._round,
                           "over": self._over}
            return found if self._slowest is None else {**found, "slowest": dict(self._slowest)}


def is_slower(unit: str, value: float, than: float) -> bool:
    return value < than if unit == GBIT else value > than


def _slowest(found: Worth, entry: Mapping[str, Any]) -> Body:
    ends = {side: "%s npu %d" % (entry[side]["host"], entry[side]["device"]) for side in ("source", "target")}
    return {"value": found.value, "unit": found.unit, **ends}


class ProgressAggregator:
    """The counts of all hosts, as they reported them to this one, and their sum. Which of the hosts are over or silent, ``membership`` knows."""

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
        """A host's counts. They come from the network: what has not the form of ``Counts.as_body`` is ignored."""
        host = body.get("host")
        if not isinstance(host, str) or host not in self._membership.hosts or any(not _is_count(body.get(name)) for name in NUMBERS):
            return
        with self._lock:
            self._counts[host] = {**{name: body[name] for name in NUMBERS}, "slowest": _checked(body.get("slowest"))}
        self._membership.reported(host, body.get("over") is True, self._clock())

    def summary(self) -> Body:
        """The sum, as rdma_perf_info returns it."""
        now = self._clock()
        with self._lock:
            counts = dict(self._counts)
        silent = self._membership.silent(now)
        heard = list(counts.values())
        rounds = sorted(one["round"] for one in heard if one["total"])
        return {
            "hosts": len(self._membership.hosts), "hosts_heard": len(heard), "hosts_over": len(self._membership.over_among(counts)),
            "silent": silent[:NAMES_SHOWN], "hosts_silent": len(silent), "over": self._membership.all_over(now),
            "pairs_done": sum(one["done"] for one in heard), "pairs_failed": sum(one["failed"] for one in heard),
            "round": rounds[len(rounds) // 2] if rounds else 0, "slowest": _worst([one["slowest"] for one in heard if one["slowest"]]),
            "seconds": round(now - self._began, 1),
        }

    def is_told_that_all_started(self) -> bool:
        """Was ``mark_started`` called since this run began?"""
        return os.path.exists(started_path(self._path))

    def is_over(self) -> bool:
        """Is every host over, or gone?"""
        return self._membership.all_over(self._clock())

    def write(self) -> None:
        """Puts the summary where ``read`` finds it. A full disk is no reason to stop measuring."""
        try:
            with open(self._path + ".new", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
                json.dump({**self.summary(), "written_at": time.monotonic()}, stream)  # the wall clock of a host may be set meanwhile
            os.replace(self._path + ".new", self._path)
        except OSError:
            pass


def path_of(state_dir: str, run_id: str) -> str:
    return os.path.join(os.path.dirname(journals.path_of(state_dir, run_id)), journals.FABRIC)


def mark_started(state_dir: str, run_id: str) -> None:
    """Tells the reporter here that nobody will be started any more. Where that cannot be written the run waits for its ``meeting_timeout``."""
    try:
        os.close(os.open(started_path(path_of(state_dir, run_id)), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    except OSError:
        pass


def started_path(path: str) -> str:
    return os.path.join(os.path.dirname(path), journals.STARTED)


def read(state_dir: str, run_id: str) -> Optional[Body]:
    """The summary with its ``age`` in seconds, None where this host is no reporter of the run, or has written nothing yet."""
    try:
        with open(path_of(state_dir, run_id), encoding="utf-8") as stream:
            found = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return None
    written_at = found.pop("written_at", None) if isinstance(found, dict) else None
    if isinstance(written_at, bool) or not isinstance(written_at, (int, float)) or not isinstance(found.get("over"), bool):
        return None  # not of this release
    return {**found, "age": round(max(0.0, time.monotonic() - written_at), 1)}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40


def _checked(said: Any) -> Optional[Body]:
    if not isinstance(said, dict) or said.get("unit") not in (GBIT, MICROSECONDS):
        return None
    value, ends = said.get("value"), {side: str(said.get(side))[:128] for side in ("source", "target")}
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e12:
        return None
    return {"value": float("%.3g" % value), "unit": said["unit"], **ends}


def _worst(found: Sequence[Body]) -> Optional[Body]:
    worst: Optional[Body] = None
    for one in found:
        if worst is None or is_slower(str(one["unit"]), one["value"], worst["value"]):
            worst = one
    return worst
