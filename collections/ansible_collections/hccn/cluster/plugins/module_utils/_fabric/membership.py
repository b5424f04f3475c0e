# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Who is left out of a run for the time being, so that one that hangs costs a few deadlines and not one a round. No clock, no network, no threads.

Names are whatever the caller suspends, hosts or single NPUs. A name is suspended when pairs with two different partners had no answer, with three
where it has succeeded before. That is no verdict: who met two hung ones looks the same, and where those are neighbours in the plan, everybody meets
them one after the other. So strikes by partners that are suspended themselves do not count, each runner tells the others what it knows (``share``,
``learn``) whenever they meet, also where one refuses the other, and nobody is suspended for itself. At the end each suspended one meets one that is
proven good (``adjudication``). A judgement may free others that met only hung ones: what is not measured is to be looked through again after it.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, Optional, Set, Tuple

from .._core.errors import HccnError
from .plan import Endpoint, Pair

STRIKES = 2
STRIKES_AFTER_SUCCESS = 3
DEADLINE_FACTOR = 4.0
MOST_NAMES = 4096
"""More than that in what a partner says is not learnt."""


def deadline(expected: float) -> float:
    """Seconds after which a pair that is expected to take ``expected`` counts as missed."""
    return DEADLINE_FACTOR * expected


class FailureDetector:
    """What one runner knows. ``order`` is a pair's place in the whole plan, the same on every host; it tells before from after."""

    def __init__(self) -> None:
        self._missed: Dict[str, Dict[str, int]] = {}
        self._good: Dict[str, int] = {}
        self._judged: Dict[str, bool] = {}
        self._suspended: Optional[FrozenSet[str]] = frozenset()

    def succeeded(self, order: int, one: str, other: str) -> None:
        """A pair was measured, well or slowly: both ends live."""
        for name in (one, other):
            if order > self._good.get(name, -1):
                self._lives(name, order)

    def missed(self, order: int, one: str, other: str) -> None:
        """A pair had no answer in time; nobody knows yet which end is to blame, so both get a strike."""
        self._strike(order, one, other)
        self._strike(order, other, one)

    def _lives(self, name: str, order: int) -> None:
        """Strikes from before a success are over."""
        self._good[name] = order
        strikes = self._missed.get(name)
        if strikes:
            self._missed[name] = {partner: when for partner, when in strikes.items() if when > order}
            self._suspended = None

    def _strike(self, order: int, name: str, partner: str) -> None:
        known = self._missed.setdefault(name, {})
        if order > max(known.get(partner, -1), self._good.get(name, -1)):
            known[partner] = order
            self._suspended = None

    def is_suspended(self, name: str) -> bool:
        return name in self.suspended()

    def suspended(self) -> FrozenSet[str]:
        """All that are left out now, those with the strongest evidence first: without any success, then with most strikes."""
        if self._suspended is None:
            self._suspended = self._found()
        return self._suspended

    def _found(self) -> FrozenSet[str]:
        found = {name for name, good in self._judged.items() if not good}
        strikes: Dict[str, Set[str]] = {}
        for name, partners in self._missed.items():
            if partners and name not in self._judged:
                strikes[name] = {partner for partner in partners if partner not in found}
        while True:
            enough = [name for name, partners in strikes.items() if len(partners) >= (STRIKES_AFTER_SUCCESS if name in self._good else STRIKES)]
            if not enough:
                return frozenset(found)
            worst = min(enough, key=lambda name: (name in self._good, -len(strikes[name]), name))
            found.add(worst)
            del strikes[worst]
            for counted in strikes.values():
                counted.discard(worst)

    def adjudication(self, names: Iterable[str], fits: Callable[[str, str], bool] = lambda accused, proven: True) -> List[Tuple[str, str]]:
        """Whom of ``names`` each suspended one without a judgement has to meet: one that succeeded and fits, another for each. Some may get none."""
        proven = dict.fromkeys(sorted(name for name in names if name in self._good and name not in self.suspended()))
        found = []
        for accused in sorted(name for name in self.suspended() if name not in self._judged):
            partner = next((name for name in proven if fits(accused, name)), None)
            if partner is not None:
                del proven[partner]
                found.append((accused, partner))
        return found

    def judge(self, name: str, good: bool) -> None:
        """The end of an adjudication: a good one comes back with all its pairs, a bad one stays out."""
        self._judged[name] = good
        if good:
            self._missed.pop(name, None)
        self._suspended = None

    def share(self) -> Dict[str, Any]:
        """What the partner of the next meeting is told, as JSON takes it: empty while nobody missed anything."""
        if not self._missed and not self._judged:
            return {}
        return {"missed": {name: dict(partners) for name, partners in self._missed.items() if partners},
                "good": {name: self._good[name] for name in self._missed if name in self._good}, "judged": dict(self._judged)}

    def learn(self, said: Any) -> None:
        """Takes over what a partner told. It comes from the network: what has not the form of ``share`` is left aside."""
        for name, good in _entries(said, "judged", bool):
            if name not in self._judged or (good and not self._judged[name]):
                self.judge(name, good)
        for name, order in _entries(said, "good", int):
            self._missed.setdefault(name, {})
            if order > self._good.get(name, -1):
                self._lives(name, order)
        for name, partners in _entries(said, "missed", dict):
            for partner, order in partners.items() if len(partners) <= MOST_NAMES else ():
                if isinstance(partner, str) and _of(order, int) and not self._judged.get(name):
                    self._strike(order, name, partner)


def _of(value: Any, kind: type) -> bool:
    """A bool is no number."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _entries(said: Any, key: str, kind: type) -> List[Tuple[str, Any]]:
    found = said.get(key) if isinstance(said, Mapping) else None
    if not isinstance(found, Mapping) or len(found) > MOST_NAMES:
        return []
    return [(name, value) for name, value in found.items() if isinstance(name, str) and _of(value, kind)]


SHARED_LIMIT = 32 * 1024
"""Bytes. What would not fit into a line is not told; the trial at the end finds out."""

_OF_HOSTS = frozenset({"peer_unreachable", "peer_silent", "peer_lost"})


def silent_host(error: Optional[HccnError]) -> bool:
    """Did a runner not answer?"""
    return error is not None and error.code in _OF_HOSTS


def silent_npu(error: Optional[HccnError]) -> bool:
    """Did a tool not end in time?"""
    return error is not None and error.code.endswith("timeout")


class Membership:
    """``host``: this one."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._known = FailureDetector()
        self._lock = threading.Lock()
        self._trials: Dict[str, str] = {}
        self._dead: FrozenSet[str] = frozenset()

    def note(self, pair: Pair, error: Optional[HccnError]) -> None:
        """What came of a pair, also of one that goes on being tried. An error that was told at once is neither a success nor a miss."""
        with self._lock:
            source, target = pair.source, pair.target
            if error is None:
                self._known.succeeded(pair.order, source.host, target.host)
                self._known.succeeded(pair.order, str(source), str(target))
                return
            if silent_host(error):
                self._known.missed(pair.order, source.host, target.host)
            if silent_host(error) or silent_npu(error):
                self._known.missed(pair.order, str(source), str(target))

    def holds(self, pair: Pair) -> bool:
        """Is the pair left out?"""
        with self._lock:
            suspended = self._known.suspended()
            return bool(suspended) and any(name in suspended for end in (pair.source, pair.target) for name in _names(end))

    def try_again(self, pair: Pair) -> bool:
        """May this pair be the trial of its partner? One at a time for each that is left out."""
        with self._lock:
            accused = self._accused(pair)
            if any(self._trials.get(name, pair.id) != pair.id for name in accused):
                return False
            self._trials.update(dict.fromkeys(accused, pair.id))
            return True

    def tried(self, pair: Pair, error: Optional[HccnError]) -> None:
        """The end of a trial. Only one that is proven good itself may judge: else both may be hung."""
        missed = silent_host(error) or silent_npu(error)
        with self._lock:
            judged = [name for name, own in self._accused(pair).items() if self._proven(own, name)]
            for name in judged:
                self._known.judge(name, not missed)
            self._look()

    def over(self, pair: Pair) -> None:
        """The pair will not be tried any more."""
        with self._lock:
            for name in [name for name, trial in self._trials.items() if trial == pair.id]:
                del self._trials[name]

    def _look(self) -> None:
        self._dead = frozenset(name for name, good in self._known.share().get("judged", {}).items() if not good)

    def given_up(self, pair: Pair) -> Tuple[str, ...]:
        """The names in this pair that a trial found dead: nothing more is tried with them."""
        dead = self._dead
        return tuple(name for end in (pair.partner(self._host), pair.end(self._host)) for name in _names(end) if name in dead) if dead else ()

    def why(self, pair: Pair, names: Tuple[str, ...]) -> Tuple[bool, HccnError]:
        """Does it lie at the partner, and the error of a pair that was given up."""
        missed = self._missed_by(names[0])
        at_partner = names[0] in _names(pair.partner(self._host))
        return at_partner, HccnError(
            "peer_suspended", "%s was left out: there was no answer with %s, nor from it at the end of the run" % (names[0], ", ".join(missed) or "others"),
            "see what hangs there: rdma_perf_info on that host, and its NPU")

    def _missed_by(self, name: str) -> List[str]:
        with self._lock:
            return sorted(self._known.share().get("missed", {}).get(name, {}))[:8]

    def _accused(self, pair: Pair) -> Dict[str, str]:
        """Names of the partner that are left out, each with this host's own of that kind."""
        suspended: FrozenSet[str] = self._known.suspended()
        own = _names(pair.end(self._host))
        return {name: own[place] for place, name in enumerate(_names(pair.partner(self._host))) if name in suspended}

    def _proven(self, own: str, accused: str) -> bool:
        return bool(self._known.adjudication([own], lambda name, _proven: name == accused))

    def share(self) -> Dict[str, Any]:
        """What the other end of a conversation is told, empty while all is well."""
        with self._lock:
            known = self._known.share()
        return known if len(json.dumps(known)) <= SHARED_LIMIT else {}

    def learn(self, said: Any) -> None:
        """Takes over what the other end told."""
        if said:
            with self._lock:
                self._known.learn(said)
                self._look()


def _names(end: Endpoint) -> Tuple[str, str]:
    return end.host, str(end)


def host_of(name: str) -> str:
    """The host of a name of either kind; hosts have no blanks."""
    return name.partition(" ")[0]
