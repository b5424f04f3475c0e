# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Pair plans: who measures with whom in which round. Pure functions; nobody is asked and nothing is run.

Hosts meet by the circle method: N - 1 rounds of disjoint pairs (N rounds for odd N, one host rests in each), every pair once, and no
schedule is shorter. Devices meet rail by rail, each with the device of the same id on the other host.
"""

from __future__ import annotations

import ipaddress
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._device.host import MAX_DEVICE_ID
from .numbers import whole_number

HostPair = tuple[int, int]
"""Indices of two hosts, the source first."""

QUICK_ROUNDS = 2


@dataclass(frozen=True)
class Host:
    """``devices``: address by id."""

    name: str
    devices: Mapping[int, str]
    control_address: str
    control_port: int


def make_plan(hosts: Any, plan: str = "quick", seed: int = 0, rails: Iterable[int] | None = None, run_id: str | None = None) -> dict[str, Any]:
    """The plan as rdma_perf takes it: ``rounds``, ``hosts``, ``summary``, and ``run_id`` where one is given. Raises InputError."""
    if plan not in PLANS:
        raise InputError(f"plan {plan!r} is not known", f"known plans are {', '.join(sorted(PLANS))}")
    known = _hosts(hosts)
    wanted = None if rails is None else {whole_number("rails", rail) for rail in rails}
    order = _shuffled(known, seed)
    host_rounds = PLANS[plan](len(order))
    rounds = [[ends for pair in pairs for ends in _rail_pairs(order, pair, wanted)] for pairs in host_rounds]
    if not any(rounds):
        raise InputError("no two of the hosts have a device with the same id" + ("" if wanted is None else " among the rails asked for"))
    made = {"rounds": _numbered(rounds), "hosts": {host.name: _control(host) for host in known}, "summary": _summary(known, rounds, wanted)}
    return made if run_id is None else {"run_id": run_id, **made}


def circle(count: int, limit: int | None = None) -> list[list[HostPair]]:
    """Rounds of disjoint pairs of 0..count-1 in which every pair stands once, or the first ``limit`` of them; each two are fair to all hosts."""
    ring = list(range(count)) + ([-1] if count % 2 else [])
    rounds = []
    for _turn in range(len(ring) - 1 if limit is None else min(limit, len(ring) - 1)):
        half = len(ring) // 2
        rounds.append([(one, other) for one, other in zip(ring[:half], reversed(ring[half:])) if -1 not in (one, other)])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return _directed(rounds)


def _quick(count: int) -> list[list[HostPair]]:
    return circle(count, QUICK_ROUNDS)


PLANS: Mapping[str, Callable[[int], list[list[HostPair]]]] = {"quick": _quick, "full": circle}


def _directed(rounds: Sequence[Sequence[HostPair]]) -> list[list[HostPair]]:
    """The same pairs with the source first: in each two rounds no host is a source twice, in a last odd one those who were less often."""
    done: list[list[HostPair]] = []
    for first, second in zip(rounds[0::2], rounds[1::2]):
        done += _walked(first, second)
    if len(rounds) % 2:
        served = Counter(source for pairs in done for source, _target in pairs)
        done.append([(one, other) if served[one] <= served[other] else (other, one) for one, other in rounds[-1]])
    return done


def _walked(first: Sequence[HostPair], second: Sequence[HostPair]) -> list[list[HostPair]]:
    """Two rounds together are rings, and paths where a host rests. Walking along them, each host is the source of the pair by which it is left."""
    partners = [dict([*pairs, *((other, one) for one, other in pairs)]) for pairs in (first, second)]
    directed: list[set[HostPair]] = [set(), set()]
    for start in sorted({*partners[0], *partners[1]}, key=lambda host: (host in partners[0]) + (host in partners[1])):
        host, number = start, 0 if start in partners[0] else 1
        while host in partners[number] and not {(host, partners[number][host]), (partners[number][host], host)} & directed[number]:
            directed[number].add((host, partners[number][host]))
            host, number = partners[number][host], 1 - number
    return [[pair if pair in directed[number] else (pair[1], pair[0]) for pair in pairs] for number, pairs in enumerate((first, second))]


def _shuffled(hosts: Sequence[Host], seed: int) -> list[Host]:
    """The same order for the same names and seed, with every Python: only Random.random is promised to stay as it is."""
    generator = random.Random(whole_number("seed", seed))  # noqa: S311
    weights = {host.name: generator.random() for host in sorted(hosts, key=lambda host: host.name)}
    return sorted(hosts, key=lambda host: weights[host.name])


def _rail_pairs(order: Sequence[Host], pair: HostPair, wanted: set[int] | None) -> list[dict[str, Any]]:
    """An entry for each device id that both hosts have; every second rail runs the other way."""
    source, target = order[pair[0]], order[pair[1]]
    shared = sorted(device for device in source.devices if device in target.devices and (wanted is None or device in wanted))
    return [
        {"source": _end(one, device), "target": _end(other, device)}
        for place, device in enumerate(shared) for one, other in [(source, target) if place % 2 == 0 else (target, source)]
    ]


def _end(host: Host, device: int) -> dict[str, Any]:
    return {"host": host.name, "device": device, "address": host.devices[device]}


def _control(host: Host) -> dict[str, Any]:
    return {"control_address": host.control_address, "control_port": host.control_port}


def _numbered(rounds: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any]]]:
    width = max(4, len(str(sum(map(len, rounds)))))
    names = (f"p{number:0{width}d}" for number in range(1, sum(map(len, rounds)) + 1))
    return [[{"id": next(names), **entry} for entry in entries] for entries in rounds]


def _summary(hosts: Sequence[Host], rounds: Sequence[Sequence[Mapping[str, Any]]], wanted: set[int] | None) -> dict[str, Any]:
    """``coverage``: share of the pairs of equal devices of two hosts that the plan measures, 0 to 1."""
    rails: dict[int, int] = {}
    for host in hosts:
        for device in host.devices:
            if wanted is None or device in wanted:
                rails[device] = rails.get(device, 0) + 1
    possible = sum(count * (count - 1) // 2 for count in rails.values())
    pairs = sum(map(len, rounds))
    return {"hosts": len(hosts), "rails": sorted(rails), "rounds": len(rounds), "pairs": pairs, "coverage": round(pairs / possible, 4)}


def _hosts(hosts: Any) -> list[Host]:
    if not isinstance(hosts, Sequence) or isinstance(hosts, str):
        raise InputError("pair_plan takes a list of hosts, each with host, devices, control_address and control_port")
    known = [_host(entry) for entry in hosts]
    if len(known) < 2:
        raise InputError(f"a pair plan needs two hosts or more, not {len(known)}")
    _unique("host", ((host.name, host.name) for host in known))
    _unique("control address", ((f"{host.control_address} port {host.control_port}", host.name) for host in known))
    _unique("address", ((address, f"{host.name} npu {device}") for host in known for device, address in host.devices.items()))
    return known


def _unique(what: str, owned: Iterable[tuple[str, str]]) -> None:
    seen: dict[str, str] = {}
    for value, owner in owned:
        if value in seen:
            raise InputError(f"{what} {value} stands twice: {seen[value]} and {owner}")
        seen[value] = owner


def _host(entry: Any) -> Host:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("host"), str) or not entry["host"]:
        raise InputError(f"an entry of the hosts has no name: {entry!r}")
    name = str(entry["host"])
    devices = _devices(name, entry.get("devices"))
    if not isinstance(entry.get("control_address"), str) or not entry["control_address"]:
        raise InputError(f"host {name} has no control_address")
    port = whole_number(f"host {name}: control_port", entry.get("control_port"))
    if not 1 <= port <= 65535:
        raise InputError(f"host {name} has the control_port {port}, which is none")
    return Host(name, devices, str(entry["control_address"]), port)


def _devices(host: str, entries: Any) -> dict[int, str]:
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(f"host {host} has no devices", "leave hosts without NPUs out, or read them with device_info")
    devices: dict[int, str] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise InputError(f"host {host}: a device is not a dictionary: {entry!r}")
        device = whole_number(f"host {host}: device id", entry.get("id"))
        if not 0 <= device <= MAX_DEVICE_ID or device in devices:
            raise InputError(f"host {host}: device id {device} stands twice, or is not in 0 to {MAX_DEVICE_ID}")
        try:
            devices[device] = str(ipaddress.ip_address(str(entry.get("address"))))
        except ValueError:
            raise InputError(f"host {host} npu {device} has no IP address: {entry.get('address')!r}", "set one with device_network") from None
    return devices
