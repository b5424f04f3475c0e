# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a run could have seen: the smallest drop of each kind of component that it would have named 99 times in 100, and what it was blind to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil, exp
from statistics import median
from typing import Any

from .ends import MOST
from .finding import SHOWN
from .noise import Gates, Normal, cleared_by, gates, tail
from .rating import SLOW, Link, Rating
from .ways import told

MISS = 0.01
"""Share of runs in which a drop of the size that is told may be missed."""

SPREAD = 0.01
"""Relative standard deviation of a measurement that a forecast assumes: that of roce_test and perftest on a sound fabric is below it."""

RELATIVE_FLOOR = 0.97
"""Share of what is normal from which on nothing is slow, unless the user says another."""

NPU, PAIR, PATH = "npu", "pair", "path"


def power(rating: Rating, hosts: int, once: Sequence[Link] = ()) -> dict[str, Any]:
    """``once``: pairs that were slow once and for which nothing is blamed.

    ``spread_percent``: of one measurement; ``samples``: measurements of an NPU; ``smallest_drop_percent`` by kind of component; ``blind``: sentences;
    ``text``: all of it as one. Empty without any measurement."""
    stratum = rating.usual
    if stratum is None:
        return {}
    found, gate = rating.normals[stratum], rating.gates[stratum]
    usual = int(median([total for total in map(rating.slow.total, range(len(rating.table.ends))) if total]))
    blocks = _blocks(rating)
    notes = told(rating.ways, rating.normals) + _of_once(rating, once)
    if any(known.is_doubt for known in rating.ways.above.values()):
        return {"samples": usual, "blind": notes, "text": "; ".join(["it is not known what is normal, so nobody is proven good", *notes])}
    drops = {NPU: _of_npu(found, gate, usual), PAIR: _smallest(found, gate, lambda drop: tail((drop - gate.certain) / found.spread))}
    seen = [count for count, two_hosts in blocks.values() if two_hosts]
    if seen:
        drops[PATH] = _of_path(found, gate, int(median(seen)))
    percent = {kind: _upwards(100 * drop) for kind, drop in drops.items()}
    blind = notes + _blind(usual, rating.met_pairs(), hosts * (hosts - 1) // 2, len(seen), rating)
    text = (f"{usual} measurements of an NPU with a spread of {100 * found.spread:.2g} %: an NPU that lost {percent[NPU]:g} % or more would have been named "
            f"in {100 * (1 - MISS):g} of 100 runs, a single pair from {percent[PAIR]:g} %")
    text += f", a path between leaves from {percent[PATH]:g} %" if seen else ""
    return {"spread_percent": round(100 * found.spread, 2), "samples": usual, "smallest_drop_percent": percent, "blind": blind,
            "text": "; ".join([text, *blind])}


def _of_once(rating: Rating, once: Sequence[Link]) -> list[str]:
    if not once:
        return []
    shown = "; ".join(rating.described(*link, SLOW) for link in once[:SHOWN]) + ("; ..." if len(once) > SHOWN else "")
    pairs = "a pair was" if len(once) == 1 else f"{len(once)} pairs were"
    return [f"{pairs} slow once and good when measured again as before, so nothing is blamed for it: {shown}"]


def forecast(summary: Mapping[str, Any], spread: float = SPREAD, relative_floor: float = RELATIVE_FLOOR) -> dict[str, Any]:
    """The same before the run, from the summary of a plan, for measurements of this spread. For ``sees`` of make_plan."""
    ends = summary["hosts"] * len(summary["rails"])
    count = max(1, int(2 * summary["pairs"] / max(1, ends)) + int(bool(summary.get("adaptive"))))
    found = Normal(1.0, spread, max(1, summary["pairs"]))
    gate = gates(found, relative_floor, ends, summary["pairs"])
    drops = {NPU: _of_npu(found, gate, count), PAIR: _smallest(found, gate, lambda drop: tail((drop - gate.certain) / found.spread))}
    return {"spread_percent": 100 * spread, "smallest_drop_percent": {kind: _upwards(100 * drop) for kind, drop in drops.items()}}


def _of_npu(found: Normal, gate: Gates, count: int) -> float:
    """Too many good cells clear it by chance, or too few are bad: of few cells all must be, of one it must be certain."""
    clearing, bad = cleared_by(count), 2 if count > 3 else count

    def missed(drop: float) -> float:
        unnamed = _at_least(count - bad + 1, count, tail((drop - gate.bad) / found.spread)) if count > 1 else tail((drop - gate.certain) / found.spread)
        return max(2 * unnamed, 2 * _at_least(clearing, count, tail((drop - gate.good) / found.spread)))

    return _smallest(found, gate, missed)


def _of_path(found: Normal, gate: Gates, count: int) -> float:
    """Nearly all of its cells must be bad."""
    least = count - ceil(MOST * count) + 1
    return _smallest(found, gate, lambda drop: _at_least(least, count, tail((drop - gate.bad) / found.spread)))


def _smallest(found: Normal, gate: Gates, missed: Callable[[float], float]) -> float:
    """The smallest drop that is missed with MISS or less."""
    low, high = gate.good, gate.certain + 5 * found.spread
    for _step in range(40):
        drop = (low + high) / 2
        low, high = (drop, high) if missed(drop) > MISS else (low, drop)
    return high


def _at_least(least: int, count: int, chance: float) -> float:
    """Probability of ``least`` or more of ``count``; as Poisson where they are many."""
    if count > 30:
        term, below = exp(-count * chance), 0.0
        for number in range(least):
            below += term
            term *= count * chance / (number + 1)
        return max(0.0, 1 - below)
    if chance >= 1:
        return 1.0
    term, total = (1 - chance) ** count, 0.0
    for number in range(count + 1):
        total += term if number >= least else 0.0
        term *= (count - number) / (number + 1) * chance / (1 - chance)
    return total


def _upwards(percent: float) -> float:
    """To a tenth, never below what was found."""
    return -(-percent * 10 // 1) / 10


def _blocks(rating: Rating) -> dict[frozenset[str], tuple[int, bool]]:
    """Between every two leaves: how often a host of one measured a host of the other, and whether two hosts of each took part."""
    leaves: dict[int, str] = {}
    for end, host in enumerate(rating.host_of):
        leaf = rating.table.leaves[end]
        if leaf is not None:
            leaves.setdefault(host, leaf)
    known = sorted(set(leaves.values()))
    found = {frozenset((leaf, other)): 0 for place, leaf in enumerate(known) for other in known[:place]}
    sides: dict[tuple[str, str], set[int]] = {}
    for host, others in rating.met.items():
        for other_leaf, count in Counter(map(leaves.get, others)).items():
            leaf = leaves.get(host)
            if leaf is None or other_leaf is None or leaf == other_leaf:
                continue
            found[frozenset((leaf, other_leaf))] += count
            sides.setdefault((leaf, other_leaf), set()).add(host)
            if len(sides.get((other_leaf, leaf), ())) < 2:
                sides.setdefault((other_leaf, leaf), set()).update([other for other in others if leaves.get(other) == other_leaf])
    return {key: (count, all(len(sides.get((one, other), ())) > 1 for one in key for other in key if one != other)) for key, count in found.items()}


def _blind(usual: int, met: int, possible: int, seen: int, rating: Rating) -> list[str]:
    """What this run could not see."""
    leaves = len({leaf for leaf in rating.table.leaves if leaf is not None})
    between = leaves * (leaves - 1) // 2
    found = []
    if met < possible:
        found.append(f"{possible - met} of {possible} pairs of hosts did not meet")
    if seen < between:
        found.append(f"paths between {between - seen} of {between} pairs of leaves were not seen by two hosts of each")
    if not leaves:
        found.append("no leaf is known, so a slow one is not told from many slow pairs")
    if usual < 2:
        found.append("an NPU with one measurement is told from its partner by further ones only")
    return found
