# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The detection limit of a run: the smallest drop of each kind of component that it names in 99 of 100 runs, and the faults that it cannot find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil, exp, log1p
from statistics import median
from typing import Any

from .classification import SLOW, Link, Classification
from .component import SHOWN
from .measurement_table import Table
from .noise import Gates, Normal, cleared_by, gates, poisson_tail, tail
from .npu_faults import MOST
from .strata import notes

MISS = 0.01
"""Share of runs in which a drop of the reported size may be missed."""

SPREAD = 0.01
"""Relative standard deviation of a measurement that a forecast assumes. That of roce_test and perftest on a healthy fabric is smaller."""

RELATIVE_FLOOR = 0.97
"""Default share of the normal value above which nothing is slow."""

NPU, PAIR, PATH = "npu", "pair", "path"


def detection_limit(classification: Classification, hosts: int, slow_once: Sequence[Link] = (), within_noise: Sequence[Link] = ()) -> dict[str, Any]:
    """Return the smallest drop of each kind of component that the run would have found, and the faults that it could not find; empty if nothing was measured.

    ``slow_once``: pairs that were slow once and are attributed to nothing. ``within_noise``: slow pairs of a run with too few values. The result has
    ``spread_percent`` of one measurement, ``samples`` of an NPU, ``smallest_drop_percent`` by kind of component, the sentences ``blind``, and ``text``, which
    joins all of it.
    """
    stratum = classification.usual
    if stratum is None:
        return {}
    normal, gate = classification.normals[stratum], classification.gates[stratum]
    samples = int(median([total for total in map(classification.slow.total, range(len(classification.table.npus))) if total]))
    remarks = notes(classification.strata, classification.normals) + _slow_once(classification, slow_once) + _within_noise(classification, within_noise)
    if any(fast.is_doubt for fast in classification.strata.fast_pairs.values()):
        return {"samples": samples, "blind": remarks, "text": "; ".join(["the normal value is unknown, so no NPU is proven good", *remarks])}
    drops = _drops_of_npu_and_pair(normal, gate, samples)
    leaf_pairs = _leaf_pairs(classification)
    seen = [count for count, two_hosts in leaf_pairs.values() if two_hosts]
    if seen:
        drops[PATH] = _drop_of_path(normal, gate, int(median(seen)))
    percent = {kind: _round_up(100 * drop) for kind, drop in drops.items()}
    blind = remarks + _not_seen(samples, classification.met_pairs(), hosts * (hosts - 1) // 2, len(leaf_pairs), len(seen), classification)
    text = (f"{samples} measurements of an NPU with a spread of {100 * normal.spread:.2g} %: an NPU that lost {percent[NPU]:g} % or more is named in "
            f"{100 * (1 - MISS):g} of 100 runs, a single pair from {percent[PAIR]:g} %")
    text += f", a path between leaves from {percent[PATH]:g} %" if seen else ""
    text += "; smaller losses are named in fewer runs"
    return {"spread_percent": round(100 * normal.spread, 2), "samples": samples, "smallest_drop_percent": percent, "blind": blind,
            "text": "; ".join([text, *blind])}


def forecast(summary: Mapping[str, Any], spread: float = SPREAD, relative_floor: float = RELATIVE_FLOOR) -> dict[str, Any]:
    """Return the detection limit of a plan from its summary, for measurements with this spread."""
    npus = summary["hosts"] * len(summary["rails"])
    samples = max(1, int(2 * summary["pairs"] / max(1, npus)) + int(bool(summary.get("adaptive"))))
    normal = Normal(1.0, spread, max(1, summary["pairs"]))
    drops = _drops_of_npu_and_pair(normal, gates(normal, relative_floor, npus, summary["pairs"]), samples)
    return {"spread_percent": 100 * spread, "smallest_drop_percent": {kind: _round_up(100 * drop) for kind, drop in drops.items()}}


def _slow_once(classification: Classification, links: Sequence[Link]) -> list[str]:
    if not links:
        return []
    untested = sum(len(classification.cells(*link)) < 2 for link in links)
    again = "and good when measured again as before" if not untested else f"and good when measured again as before ({untested} of them were not)"
    return [f"{_pairs_were(links)} slow once {again}, so no component is blamed: {_shown(classification, links)}"]


def _within_noise(classification: Classification, links: Sequence[Link]) -> list[str]:
    if not links:
        return []
    return [f"{_pairs_were(links)} slow, but too few values are near the normal one to know how much they vary, so nothing is blamed: "
            f"{_shown(classification, links)}"]


def _pairs_were(links: Sequence[Link]) -> str:
    count = len(set(map(frozenset, links)))
    return "a pair was" if count == 1 else f"{count} pairs were"


def _shown(classification: Classification, links: Sequence[Link]) -> str:
    found = list(dict.fromkeys(links))
    return "; ".join(classification.described(*link, SLOW) for link in found[:SHOWN]) + ("; ..." if len(found) > SHOWN else "")


def _drops_of_npu_and_pair(normal: Normal, gate: Gates, samples: int) -> dict[str, float]:
    return {NPU: _drop_of_npu(normal, gate, samples), PAIR: _smallest(normal, gate, lambda drop: _kept(drop, gate.certain, normal))}


def _drop_of_npu(normal: Normal, gate: Gates, samples: int) -> float:
    """A bad NPU is missed if too many good cells clear it by chance, or too few cells are bad: of a few cells all must be bad, a single one certainly."""
    clearing, bad = cleared_by(samples), 2 if samples > 3 else samples

    def missed(drop: float) -> float:
        if samples > 1:
            unnamed = _at_least(samples - bad + 1, samples, _kept(drop, gate.bad, normal))
        else:
            unnamed = _kept(drop, gate.certain, normal)
        return max(2 * unnamed, 2 * _at_least(clearing, samples, _kept(drop, gate.good, normal)))

    return _smallest(normal, gate, missed)


def _drop_of_path(normal: Normal, gate: Gates, cells: int) -> float:
    """A bad path is missed unless nearly all of its cells are bad."""
    least = cells - ceil(MOST * cells) + 1
    return _smallest(normal, gate, lambda drop: _at_least(least, cells, _kept(drop, gate.bad, normal)))


def _kept(drop: float, bound: float, normal: Normal) -> float:
    """Return the probability that a value that lost the share ``drop`` is not below the gate ``bound``."""
    return tail((log1p(-bound) - log1p(-drop)) / normal.spread)


def _smallest(normal: Normal, gate: Gates, missed: Callable[[float], float]) -> float:
    """Return the smallest drop that is missed with a probability of at most MISS."""
    low, high = gate.good, 1 - (1 - gate.certain) * exp(-5 * normal.spread)
    for _step in range(40):
        drop = (low + high) / 2
        low, high = (drop, high) if missed(drop) > MISS else (low, drop)
    return high


def _at_least(least: int, count: int, chance: float) -> float:
    """Return the probability of ``least`` or more of ``count``, by the Poisson distribution if there are many."""
    if count > 30:
        return poisson_tail(least, count * chance)
    if chance >= 1:
        return 1.0
    term, total = (1 - chance) ** count, 0.0
    for number in range(count + 1):
        total += term if number >= least else 0.0
        term *= (count - number) / (number + 1) * chance / (1 - chance)
    return total


def _round_up(percent: float) -> float:
    """Round up to a tenth."""
    return -(-percent * 10 // 1) / 10


def _leaf_pairs(classification: Classification) -> dict[frozenset[str], tuple[int, bool]]:
    """Return, for each pair of leaves with a rail in common and each other one that was measured, the number of measurements, and whether two hosts of each
    leaf took part."""
    table, host_of = classification.table, classification.host_of
    on_rail: dict[object, set[str]] = {}
    for leaf, rail in zip(table.leaves, table.rails):
        if leaf is not None:
            on_rail.setdefault(rail, set()).add(leaf)
    found = {frozenset(pair): 0 for leaves in on_rail.values() for pair in combinations(leaves, 2)}
    sides: dict[tuple[str, str], set[int]] = {}
    for source, targets in _measured(table):
        leaf = table.leaves[source]
        if leaf is None:
            continue
        single = set()
        for other, count in Counter(map(table.leaves.__getitem__, targets)).items():
            if other is not None and other != leaf:
                found[frozenset((leaf, other))] = found.get(frozenset((leaf, other)), 0) + count
                sides.setdefault((leaf, other), set()).add(host_of[source])
                if len(sides.setdefault((other, leaf), set())) < 2:
                    single.add(other)
        for target in targets if single else ():
            if table.leaves[target] in single:
                sides[str(table.leaves[target]), leaf].add(host_of[target])
    return {pair: (count, all(len(sides.get((one, other), ())) > 1 for one in pair for other in pair if one != other)) for pair, count in found.items()}


def _measured(table: Table) -> Iterator[tuple[int, Sequence[int]]]:
    """Return source and measured targets of each cell and row."""
    for cell in table.cells:
        if cell.worth is not None:
            yield cell.source, (cell.target,)
    for row in table.rows:
        yield row.source, [target for target, worth in zip(row.targets, row.worths) if worth is not None]


def _not_seen(samples: int, met: int, possible: int, between: int, seen: int, classification: Classification) -> list[str]:
    """Return a sentence for each kind of fault that this run could not find. ``between``: pairs of leaves; ``seen``: those measured by two hosts on each."""
    found = []
    if met < possible:
        found.append(f"{possible - met} of {possible} pairs of hosts were not measured")
    if seen < between:
        found.append(f"paths between {between - seen} of {between} pairs of leaves were not measured by two hosts on each leaf")
    if not any(classification.table.leaves):
        found.append("no leaf is known, so a slow leaf looks like many slow pairs")
    if samples < 2:
        found.append("an NPU with a single measurement cannot be distinguished from its partner")
    return found
