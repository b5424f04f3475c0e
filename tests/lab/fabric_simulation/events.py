"""Simulate a run in virtual time: every NPU measures its pairs in the order of the plan, a pair starts when both NPUs are free, and there are no barriers.

Each host has the membership of a runner (module_utils/_fabric/membership.py), fed with the results of its own pairs and with what its partners share. The
membership decides which hosts and NPUs are left out, and by which trials they are judged.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import plan
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.failure_detector import deadline
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.membership import Membership
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from tests.lab.fabric_simulation.world import FAILED, OK, SILENT, Outcome, World

TAIL = 0.1
"""Mean delay of a pair as a share of its time, exponentially distributed."""

QUICK_FAILURE = 0.1
"""Share of a pair's time after which it fails."""

BARRIER_TIMEOUT = 120.0
"""Seconds that schedules with a barrier after each round give a pair (SuperBench)."""

SILENT_HOST = HccnError("peer_unreachable", "no answer in time")
SILENT_NPU = HccnError("timeout", "no end in time")
NO_ANSWER = HccnError("retry_exceeded", "no answer")

Pair = tuple[str, tuple[Npu, Npu]]


@dataclass(frozen=True)
class Done:
    """One pair of a run. ``outcome`` is None if it was left out. ``options``: of this pair only; ``routers``: on its path, if it was traced."""

    name: str
    source: Npu
    target: Npu
    outcome: Outcome | None
    options: Mapping[str, Any] | None = None
    routers: Sequence[str] = ()


@dataclass(frozen=True)
class Run:
    """A run. ``seconds``: from the start to the last pair."""

    done: list[Done]
    seconds: float


class Events:
    """The events of a run. ``suspend``: False for a run in which nothing is left out."""

    def __init__(self, world: World, pairs: Iterable[Pair], suspend: bool = True, start: float = 0.0) -> None:
        self.world, self.suspend = world, suspend
        self.pairs = [(name, Npu(*source), Npu(*target)) for name, (source, target) in pairs]
        self.random = random.Random(f"events {world.seed}")  # noqa: S311
        self.outcomes: dict[int, Outcome] = {}
        self.queues: dict[Npu, list[int]] = {}
        for number, (_name, source, target) in enumerate(self.pairs):
            self.queues.setdefault(source, []).append(number)
            self.queues.setdefault(target, []).append(number)
        self.first = dict.fromkeys(self.queues, 0)
        self.busy: dict[Npu, int] = {}
        silent = world.silent_hosts()
        self.silent = {npu for npu in self.queues if npu.host in silent}
        self.endpoints = {npu: plan.Endpoint(npu.host, npu.device, "") for npu in self.queues}
        self.planned = [plan.Pair(name, 0, number, self.endpoints[source], self.endpoints[target])
                        for number, (name, source, target) in enumerate(self.pairs)]
        self.members = {host: Membership(host, world.hosts) for host in world.hosts}
        self.calm = True
        self.now = self.begun = start
        self.heap: list[tuple[float, int, int]] = []
        self.changed: set[str] = set()

    def run(self) -> Run:
        starts = sorted({self.begun + self.world.late.get(npu.host, 0.0) for npu in self.queues})
        for moment in starts:
            heapq.heappush(self.heap, (moment, -1, 0))
        self._work()
        while self.suspend and self._run_trials():
            self._wake(self.queues)  # a judgement may also release NPUs that met only hung ones
            self._work()
        done = [Done(name, source, target, self.outcomes.get(number)) for number, (name, source, target) in enumerate(self.pairs)]
        return Run(done, self.now - self.begun)

    def _work(self) -> None:
        while self.heap:
            self.now, number, _nothing = heapq.heappop(self.heap)
            if number < 0:
                self._wake(self.queues)
                continue
            _name, source, target = self.pairs[number]
            for npu in (source, target):
                if self.busy.get(npu) == number:
                    del self.busy[npu]
            self._pair_ended(number, source, target)
            if self.changed:
                self.changed.clear()
                self._wake(self.queues)
            else:
                self._wake((source, target))

    def _wake(self, npus: Iterable[Npu]) -> None:
        for npu in npus:
            if npu not in self.busy and npu not in self.silent:
                self._start(npu)

    def _start(self, npu: Npu) -> None:
        number = self._next(npu)
        if number is None:
            return
        _name, source, target = self.pairs[number]
        partner = target if source == npu else source
        if partner in self.silent:  # it cannot reject anyone: all partners may wait for it at once
            self.busy[npu] = number
            self._finish_at(number, deadline(self.world.seconds), Outcome(SILENT, 0.0))
        elif partner not in self.busy and self._next(partner) == number:
            self._meet(npu.host, partner.host)
            if not self._may(number):  # one of them has just learned of a suspension
                self._wake((npu, partner))
                return
            self.busy[npu] = self.busy[partner] = number
            outcome = self.world.outcome(source, target, self.now)
            self._finish_at(number, self._takes(outcome), outcome)

    def _takes(self, outcome: Outcome) -> float:
        if outcome.state == OK:
            return self.world.seconds * (1 + self.random.expovariate(1 / TAIL))
        return deadline(self.world.seconds) if outcome.state == SILENT else self.world.seconds * QUICK_FAILURE

    def _finish_at(self, number: int, after: float, outcome: Outcome) -> None:
        self.outcomes[number] = outcome
        heapq.heappush(self.heap, (self.now + after, number, 0))

    def _next(self, npu: Npu) -> int | None:
        """Return the first pair of an NPU that is neither over nor deferred, and whose partner has started."""
        queue, place = self.queues[npu], self.first[npu]
        while place < len(queue) and queue[place] in self.outcomes:
            place += 1
        self.first[npu] = place
        for number in queue[place:]:
            if number not in self.outcomes and self._may(number):
                return number
        return None

    def _may(self, number: int) -> bool:
        _name, source, target = self.pairs[number]
        if self.world.late and any(self.now < self.begun + self.world.late.get(npu.host, 0.0) for npu in (source, target)):
            return False
        if self.calm or not self.suspend:
            return True
        if not self._is_rejected(number):
            return True
        if source in self.silent or target in self.silent:
            return False
        self._meet(source.host, target.host)  # a rejected host learns the reason, and shares what it knows
        return not self._is_rejected(number)

    def _is_rejected(self, number: int) -> bool:
        """Return True if one side leaves the other one out. A host that others leave out goes on: its runner tries all its pairs as trials."""
        _name, source, target = self.pairs[number]
        return any(self.members[npu.host].accused(self.planned[number]) for npu in (source, target) if npu not in self.silent)

    def _pair_ended(self, number: int, source: Npu, target: Npu) -> None:
        """Let the responding hosts of a pair learn from its outcome, and from each other."""
        outcome = self.outcomes[number]
        alive = [npu.host for npu in (source, target) if npu not in self.silent]
        self.calm = self.calm and outcome.state != SILENT
        before = [] if self.calm else [self.members[host].left_out() for host in alive]
        for host in alive:
            self.members[host].pair_ended(self.planned[number], self._error(outcome, source, target))
        if len(alive) == 2:
            self._meet(*alive)
        self.changed.update(host for host, known in zip(alive, before) if self.members[host].left_out() != known)

    def _error(self, outcome: Outcome, source: Npu, target: Npu) -> HccnError | None:
        if outcome.state == SILENT:
            return SILENT_HOST if source in self.silent or target in self.silent else SILENT_NPU
        return None if outcome.state == OK else NO_ANSWER

    def _meet(self, one: str, other: str) -> None:
        if self.calm or not self.suspend:
            return
        lines = self.members[one].attach({}), self.members[other].attach({})
        for host, line in ((other, lines[0]), (one, lines[1])):
            if line:
                before = self.members[host].left_out()
                self.members[host].detach(line)
                if self.members[host].left_out() != before:
                    self.changed.add(host)

    def _run_trials(self) -> bool:
        """Try each NPU that is left out and has open pairs with a proven good one on its rail, all at the same time. Return whether any was tried."""
        if self.calm:
            return False
        trials: list[plan.Pair] = []
        everything, succeeded = self._share_all()
        open_names = everything.left_out() - everything.dead()
        free = dict.fromkeys(sorted(succeeded, key=str))
        for accused in sorted((npu for npu in self.queues if open_names & {npu.host, str(npu)} and self._is_open(npu)), key=str):
            trial = next((pair for pair in (self._trial(npu, accused) for npu in free) if self._may_try(pair)), None)
            if trial is not None:
                del free[Npu(trial.source.host, trial.source.device)]
                trials.append(trial)
        longest = 0.0
        for trial in trials:
            source, target = (Npu(endpoint.host, endpoint.device) for endpoint in (trial.source, trial.target))
            outcome = self.world.outcome(source, target, self.now)
            longest = max(longest, self._takes(outcome))
            self.members[source.host].trial_ended(trial, self._error(outcome, source, target))
            line = self.members[source.host].attach({})
            for member in self.members.values():
                member.detach(dict(line))
        self.now += longest
        return bool(trials)

    def _share_all(self) -> tuple[Membership, set[Npu]]:
        """Let all hosts learn from each other. Return the membership that they share, and the NPUs that have succeeded."""
        everything = Membership("", self.world.hosts)
        alive = sorted({npu.host for npu in self.queues if npu not in self.silent})
        for host in alive:
            everything.detach(self.members[host].attach({}))
        succeeded: set[Npu] = set()
        for number, outcome in self.outcomes.items():
            if outcome.state == OK:
                everything.pair_ended(self.planned[number], None)
                succeeded.update(self.pairs[number][1:])
        for host in alive:
            self.members[host].detach(everything.attach({}))
        return everything, succeeded

    def _trial(self, partner: Npu, accused: Npu) -> plan.Pair:
        return plan.Pair(f"trial of {accused}", 0, len(self.pairs), self.endpoints[partner], self.endpoints[accused])

    def _is_open(self, npu: Npu) -> bool:
        return any(number not in self.outcomes for number in self.queues[npu])

    def _may_try(self, pair: plan.Pair) -> bool:
        source, target = pair.source, pair.target
        return source.device == target.device and source.host != target.host and self.members[source.host].is_conclusive(pair)


def with_barriers(world: World, rounds: Iterable[Sequence[Pair]], timeout: float = BARRIER_TIMEOUT) -> float:
    """Return the seconds of the same rounds if each waits for the last pair of the round before."""
    generator = random.Random(f"barriers {world.seed}")  # noqa: S311
    total = 0.0
    for one in rounds:
        longest = 0.0
        for _name, (source, target) in one:
            state = world.outcome(Npu(*source), Npu(*target), total).state
            took = {OK: world.seconds * (1 + generator.expovariate(1 / TAIL)), FAILED: world.seconds * QUICK_FAILURE, SILENT: timeout}[state]
            longest = max(longest, took)
        total += longest
    return total
