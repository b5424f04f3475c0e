# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The runner of one host: it initiates its pairs, responds to those of others, and ends even if other hosts do not.

Threads: one for each device, which measures its pairs; one for each connection, which serves it; and the main thread, which polls the hosts that a device
waits for and enforces the time limit. The guard is forked before any thread starts.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .._core.guard import Cleanup, Guard
from .._core.record import record, utc
from .._device.busy import NOT_IDLE
from .._device.rdma_usage import DeviceProbe
from .._perf.roce_test_tool import ADDRESS_CHANGED
from . import journal as journals
from .host_state import SOURCE, TARGET, HostState, Outcome, SideError, as_fields
from .journal import Journal
from .pair_protocol import ANSWER_SECONDS, ResponderBusy, measure, serve
from .pair_scheduler import Backoff
from .plan import Pair, Plan
from .progress import Counts, ProgressAggregator, ProgressReporter
from .request import PairTool, Settings
from .run_locks import identity
from .transport import CONNECT_SECONDS, NAMES_A_LINE, Body, Channel, Listener, call

ASK_SECONDS = 1.0
NOT_MEASURABLE = NOT_IDLE | {ADDRESS_CHANGED}
"""Errors of a pair that mean that other work uses an NPU, or that its address was changed."""
GUARD_MARGIN_SECONDS = 120.0


@dataclass(frozen=True)
class RunSetup:
    """The setup of a run beside its plan.

    ``total``: number of pairs that this host measures, including settled ones; ``refused``: by pair id, the errors of pairs that this host does not serve
    because their device does other work; ``settled``: records that are already in the journal, those of an earlier run with their ``measured`` pairs;
    ``device_context``: by device, for the context of records; ``start``: more fields of the journal's first line; ``prepare`` is called after that line was
    written, ``restore`` at the end in any case; ``reporters``: hosts that collect progress, ``progress_path``: file in which a reporter keeps it; ``busy``:
    finds devices with other work, None if busy devices are used, too.
    """

    total: Optional[int] = None
    refused: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settled: Sequence[Mapping[str, Any]] = ()
    measured: Sequence[Pair] = ()
    device_context: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None
    restore: Callable[[], object] = lambda: None
    reporters: Sequence[str] = ()
    progress_path: str = ""
    busy: Optional[DeviceProbe] = None


def time_limit(plan: Plan, settings: Settings) -> float:
    """Return the seconds after which a run is ended: each pair may have to wait for all other pairs of its two devices."""
    slots: Dict[int, int] = {}
    for pair in plan.pairs:
        slot = pair.endpoint(plan.host).device if settings.parallel else 0
        slots[slot] = slots.get(slot, 0) + 1
    return settings.meeting_timeout_s + 2 * max(slots.values(), default=0) * settings.pair_timeout_s + ANSWER_SECONDS


def _failed(error: Exception) -> HccnError:
    return HccnError("runner_failed", "the runner failed with %s: %s" % (type(error).__name__, error))


def _unexpected(error: Exception) -> Outcome:
    """Return the outcome of a pair for which the runner itself failed."""
    broken = HccnError("pair_broken", "the runner could not continue with this pair: %s: %s" % (type(error).__name__, error))
    return Outcome(1, [], SideError(SOURCE, broken), (), time.time(), 0.0)


def _not_started(error: HccnError) -> Outcome:
    """Return the outcome of a pair that never started. A missing runner, or one of another run, is a failure of its host."""
    known = error.code in ("peer_unreachable", "wrong_run")
    return Outcome(1, [], SideError(TARGET, error) if known else error, (), time.time(), 0.0)


class Runner:
    """Runs the part of one host in a run, and writes the results to the journal."""

    def __init__(self, plan: Plan, tool: PairTool, settings: Settings, key: bytes, listener: Listener, journal: Journal, setup: RunSetup = RunSetup()) -> None:
        self._plan = plan
        self._served = {pair.id: pair for pair in plan.pairs if pair.target.host == plan.host}
        self._setup = setup
        self._settings = settings
        self._state = HostState(plan, tool, settings, key, setup.device_context, setup.busy, setup.reporters)
        self._scheduler = self._state.scheduler
        self._membership = self._state.membership
        self._listener = listener
        self._journal = journal
        self._lock = threading.Lock()
        self._broken: List[HccnError] = []
        self._over = False
        self._started = 0.0
        self._limit = time_limit(plan, settings)
        self._total = len(plan.initiated) if setup.total is None else setup.total
        self._counts = Counts(plan.host, self._total, setup.settled)
        aggregator = ProgressAggregator(self._membership, setup.progress_path) if plan.host in setup.reporters else None
        self._reporter = ProgressReporter(plan, key, self._membership, self._scheduler, self._counts, aggregator)

    def run(self) -> None:
        """Run in this process until the last line of the journal is written."""
        try:
            self._run(lambda: None)
            self._reporter.end()
        finally:
            self._listener.close()

    def run_detached(self, ready: Callable[[], None]) -> None:
        """Run in a detached process. ``ready`` is called when the run has begun. Afterwards, a reporter waits for the reports of the others."""
        try:
            self._run(ready)
            self._reporter.end()
            self._reporter.linger(self._started + self._limit)
        finally:
            self._listener.close()

    def _run(self, ready: Callable[[], None]) -> None:
        self._started = time.monotonic()
        self._membership.start(self._started)
        try:
            cleanup: List[Cleanup] = [self._state.end_tests, self._setup.restore]
            with Guard(cleanup, self._limit + GUARD_MARGIN_SECONDS) as guard:
                self._journal.start(run_id=self._plan.run_id, host=self._plan.host, mark=guard.mark, guard=guard.pid,
                                    guard_identity=identity(guard.pid), devices=list(self._plan.devices),
                                    pairs_total=self._total, control=str(self._plan.controls[self._plan.host]), **self._setup.start)
                ready()
                self._setup.prepare()
                self._scheduler.settle(self._setup.measured)
                self._work()
        except HccnError as error:
            self._broken.append(error)
        except Exception as error:  # a detached runner can only report it in the journal
            self._broken.append(_failed(error))
        lingers = {"lingers": True} if self._reporter.aggregator else {}
        if self._broken:
            self._journal.end(journals.FAILED, error=self._broken[0].as_dict(), **lingers)
        else:
            self._journal.end(journals.FINISHED, refused=self._listener.refused, **lingers)

    def _work(self) -> None:
        self._listener.serve(self._state.key, self._plan.run_id, self._handle)
        self._reporter.start()
        for pairs in self._by_slot():
            threading.Thread(target=self._measure_all, args=(pairs,), daemon=True).start()
        try:
            while not self._scheduler.wait_done(ASK_SECONDS) and time.monotonic() - self._started < self._limit:
                self._poll_partners()
        finally:
            self._over = True
            self._state.close()
        for pair in self._scheduler.open_initiated():
            self._finish(pair, _not_started(HccnError(
                "run_timeout", "the run ended after %.0f s, before pair %s was over" % (self._limit, pair.id), "raise pair_timeout")))

    def _by_slot(self) -> List[List[Pair]]:
        slots: Dict[int, List[Pair]] = {}
        for pair in self._scheduler.open_initiated():
            slots.setdefault(self._scheduler.slot(pair), []).append(pair)
        return list(slots.values())

    # -- as initiator

    def _measure_all(self, pairs: Sequence[Pair]) -> None:
        """Measure the pairs of one device. If the thread itself fails, settle them: otherwise the run would wait for them until its time limit."""
        backoff = Backoff(pairs)
        try:
            self._measure_waiting(backoff)
        except Exception as error:
            self._broken.append(_failed(error))
            self._scheduler.settle(backoff)

    def _measure_waiting(self, backoff: Backoff) -> None:
        """Measure the pairs in order. A pair whose partner does not answer (yet), or that is left out, lets later pairs go first."""
        while backoff and not self._over:
            self._give_up(backoff)
            pair = self._take(backoff)
            if pair is None:
                continue
            try:
                self._try(pair, backoff)
            except Exception as error:
                self._finish(pair, _unexpected(error))
            if not self._scheduler.is_open(pair):
                backoff.over(pair)

    def _try(self, pair: Pair, backoff: Backoff) -> None:
        """Measure a pair whose device was acquired. The pair stays open if its partner is in use, or does not answer but may do so later."""
        began, trial = time.monotonic(), self._membership.is_left_out(pair)
        try:
            outcome = measure(self._state, pair)
        except ResponderBusy as busy:
            backoff.busy(pair, busy.parked)
        except HccnError as error:
            now = time.monotonic()
            if self._membership.call_failed(pair.target.host, pair, error, now, trial):
                self._finish(pair, _not_started(error))
            else:
                backoff.failed(pair, now - began)
        else:
            if trial:
                self._membership.trial_ended(pair, outcome.error)
            self._finish(pair, outcome, "not_run" if outcome.error and outcome.error.code in NOT_MEASURABLE else "failed")

    def _take(self, backoff: Backoff) -> Optional[Pair]:
        """Acquire the device of the first pair that is due, and return the pair. Return None if the device is in use or the pair cannot start yet.

        If the first pair cannot start yet, no later pair can; but an earlier pair may become due meanwhile.
        """
        pair, patience = self._next(backoff.ready(self._membership.is_lost)), backoff.patience()
        if pair is None:
            self._scheduler.wait(patience)
            return None
        return pair if self._scheduler.acquire(pair, patience) else None

    def _next(self, ready: Sequence[Pair]) -> Optional[Pair]:
        """Return the first of the pairs. A pair that is left out is returned only as a trial, when all open pairs of this host are left out."""
        for pair in ready:
            if not self._membership.is_left_out(pair):
                return pair
        if not ready or not self._scheduler.is_idle():
            return None
        return next((pair for pair in ready if self._membership.start_trial(pair)), None)

    def _give_up(self, backoff: Backoff) -> None:
        """End the pairs with hosts and NPUs that a trial on any host found dead."""
        for pair in backoff:
            names = self._membership.given_up(pair)
            if names:
                at_partner, error = self._membership.why_given_up(pair, names)
                self._finish(pair, Outcome(0, [], SideError(TARGET if at_partner else SOURCE, error), (), time.time(), 0.0), "not_run")
                backoff.over(pair)

    def _finish(self, pair: Pair, outcome: Outcome, status: str = "failed") -> None:
        """Write the record of a pair once. ``status``: that of a pair with an error."""
        with self._lock:
            if not self._scheduler.is_open(pair):
                return
            whole = record(
                "rdma", "%s/%s/forward/%d" % (self._plan.run_id, pair.id, outcome.attempt), status if outcome.error else "ok",
                started_at=utc(outcome.started_at), **self._state.tool_for(pair).describe(),
                **as_fields(pair, outcome, self._state.device_context(pair.source.device)))
            try:
                self._journal.record(whole)
            except OSError as error:
                self._broken.append(HccnError("journal_unwritable", "the journal cannot be written: %s" % error.strerror, "check whether the disk is full"))
            self._counts.add(whole)
            self._membership.pair_over(pair)
            self._scheduler.settle([pair])

    # -- as responder

    def _handle(self, channel: Channel, body: Body) -> None:
        if body.get("type") == "report":
            if isinstance(body.get("host"), str) and body["host"] in self._plan.controls:
                self._membership.present([body["host"]])
            self._membership.detach(body)
            self._reporter.take(channel, body)
            return
        if self._over and body.get("type") != "ask":
            return  # closing the connection shows the initiator that this run is over
        self._membership.detach(body)
        if body.get("type") == "claim":
            name = body.get("pair")
            pair = self._served.get(name) if isinstance(name, str) else None
            if pair is None:
                error = HccnError("peer_refused", "%s does not serve pair %s" % (self._plan.host, str(name)[:64]),
                                  "the hosts have different plans, or the device is not among its devices")
                channel.send({"type": "refused", "error": self._setup.refused.get(str(name), error.as_dict()), "here": True})
            else:
                serve(self._state, channel, pair, body.get("trial") is True)
        elif body.get("type") == "ask" and isinstance(body.get("pairs"), list):
            if body.get("host") in self._plan.controls:
                self._membership.met(str(body["host"]))
            initiated = {pair.id for pair in self._scheduler.open_initiated()}
            self._state.send(channel, {"type": "open", "pairs": [name for name in body["pairs"] if name in initiated]})

    def _poll_partners(self) -> None:
        """Ask the initiators that a device waits for which pairs are still open on their side, and settle the others."""
        for host, pairs in self._scheduler.awaited().items():
            if self._membership.is_over(host) or all(self._membership.given_up(pair) for pair in pairs):
                self._scheduler.settle(pairs)
                continue
            try:
                still_open = self._ask(host, pairs)
                self._membership.met(host)
                self._scheduler.settle(pair for pair in pairs[:NAMES_A_LINE] if pair.id not in still_open)
            except HccnError as error:
                if self._membership.call_failed(host, pairs[0], error, time.monotonic()):
                    self._scheduler.give_up(pairs)

    def _ask(self, host: str, pairs: Sequence[Pair]) -> Sequence[Any]:
        """Return the ids of those of the first pairs that are still open on ``host``. Raises HccnError if it does not answer."""
        channel = call(host, self._plan.controls[host], self._state.key, self._plan.run_id, CONNECT_SECONDS)
        try:
            self._state.send(channel, {"type": "ask", "host": self._plan.host, "pairs": [pair.id for pair in pairs[:NAMES_A_LINE]]})
            answer = self._state.receive(channel, ANSWER_SECONDS).get("pairs")
            return answer if isinstance(answer, list) else []
        finally:
            channel.close()
