# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What was measured, from records of single pairs (kind ``rdma``) and of whole rows (kind ``matrix``): one table of ends and cells.

A row is what one NPU as source measured with many targets, the targets by ``hosts``; their NPU is that of ``target``, by default the source's:

    {"kind": "matrix", "source": {"host": "n1", "device": 0}, "hosts": ["n2", "n3", "n4"], "samples": [{"size_bytes": 65536,
     "bandwidth_gbit_s": [196, null, 195]}], "failed": {"retry_exceeded": [1]}}

``null`` was not measured, and ``failed`` holds places in ``hosts`` by the code of the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, compress
from math import isfinite
from typing import Any, NamedTuple

from ...module_utils._core.errors import InputError
from ...module_utils._core.samples import GBIT, MICROSECONDS
from ...module_utils._core.samples import worth as worth_of

BUSY_CODES = frozenset({"device_busy", "roce_test_running", "tool_busy"})
"""An NPU that does other work; see module_utils/_device/failures.py."""

INFERRED_CODES = frozenset({"peer_unreachable", "peer_lost", "peer_silent", "no_record"})
"""Errors that one end tells of the other, and may be the cause of itself; the last is made in missing.py."""

LINE_RATE_SIZE = 65536
"""Smaller messages do not reach the line rate on a sound fabric either."""


class End(NamedTuple):
    host: str
    device: int

    def __str__(self) -> str:
        return f"{self.host} npu {self.device}"


class Kind(NamedTuple):
    """What is compared with each other."""

    operation: Any
    measure: Any
    size: Any
    unit: str

    def shown(self, worth: float) -> str:
        return f"{(worth if self.unit == GBIT else 1 / worth):.4g}"


class Cell(NamedTuple):
    """One record. ``worth``: more is better: Gbit/s, or 1 through microseconds; None where nothing was measured. ``accused``: the end that the error
    names. ``way``: what makes the packets take another path: source port and number of queue pairs. ``floor``: Gbit/s below which it is slow."""

    source: int
    target: int
    kind: int
    worth: float | None
    code: str
    message: str
    accused: int | None
    pair: str
    way: tuple[str, str]
    floor: float


class Row(NamedTuple):
    """Cells of one source; ``worths`` by the place of the target."""

    source: int
    kind: int
    targets: tuple[int, ...]
    worths: Sequence[float | None]
    floor: float


class Table:
    """Ends by number, with the rail and the leaves they hang on, and what was measured between them; ``of_host``: the ends of each host."""

    def __init__(self, topology: Mapping[str, Any] | None = None) -> None:
        self.ends: list[End] = []
        self.of_host: dict[str, list[int]] = {}
        self.rails: list[Any] = []
        self.leaves: list[str | None] = []
        self.kinds: list[Kind] = []
        self.cells: list[Cell] = []
        self.rows: list[Row] = []
        self._topology = topology or {}
        self._numbers: dict[End, int] = {}
        self._kinds: dict[Kind, int] = {}
        self._targets: dict[tuple[tuple[str, ...], int], tuple[int, ...]] = {}
        self._rates: dict[float, set[int]] = {}

    def number(self, host: str, device: int) -> int:
        """Of an end, which is made where it is new."""
        end = End(host, device)
        found = self._numbers.get(end)
        if found is None:
            found = self._numbers[end] = len(self.ends)
            self.ends.append(end)
            self.of_host.setdefault(host, []).append(found)
            known = self.about(host)
            devices = known.get("devices") or {}
            mine = devices.get(str(device), devices.get(device)) or {}
            self.rails.append(mine.get("rail", device))
            leaf = mine.get("leaf", known.get("leaf"))
            self.leaves.append(None if leaf is None else str(leaf))
        return found

    def about(self, host: str) -> Mapping[str, Any]:
        """What the topology knows of a host."""
        return self._topology.get(host) or {}

    def number_of_kind(self, kind: Kind) -> int:
        found = self._kinds.setdefault(kind, len(self.kinds))
        if found == len(self.kinds):
            self.kinds.append(kind)
        return found

    def targets(self, hosts: Sequence[str], device: int) -> tuple[int, ...]:
        """The ends of a row; rows of one device share them."""
        key = (tuple(hosts), device)
        if key not in self._targets:
            self._targets[key] = tuple(self.number(str(host), device) for host in hosts)
        return self._targets[key]

    def tell_rate(self, context: Mapping[str, Any], ends: Iterable[int]) -> None:
        """The line rate of what was measured between ends, which is that of the slower one."""
        rate = context.get("line_rate_gbit_s")
        if rate:
            self._rates.setdefault(float(rate), set()).update(ends)

    def line_rates(self) -> dict[int, float]:
        """Of each end: the best that it reached with a partner."""
        return {end: rate for rate, ends in sorted(self._rates.items()) for end in ends}

    def hosts(self) -> set[str]:
        return set(self.of_host)


def read(records: Iterable[Mapping[str, Any]], topology: Mapping[str, Any] | None, floor_gbit_s: float | None, line_rate_floor: float) -> Table:
    """The rdma records and matrix rows among the records, each id once. The floors are absolute: Gbit/s, and a share of the record's line rate."""
    table = Table(topology)
    seen: set[Any] = set()
    for record in records:
        with understood(record):
            if record.get("kind") not in ("rdma", "matrix") or record.get("id") in seen or record.get("status") == "not_run":
                continue
            seen.add(record.get("id"))
            if record["kind"] == "rdma":
                table.cells.append(_cell(table, record, floor_gbit_s, line_rate_floor))
            else:
                _row(table, record, floor_gbit_s, line_rate_floor)
    return table


@contextmanager
def understood(record: Mapping[str, Any]) -> Iterator[None]:
    """Makes one sentence of whatever is wrong with a record that somebody edited or another release wrote. Raises InputError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        name = str(record.get("id") or "without an id")[:80]
        raise InputError(f"the record {name!r} is not as this collection keeps records: {type(error).__name__}: {str(error)[:120]}",
                         "leave it out") from error


def _cell(table: Table, record: Mapping[str, Any], floor_gbit_s: float | None, line_rate_floor: float) -> Cell:
    source, target = (table.number(str(record[side]["host"]), int(record[side]["device"])) for side in ("source", "target"))
    error, context, options = (record.get(key) or {} for key in ("error", "context", "options"))
    found = worth_of(record.get("samples") or ())
    worth, unit, size = (_better(found.value, found.unit), found.unit, found.size) if found else (None, "", None)
    code = str(error.get("code", ""))
    if record.get("status") != "ok" or worth is None:
        worth, code = None, code or "no_result"
    else:
        table.tell_rate(context, (source, target))
    kind = table.number_of_kind(Kind(record.get("operation"), record.get("measure"), size if worth else None, unit))
    parts = str(record.get("id")).split("/")
    return Cell(source, target, kind, worth, code, str(error.get("message", "no sample in the record")),
                {"source": source, "target": target}.get(str(context.get("failed_end"))), parts[1] if len(parts) > 1 else parts[0],
                (str(options.get("source_port")), str(options.get("qps"))), _floor(context, unit, size, floor_gbit_s, line_rate_floor))


def _row(table: Table, record: Mapping[str, Any], floor_gbit_s: float | None, line_rate_floor: float) -> None:
    device = int(record["source"]["device"])
    source = table.number(str(record["source"]["host"]), device)
    targets = table.targets(record["hosts"], int((record.get("target") or {}).get("device", device)))
    for sample in record.get("samples") or ():
        widths, times = sample.get("bandwidth_gbit_s"), (sample.get("latency_us") or {}).get("typical")
        unit = GBIT if widths is not None else MICROSECONDS
        worths = widths if widths is not None else [1 / time if time else None for time in times or ()]
        _measured(sum(filter(None, worths)))  # finite, if all of them are
        if any(worths):
            table.tell_rate(record.get("context") or {}, chain([source], compress(targets, worths)))
        kind = table.number_of_kind(Kind(record.get("operation"), record.get("measure"), sample.get("size_bytes"), unit))
        floor = _floor(record.get("context") or {}, unit, sample.get("size_bytes"), floor_gbit_s, line_rate_floor)
        table.rows.append(Row(source, kind, targets, worths, floor))
        break  # one size is judged, as with single records
    for code, places in (record.get("failed") or {}).items():
        kind = table.number_of_kind(Kind(record.get("operation"), record.get("measure"), None, ""))
        table.cells += [Cell(source, targets[place], kind, None, str(code), "see the journal of the source", None, "", ("", ""), 0.0)
                        for place in places]


def _floor(context: Mapping[str, Any], unit: str, size: Any, floor_gbit_s: float | None, line_rate_floor: float) -> float:
    if unit != GBIT:
        return 0.0
    line_rate = context.get("line_rate_gbit_s") if (size or 0) >= LINE_RATE_SIZE else None
    return max(floor_gbit_s or 0.0, line_rate_floor * float(line_rate or 0.0))


def _better(value: float, unit: str) -> float | None:
    """More is better. Raises ValueError for what cannot be measured."""
    number = _measured(value)
    return 1 / number if number and unit == MICROSECONDS else number


def _measured(value: Any) -> float | None:
    """None for zero, which nothing reaches. Raises ValueError for what cannot be measured."""
    number = float(value)
    if not isfinite(number) or number < 0:
        raise ValueError(f"{value!r} is no measurement")
    return number or None
