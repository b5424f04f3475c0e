# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Decode the records of a run into a table. Records of single pairs have the kind ``rdma``, rows of a matrix the kind ``matrix``.

A record comes from a host and is checked: one that cannot be understood is dropped and is a problem of that host. _history/pair_results.py describes the layout
of a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from ...module_utils._core.errors import InputError
from ...module_utils._core.numbers import is_count, is_number
from ...module_utils._core.problems import Problem
from ...module_utils._core.samples import GBIT, MICROSECONDS
from ...module_utils._core.samples import worth as worth_of
from ...module_utils._core.words import printable
from ...module_utils._device.host import MAX_DEVICE_ID
from ...module_utils._fabric.plan import QPS, SOURCE_PORT
from ...module_utils._fabric.schedule import ip_text
from ...module_utils._perf.perftest_text import CLOCK_NOT_MEASURED
from ...module_utils._perf.route_trace import MOST_HOPS
from .._history.pair_results import row_values, target_device
from .measurement_table import BUSY_CODES, Cell, Kind, Npu, Row, Table
from .planned_pairs import PlannedPairs

LINE_RATE_SIZE = 65536
"""Smaller messages do not reach the line rate on a healthy fabric either."""

LEAST_WORTH, MOST_WORTH = 1e-9, 1e6
"""Limits of a measurement, in Gbit/s or 1 / microseconds. No link measures anything outside."""

MOST_ROWS = 8
"""Rows of one source with the NPUs of one device id: a host returns one for each line rate among its partners."""

LONGEST_NAME, LONGEST_CODE, LONGEST_MESSAGE, LONGEST_ADDRESS = 255, 64, 400, 45

NOT_UNDERSTOOD = "record_not_understood"
"""The rule of the problem of a record that was dropped."""

Report = tuple[str, Any]
"""A host, and a record that it returned."""


def read(reports: Iterable[Report], topology: Mapping[str, Any] | None, floor_gbit_s: float | None, line_rate_floor: float,
         planned: PlannedPairs | None = None) -> Table:
    """Return the table of all rdma and matrix records. Each id of a host is read once.

    ``floor_gbit_s`` and ``line_rate_floor`` are absolute floors: in Gbit/s, and as a share of the line rate in the record. A record that cannot be
    understood, was returned by another host than its source, or belongs to no planned pair is dropped and becomes a problem of the host.
    """
    table = Table(topology)
    reader = _Reader(table, floor_gbit_s, line_rate_floor, planned or PlannedPairs({}))
    for host, record in reports:
        try:
            reader.take(host, record)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            table.problems.append(not_understood(host, record, f"{type(error).__name__}: {error}"))
        except InputError as error:
            table.problems.append(not_understood(host, record, error.message))
    return table


def not_understood(host: str, record: Any, why: str) -> Problem:
    """Return the problem of a record that is dropped."""
    name = record.get("id") if isinstance(record, Mapping) else None
    named = f"the record {printable(name, 80)!r}" if isinstance(name, str) and name else "a record without an id"
    return Problem(NOT_UNDERSTOOD, "error", f"{named} is dropped: {printable(why, 160)}", host=host,
                   hint="compare it with docs/schemas/measurement-1.schema.json; another release, or another program, may have written it")


class _RowSample(NamedTuple):
    kind: Kind
    worths: list[float | None]
    floor: float


class _Reader:
    """Adds records to a table. Nothing of a record is added before all of it was understood."""

    def __init__(self, table: Table, floor_gbit_s: float | None, line_rate_floor: float, planned: PlannedPairs) -> None:
        self._table = table
        self._floor_gbit_s = floor_gbit_s
        self._line_rate_floor = line_rate_floor
        self._planned = planned
        self._seen: set[tuple[str, str]] = set()
        self._rows: dict[tuple[Npu, int], int] = {}
        self._hosts: list[str] = []

    def take(self, host: str, record: Any) -> None:
        """Add a record. Raises InputError, or whatever Python raises for a value of the wrong type."""
        if not isinstance(record, Mapping):
            raise InputError("it is not a dictionary")
        if record.get("kind") not in ("rdma", "matrix"):
            return
        name = record.get("id")
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise InputError(f"its id is not text of 1 to {LONGEST_NAME} characters")
        if (host, name) in self._seen or _proves_nothing(record):
            return
        source = _npu(record["source"])
        if source.host != host:
            raise InputError(f"its source is {printable(source.host, 40)}, but a host may report only what it measured itself")
        is_pinned = (record.get("options") or {}).get(SOURCE_PORT) is not None
        (self._add_cell if record["kind"] == "rdma" else self._add_rows)(source, record)
        self._seen.add((host, name))
        self._table.pinned[host] = self._table.pinned.get(host, False) or is_pinned

    def _add_cell(self, source: Npu, record: Mapping[str, Any]) -> None:
        target = _npu(record["target"])
        parts = record["id"].split("/")
        pair = parts[1] if len(parts) > 1 else parts[0]
        if not self._planned.has(pair, source, target):
            raise InputError(f"the plan does not contain the pair {pair} of {source} and {target.host} NPU {target.device}")
        error, context, options = (record.get(key) or {} for key in ("error", "context", "options"))
        if error.get("code") == CLOCK_NOT_MEASURED:
            self._add_without_clock(source, target, context)
            return
        found = worth_of(record.get("samples") or ())
        worth, unit, size = (_worth(found.value, found.unit), found.unit, found.size) if found else (None, "", None)
        code = printable(error.get("code", ""), LONGEST_CODE)
        if record.get("status") != "ok" or worth is None:
            worth, code = None, code or "no_result"
        kind = Kind(record.get("operation"), record.get("measure"), size if worth else None, unit)
        path_options = (printable(options.get(SOURCE_PORT), LONGEST_CODE), printable(options.get(QPS), LONGEST_CODE))
        rate, floor = _line_rate(context), self._floor(context, unit, size)
        message, failed_end = printable(error.get("message", "no sample in the record"), LONGEST_MESSAGE), context.get("failed_end")
        routers, jitter = _routers(context), _jitter(record.get("samples") or (), worth) if worth and unit == MICROSECONDS else 0.0
        number = self._table.number_of_kind(kind)
        sides = {side: self._table.number(*npu) for side, npu in (("source", source), ("target", target))}
        accused = sides.get(failed_end) if isinstance(failed_end, str) else None
        self._table.cells.append(Cell(sides["source"], sides["target"], number, worth, code, message, accused, pair, path_options, floor, rate,
                                      options.get("bidirectional") is True, _is_long(options), routers, jitter))

    def _add_without_clock(self, source: Npu, target: Npu, context: Mapping[str, Any]) -> None:
        """Count a test without a result for the host that reports it, unless the clock is that of its partner."""
        for npu in (source, target):
            self._table.number(*npu)
        self._table.without_clock[source.host] += context.get("failed_end") != "target"

    def _add_rows(self, source: Npu, record: Mapping[str, Any]) -> None:
        if record["hosts"] != self._hosts:  # the rows of a run name the same hosts
            self._hosts = _names(record["hosts"])
        hosts, device = self._hosts, _device(target_device(record, source.device))
        if not self._planned.has_hosts(hosts, device):
            raise InputError(f"the plan does not contain NPU {device} of all its hosts")
        context, options = record.get("context") or {}, record.get("options") or {}
        rate = _line_rate(context)
        samples = self._row_samples(record, context, len(hosts))
        failures = _row_failures(record, hosts)
        failed_kind = Kind(record.get("operation"), record.get("measure"), None, "")
        hash(failed_kind)
        if self._rows.setdefault((source, device), 0) >= MOST_ROWS:
            raise InputError(f"it is row {MOST_ROWS + 1} of {source} with NPU {device} of other hosts, and {MOST_ROWS} are allowed")
        self._rows[source, device] += 1
        number = self._table.number(*source)
        targets = self._table.targets(hosts, device)
        for kind, worths, floor in samples:
            self._table.rows.append(Row(number, self._table.number_of_kind(kind), targets, worths, floor, rate, options.get("bidirectional") is True,
                                        _is_long(options)))
        for code, names in failures:
            self._table.cells += [Cell(number, self._table.number(name, device), self._table.number_of_kind(failed_kind), None, code,
                                       "see the journal of the source", None, "", ("", ""), 0.0) for name in names]

    def _row_samples(self, record: Mapping[str, Any], context: Mapping[str, Any], count: int) -> list[_RowSample]:
        """Return the first sample of a row, with ``count`` values. Only one size is diagnosed, as with records of single pairs."""
        found = []
        for sample in list(record.get("samples") or ())[:1]:
            values, unit = row_values(sample)
            worths = _worths(values if unit == GBIT else values or [], unit)
            if len(worths) > count:
                raise InputError("it has more values than hosts")
            worths += [None] * (count - len(worths))
            kind = Kind(record.get("operation"), record.get("measure"), sample.get("size_bytes"), unit)
            hash(kind)
            found.append(_RowSample(kind, worths, self._floor(context, unit, sample.get("size_bytes"))))
        return found

    def _floor(self, context: Mapping[str, Any], unit: str, size: Any) -> float:
        """Return the bandwidth below which a cell is slow; 0 for a latency."""
        if unit != GBIT:
            return 0.0
        line_rate = _line_rate(context) if (size or 0) >= LINE_RATE_SIZE else 0.0
        return max(self._floor_gbit_s or 0.0, self._line_rate_floor * line_rate)


def _is_long(options: Mapping[str, Any]) -> bool:
    """Return True if the test ran for a given time. By default it moves a few megabytes, and rarely meets another one on a link."""
    return options.get("duration_s") is not None


def _routers(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the addresses of the routers in a record."""
    found = context.get("routers") or []
    is_list = isinstance(found, list) and len(found) <= MOST_HOPS
    addresses = [ip_text(one) if isinstance(one, str) and len(one) <= LONGEST_ADDRESS else None for one in found] if is_list else [None]
    if None in addresses:
        raise InputError(f"its routers are not at most {MOST_HOPS} IP addresses")
    return tuple(filter(None, addresses))


def _proves_nothing(record: Mapping[str, Any]) -> bool:
    """Return True if nothing was run, for another reason than a busy NPU."""
    reasons = {str((record.get("error") or {}).get("code")), *(record.get("not_run") or {})}
    return record.get("status") == "not_run" and not reasons & BUSY_CODES


def _row_failures(record: Mapping[str, Any], hosts: list[str]) -> list[tuple[str, list[str]]]:
    """Return the error codes of a row, each with the hosts that it applies to. Of pairs that were not run only busy NPUs count; a clock that was not measured
    proves nothing."""
    busy = {code: places for code, places in (record.get("not_run") or {}).items() if code in BUSY_CODES}
    return [(printable(code, LONGEST_CODE), [hosts[_place(place)] for place in places])
            for code, places in (*(record.get("failed") or {}).items(), *busy.items()) if code != CLOCK_NOT_MEASURED]


def _npu(value: Any) -> Npu:
    host = value["host"]
    if not isinstance(host, str) or not 0 < len(host) <= LONGEST_NAME:
        raise InputError("the name of a host is not text, or is too long")
    return Npu(host, _device(value["device"]))


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) and 0 < len(name) <= LONGEST_NAME for name in value):
        raise InputError("hosts is not a list of names")
    if len(set(value)) < len(value):
        raise InputError("hosts has a name twice")
    return value


def _device(value: Any) -> int:
    number = int(value) if isinstance(value, str) and is_count(value) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_DEVICE_ID:
        raise InputError(f"{printable(value, 40)!r} is not the id of an NPU, 0 to {MAX_DEVICE_ID}")
    return number


def _place(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{printable(value, 40)!r} is not an index of its hosts")
    return value


def _jitter(samples: Sequence[Mapping[str, Any]], worth: float) -> float:
    """Return how far the 99th percentile of a latency is from the typical one, as a logarithm; 0 if the sample has none or none that is plausible."""
    found = [(sample.get("latency_us") or {}).get("p99") for sample in samples]
    if len(found) != 1 or not is_number(found[0]) or not 1 / MOST_WORTH <= found[0] <= 1 / LEAST_WORTH:
        return 0.0
    return max(0.0, log(found[0] * worth))


def _line_rate(context: Mapping[str, Any]) -> float:
    """Return the line rate in a record, 0 if there is none."""
    value = context.get("line_rate_gbit_s")
    return 0.0 if value is None else _worth(value, GBIT) or 0.0


def _worths(values: Any, unit: str) -> list[float | None]:
    """Convert the values of a row as _worth does, but keep a bandwidth of zero. A row may hold thousands, so only its extremes are checked."""
    types = set(map(type, values)) if isinstance(values, (list, tuple)) else {str}
    if not all(issubclass(one, (float, int, type(None))) and not issubclass(one, bool) for one in types):
        raise InputError("its values are not a list of numbers")
    known = list(filter(None, values))
    if known:
        for extreme in (min(known), max(known), sum(known) / len(known)):  # the mean is NaN if any value is
            _worth(extreme, unit)
    return list(values) if unit == GBIT else [1 / time if time else None for time in values]


def _worth(value: Any, unit: str) -> float | None:
    """Convert a value so that more is better. Return None for zero. Raises InputError for a value that no link reaches."""
    number = float(value)
    if number == 0 and not isinstance(value, bool):
        return None
    worth = 1 / number if unit == MICROSECONDS and number > 0 else number
    if isinstance(value, bool) or not LEAST_WORTH <= worth <= MOST_WORTH:
        raise InputError(f"{printable(value, 40)} {unit} is not a plausible measurement")
    return worth
