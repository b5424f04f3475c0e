# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The runner of one host: works its pairs as source, serves the others as target, and ends, whoever else does not.

Threads: one for each device, which measures; one for each connection, which serves; the main one, which asks partners that keep a
device waiting, and watches the time. The guard is forked before any of them.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .._core.guard import Cleanup, Guard
from .._core.record import record, utc
from .._device.busy import NOT_IDLE, BusyProbe
from .._perf.roce_test_tool import ADDRESS_CHANGED
from . import journal as journals
from .bench import ANSWER_SECONDS, CONNECT_SECONDS, Bench, Settings
from .channel import NAMES_A_LINE, Body, Channel, call
from .herald import Herald
from .journal import Journal
from .meeting import Meeting
from .outcome import SOURCE, TARGET, EndError, Outcome, as_fields
from .plan import Pair, Plan
from .reports import Counts
from .source import Busy, measure
from .target import serve
from .tools import PairTool
from .waiting import Waiting
from .witness import identity

ASK_SECONDS = 1.0
NOT_MEASURABLE = NOT_IDLE | {ADDRESS_CHANGED}
"""Errors of a pair that say that an NPU is used, or changed, by somebody else."""
GUARD_MARGIN_SECONDS = 120.0


@dataclass(frozen=True)
class About:
    """What a run has beside its plan.

    ``total``: pairs that this host measures, also those that are settled; ``refused``: the errors of pairs, by id, that this host does not serve since
    their device does other work; ``settled``: records that are in the journal already, those of an earlier run with their ``measured`` pairs; ``told``: by
    device, for the context of records; ``start``: more fields of the journal's first line; ``prepare`` is called once that line is written, ``restore``
    at the end, whatever happens; ``reporters``: who is told how far this host is, ``sum_path``: where one of them keeps that; ``busy``: tells whether a
    device has other work, None where that does not matter.
    """

    total: Optional[int] = None
    refused: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settled: Sequence[Mapping[str, Any]] = ()
    measured: Sequence[Pair] = ()
    told: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None
    restore: Callable[[], object] = lambda: None
    reporters: Sequence[str] = ()
    sum_path: str = ""
    busy: Optional[BusyProbe] = None


def time_limit(plan: Plan, settings: Settings) -> float:
    """Seconds after which a run is ended: each pair may have to wait for as many others as its two ends have."""
    slots: Dict[int, int] = {}
    for pair in plan.pairs:
        slot = pair.end(plan.host).device if settings.parallel else 0
        slots[slot] = slots.get(slot, 0) + 1
    return settings.meeting_timeout + 2 * max(slots.values(), default=0) * settings.pair_timeout + ANSWER_SECONDS


def _failed(error: Exception) -> HccnError:
    return HccnError("runner_failed", "the runner ended by %s: %s" % (type(error).__name__, error))


def _unexpected(error: Exception) -> Outcome:
    """Of a pair at which this program itself failed."""
    broken = HccnError("pair_broken", "the runner could not go on with this pair: %s: %s" % (type(error).__name__, error))
    return Outcome(1, [], EndError(SOURCE, broken), (), time.time(), 0.0)


class Runner:
    """One host's part of a run; what comes of it stands in the journal."""

    def __init__(self, plan: Plan, tool: PairTool, settings: Settings, key: bytes, meeting: Meeting, journal: Journal, about: About = About()) -> None:
        self._plan = plan
        self._about = about
        self._settings = settings
        self._bench = Bench(plan, tool, settings, key, about.told, about.busy)
        self._agenda = self._bench.agenda
        self._left_out = self._bench.left_out
        self._meeting = meeting
        self._journal = journal
        self._lock = threading.Lock()
        self._broken: List[HccnError] = []
        self._over = False
        self._started = time.monotonic()
        self._limit = time_limit(plan, settings)
        self._total = len(plan.sources) if about.total is None else about.total
        self._counts = Counts(plan.host, self._total, about.settled)
        self._herald = Herald(self._bench, self._counts, about.reporters, about.sum_path, settings.meeting_timeout)

    def run(self) -> None:
        """From the guard to the last line of the journal."""
        try:
            self._run(lambda: None)
            self._herald.end()
        finally:
            self._meeting.close()

    def run_detached(self, ready: Callable[[], None]) -> None:
        """The same; ``ready`` is called when the run has begun. A reporter then waits for the others, since nobody waits for it."""
        try:
            self._run(ready)
            self._herald.end()
            self._herald.linger(self._started + self._limit)
        finally:
            self._meeting.close()

    def _run(self, ready: Callable[[], None]) -> None:
        try:
            cleanup: List[Cleanup] = [self._bench.end_tests, self._about.restore]
            with Guard(cleanup, self._limit + GUARD_MARGIN_SECONDS) as guard:
                self._journal.start(run_id=self._plan.run_id, host=self._plan.host, mark=guard.mark, guard=guard.pid,
                                    guard_identity=identity(guard.pid), devices=list(self._plan.devices),
                                    pairs_total=self._total, control=str(self._plan.controls[self._plan.host]), **self._about.start)
                ready()
                self._about.prepare()
                self._agenda.settle(self._about.measured)
                self._work()
        except HccnError as error:
            self._broken.append(error)
        except Exception as error:  # detached, there is no other place to say it
            self._broken.append(_failed(error))
        lingers = {"lingers": True} if self._herald.reports else {}
        if self._broken:
            self._journal.end(journals.FAILED, error=self._broken[0].as_dict(), **lingers)
        else:
            self._journal.end(journals.FINISHED, refused=self._meeting.refused, **lingers)

    def _work(self) -> None:
        self._started = time.monotonic()
        self._meeting.serve(self._bench.key, self._plan.run_id, self._handle)
        self._herald.start()
        for pairs in self._by_slot():
            threading.Thread(target=self._measure_all, args=(pairs,), daemon=True).start()
        try:
            while not self._agenda.wait_done(ASK_SECONDS) and time.monotonic() - self._started < self._limit:
                self._look_after_partners()
        finally:
            self._over = True
            self._bench.close()
        for pair in self._agenda.open_sources():
            self._finish(pair, self._not_worked(HccnError(
                "run_timeout", "the run ended after %.0f s, before pair %s was over" % (self._limit, pair.id), "raise pair_timeout")))

    def _by_slot(self) -> List[List[Pair]]:
        slots: Dict[int, List[Pair]] = {}
        for pair in self._agenda.open_sources():
            slots.setdefault(self._agenda.slot(pair), []).append(pair)
        return list(slots.values())

    # -- as source

    def _measure_all(self, pairs: Sequence[Pair]) -> None:
        """One device's pairs. Should the thread itself fail nobody waits for them any more: the run would go on until the time of all is over."""
        waiting = Waiting(pairs)
        try:
            self._measure_waiting(waiting)
        except Exception as error:
            self._broken.append(_failed(error))
            self._agenda.settle(waiting)

    def _measure_waiting(self, waiting: Waiting) -> None:
        """In order; one whose partner is not there (yet), or is left out, lets the next go first."""
        while waiting and not self._over:
            self._give_up(waiting)
            pair = self._take(waiting)
            if pair is None:
                continue
            began, trial = time.monotonic(), self._left_out.holds(pair)
            try:
                outcome = measure(self._bench, pair)
                if trial:
                    self._left_out.tried(pair, outcome.error)
                self._finish(pair, outcome, "not_run" if outcome.error and outcome.error.code in NOT_MEASURABLE else "failed")
                waiting.over(pair)
            except Busy as busy:
                waiting.busy(pair, busy.parked)
            except HccnError as error:
                if self._is_over(pair, error, trial):
                    self._finish(pair, self._not_worked(error))
                    waiting.over(pair)
                else:
                    waiting.failed(pair, time.monotonic() - began)
            except Exception as error:
                self._finish(pair, _unexpected(error))
                waiting.over(pair)

    def _take(self, waiting: Waiting) -> Optional[Pair]:
        """The first pair whose time has come, with the device in hand; None where that is in use, or the pair's turn has not come.

        Where it is not the turn of the first one it is that of no later one; but one with an earlier place may become due meanwhile.
        """
        pair, patience = self._next(waiting.ready(self._agenda.is_lost)), waiting.patience()
        if pair is None:
            self._agenda.wait(patience)
            return None
        return pair if self._agenda.acquire(pair, patience) else None

    def _next(self, ready: Sequence[Pair]) -> Optional[Pair]:
        """The first of these; one that is left out only when nothing else is open on this host, and as a trial."""
        for pair in ready:
            if not self._left_out.holds(pair):
                return pair
        if not ready or not self._agenda.is_idle():
            return None
        return next((pair for pair in ready if self._left_out.try_again(pair)), None)

    def _is_over(self, pair: Pair, error: HccnError, trial: bool) -> bool:
        """Is a pair whose partner could not be talked to given up?"""
        self._agenda.lost(pair.target.host)
        if trial:
            self._left_out.tried(pair, error)
            return True
        if self._agenda.has_come(pair.target.host, self._late()):
            self._left_out.note(pair, error)
            self._agenda.look_again()
        return self._agenda.is_hopeless(pair.target.host, self._late())

    def _give_up(self, waiting: Waiting) -> None:
        """Ends the pairs with what the trial at the end found dead, here or on another host."""
        for pair in waiting:
            names = self._left_out.given_up(pair)
            if names:
                at_partner, error = self._left_out.why(pair, names)
                self._finish(pair, Outcome(0, [], EndError(TARGET if at_partner else SOURCE, error), (), time.time(), 0.0), "not_run")
                waiting.over(pair)

    def _late(self) -> bool:
        """Have all partners had their time to come?"""
        return time.monotonic() - self._started > self._settings.meeting_timeout or self._herald.is_late() or self._herald.is_forsaken()

    @staticmethod
    def _not_worked(error: HccnError) -> Outcome:
        """A pair that never began; a runner that is not there, or is another's, is its host's failure."""
        known = error.code in ("peer_unreachable", "wrong_run")
        return Outcome(1, [], EndError(TARGET, error) if known else error, (), time.time(), 0.0)

    def _finish(self, pair: Pair, outcome: Outcome, status: str = "failed") -> None:
        """Writes the pair's record, once; ``status`` where it has an error."""
        with self._lock:
            if not self._agenda.is_open(pair):
                return
            whole = record(
                "rdma", "%s/%s/forward/%d" % (self._plan.run_id, pair.id, outcome.attempt), status if outcome.error else "ok",
                started_at=utc(outcome.started_at), **self._bench.tool_for(pair).describe(),
                **as_fields(pair, outcome, self._bench.about(pair.source.device)))
            try:
                self._journal.record(whole)
            except OSError as error:
                self._broken.append(HccnError("journal_unwritable", "the journal cannot be written: %s" % error.strerror, "is the disk full?"))
            self._counts.add(whole)
            self._left_out.over(pair)
            self._agenda.settle([pair])

    # -- as target

    def _handle(self, channel: Channel, body: Body) -> None:
        if body.get("type") == "report":
            if isinstance(body.get("host"), str) and body["host"] in self._plan.controls:
                self._agenda.seen(body["host"])
            self._bench.hear(body)
            self._herald.take(channel, body)
            return
        if self._over and body.get("type") != "ask":
            return  # who claims is told by the end of the connection, as if nobody listened any more
        self._bench.hear(body)
        if body.get("type") == "claim":
            pair = next((pair for pair in self._plan.pairs if pair.id == body.get("pair") and pair.target.host == self._plan.host), None)
            if pair is None:
                error = HccnError("peer_refused", "%s does not serve pair %s" % (self._plan.host, str(body.get("pair"))[:64]),
                                  "the hosts have different plans, or the device is not among its devices")
                channel.send({"type": "refused", "error": self._about.refused.get(str(body.get("pair")), error.as_dict()), "here": True})
            else:
                serve(self._bench, channel, pair, body.get("trial") is True)
        elif body.get("type") == "ask" and isinstance(body.get("pairs"), list):
            if body.get("host") in self._plan.controls:
                self._agenda.met(str(body["host"]))
            mine = {pair.id for pair in self._agenda.open_sources()}
            self._bench.say(channel, {"type": "open", "pairs": [name for name in body["pairs"] if name in mine]})

    def _look_after_partners(self) -> None:
        """Asks the partners that a device waits for whether they still come; pairs that are over there are over here."""
        for host, pairs in self._agenda.awaited().items():
            if self._herald.knows_over(host) or all(self._left_out.given_up(pair) for pair in pairs):
                self._agenda.settle(pairs)
                continue
            try:
                coming = self._ask(host, pairs)
                self._agenda.met(host)
                self._agenda.settle(pair for pair in pairs[:NAMES_A_LINE] if pair.id not in coming)
            except HccnError as error:
                self._agenda.lost(host)
                if self._agenda.has_come(host, self._late()):
                    self._left_out.note(pairs[0], error)
                    self._agenda.look_again()
                if self._agenda.is_hopeless(host, self._late()):
                    self._agenda.settle(pairs)

    def _ask(self, host: str, pairs: Sequence[Pair]) -> Sequence[Any]:
        channel = call(host, self._plan.controls[host], self._bench.key, self._plan.run_id, CONNECT_SECONDS)
        try:
            self._bench.say(channel, {"type": "ask", "host": self._plan.host, "pairs": [pair.id for pair in pairs[:NAMES_A_LINE]]})
            answer = self._bench.hear(channel.receive(ANSWER_SECONDS)).get("pairs")
            return answer if isinstance(answer, list) else []
        finally:
            channel.close()
