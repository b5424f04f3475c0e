# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The membership of a run: which hosts and NPUs take part, which are left out for the time being, and when they are given up.

Events in, decisions out: the membership uses no sockets, threads or clocks. Events and decisions that depend on the time take it as ``now``, in seconds of
any monotonic clock. The failure detector finds hosts and NPUs that hang: a pair without an answer counts against its NPUs, and if the runner did not answer,
against its hosts. When nothing else is left to do, one pair is tried with each name that is left out. If this host's own side is proven good, the result of
that trial judges the name for all other pairs.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any, Callable, ContextManager, Dict, FrozenSet, Iterable, List, Mapping, Optional, Tuple

from .._core.errors import HccnError
from .failure_detector import FailureDetector
from .plan import Endpoint, Pair
from .transport import CONNECT_SECONDS

SHARED_LIMIT = 32 * 1024
"""Bytes of shared knowledge in a line. Larger knowledge is not shared; the trials at the end find hung hosts anyway."""

LAST_FAILURES = 3
LAST_SECONDS = 2.0
"""A partner that was present, or had its time to appear, is given up after this number of failures over this many seconds without a success."""
SLOW_SECONDS = 1.0
SUSPENDED_SECONDS = 5 * CONNECT_SECONDS
"""More than all deadlines of a call together: a call that took longer shows that this host was suspended, and nothing about the other host."""
REFUSALS = 2
"""Consecutive refusals after which a reporter that was present is considered gone. Reporters start first and end last, so a host that was suspended takes
every reporter for present before."""

LEAST_INTERVAL_SECONDS = 2.0
REPORTS_A_SECOND = 50
"""A reporter also measures: with more hosts, each of them reports less often."""
SILENT_REPORTS = 4

_NO_LOCK = nullcontext()
_OF_HOSTS = frozenset({"peer_unreachable", "peer_silent", "peer_lost"})


def interval_s(hosts: int) -> float:
    """Return the seconds between two reports of a host."""
    return max(LEAST_INTERVAL_SECONDS, hosts / REPORTS_A_SECOND)


def silent_after_s(hosts: int) -> float:
    """Return the seconds without a report after which a host is silent."""
    return SILENT_REPORTS * interval_s(hosts) + CONNECT_SECONDS


def silent_host(error: Optional[HccnError]) -> bool:
    """Return whether the error means that a runner did not answer."""
    return error is not None and error.code in _OF_HOSTS


def silent_npu(error: Optional[HccnError]) -> bool:
    """Return whether the error means that a tool did not end in time."""
    return error is not None and error.code.endswith("timeout")


class _Host:
    """Another host. ``present``: its runner was present, as itself or others reported; ``failures``: failed calls since the last successful one, from
    ``failing_since`` on; ``reported_at``: time of its last report to this host; ``over``: its run is over, as itself or a reporter reported."""

    def __init__(self) -> None:
        self.present = False
        self.failures = 0
        self.failing_since = 0.0
        self.reported_at: Optional[float] = None
        self.over = False


class _Reporter:
    """Another host that collects progress. ``slow``: it does not even refuse connections, so a call takes its time; ``refusals``: consecutive ones, None until
    it was present."""

    def __init__(self) -> None:
        self.slow = False
        self.refusals: Optional[int] = None


class Membership:
    """The knowledge of the runner of ``host`` about the ``hosts`` of the plan, some of which are ``reporters``.

    ``meeting_s``: seconds from the start within which all runners must appear; ``silent_s``: seconds without a report after which a host that reported before,
    or that is known to have started, is considered lost. ``lock`` is held during each call, and must be reentrant if threads share the membership; ``changed``
    is called with the lock held whenever a decision may have changed.
    """

    def __init__(self, host: str, hosts: Iterable[str] = (), reporters: Iterable[str] = (), meeting_s: float = 0.0, silent_s: float = 0.0,
                 lock: ContextManager[Any] = _NO_LOCK, changed: Callable[[], object] = lambda: None) -> None:
        self._host = host
        self.hosts = frozenset(hosts)
        self._meeting_s = meeting_s
        self._silent_s = silent_s
        self._lock = lock
        self._changed = changed
        self._known: Dict[str, _Host] = {}
        self._reporters = {name: _Reporter() for name in reporters if name != host}
        self._detector = FailureDetector()
        self._trials: Dict[str, str] = {}
        self._dead: FrozenSet[str] = frozenset()
        self._all_started_at: Optional[float] = None
        self.start(0.0)

    def start(self, now: float) -> None:
        """The run begins on this host."""
        self._meet_by = now + self._meeting_s
        self._appear_by = now + max(self._meeting_s, self._silent_s)

    # -- other hosts

    def met(self, host: str) -> None:
        """The runner of ``host`` has just proved the key of the run."""
        with self._lock:
            known = self._of(host)
            known.present = True
            known.failures = 0
            self._changed()

    def present(self, hosts: Iterable[str]) -> None:
        """The runners of ``hosts`` are present, as themselves or others reported. That does not mean that they accept calls."""
        with self._lock:
            for host in hosts:
                self._of(host).present = True
            self._changed()

    def call_failed(self, host: str, pair: Pair, error: HccnError, now: float, trial: bool = False) -> bool:
        """A call to the runner of ``host`` about ``pair`` failed: its pairs do not delay others until it is met again.

        Return whether the host is given up, which is always so after a ``trial``.
        """
        with self._lock:
            self._lost(host, now)
            if trial:
                self._judge(pair, error)
            elif self._has_come(host, now):
                self._note(pair, error)
            self._changed()
            return trial or self._is_hopeless(host, now)

    def over(self, hosts: Iterable[Any]) -> None:
        """A reporter announced that the runs of ``hosts`` are over. Names that are not in the plan are ignored."""
        with self._lock:
            for host in hosts:
                if isinstance(host, str) and host in self.hosts:
                    self._of(host).over = True

    def all_started(self, now: float) -> None:
        """The controller has started every runner that it could reach: a present runner reports before it counts as silent."""
        with self._lock:
            if self._all_started_at is None:
                self._all_started_at = now
                self._appear_by = min(self._appear_by, now + self._silent_s)

    def is_lost(self, host: str) -> bool:
        """Return whether the last call to the runner of ``host`` failed."""
        with self._lock:
            return self._of(host).failures > 0

    def is_late(self, now: float) -> bool:
        """Return whether all runners had their time to appear."""
        started = self._all_started_at
        return now > self._meet_by or (started is not None and now - started > self._silent_s) or self.is_refused_by_all_reporters()

    def knows_all_started(self) -> bool:
        return self._all_started_at is not None

    def is_over(self, host: str) -> bool:
        """Return whether the run of ``host`` is known to be over. A run that ended before this one began does not answer calls."""
        with self._lock:
            return self._of(host).over

    def _of(self, host: str) -> _Host:
        return self._known.setdefault(host, _Host())

    def _lost(self, host: str, now: float) -> None:
        known = self._of(host)
        known.failing_since = known.failing_since if known.failures else now
        known.failures += 1

    def _has_come(self, host: str, now: float) -> bool:
        """Return whether the host was present, or had its time to appear. A host that does not answer after that hangs or is dead."""
        return self._of(host).present or self.is_late(now)

    def _is_hopeless(self, host: str, now: float) -> bool:
        known = self._of(host)
        return known.failures >= LAST_FAILURES and now - known.failing_since >= LAST_SECONDS and self._has_come(host, now)

    # -- pairs

    def pair_ended(self, pair: Pair, error: Optional[HccnError]) -> None:
        """A pair ended, and may be retried. An error that was reported at once is neither a success nor a miss."""
        with self._lock:
            self._note(pair, error)
            self._changed()

    def _note(self, pair: Pair, error: Optional[HccnError]) -> None:
        source, target = pair.source, pair.target
        if error is None:
            self._detector.succeeded(pair.order, source.host, target.host)
            self._detector.succeeded(pair.order, str(source), str(target))
            return
        if silent_host(error):
            self._detector.missed(pair.order, source.host, target.host)
        if silent_host(error) or silent_npu(error):
            self._detector.missed(pair.order, str(source), str(target))

    def left_out(self) -> FrozenSet[str]:
        """Return the names of all hosts and NPUs that are left out."""
        with self._lock:
            return self._detector.suspended()

    def dead(self) -> FrozenSet[str]:
        """Return the names that a trial found dead."""
        return self._dead

    def is_left_out(self, pair: Pair) -> bool:
        """Return whether a host or NPU of the pair is left out."""
        with self._lock:
            return self._is_left_out(pair)

    def _is_left_out(self, pair: Pair) -> bool:
        suspended = self._detector.suspended()
        return bool(suspended) and any(name in suspended for endpoint in (pair.source, pair.target) for name in _names(endpoint))

    def lets_others_go_first(self, pair: Pair) -> bool:
        """Return whether the partner of the pair is lost, or the pair is left out."""
        with self._lock:
            known = self._known.get(pair.partner(self._host).host)
            return (known is not None and known.failures > 0) or self._is_left_out(pair)

    def accused(self, pair: Pair) -> Tuple[str, ...]:
        """Return the names of the pair's partner that are left out."""
        with self._lock:
            return tuple(self._accused(pair))

    def start_trial(self, pair: Pair) -> bool:
        """Return whether this pair may be the trial of its partner: each name that is left out gets one trial at a time."""
        with self._lock:
            accused = self._accused(pair)
            if any(self._trials.get(name, pair.id) != pair.id for name in accused):
                return False
            self._trials.update(dict.fromkeys(accused, pair.id))
            return True

    def is_conclusive(self, pair: Pair) -> bool:
        """Return whether a trial of this pair would judge its partner: this host's own side is proven good. Otherwise both sides may hang."""
        with self._lock:
            return bool(self._judgeable(pair))

    def trial_ended(self, pair: Pair, error: Optional[HccnError]) -> None:
        """Judge the pair's partner by the result of the trial, if that is conclusive."""
        with self._lock:
            self._judge(pair, error)
            self._changed()

    def _judge(self, pair: Pair, error: Optional[HccnError]) -> None:
        missed = silent_host(error) or silent_npu(error)
        for name in self._judgeable(pair):
            self._detector.judge(name, not missed)
        self._find_dead()

    def _judgeable(self, pair: Pair) -> List[str]:
        return [name for name, own in self._accused(pair).items() if self._detector.can_judge(name, own)]

    def pair_over(self, pair: Pair) -> None:
        """The pair is finished and will not be tried again."""
        with self._lock:
            for name in [name for name, trial in self._trials.items() if trial == pair.id]:
                del self._trials[name]

    def given_up(self, pair: Pair) -> Tuple[str, ...]:
        """Return the names in this pair that a trial found dead: no more pairs are tried with them."""
        dead = self._dead
        endpoints = (pair.partner(self._host), pair.endpoint(self._host))
        return tuple(name for endpoint in endpoints for name in _names(endpoint) if name in dead) if dead else ()

    def why_given_up(self, pair: Pair, names: Tuple[str, ...]) -> Tuple[bool, HccnError]:
        """Return whether the cause is on the partner's side, and the error of a pair that was given up."""
        with self._lock:
            missed = sorted(self._detector.share().get("missed", {}).get(names[0], {}))[:8]
        return names[0] in _names(pair.partner(self._host)), HccnError(
            "peer_suspended", "%s was left out: its pairs with %s got no answer, and neither did the trial at the end of the run" % (
                names[0], ", ".join(missed) or "others"),
            "find out what hangs: run rdma_perf_info on that host, and check its NPU")

    def _accused(self, pair: Pair) -> Dict[str, str]:
        """Return the names of the partner that are left out, each with the name of the same kind on this host."""
        suspended = self._detector.suspended()
        if not suspended:
            return {}
        own = _names(pair.endpoint(self._host))
        return {name: own[place] for place, name in enumerate(_names(pair.partner(self._host))) if name in suspended}

    def _find_dead(self) -> None:
        self._dead = frozenset(name for name, good in self._detector.share().get("judged", {}).items() if not good)

    # -- what runners share

    def share(self) -> Dict[str, Any]:
        """Return the knowledge that each line to another runner carries: the names that are left out, and the hosts that were present. Empty if no pair was
        missed."""
        with self._lock:
            known = self._detector.share()
            come = [host for host in sorted(set(map(host_of, known.get("missed", ())))) if self._of(host).present]
        if not known or len(json.dumps(known)) > SHARED_LIMIT:
            return {}
        return {**known, "come": come}

    def learn(self, shared: Any) -> None:
        """Take over what another runner shares. It comes from the network: whatever does not have the form of ``share`` is ignored."""
        if not isinstance(shared, dict):
            return
        come = shared.get("come")
        with self._lock:
            self._detector.learn(shared)
            self._find_dead()
            self.present(host for host in (come if isinstance(come, list) else ()) if isinstance(host, str) and host in self.hosts)

    def attach(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        """Return a line to another runner together with what this host shares."""
        known = self.share()
        return {**line, "known": known} if known else dict(line)

    def detach(self, line: Dict[str, Any]) -> Dict[str, Any]:
        """Learn from a line of another runner, and return it."""
        self.learn(line.get("known"))
        return line

    # -- reporters that this host reports to

    def reporter_answered(self, host: str) -> None:
        with self._lock:
            reporter = self._reporters[host]
            reporter.slow, reporter.refusals = False, 0

    def reporter_failed(self, host: str, took_s: float) -> None:
        """A call to a reporter failed after ``took_s`` seconds."""
        with self._lock:
            if self.was_suspended(took_s):
                return
            reporter = self._reporters[host]
            reporter.slow = took_s > SLOW_SECONDS
            if reporter.refusals is not None:
                reporter.refusals = 0 if reporter.slow else reporter.refusals + 1

    def was_suspended(self, seconds: float) -> bool:
        """Something took ``seconds`` longer than planned. Return whether this host was suspended in that time, and then forget the state of the reporters."""
        if seconds < SUSPENDED_SECONDS:
            return False
        with self._lock:
            for reporter in self._reporters.values():
                reporter.slow = False
                reporter.refusals = reporter.refusals or 0
        return True

    def reporters(self, slow: bool) -> List[str]:
        """Return the other reporters, including slow ones only if ``slow``."""
        with self._lock:
            return [host for host, reporter in self._reporters.items() if slow or not reporter.slow]

    def is_refused_by_all_reporters(self) -> bool:
        """Return True if every reporter that was present now refuses connections: the run ended while this host was suspended."""
        with self._lock:
            return bool(self._reporters) and all((reporter.refusals or 0) >= REFUSALS for reporter in self._reporters.values())

    # -- hosts that report to this one

    def reported(self, host: str, over: bool, now: float) -> None:
        """A host has just reported its progress, and whether its run is over."""
        with self._lock:
            known = self._of(host)
            known.reported_at = now
            known.over = known.over or over

    def all_appeared(self, now: float) -> None:
        """Another reporter announced that all hosts are over: hosts that have not reported yet never will."""
        with self._lock:
            self._appear_by = min(self._appear_by, now)

    def silent(self, now: float) -> List[str]:
        """Return the hosts that are considered lost: those that stopped reporting before they were over, and those that never reported in their time."""
        with self._lock:
            return sorted(host for host in self.hosts if self._is_silent(self._of(host), now))

    def over_among(self, hosts: Iterable[Any]) -> List[str]:
        """Return those of ``hosts`` that reported to this host and are over. Names that are not in the plan are ignored."""
        with self._lock:
            return [host for host in hosts if isinstance(host, str) and host in self.hosts and self._of(host).over and self._of(host).reported_at is not None]

    def all_over(self, now: float) -> bool:
        """Return whether every host is over or lost."""
        with self._lock:
            return all(self._is_silent(known, now) or (known.over and known.reported_at is not None) for known in map(self._of, self.hosts))

    def _is_silent(self, known: _Host, now: float) -> bool:
        if known.reported_at is None:
            return now >= self._appear_by
        return now - known.reported_at > self._silent_s and not known.over


def _names(endpoint: Endpoint) -> Tuple[str, str]:
    return endpoint.host, str(endpoint)


def host_of(name: str) -> str:
    """Return the host of the name of a host or NPU. Host names contain no blanks."""
    return name.partition(" ")[0]
