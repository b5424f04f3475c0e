# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The table of measurements that the diagnosis works on: NPUs by number, and the cells and rows that were measured between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from ...module_utils._core.problems import Problem
from ...module_utils._core.samples import GBIT

BUSY_CODES = frozenset({"address_changed", "device_busy", "busy_unknown", "roce_test_running", "tool_busy"})
"""Errors of an NPU that runs other work, may run other work, or is being changed by another run; see module_utils/_device/busy.py and failures.py, and
_perf/roce_test_tool.py."""

INFERRED_CODES = frozenset({"peer_unreachable", "peer_lost", "peer_silent", "no_record"})
"""Errors that one side of a pair reports about the other, and may have caused itself. planned_pairs.py makes the last one."""

TIMEOUT_CODES = frozenset({"perftest_timeout", "roce_test_timeout", "iperf3_timeout"})
"""Errors of a test that ran until its deadline."""


class Npu(NamedTuple):
    """One NPU of a host."""

    host: str
    device: int

    def __str__(self) -> str:
        return f"{self.host} NPU {self.device}"


class Kind(NamedTuple):
    """The properties that measurements must share to be compared with each other."""

    operation: Any
    measure: Any
    size: Any
    unit: str

    def shown(self, worth: float) -> str:
        """Return a worth in the unit of the measurement."""
        return f"{(worth if self.unit == GBIT else 1 / worth):.4g}"


class Cell(NamedTuple):
    """One measurement of a pair.

    ``worth``: the value, where more is better: Gbit/s, or 1 / microseconds; None if nothing was measured. ``accused``: the NPU that the error names.
    ``path_options``: source port and number of queue pairs; packets take another path if they differ. ``floor``: Gbit/s below which the cell is slow.
    ``rate``: the line rate in the record, 0 if there is none. ``both``: whether both directions were measured at once. ``long``: whether
    the test had a duration, so that the pairs of a round share links. ``routers``: the addresses of those on its path, if it was traced.
    ``jitter``: of a latency, how far the 99th percentile of its single operations is from the typical one, as a logarithm; 0 if it is unknown.
    """

    source: int
    target: int
    kind: int
    worth: float | None
    code: str
    message: str
    accused: int | None
    pair: str
    path_options: tuple[str, str]
    floor: float
    rate: float = 0.0
    both: bool = False
    long: bool = False
    routers: tuple[str, ...] = ()
    jitter: float = 0.0

    @property
    def has_port(self) -> bool:
        """Whether the source port was set, so that the test takes the same path each time."""
        return self.path_options[0] not in ("", "None")


class Row(NamedTuple):
    """The cells of one source. ``worths`` are in the order of ``targets``; for ``rate``, ``both`` and ``long`` see Cell."""

    source: int
    kind: int
    targets: tuple[int, ...]
    worths: Sequence[float | None]
    floor: float
    rate: float = 0.0
    both: bool = False
    long: bool = False


class Table:
    """NPUs by number, each with its rail and leaf, and the measurements between them.

    ``of_host``: the NPUs of each host. ``problems``: the records that were dropped. ``pinned``: by host, whether it reports source ports.
    ``without_clock``: by host, the measurements for which perftest could not measure its clock, which say nothing about NPUs and paths.
    """

    def __init__(self, topology: Mapping[str, Any] | None = None) -> None:
        self.npus: list[Npu] = []
        self.of_host: dict[str, list[int]] = {}
        self.rails: list[Any] = []
        self.leaves: list[str | None] = []
        self.kinds: list[Kind] = []
        self.cells: list[Cell] = []
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self.pinned: dict[str, bool] = {}
        self.without_clock: Counter[str] = Counter()
        self._topology = topology or {}
        self._numbers: dict[Npu, int] = {}
        self._kinds: dict[Kind, int] = {}
        self._targets: dict[tuple[tuple[str, ...], int], tuple[int, ...]] = {}

    @property
    def is_pinned(self) -> bool:
        """Whether the run set source ports: most hosts report them."""
        return 2 * sum(self.pinned.values()) > len(self.pinned)

    def number(self, host: str, device: int) -> int:
        """Return the number of an NPU. A new NPU is added to the table."""
        npu = Npu(host, device)
        found = self._numbers.get(npu)
        if found is None:
            found = self._numbers[npu] = len(self.npus)
            self.npus.append(npu)
            self.of_host.setdefault(host, []).append(found)
            known = self.about(host)
            devices = known.get("devices") or {}
            mine = devices.get(str(device), devices.get(device)) or {}
            self.rails.append(mine.get("rail", device))
            leaf = mine.get("leaf", known.get("leaf"))
            self.leaves.append(None if leaf is None else str(leaf))
        return found

    def about(self, host: str) -> Mapping[str, Any]:
        """Return the entry of a host in the topology."""
        return self._topology.get(host) or {}

    def number_of_kind(self, kind: Kind) -> int:
        """Return the number of a kind. A new kind is added to the table."""
        found = self._kinds.setdefault(kind, len(self.kinds))
        if found == len(self.kinds):
            self.kinds.append(kind)
        return found

    def targets(self, hosts: Sequence[str], device: int) -> tuple[int, ...]:
        """Return the NPUs with this device id on these hosts. All rows with the same targets share one tuple."""
        key = (tuple(hosts), device)
        if key not in self._targets:
            self._targets[key] = tuple(self.number(str(host), device) for host in hosts)
        return self._targets[key]

    def line_rates(self) -> dict[int, float]:
        """Return the best line rate of each NPU among those that its own host and other hosts report.

        A rate that only one host reports does not count for NPUs of other hosts.
        """
        own: dict[float, set[int]] = {}
        of_partners: dict[float, set[int]] = {}
        reporters: dict[float, set[str]] = {}
        for cell in self.cells:
            if cell.rate and cell.worth is not None:
                own.setdefault(cell.rate, set()).add(cell.source)
                of_partners.setdefault(cell.rate, set()).add(cell.target)
                reporters.setdefault(cell.rate, set()).add(self.npus[cell.source].host)
        for row in self.rows:
            if row.rate and any(row.worths):
                own.setdefault(row.rate, set()).add(row.source)
                of_partners.setdefault(row.rate, set()).update(compress(row.targets, row.worths))
                reporters.setdefault(row.rate, set()).add(self.npus[row.source].host)
        return {npu: rate for rate in sorted(own) for npu in own[rate] | (of_partners[rate] if len(reporters[rate]) > 1 or len(own) == 1 else set())}

    def drop_empty_rows(self) -> None:
        """Drop rows without targets, and rows of kinds of which nothing was measured: there is no normal value to compare them with."""
        measured = {cell.kind for cell in self.cells if cell.worth is not None}.union(row.kind for row in self.rows if any(row.worths))
        self.rows[:] = [row for row in self.rows if row.targets and row.kind in measured]

    def hosts(self) -> set[str]:
        """Return the hosts that have an NPU in the table."""
        return set(self.of_host)
