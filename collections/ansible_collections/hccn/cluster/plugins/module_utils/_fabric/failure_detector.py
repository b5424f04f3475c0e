# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The failure detector: find hosts and NPUs that hang from the results of pairs. It uses no clock, network or threads; ``membership`` drives it.

A host or NPU that hangs must cost a few deadlines, not one in every round. A name, of a host or of a single NPU, is suspended if pairs with two different
partners got no answer, or with three if it succeeded before. Suspension is not a verdict: a good host whose first two partners hang looks the same, and if
those are neighbors in the plan, all others meet them one after the other. Therefore strikes by suspended partners do not count, and runners share what they
know whenever they exchange a line, even if one refuses the other. When nothing else is left to do, each suspended name gets one trial with a partner that is
proven good. Its result is final. It may also release names that met only hung partners, so all unmeasured pairs are considered again after it.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Set, Tuple

STRIKES = 2
STRIKES_AFTER_SUCCESS = 3
DEADLINE_FACTOR = 4.0
MOST_NAMES = 4096
"""Larger lists from a partner are ignored."""


def deadline(expected: float) -> float:
    """Return the seconds after which a pair that is expected to take ``expected`` seconds counts as missed."""
    return DEADLINE_FACTOR * expected


class FailureDetector:
    """Finds names that hang. ``order`` is the position of a pair in the whole plan, the same on every host; it defines before and after."""

    def __init__(self) -> None:
        self._missed: Dict[str, Dict[str, int]] = {}
        self._good: Dict[str, int] = {}
        self._judged: Dict[str, bool] = {}
        self._suspended: Optional[FrozenSet[str]] = frozenset()

    def succeeded(self, order: int, one: str, other: str) -> None:
        """A pair was measured, whatever its value: both names are alive."""
        for name in (one, other):
            if order > self._good.get(name, -1):
                self._mark_alive(name, order)

    def missed(self, order: int, one: str, other: str) -> None:
        """A pair got no answer in time. Either name may be the cause, so both get a strike."""
        self._strike(order, one, other)
        self._strike(order, other, one)

    def _mark_alive(self, name: str, order: int) -> None:
        """Record a success, and remove the strikes before it."""
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

    def suspended(self) -> FrozenSet[str]:
        """Return the suspended names. They are determined by the strength of the evidence: those without any success first, then those with most strikes."""
        if self._suspended is None:
            self._suspended = self._find_suspended()
        return self._suspended

    def _find_suspended(self) -> FrozenSet[str]:
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
        """Return the knowledge to share with other runners as a dictionary for JSON; empty as long as no pair was missed."""
        if not self._missed and not self._judged:
            return {}
        return {"missed": {name: dict(partners) for name, partners in self._missed.items() if partners},
                "good": {name: self._good[name] for name in self._missed if name in self._good}, "judged": dict(self._judged)}

    def learn(self, shared: Any) -> None:
        """Take over what another runner shares. It comes from the network: whatever does not have the form of ``share`` is ignored."""
        for name, good in _entries(shared, "judged", bool):
            if name not in self._judged or (good and not self._judged[name]):
                self.judge(name, good)
        for name, order in _entries(shared, "good", int):
            self._missed.setdefault(name, {})
            if order > self._good.get(name, -1):
                self._mark_alive(name, order)
        for name, partners in _entries(shared, "missed", dict):
            for partner, order in partners.items() if len(partners) <= MOST_NAMES else ():
                if isinstance(partner, str) and _is_of(order, int) and not self._judged.get(name):
                    self._strike(order, name, partner)


def _is_of(value: Any, kind: type) -> bool:
    """Return whether the value is of the type; a bool is not a number."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _entries(shared: Any, key: str, kind: type) -> List[Tuple[str, Any]]:
    found = shared.get(key) if isinstance(shared, Mapping) else None
    if not isinstance(found, Mapping) or len(found) > MOST_NAMES:
        return []
    return [(name, value) for name, value in found.items() if isinstance(name, str) and _is_of(value, kind)]
