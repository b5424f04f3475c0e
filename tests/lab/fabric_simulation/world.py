"""A simulated fabric: hosts with NPUs on leaves, and their faults. The outcome of a pair depends on its two NPUs and the path."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu

LINE = 195.0
"""Gbit/s of a healthy pair."""

LATENCY = 2.0
"""Microseconds of a healthy pair."""

SLOW, DEAD, HUNG, FLAPPING = "slow", "dead", "hung", "flapping"
NODE, DEVICE, RAIL, LEAF, PATH = "node", "device", "rail", "leaf", "path"

OK, FAILED, SILENT = "ok", "failed", "silent"


@dataclass(frozen=True)
class Fault:
    """``where``: host, (host, device), rail, leaf or (leaf, leaf). ``drop``: share of the bandwidth that a slow component lost. ``period``: of a flapping
    component in pair times; it is up for the first half. ``one_way``: only outgoing traffic is affected."""

    kind: str
    where: Any
    effect: str = SLOW
    drop: float = 0.3
    period: float = 6.0
    one_way: bool = False


class Outcome(NamedTuple):
    """The outcome of a pair. ``state``: measured, failed with an error, or silent until the deadline."""

    state: str
    value: float


class Claim(NamedTuple):
    """``host`` reports ``factor`` times what it measures."""

    host: str
    factor: float


@dataclass
class World:
    """``count`` hosts with ``devices`` NPUs, ``leaf_size`` hosts per leaf, 0 for unknown leaves. ``spread``: relative standard deviation of a
    measurement; ``seconds``: of a pair; ``late``: seconds by host until it starts. ``claim``: of a host that reports a multiple of its measurements;
    ``line_rate``: what the records give as such, in Gbit/s, or None; ``latency``: whether the records hold latencies instead of bandwidths."""

    count: int
    devices: int = 8
    leaf_size: int = 32
    spread: float = 0.01
    seconds: float = 5.0
    seed: int = 0
    faults: Sequence[Fault] = ()
    late: Mapping[str, float] = field(default_factory=dict)
    claim: Claim | None = None
    line_rate: float | None = None
    latency: bool = False

    def __post_init__(self) -> None:
        self._random = random.Random(f"world {self.seed}")  # noqa: S311
        width = len(str(self.count))
        self.hosts = [f"n{number:0{width}d}" for number in range(1, self.count + 1)]
        self.leaf = {host: f"L{place // self.leaf_size + 1}" for place, host in enumerate(self.hosts)} if self.leaf_size else {}
        self._by_npu: dict[Npu, list[Fault]] = {}
        self._paths: dict[tuple[str, str], list[Fault]] = {}
        for fault in self.faults:
            for npu in self._npus_of(fault):
                self._by_npu.setdefault(npu, []).append(fault)
            if fault.kind == PATH:
                self._paths.setdefault(fault.where, []).append(fault)
        self._leaves = {fault.where: fault for fault in self.faults if fault.kind == LEAF}

    def entries(self) -> list[dict[str, Any]]:
        """Return the hosts as pair_plan takes them."""
        return [{"host": host, "control_address": f"10.255.{place // 250}.{place % 250 + 1}", "control_port": 18514,
                 **({"leaf": self.leaf[host]} if self.leaf else {}),
                 "devices": [{"id": device, "address": f"10.{device}.{place // 250}.{place % 250 + 1}"} for device in range(self.devices)]}
                for place, host in enumerate(self.hosts)]

    def topology(self) -> dict[str, Any]:
        """Return the topology as a plan contains it."""
        return {host: {"devices": {str(device): {"rail": device, **({"leaf": self.leaf[host]} if self.leaf else {})} for device in range(self.devices)}}
                for host in self.hosts}

    def silent_hosts(self) -> set[str]:
        """Return the hosts that hang including their runner. If only an NPU hangs, the runner responds."""
        return {str(fault.where) for fault in self.faults if fault.kind == NODE and fault.effect == HUNG}

    def bad_hosts(self) -> set[str]:
        """Return the hosts with a fault, which a check must name."""
        return {npu.host for npu, faults in self._by_npu.items() if any(fault.kind in (NODE, DEVICE) for fault in faults)}

    def outcome(self, source: Npu, target: Npu, start: float = 0.0) -> Outcome:
        """Return the outcome of a measurement that begins at ``start`` seconds."""
        noise = 1 + self.spread * self._random.gauss(0.0, 1.0)
        if not self.faults:
            return Outcome(OK, LINE * noise)
        share = 1.0
        for fault in self._touched(source, target):
            if fault.effect == SLOW:
                share = min(share, 1 - fault.drop)
            elif fault.effect == HUNG:
                return Outcome(SILENT, 0.0)
            elif fault.effect == DEAD or self._is_down(fault, start):
                return Outcome(FAILED, 0.0)
        return Outcome(OK, LINE * share * noise)

    def _touched(self, source: Npu, target: Npu) -> Iterable[Fault]:
        yield from self._by_npu.get(source, ())
        yield from (fault for fault in self._by_npu.get(target, ()) if not fault.one_way)
        if not self.leaf:
            return
        one, other = self.leaf[source.host], self.leaf[target.host]
        if one != other:
            for leaf in (one, other):
                if leaf in self._leaves and not (self._leaves[leaf].one_way and leaf == other):
                    yield self._leaves[leaf]
        yield from self._paths.get((one, other), ())
        if one != other:
            yield from (fault for fault in self._paths.get((other, one), ()) if not fault.one_way)

    def _is_down(self, fault: Fault, start: float) -> bool:
        period = fault.period * self.seconds
        return fault.effect == FLAPPING and start % period >= period / 2

    def _npus_of(self, fault: Fault) -> list[Npu]:
        if fault.kind == NODE:
            return [Npu(fault.where, device) for device in range(self.devices)]
        if fault.kind == DEVICE:
            return [Npu(*fault.where)]
        return [Npu(host, fault.where) for host in self.hosts] if fault.kind == RAIL else []
