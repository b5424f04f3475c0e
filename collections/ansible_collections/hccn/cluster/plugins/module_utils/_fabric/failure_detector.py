# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Who hangs, found from what pairs came to. No clock, no network, no threads; ``membership`` drives it.

One that hangs must cost a few deadlines and not one a round. A name, of a host or a single NPU, is suspended when pairs with two different partners had
no answer, with three where it has succeeded before. That is no verdict: a host that met two hung ones looks the same, and where those are neighbours in the
plan, all others meet them one after the other. So strikes by partners that are suspended themselves do not count, runners share what they know whenever
they talk, also where one refuses the other, and no host suspends itself. When nothing else is left to do, each suspended name gets one trial with a partner
that is proven good; its end is final. It may free others that met only hung ones, so all that is not measured is looked through again after it.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Set, Tuple

STRIKES = 2
STRIKES_AFTER_SUCCESS = 3
DEADLINE_FACTOR = 4.0
MOST_NAMES = 4096
"""More than that in what a partner says is not learnt."""


def deadline(expected: float) -> float:
    """Seconds after which a pair that is expected to take ``expected`` counts as missed."""
    return DEADLINE_FACTOR * expected


class FailureDetector:
    """Who hangs, by what pairs came to. ``order`` is a pair's place in the whole plan, the same on every host; it tells before from after."""

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
        """A pair had no answer in time. Either end may be to blame, so both get a strike."""
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

    def can_judge(self, accused: str, partner: str) -> bool:
        """Return whether a trial of ``accused`` with ``partner`` is conclusive: ``partner`` is proven good, and ``accused`` was not judged yet."""
        suspended = self.suspended()
        return accused in suspended and accused not in self._judged and partner in self._good and partner not in suspended

    def judge(self, name: str, good: bool) -> None:
        """Record the result of a trial, which is final: a good name is no longer suspended, a bad one remains so."""
        self._judged[name] = good
        if good:
            self._missed.pop(name, None)
        self._suspended = None

    def share(self) -> Dict[str, Any]:
        """Return what other runners are told, as JSON takes it; empty as long as no pair was missed."""
        if not self._missed and not self._judged:
            return {}
        return {"missed": {name: dict(partners) for name, partners in self._missed.items() if partners},
                "good": {name: self._good[name] for name in self._missed if name in self._good}, "judged": dict(self._judged)}

    def learn(self, said: Any) -> None:
        """Take over what another runner shares. It comes from the network: what has not the form of ``share`` is ignored."""
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
