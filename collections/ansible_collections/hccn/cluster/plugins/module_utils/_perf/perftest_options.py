# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The tools that measure pairs, the options that linux-rdma/perftest and the perftest of the NPU (roce_test) have in common, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from .._core.errors import InputError

ROCE_TEST, PERFTEST, IPERF3 = TOOLS = ("roce_test", "perftest", "iperf3")
"""The tools that measure pairs. Only the first one measures NPUs; the others measure ports of network cards."""

OPERATIONS = ("write", "read", "send")
MEASURES = ("bandwidth", "latency")
MTUS = (256, 512, 1024, 2048, 4096)
"""The values of enum ibv_mtu. No release rejects other values on its command line."""

ALL_SIZES = tuple(2 ** power for power in range(1, 24))
"""The sizes that ``-a`` measures, in bytes."""


class Limit(NamedTuple):
    """The range of an option. ``name`` is the field of Options."""

    name: str
    flag: str
    low: int
    high: int


@dataclass(frozen=True)
class Options:
    """The options of a measurement; None leaves a value to the tool (65536 bytes for bandwidth, 2 for latency; 1 queue pair)."""

    operation: str = "write"
    measure: str = "bandwidth"
    size_bytes: Optional[int] = None
    all_sizes: bool = False
    iterations: Optional[int] = None
    duration_s: Optional[int] = None
    qps: Optional[int] = None
    mtu: Optional[int] = None
    gid_index: Optional[int] = None
    traffic_class: Optional[int] = None
    bidirectional: bool = False
    source_port: Optional[int] = None

    @property
    def program(self) -> str:
        """The name of the test: ``ib_write_bw``, ``ib_send_lat``, ..."""
        return "ib_%s_%s" % (self.operation, "bw" if self.measure == "bandwidth" else "lat")

    def as_dict(self) -> Dict[str, Any]:
        """Return the options that were given, as in a record."""
        names = ("size_bytes", "iterations", "duration_s", "qps", "mtu", "gid_index", "traffic_class", "source_port")
        given = {name: getattr(self, name) for name in names}
        given["all_sizes"] = self.all_sizes or None
        given["bidirectional"] = self.bidirectional or None
        return {name: value for name, value in given.items() if value is not None}

    def varied(self, changes: Mapping[str, int]) -> "Options":
        """Return the same test with other ``qps`` or ``source_port``, for another path through the fabric. Latency always uses one queue pair."""
        wanted: Dict[str, Any] = {name: value for name, value in changes.items() if not (name == "qps" and self.measure == "latency")}
        return replace(self, **wanted)


def validate(options: Options, tool: str, limits: Sequence[Limit]) -> None:
    """Raise InputError for options that ``tool`` would refuse or silently ignore."""
    if options.operation not in OPERATIONS or options.measure not in MEASURES:
        raise InputError("%s supports the operations %s and the measures %s" % (tool, ", ".join(OPERATIONS), ", ".join(MEASURES)))
    for name, flag, low, high in limits:
        value = getattr(options, name)
        if value is not None and not low <= value <= high:
            raise InputError("%s is %d, but %s accepts %d to %d (%s)" % (name, value, tool, low, high, flag))
    if options.source_port is not None and "source_port" not in [limit.name for limit in limits]:
        raise InputError("source_port has no effect with %s, which chooses the source ports of its queue pairs itself" % tool,
                         "change the number of queue pairs (qps) instead")
    if options.mtu is not None and options.mtu not in MTUS:
        raise InputError("mtu is %d, but RDMA supports only %s" % (options.mtu, ", ".join(map(str, MTUS))))
    if options.iterations is not None and options.duration_s is not None:
        raise InputError("iterations and duration are mutually exclusive")
    if options.all_sizes and (options.size_bytes is not None or options.duration_s is not None):
        raise InputError("all sizes cannot be measured if one size or a duration is given")
    if options.measure == "latency" and (options.qps or 1) > 1:
        raise InputError("latency can only be measured with one queue pair")
    if options.measure == "latency" and options.bidirectional:
        raise InputError("latency cannot be measured in both directions at once")


def words(options: Options, limits: Sequence[Limit], both: str = "-b") -> List[str]:
    """Return the options as command line arguments, the same on both sides. ``both``: the flag for both directions at once."""
    found = ["-a"] if options.all_sizes else []
    found += [both] if options.bidirectional else []
    for name, flag, _low, _high in limits:
        value = getattr(options, name)
        if value is not None:
            found += [flag, "%d" % value]
    return found
