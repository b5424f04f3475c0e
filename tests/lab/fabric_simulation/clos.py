"""A Clos fabric with two or three tiers: NPUs on leaves (rail-optimised or one leaf per rack), leaves on spines, and paths by ECMP.

Unlike World, it models links: a pair takes one uplink of its leaf and one downlink of the other leaf, chosen by a hash of the pair and its source port. A
measurement without a source port draws a new one each time, as RDMA queue pairs do.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from tests.lab.fabric_simulation.events import Done
from tests.lab.fabric_simulation.world import LINE, OK, Claim, Outcome

RAILS, TOR = "rails", "tor"
GAUSS, CEILING, TAIL, LOGNORMAL, NIC93, OUTLIERS, BACKGROUND = "gauss", "ceiling", "tail", "lognormal", "nic93", "outliers", "background"

LINE_RATE = 200.0
OUTLIER_SHARE, BACKGROUND_SHARE = 0.005, 0.01
LATENCIES = (1.0, 1.5, 1.92)
"""Latency inside a leaf, inside a pod and across the core, relative to the first."""

Resource = tuple[Any, ...]
"""``("npu", npu, side)``, ``("up", leaf, spine)``, ``("down", leaf, spine)`` or ``("core", pod, spine, side)``: a link in one direction."""


@dataclass(frozen=True)
class Shape:
    """``leaf_hosts``: hosts of a leaf. ``uplinks``: of each leaf, one to each spine. ``pods``: of three tiers; one pod has two tiers."""

    hosts: int = 16
    devices: int = 8
    leaf_hosts: int = 4
    wiring: str = RAILS
    uplinks: int = 4
    pods: int = 1


@dataclass(frozen=True)
class Weakness:
    """Links that lost a share ``drop`` of their bandwidth. ``where`` has a value for each field of a resource, None for any."""

    where: Resource
    drop: float


@dataclass
class Clos:
    """A fabric with faults. ``weak``: bad links; ``leaf_pairs``: drop by pair of leaves, for faults that belong to no link. ``long``: whether tests last so
    long that pairs of a round share links; ``source_port``: the one that the run sets, so that a pair takes the same path each time, and a pair with a port of
    its own is traced. The rest is what records.py expects of a world."""

    shape: Shape
    seed: int = 0
    weak: Sequence[Weakness] = ()
    leaf_pairs: Mapping[frozenset[str], float] = field(default_factory=dict)
    noise: str = GAUSS
    spread: float = 0.01
    long: bool = False
    source_port: int | None = None
    latency: bool = False
    line_rate: float | None = None
    claim: Claim | None = None

    def __post_init__(self) -> None:
        self.count, self.devices = self.shape.hosts, self.shape.devices
        self._random = random.Random(f"clos {self.seed}")  # noqa: S311
        width = len(str(self.count))
        self.hosts = [f"n{number:0{width}d}" for number in range(1, self.count + 1)]
        self._group = {host: place // self.shape.leaf_hosts for place, host in enumerate(self.hosts)}
        self._groups = -(-self.count // self.shape.leaf_hosts)
        self._leaves = sorted({self.leaf(npu) for npu in self.npus()})

    def leaf(self, npu: Npu) -> str:
        """Return the leaf of an NPU."""
        return f"R{npu.device}G{self._group[npu.host]}" if self.shape.wiring == RAILS else f"G{self._group[npu.host]}"

    def pod(self, npu: Npu) -> int:
        """Return the pod of an NPU: consecutive leaves."""
        return self._group[npu.host] * self.shape.pods // self._groups

    def npus(self) -> list[Npu]:
        """Return all NPUs."""
        return [Npu(host, device) for host in self.hosts for device in range(self.devices)]

    def entries(self) -> list[dict[str, Any]]:
        """Return the hosts as pair_plan takes them."""
        return [{"host": host, "control_address": f"10.255.{place // 250}.{place % 250 + 1}", "control_port": 18514,
                 "devices": [{"id": device, "address": f"10.{device}.{place // 250}.{place % 250 + 1}", "leaf": self.leaf(Npu(host, device))}
                             for device in range(self.devices)]} for place, host in enumerate(self.hosts)]

    def silent_hosts(self) -> set[str]:
        """Return no host: none hangs here."""
        return set()

    def measure(self, rounds: Iterable[Sequence[Mapping[str, Any]]]) -> list[Done]:
        """Return the outcome of each pair, round by round."""
        done: list[Done] = []
        for entries in rounds:
            pairs = [(entry, Npu(entry["source"]["host"], entry["source"]["device"]), Npu(entry["target"]["host"], entry["target"]["device"]))
                     for entry in entries]
            paths = [self._path(source, target, entry.get("options") or {}) for entry, source, target in pairs]
            shares = self._fair_shares(paths) if self.long else [min(map(self._capacity, path)) for path in paths]
            for (entry, source, target), path, share in zip(pairs, paths, shares):
                pair = frozenset((self.leaf(source), self.leaf(target)))
                value = self._noisy(min(share, 1 - self.leaf_pairs.get(pair, 0.0)))
                if self.latency:
                    value *= LATENCIES[0] / LATENCIES[self._tier(source, target)]
                traced = "source_port" in (entry.get("options") or {})
                done.append(Done(entry["id"], source, target, Outcome(OK, value), entry.get("options"), self._routers(path) if traced else ()))
        return done

    def routers(self, resource: Resource) -> list[str]:
        """Return the addresses with which routers answer packets that arrive by a link, which may have None for any."""
        found = []
        for place, leaf in enumerate(self._leaves):
            for spine in range(self.shape.uplinks):
                if resource[0] in ("up", "down") and resource[1] in (None, leaf) and resource[2] in (None, spine):
                    found.append(f"172.{16 + (resource[0] == 'down')}.{place}.{spine}")
        return found

    def is_path_bad(self, source: Npu, target: Npu) -> bool:
        """Return whether a link between the leaves of two NPUs is bad, on the path that the source port of the run selects."""
        pair = frozenset((self.leaf(source), self.leaf(target)))
        return pair in self.leaf_pairs or (self.source_port is not None and any(
            resource[0] != "npu" and self._capacity(resource) < 1 for resource in self._path(source, target, {})))

    def _routers(self, path: Sequence[Resource]) -> list[str]:
        """Return the routers of a path: its first leaf, and the ends of the links between leaves."""
        first = f"172.18.{self._leaves.index(self.leaf(path[0][1]))}.0"
        return [first, *(router for resource in path for router in self.routers(resource))]

    def _tier(self, source: Npu, target: Npu) -> int:
        return 0 if self.leaf(source) == self.leaf(target) else 1 if self.pod(source) == self.pod(target) else 2

    def _path(self, source: Npu, target: Npu, options: Mapping[str, Any]) -> list[Resource]:
        path: list[Resource] = [("npu", source, "source"), ("npu", target, "target")]
        one, other = self.leaf(source), self.leaf(target)
        if one == other:
            return path
        port = options.get("source_port", self.source_port)
        chosen = self._random if port is None else random.Random(f"{self.seed} {source} {target} {port}")  # noqa: S311
        spine = int(chosen.random() * self.shape.uplinks)
        if self.pod(source) == self.pod(target):
            return [*path, ("up", one, spine, self.pod(source)), ("down", other, spine, self.pod(target))]
        away = int(chosen.random() * self.shape.uplinks)
        return [*path, ("up", one, spine, self.pod(source)), ("down", other, away, self.pod(target))]

    def _capacity(self, resource: Resource) -> float:
        """Return the share of the line rate that a link has."""
        found = 1.0
        for weakness in self.weak:
            if len(weakness.where) == len(resource) and all(wanted is None or wanted == is_ for wanted, is_ in zip(weakness.where, resource)):
                found = min(found, 1 - weakness.drop)
        return found

    def _fair_shares(self, paths: Sequence[Sequence[Resource]]) -> list[float]:
        """Return the max-min fair share of each path. An uplink carries as many pairs as NPUs share it, so the fabric is not oversubscribed."""
        npus_of_leaf = self.shape.leaf_hosts * (1 if self.shape.wiring == RAILS else self.devices)
        wide = max(1.0, npus_of_leaf / self.shape.uplinks)
        left = {resource: self._capacity(resource) * (1.0 if resource[0] == "npu" else wide) for path in paths for resource in path}
        users: dict[Resource, set[int]] = {}
        for number, path in enumerate(paths):
            for resource in path:
                users.setdefault(resource, set()).add(number)
        shares = [0.0] * len(paths)
        while users:
            tight = min(users, key=lambda resource: left[resource] / len(users[resource]))
            share = left[tight] / len(users[tight])
            for number in list(users[tight]):
                shares[number] = share
                for resource in paths[number]:
                    left[resource] -= share
                    users[resource].discard(number)
                    if not users[resource]:
                        del users[resource]
        return shares

    def _noisy(self, share: float) -> float:
        """Return a measurement of a pair with this share of the line."""
        chance, spread = self._random, self.spread
        draw = chance.gauss(0.0, 1.0)
        if self.noise == CEILING:
            return LINE * min(share, share * (1 + spread * (draw + 1)), 1.0)
        if self.noise == TAIL:
            return LINE * share * max(0.1, 1 - chance.expovariate(1 / spread))
        if self.noise == LOGNORMAL:
            return LINE * share * 1.02 / (1 + 0.02 * 2.718281828 ** (0.5 * draw))
        if self.noise == NIC93:
            return LINE_RATE * 0.93 * share * (1 + 0.02 * draw)
        value = LINE * share * (1 + spread * draw)
        if self.noise == OUTLIERS and chance.random() < OUTLIER_SHARE:
            return value * chance.uniform(0.3, 0.9)
        if self.noise == BACKGROUND and chance.random() < BACKGROUND_SHARE:
            return value * chance.uniform(0.4, 0.7)
        return value
