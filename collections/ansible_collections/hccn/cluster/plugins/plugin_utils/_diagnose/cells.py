# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What was measured, from records of single pairs (kind ``rdma``) and of whole rows (kind ``matrix``): one table of ends and cells.

A row is what one NPU as source measured with many targets, the targets by ``hosts``; their NPU is that of ``target``, by default the source's:

    {"kind": "matrix", "source": {"host": "n1", "device": 0}, "hosts": ["n2", "n3", "n4"], "samples": [{"size_bytes": 65536,
     "bandwidth_gbit_s": [196, null, 195]}], "failed": {"retry_exceeded": [1]}}

``null`` was not measured, and ``failed`` holds places in ``hosts`` by the code of the error, ``not_run`` those that were not tried; of these only
busy NPUs count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from ...module_utils._core.errors import InputError
from ...module_utils._core.numbers import is_count
from ...module_utils._core.problems import Problem
from ...module_utils._core.samples import GBIT, MICROSECONDS
from ...module_utils._core.samples import worth as worth_of
from ...module_utils._core.words import printable
from ...module_utils._device.host import MAX_DEVICE_ID
from .planned import Planned

BUSY_CODES = frozenset({"address_changed", "device_busy", "busy_unknown", "roce_test_running", "tool_busy"})
"""An NPU that does other work, or may do so, or is changed by another run; see module_utils/_device/busy.py and failures.py, and _perf/roce_test_tool.py."""

INFERRED_CODES = frozenset({"peer_unreachable", "peer_lost", "peer_silent", "no_record"})
"""Errors that one end tells of the other, and may be the cause of itself; the last is made in missing.py."""

LINE_RATE_SIZE = 65536
"""Smaller messages do not reach the line rate on a sound fabric either."""


LEAST_WORTH, MOST_WORTH = 1e-9, 1e6
"""Of a measurement, in Gbit/s or 1 through microseconds. What lies outside is no measurement of any link."""

MOST_ROWS = 8
"""Of one source with the NPUs of one id: a host returns one for each line rate that it met."""

LONGEST_NAME, LONGEST_CODE, LONGEST_MESSAGE = 255, 64, 400

NOT_UNDERSTOOD = "record_not_understood"
"""The rule of a record that was dropped."""

Report = tuple[str, Any]
"""The host that returned a record, and the record."""


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
    names. ``way``: what makes the packets take another path: source port and number of queue pairs. ``floor``: Gbit/s below which it is slow.
    ``rate``: the line rate that the record gives, 0 where it gives none; ``both``: whether it was measured in both directions at once."""

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
    rate: float = 0.0
    both: bool = False


class Row(NamedTuple):
    """Cells of one source; ``worths`` by the place of the target; ``rate`` and ``both``: see Cell."""

    source: int
    kind: int
    targets: tuple[int, ...]
    worths: Sequence[float | None]
    floor: float
    rate: float = 0.0
    both: bool = False


class Table:
    """Ends by number, with the rail and the leaves they hang on, and what was measured between them; ``of_host``: the ends of each host. ``problems``:
    records that were dropped."""

    def __init__(self, topology: Mapping[str, Any] | None = None) -> None:
        self.ends: list[End] = []
        self.of_host: dict[str, list[int]] = {}
        self.rails: list[Any] = []
        self.leaves: list[str | None] = []
        self.kinds: list[Kind] = []
        self.cells: list[Cell] = []
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self._topology = topology or {}
        self._numbers: dict[End, int] = {}
        self._kinds: dict[Kind, int] = {}
        self._targets: dict[tuple[tuple[str, ...], int], tuple[int, ...]] = {}

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

    def line_rates(self) -> dict[int, float]:
        """Of each end: the best of those that its own host reports, and of those that others report. What one host alone reports counts for none of the
        others."""
        own: dict[float, set[int]] = {}
        of_partners: dict[float, set[int]] = {}
        reporters: dict[float, set[str]] = {}
        for cell in self.cells:
            if cell.rate and cell.worth is not None:
                own.setdefault(cell.rate, set()).add(cell.source)
                of_partners.setdefault(cell.rate, set()).add(cell.target)
                reporters.setdefault(cell.rate, set()).add(self.ends[cell.source].host)
        for row in self.rows:
            if row.rate and any(row.worths):
                own.setdefault(row.rate, set()).add(row.source)
                of_partners.setdefault(row.rate, set()).update(compress(row.targets, row.worths))
                reporters.setdefault(row.rate, set()).add(self.ends[row.source].host)
        return {end: rate for rate in sorted(own) for end in own[rate] | (of_partners[rate] if len(reporters[rate]) > 1 or len(own) == 1 else set())}

    def hosts(self) -> set[str]:
        return set(self.of_host)


def read(reports: Iterable[Report], topology: Mapping[str, Any] | None, floor_gbit_s: float | None, line_rate_floor: float,
         planned: Planned | None = None) -> Table:
    """The rdma records and matrix rows among the records, each id of a host once. The floors are absolute: Gbit/s, and a share of the record's line rate.
    A record that cannot be understood, is not of the host that returned it, or of no planned pair, is dropped: it is a problem of that host."""
    table = Table(topology)
    reader = _Reader(table, floor_gbit_s, line_rate_floor, planned or Planned({}))
    for host, record in reports:
        try:
            reader.take(host, record)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            table.problems.append(not_understood(host, record, f"{type(error).__name__}: {error}"))
        except InputError as error:
            table.problems.append(not_understood(host, record, error.message))
    return table


def not_understood(host: str, record: Any, why: str) -> Problem:
    """The problem of a record that is dropped."""
    name = record.get("id") if isinstance(record, Mapping) else None
    named = f"the record {printable(name, 80)!r}" if isinstance(name, str) and name else "a record without an id"
    return Problem(NOT_UNDERSTOOD, "error", f"{named} is dropped: {printable(why, 160)}", host=host,
                   hint="compare it with docs/schemas/measurement-1.schema.json; another release, or another program, may have written it")


def _tells_nothing(record: Mapping[str, Any]) -> bool:
    """Was nothing run, for another reason than that an NPU is busy?"""
    reasons = {str((record.get("error") or {}).get("code")), *(record.get("not_run") or {})}
    return record.get("status") == "not_run" and not reasons & BUSY_CODES


class _Reader:
    """Puts records into a table. A record is understood as a whole before anything of it gets there."""

    def __init__(self, table: Table, floor_gbit_s: float | None, line_rate_floor: float, planned: Planned) -> None:
        self._table = table
        self._floor_gbit_s = floor_gbit_s
        self._line_rate_floor = line_rate_floor
        self._planned = planned
        self._seen: set[tuple[str, str]] = set()
        self._rows: dict[tuple[End, int], int] = {}

    def take(self, host: str, record: Any) -> None:
        """Raises InputError, or what Python raises for values of another type."""
        if not isinstance(record, Mapping):
            raise InputError("it is no dictionary")
        if record.get("kind") not in ("rdma", "matrix"):
            return
        name = record.get("id")
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise InputError(f"its id is no text of 1 to {LONGEST_NAME} characters")
        if (host, name) in self._seen or _tells_nothing(record):
            return
        source = _end(record["source"])
        if source.host != host:
            raise InputError(f"it is of {printable(source.host, 40)}, and only a host itself reports what it measured")
        (self._cell if record["kind"] == "rdma" else self._row)(source, record)
        self._seen.add((host, name))

    def _cell(self, source: End, record: Mapping[str, Any]) -> None:
        target = _end(record["target"])
        parts = record["id"].split("/")
        pair = parts[1] if len(parts) > 1 else parts[0]
        if not self._planned.has(pair, source, target):
            raise InputError(f"the plan does not have the pair {pair} of {source} and {target.host} npu {target.device}")
        error, context, options = (record.get(key) or {} for key in ("error", "context", "options"))
        found = worth_of(record.get("samples") or ())
        worth, unit, size = (_better(found.value, found.unit), found.unit, found.size) if found else (None, "", None)
        code = printable(error.get("code", ""), LONGEST_CODE)
        if record.get("status") != "ok" or worth is None:
            worth, code = None, code or "no_result"
        kind = Kind(record.get("operation"), record.get("measure"), size if worth else None, unit)
        way = (printable(options.get("source_port"), LONGEST_CODE), printable(options.get("qps"), LONGEST_CODE))
        rate, floor = _rate(context), self._floor(context, unit, size)
        message, failed_end = printable(error.get("message", "no sample in the record"), LONGEST_MESSAGE), context.get("failed_end")
        number = self._table.number_of_kind(kind)
        ends = {side: self._table.number(*end) for side, end in (("source", source), ("target", target))}
        accused = ends.get(failed_end) if isinstance(failed_end, str) else None
        self._table.cells.append(Cell(ends["source"], ends["target"], number, worth, code, message, accused, pair, way, floor, rate,
                                      options.get("bidirectional") is True))

    def _row(self, source: End, record: Mapping[str, Any]) -> None:
        hosts, device = _names(record["hosts"]), _device((record.get("target") or {}).get("device", source.device))
        if not self._planned.has_hosts(hosts, device):
            raise InputError(f"the plan does not have npu {device} of each host that it names")
        context, options = record.get("context") or {}, record.get("options") or {}
        rate, samples = _rate(context), list(record.get("samples") or ())[:1]  # one size is judged, as with single records
        measured: list[tuple[Kind, list[float | None], float]] = []
        for sample in samples:
            widths, times = sample.get("bandwidth_gbit_s"), (sample.get("latency_us") or {}).get("typical")
            unit = GBIT if widths is not None else MICROSECONDS
            worths = _worths(widths if widths is not None else times or [], unit)
            if len(worths) > len(hosts):
                raise InputError("it has more values than hosts")
            kind = Kind(record.get("operation"), record.get("measure"), sample.get("size_bytes"), unit)
            hash(kind)
            measured.append((kind, worths, self._floor(context, unit, sample.get("size_bytes"))))
        busy = {code: places for code, places in (record.get("not_run") or {}).items() if code in BUSY_CODES}
        failed = [(printable(code, LONGEST_CODE), [hosts[_place(place)] for place in places])
                  for code, places in (*(record.get("failed") or {}).items(), *busy.items())]
        what = Kind(record.get("operation"), record.get("measure"), None, "")
        hash(what)
        if self._rows.setdefault((source, device), 0) >= MOST_ROWS:
            raise InputError(f"it is the row number {MOST_ROWS + 1} of {source} with npu {device} of the others")
        self._rows[source, device] += 1
        number = self._table.number(*source)
        targets = self._table.targets(hosts, device)
        for kind, worths, floor in measured:
            self._table.rows.append(Row(number, self._table.number_of_kind(kind), targets, worths, floor, rate, options.get("bidirectional") is True))
        for code, names in failed:
            self._table.cells += [Cell(number, self._table.number(name, device), self._table.number_of_kind(what), None, code,
                                       "see the journal of the source", None, "", ("", ""), 0.0) for name in names]

    def _floor(self, context: Mapping[str, Any], unit: str, size: Any) -> float:
        if unit != GBIT:
            return 0.0
        line_rate = _rate(context) if (size or 0) >= LINE_RATE_SIZE else 0.0
        return max(self._floor_gbit_s or 0.0, self._line_rate_floor * line_rate)


def _end(value: Any) -> End:
    host = value["host"]
    if not isinstance(host, str) or not 0 < len(host) <= LONGEST_NAME:
        raise InputError("the name of a host is no text, or too long")
    return End(host, _device(value["device"]))


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) and 0 < len(name) <= LONGEST_NAME for name in value):
        raise InputError("hosts is no list of names")
    if len(set(value)) < len(value):
        raise InputError("hosts has a name twice")
    return value


def _device(value: Any) -> int:
    number = int(value) if isinstance(value, str) and is_count(value) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_DEVICE_ID:
        raise InputError(f"{printable(value, 40)!r} is no id of an NPU, 0 to {MAX_DEVICE_ID}")
    return number


def _place(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{printable(value, 40)!r} is no place among its hosts")
    return value


def _rate(context: Mapping[str, Any]) -> float:
    """Of the record's line, 0 where it gives none."""
    value = context.get("line_rate_gbit_s")
    return 0.0 if value is None else _better(value, GBIT) or 0.0


def _worths(values: Any, unit: str) -> list[float | None]:
    """Of a row, which may hold thousands: each as _better has it, but a bandwidth of zero stays."""
    types = set(map(type, values)) if isinstance(values, (list, tuple)) else {str}
    if not all(issubclass(one, (float, int, type(None))) and not issubclass(one, bool) for one in types):
        raise InputError("its values are no list of numbers")
    known = list(filter(None, values))
    if known:
        for extreme in (min(known), max(known), sum(known) / len(known)):  # the mean of what holds a NaN is one
            _better(extreme, unit)
    return list(values) if unit == GBIT else [1 / time if time else None for time in values]


def _better(value: Any, unit: str) -> float | None:
    """More is better. None for zero, which nothing reaches. Raises InputError for what no link reaches."""
    number = float(value)
    if number == 0 and not isinstance(value, bool):
        return None
    worth = 1 / number if unit == MICROSECONDS and number > 0 else number
    if isinstance(value, bool) or not LEAST_WORTH <= worth <= MOST_WORTH:
        raise InputError(f"{printable(value, 40)} {unit} is no measurement")
    return worth
