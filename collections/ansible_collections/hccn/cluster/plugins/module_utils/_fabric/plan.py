# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The pair plan of one host: its own pairs in order, and the control addresses of all hosts; and the packed form of a plan.

Every host gets the whole plan, so the data that is sent grows with the square of the number of hosts. Addresses are similar to each other and compress to
about a tenth, 340 KB with 10,000 hosts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from .._core.compressed import TooLarge, compress, decompress
from .._core.errors import InputError
from .._core.numbers import is_count, is_integer
from .._core.words import some
from .._device.host import MAX_DEVICE_ID
from .schedule import Schedule, Slot, ip_text, parse_schedule

QPS, SOURCE_PORT = OPTIONS = ("qps", "source_port")
"""Options that a listed pair may set for itself, see _perf.perftest_options."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTROL_ADDRESS = re.compile(r"[A-Za-z0-9._:%-]{1,255}")


@dataclass(frozen=True)
class Endpoint:
    host: str
    device: int
    address: str

    def as_dict(self) -> Dict[str, Any]:
        """Return the endpoint as records contain it."""
        return {"host": self.host, "device": self.device, "address": self.address}

    def __str__(self) -> str:
        return "%s NPU %d" % (self.host, self.device)


@dataclass(frozen=True)
class Pair:
    """``round`` counts from 1; ``order`` is the position in the whole plan, the same on every host; ``options``: of the tool, for this pair only."""

    id: str
    round: int
    order: int
    source: Endpoint
    target: Endpoint
    options: Tuple[Tuple[str, int], ...] = ()

    @property
    def rail(self) -> Optional[int]:
        """The device id if it is the same on both sides, None across rails."""
        return self.source.device if self.source.device == self.target.device else None

    def endpoint(self, host: str) -> Endpoint:
        """Return the endpoint on ``host``."""
        return self.source if self.source.host == host else self.target

    def partner(self, host: str) -> Endpoint:
        """Return the endpoint on the other host."""
        return self.target if self.source.host == host else self.source


@dataclass(frozen=True)
class Control:
    """The address and port at which the runner of a host listens."""

    address: str
    port: int

    def __str__(self) -> str:
        return "%s port %d" % (self.address, self.port)


@dataclass(frozen=True)
class Plan:
    """``pairs``: of ``host`` only, in the order of the plan."""

    run_id: str
    host: str
    pairs: Tuple[Pair, ...]
    controls: Mapping[str, Control]

    @property
    def initiated(self) -> Tuple[Pair, ...]:
        """The pairs that this host initiates and therefore reports."""
        return tuple(pair for pair in self.pairs if pair.source.host == self.host)

    @property
    def devices(self) -> Tuple[int, ...]:
        """The devices of this host that take part."""
        return tuple(sorted({pair.endpoint(self.host).device for pair in self.pairs}))

    def limited(self, devices: Iterable[int]) -> "Plan":
        """Return the plan with only these devices of this host."""
        wanted = set(devices)
        return replace(self, pairs=tuple(pair for pair in self.pairs if pair.endpoint(self.host).device in wanted))


def check_name(option: str, value: Any) -> str:
    """Return a run or pair id, which becomes part of paths and record ids: only letters, digits, ``.``, ``_`` and ``-``. Raises InputError."""
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        raise InputError("%s %r is not a name of up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit" % (option, value))
    return value


def is_plan(data: Any) -> bool:
    """Return whether the data has the top-level structure of a pair plan."""
    whole = isinstance(data, dict) and isinstance(data.get("hosts"), dict) and isinstance(data.get("rounds", []), list)
    return whole and ("rounds" in data or "schedule" in data)


def parse_plan(data: Any, host: str, run_id: str) -> Plan:
    """Return the part of a plan of the filter hccn.cluster.pair_plan that concerns ``host``. The plan has a ``schedule``, pairs listed in ``rounds``, or both,
    with the listed rounds after the others.

    Raises InputError that names the pair: unknown host, invalid address, an NPU used twice in a round, a duplicate id.
    """
    check_name("run_id", run_id)
    if not is_plan(data):
        raise InputError("plan is not a pair plan: it needs rounds (a list) or a schedule, and hosts (a dictionary)",
                         "make it with the filter hccn.cluster.pair_plan")
    if data.get("run_id") not in (None, run_id):
        raise InputError("plan belongs to the run %r, not to %r" % (data["run_id"], run_id))
    controls = {name: _control(name, value) for name, value in data["hosts"].items()}
    if host not in controls:
        raise InputError("plan does not contain the host %r" % host, "its hosts are %s" % some(sorted(controls)))
    schedule = parse_schedule(data["schedule"], controls) if "schedule" in data else None
    scheduled = _scheduled(schedule, host) if schedule else []
    rounds, orders = (schedule.rounds, schedule.last) if schedule else (0, 0)
    listed = [replace(pair, round=pair.round + rounds, order=pair.order + orders) for pair in _pairs(data.get("rounds", []), controls)
              if host in (pair.source.host, pair.target.host)]
    twice = {pair.id for pair in scheduled} & {pair.id for pair in listed}
    if twice:
        raise InputError("plan: the pair id %s occurs twice" % sorted(twice)[0])
    return Plan(run_id, host, tuple(scheduled + listed), controls)


def _scheduled(schedule: Schedule, host: str) -> List[Pair]:
    """Return this host's pairs of a schedule."""
    if host not in schedule.order:
        return []
    known: Dict[Slot, Endpoint] = {}

    def endpoint(slot: Slot) -> Endpoint:
        if slot not in known:
            known[slot] = Endpoint(schedule.order[slot[0]], schedule.rails[slot[1]], schedule.addresses[slot[0]][slot[1]] or "")
        return known[slot]

    name = schedule.names()
    return [Pair(name(planned.number), planned.round, planned.number - 1, endpoint(planned.source), endpoint(planned.target))
            for planned in schedule.pairs(schedule.order.index(host))]


def _control(host: str, value: Any) -> Control:
    if not isinstance(value, dict):
        raise InputError("plan: the entry of host %s is not a dictionary" % host)
    address, port = value.get("control_address"), _whole(value.get("control_port"))
    if not isinstance(address, str) or _CONTROL_ADDRESS.fullmatch(address) is None:
        raise InputError("plan: host %s has the control_address %r, which is not an address" % (host, address))
    if port is None or not 1 <= port <= 65535:
        raise InputError("plan: host %s has the control_port %r, which is not a port" % (host, value.get("control_port")))
    return Control(address, port)


def _pairs(rounds: List[Any], controls: Mapping[str, Control]) -> List[Pair]:
    pairs: List[Pair] = []
    ids: Set[str] = set()
    for number, entries in enumerate(rounds, 1):
        if not isinstance(entries, list):
            raise InputError("plan: round %d is not a list of pairs" % number)
        taken: Set[Tuple[str, int]] = set()
        for entry in entries:
            pair = _pair(entry, number, len(pairs), controls)
            if pair.id in ids:
                raise InputError("plan: the pair id %s occurs twice" % pair.id)
            ids.add(pair.id)
            for endpoint in (pair.source, pair.target):
                if (endpoint.host, endpoint.device) in taken:
                    raise InputError("plan: %s is in two pairs of round %d, the second is %s" % (endpoint, number, pair.id))
                taken.add((endpoint.host, endpoint.device))
            pairs.append(pair)
    return pairs


def _pair(entry: Any, number: int, order: int, controls: Mapping[str, Control]) -> Pair:
    if not isinstance(entry, dict):
        raise InputError("plan: round %d contains an entry that is not a pair: %r" % (number, entry))
    name = check_name("plan: the pair id", entry.get("id"))
    source, target = (_endpoint(name, side, entry.get(side), controls) for side in ("source", "target"))
    pair = Pair(name, number, order, source, target, _options(name, entry.get("options")))
    if pair.source.host == pair.target.host:
        raise InputError("plan: both NPUs of pair %s are on %s" % (name, pair.source.host))
    return pair


def _endpoint(pair: str, side: str, value: Any, controls: Mapping[str, Control]) -> Endpoint:
    if not isinstance(value, dict) or not isinstance(value.get("host"), str):
        raise InputError("plan: the %s of pair %s names no host" % (side, pair))
    if value["host"] not in controls:
        raise InputError("plan: the %s of pair %s is %r, which is not among the hosts of the plan" % (side, pair, value["host"]))
    device = _whole(value.get("device"))
    if device is None or not 0 <= device <= MAX_DEVICE_ID:
        raise InputError("plan: the %s of pair %s has the device %r, which is not an id from 0 to %d" % (side, pair, value.get("device"), MAX_DEVICE_ID))
    address = ip_text(str(value.get("address")))
    if address is None:
        raise InputError("plan: the %s of pair %s has the address %r, which is not an IP address" % (side, pair, value.get("address")))
    return Endpoint(value["host"], device, address)


def _options(pair: str, value: Any) -> Tuple[Tuple[str, int], ...]:
    """Return the pair's own options, which make the packets of a repeated measurement take another path."""
    if value is None:
        return ()
    if not isinstance(value, dict) or not set(value) <= set(OPTIONS) or any((_whole(number) or 0) < 1 for number in value.values()):
        raise InputError("plan: the options of pair %s are %r, but only positive numbers for %s are allowed" % (pair, value, " and ".join(OPTIONS)))
    return tuple(sorted((name, _whole(number) or 0) for name, number in value.items()))


def _whole(value: Any) -> Optional[int]:
    """Return an int, also if a template turned it into a string; None for other values."""
    if isinstance(value, str) and is_count(value):
        return int(value)
    return value if is_integer(value) else None


PACKED = "packed"
NEEDED = ("hosts", "rounds", "schedule")
"""The keys of a plan that a host needs to measure its part."""
MAX_UNPACKED_BYTES = 256 << 20
"""Limit of an unpacked plan in bytes. A listed plan has about 150 for each pair."""


def pack(plan: Mapping[str, Any]) -> Dict[str, str]:
    """Return ``{"packed": TEXT}``: the NEEDED keys of the plan as JSON, compressed by zlib, in base64. The same plan results in the same text."""
    text = json.dumps({name: plan[name] for name in NEEDED if name in plan}, sort_keys=True, separators=(",", ":"))
    return {PACKED: compress(text)}


def unpack(plan: Any) -> Any:
    """Return the plan that ``pack`` packed; return other values unchanged. Raises InputError if the text is damaged."""
    if not isinstance(plan, dict) or set(plan) != {PACKED}:
        return plan
    try:
        return json.loads(decompress(str(plan[PACKED]), MAX_UNPACKED_BYTES))
    except TooLarge:
        raise InputError("plan: the packed plan has more than %d MiB" % (MAX_UNPACKED_BYTES >> 20)) from None
    except (ValueError, RecursionError) as error:
        raise InputError("plan: the packed plan is damaged: %s" % error, "make it with the filter hccn.cluster.packed_plan") from None
