# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""From the results of a run to one class for each host, with a sentence and the evidence.

A bad pair is put down to one end where the other is proven good by a partner of its own, or where only one end has more bad pairs. Else
both ends are named, and it is said that it may be either, or the path between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cells import BUSY, BUSY_CODES, FAILED, GOOD, INFERRED_CODES, SLOW, Cell, End, cells_of

UNREACHABLE, NOT_MEASURED = "unreachable", "not_measured"
CLASSES = (GOOD, SLOW, FAILED, BUSY, UNREACHABLE, NOT_MEASURED)

FAILING = {"failed": (FAILED, UNREACHABLE), "slow": tuple(name for name in CLASSES if name != GOOD), "never": ()}
"""By ``fail_on``: the classes for which the task fails."""

RELATIVE_FLOOR = 0.75
EVIDENCE_LINES = 16

Results = Mapping[str, Mapping[str, Any] | None]


@dataclass(frozen=True)
class Verdict:
    host: str
    verdict: str
    message: str
    evidence: list[str]

    def as_dict(self) -> dict[str, Any]:
        return {"host": self.host, "class": self.verdict, "message": self.message, "evidence": self.evidence}


@dataclass
class Blame:
    """What is put down to one NPU: ``alone`` to it without doubt, ``shared`` to it or its partner or the path between."""

    alone: list[Cell] = field(default_factory=list)
    shared: list[Cell] = field(default_factory=list)


@dataclass(frozen=True)
class Diagnosis:
    """``verdicts``: one for each host asked for, in their order; ``coverage``: how much they rest on."""

    verdicts: list[Verdict]
    coverage: dict[str, int]


@dataclass(frozen=True)
class LeftOut:
    """An NPU that was kept out of the plan, and why."""

    host: str
    device: int
    code: str
    message: str

    @property
    def state(self) -> str:
        return BUSY if self.code in BUSY_CODES else FAILED


def diagnose(hosts: Sequence[str], results: Results, floor_gbit_s: float | None = None, relative_floor: float = RELATIVE_FLOOR,
             left_out: Sequence[LeftOut] = ()) -> Diagnosis:
    """``results``: what rdma_perf or rdma_perf_info returned, by host, None where nothing did."""
    cells = cells_of((result for result in results.values() if result), floor_gbit_s, relative_floor)
    blames = assign(cells)
    by_host: dict[str, list[Cell]] = {host: [] for host in hosts}
    for cell in cells:
        for host in {end.host for end in cell.ends} & by_host.keys():
            by_host[host].append(cell)
    missing = {host: [one for one in left_out if one.host == host] for host in {one.host for one in left_out}}
    verdicts = [_lowered(_verdict(host, results.get(host), mine, blames), missing.get(host, ())) for host, mine in by_host.items()]
    return Diagnosis(verdicts, _coverage(hosts, cells))


def _lowered(verdict: Verdict, missing: Sequence[LeftOut]) -> Verdict:
    """A host is not good while one of its NPUs could not be looked at."""
    if not missing:
        return verdict
    said = "; ".join(f"npu {one.device} was left out: {one.message}" for one in missing)
    state = _worst_of({one.state for one in missing} | {verdict.verdict})
    if verdict.verdict == NOT_MEASURED:
        return Verdict(verdict.host, state, said, [])
    return Verdict(verdict.host, state, f"{said}; {verdict.message}", verdict.evidence)


def _coverage(hosts: Sequence[str], cells: Sequence[Cell]) -> dict[str, int]:
    measured = {end.host for cell in cells if cell.value is not None for end in cell.ends}
    together = {frozenset(end.host for end in cell.ends) for cell in cells if cell.value is not None}
    count = len(set(hosts) | measured)
    return {
        "hosts": len(hosts), "hosts_measured": len(measured & set(hosts)),
        "pairs": len(cells), **{f"pairs_{state}": sum(cell.state == state for cell in cells) for state in (GOOD, SLOW, FAILED, BUSY)},
        "host_pairs_measured": len(together), "host_pairs_possible": count * (count - 1) // 2,
    }


def assign(cells: Sequence[Cell]) -> dict[End, Blame]:
    """Each bad cell to one end, or to both."""
    good = _partners(cells, lambda cell: cell.state == GOOD)
    bad = _partners(cells, lambda cell: cell.state != GOOD)
    blames: dict[End, Blame] = {}
    open_cells = []
    for cell in cells:
        if cell.state != GOOD:
            end = _certain(cell) or _by_proof(cell, good) or cell.accused
            if end is None:
                open_cells.append(cell)
            else:
                blames.setdefault(end, Blame()).alone.append(cell)
    known = set(blames)
    for cell in open_cells:
        guilty = [end for end in cell.ends if end in known] or _with_more(cell, bad)
        for end in guilty:
            blame = blames.setdefault(end, Blame())
            (blame.alone if len(guilty) == 1 else blame.shared).append(cell)
    return blames


def _partners(cells: Iterable[Cell], wanted: Any) -> dict[End, set[End]]:
    found: dict[End, set[End]] = {}
    for cell in cells:
        if wanted(cell):
            for end in cell.ends:
                found.setdefault(end, set()).add(cell.other(end))
    return found


def _certain(cell: Cell) -> End | None:
    """The end that told of a failure of its own."""
    return None if cell.code in INFERRED_CODES else cell.accused


def _by_proof(cell: Cell, good: Mapping[End, set[End]]) -> End | None:
    """The one end without a good pair, where the other has one with somebody else."""
    proven = [bool(good.get(end, set()) - {cell.other(end)}) for end in cell.ends]
    return None if proven[0] == proven[1] else cell.ends[proven.index(False)]


def _with_more(cell: Cell, bad: Mapping[End, set[End]]) -> list[End]:
    """The end with more bad partners; both where they have as many."""
    counts = [len(bad[end]) for end in cell.ends]
    return list(cell.ends) if counts[0] == counts[1] else [cell.ends[counts.index(max(counts))]]


def _verdict(host: str, result: Mapping[str, Any] | None, cells: Sequence[Cell], blames: Mapping[End, Blame]) -> Verdict:
    mine = {end: blame for end, blame in sorted(blames.items()) if end.host == host}
    blamed = [cell for blame in mine.values() for cell in blame.alone + blame.shared]
    evidence = [str(cell) for cell in sorted(blamed, key=lambda cell: (cell.value is not None, cell.value or 0.0))][:EVIDENCE_LINES]
    whole = _as_a_whole(result, cells)
    if whole is not None:
        return Verdict(host, whole[0], whole[1], evidence)
    if blamed:
        return Verdict(host, _worst(blamed), "; ".join(_sentence(end, blame) for end, blame in mine.items()), evidence)
    good = [cell for cell in cells if cell.state == GOOD]
    if not good:
        why = "its pairs failed at the other end" if cells else "no pair has this host"
        return Verdict(host, NOT_MEASURED, why, [str(cell) for cell in cells[:EVIDENCE_LINES]])
    return Verdict(host, GOOD, _good(good, len(cells) - len(good)), [])


def _as_a_whole(result: Mapping[str, Any] | None, cells: Sequence[Cell]) -> tuple[str, str] | None:
    """What counts more than any pair: the host or its runner did not take part to the end."""
    if result is None and cells and all(cell.code == "peer_unreachable" for cell in cells):
        return UNREACHABLE, "there is no result of this host, and its runner did not answer its partners"
    if result is None:
        return None if cells else (NOT_MEASURED, "there is no result of this host")
    if result.get("unreachable"):
        return UNREACHABLE, f"Ansible did not reach the host: {_first_line(result.get('msg'))}"
    if result.get("skipped"):
        return None if cells else (NOT_MEASURED, "the measurement was skipped on this host")
    state = result.get("state")
    if state == "unknown":
        return NOT_MEASURED, "the host has no such run: rdma_perf did not start there"
    if state == "running":
        return FAILED, "the run on this host was not over when it was asked for: wait longer, or end it with state: absent"
    if state == "failed" or (result.get("failed") and not result.get("measurements")):
        said = (result.get("error") or {}).get("message") or result.get("msg")
        return FAILED, f"the run on this host failed: {_first_line(said)}"
    return None


def _first_line(text: Any) -> str:
    return (str(text or "").strip().splitlines() or ["no reason given"])[0]


def _worst(cells: Iterable[Cell]) -> str:
    return _worst_of({cell.state for cell in cells})


def _worst_of(states: Collection[str]) -> str:
    return next(state for state in (UNREACHABLE, FAILED, BUSY, SLOW, GOOD) if state in states)


_WORDS = {SLOW: "is slow", FAILED: "fails", BUSY: "does other work"}


def _sentence(end: End, blame: Blame) -> str:
    cells = blame.alone or blame.shared
    partners = sorted({cell.other(end).host for cell in cells})
    more = f" and {len(partners) - 4} more" if len(partners) > 4 else ""
    what = f"npu {end.device} {_WORDS[_worst(cells)]} with {', '.join(partners[:4])}{more}"
    return what if blame.alone else f"{what}: either end or the path between, no other pair tells which"


def _good(cells: Sequence[Cell], others: int) -> str:
    """Also says where a bad pair of this host was put down to the partner."""
    partners = len({end.host for cell in cells for end in cell.ends}) - 1
    values = sorted((cell.value or 0.0, cell.unit) for cell in cells)
    text = f"pairs: {len(cells)} with {partners} of the other hosts, {values[0][0]:.4g} to {values[-1][0]:.4g} {values[-1][1]}"
    return text + (f"; bad ones put down to the other end: {others}" if others else "")
