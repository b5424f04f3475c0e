"""Simulate a run in virtual time: every NPU measures its pairs in the order of the plan, a pair starts when both NPUs are free, and there are no barriers.

Who hangs is left out by the code that does so in earnest (module_utils/_fabric/failure_detector.py), each host with what it knows itself and what its
partners told it.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible_collections.hccn.cluster.plugins.module_utils._fabric.failure_detector import FailureDetector, deadline
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from tests.lab.fabric_simulation.world import FAILED, OK, SILENT, Outcome, World

TAIL = 0.1
"""Mean delay of a pair as a share of its time, exponentially distributed."""

QUICK_FAILURE = 0.1
"""Share of a pair's time after which it fails."""

BARRIER_TIMEOUT = 120.0
"""Seconds that schedules with a barrier after each round give a pair (SuperBench)."""

Pair = tuple[str, tuple[Npu, Npu]]


@dataclass(frozen=True)
class Done:
    """One pair of a run. ``outcome`` is None if it was left out."""

    name: str
    source: Npu
    target: Npu
    outcome: Outcome | None


@dataclass(frozen=True)
class Run:
    """A run. ``seconds``: from the start to the last pair. ``cleared`` and ``condemned``: suspended NPUs that were found good and bad."""

    done: list[Done]
    seconds: float
    cleared: list[str]
    condemned: list[str]


class Events:
    """The events of a run. ``suspend``: False for a run in which no NPU is suspended."""

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
        self.silent = {end for end in self.queues if end.host in silent}
        self.names = {end: str(end) for end in self.queues}
        self.views = {host: FailureDetector() for host in world.hosts}
        self.calm = True
        self.now = self.begun = start
        self.heap: list[tuple[float, int, int]] = []
        self.changed: set[str] = set()

    def run(self) -> Run:
        starts = sorted({self.begun + self.world.late.get(end.host, 0.0) for end in self.queues})
        for moment in starts:
            heapq.heappush(self.heap, (moment, -1, 0))
        self._work()
        cleared: list[str] = []
        condemned: list[str] = []
        while self.suspend:
            good, bad = self._adjudicate()
            cleared += good
            condemned += bad
            if not good and not bad:
                break
            self._wake(self.queues)  # a verdict also releases NPUs that met only hung ones
            self._work()
        done = [Done(name, source, target, self.outcomes.get(number)) for number, (name, source, target) in enumerate(self.pairs)]
        return Run(done, self.now - self.begun, cleared, condemned)

    def _work(self) -> None:
        while self.heap:
            self.now, number, _nothing = heapq.heappop(self.heap)
            if number < 0:
                self._wake(self.queues)
                continue
            _name, source, target = self.pairs[number]
            for end in (source, target):
                if self.busy.get(end) == number:
                    del self.busy[end]
            self._told(number, source, target)
            if self.changed:
                self.changed.clear()
                self._wake(self.queues)
            else:
                self._wake((source, target))

    def _wake(self, ends: Iterable[Npu]) -> None:
        for end in ends:
            if end not in self.busy and end not in self.silent:
                self._start(end)

    def _start(self, end: Npu) -> None:
        number = self._next(end)
        if number is None:
            return
        _name, source, target = self.pairs[number]
        partner = target if source == end else source
        if partner in self.silent:  # it cannot reject anyone: all partners may wait for it at once
            self.busy[end] = number
            self._finish_at(number, deadline(self.world.seconds), Outcome(SILENT, 0.0))
        elif partner not in self.busy and self._next(partner) == number:
            self._meet(end.host, partner.host)
            if not self._may(number):  # one of them has just learned of a suspension
                self._wake((end, partner))
                return
            self.busy[end] = self.busy[partner] = number
            outcome = self.world.outcome(source, target, self.now)
            self._finish_at(number, self._takes(outcome), outcome)

    def _takes(self, outcome: Outcome) -> float:
        if outcome.state == OK:
            return self.world.seconds * (1 + self.random.expovariate(1 / TAIL))
        return deadline(self.world.seconds) if outcome.state == SILENT else self.world.seconds * QUICK_FAILURE

    def _finish_at(self, number: int, after: float, outcome: Outcome) -> None:
        self.outcomes[number] = outcome
        heapq.heappush(self.heap, (self.now + after, number, 0))

    def _next(self, end: Npu) -> int | None:
        """Return the first pair of an NPU that is neither over nor deferred, and whose partner has started."""
        queue, place = self.queues[end], self.first[end]
        while place < len(queue) and queue[place] in self.outcomes:
            place += 1
        self.first[end] = place
        for number in queue[place:]:
            if number not in self.outcomes and self._may(number):
                return number
        return None

    def _may(self, number: int) -> bool:
        _name, source, target = self.pairs[number]
        if self.world.late and any(self.now < self.begun + self.world.late.get(end.host, 0.0) for end in (source, target)):
            return False
        if self.calm or not self.suspend:
            return True
        if not self._refused(source, target):
            return True
        if source in self.silent or target in self.silent:
            return False
        self._meet(source.host, target.host)  # a rejected NPU learns the reason, and shares what it knows
        return not self._refused(source, target)

    def _refused(self, source: Npu, target: Npu) -> bool:
        """Return True if one NPU considers the other suspended. No NPU is suspended for its own host."""
        return any(self.views[mine.host].is_suspended(self.names[other]) for mine, other in ((source, target), (target, source)) if mine not in self.silent)

    def _told(self, number: int, source: Npu, target: Npu) -> None:
        """Let the responding NPUs of a pair learn from its outcome, and from each other."""
        outcome = self.outcomes[number]
        alive = [end.host for end in (source, target) if end not in self.silent]
        self.calm = self.calm and outcome.state != SILENT
        before = [] if self.calm else [self.views[host].suspended() for host in alive]
        for host in alive:
            if outcome.state == SILENT:
                self.views[host].missed(number, self.names[source], self.names[target])
            else:
                self.views[host].succeeded(number, self.names[source], self.names[target])
        if len(alive) == 2:
            self._meet(*alive)
        self.changed.update(host for host, known in zip(alive, before) if self.views[host].suspended() != known)

    def _meet(self, one: str, other: str) -> None:
        if self.calm or not self.suspend:
            return
        said = self.views[one].share(), self.views[other].share()
        for host, told in ((other, said[0]), (one, said[1])):
            if told:
                before = self.views[host].suspended()
                self.views[host].learn(told)
                if self.views[host].suspended() != before:
                    self.changed.add(host)

    def _adjudicate(self) -> tuple[list[str], list[str]]:
        """Measure each suspended NPU with a proven good one on its rail, all at once. By then all hosts know the same."""
        if self.calm:
            return [], []
        known = FailureDetector()
        for host in sorted({end.host for end in self.queues if end not in self.silent}):
            known.learn(self.views[host].share())
        good: set[str] = set()
        for number, outcome in self.outcomes.items():
            if outcome.state == OK:
                _name, source, target = self.pairs[number]
                known.succeeded(number, self.names[source], self.names[target])
                good.update((self.names[source], self.names[target]))
        by_name = {name: end for end, name in self.names.items()}
        cases = known.adjudication(sorted(good), lambda one, other: by_name[one].device == by_name[other].device and by_name[one].host != by_name[other].host)
        cleared: list[str] = []
        condemned: list[str] = []
        longest = 0.0
        for accused, proven in cases:
            outcome = self.world.outcome(by_name[proven], by_name[accused], self.now)
            longest = max(longest, self._takes(outcome))
            (condemned if outcome.state == SILENT else cleared).append(accused)
            for view in self.views.values():
                view.judge(accused, outcome.state != SILENT)
        self.now += longest
        return cleared, condemned


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
