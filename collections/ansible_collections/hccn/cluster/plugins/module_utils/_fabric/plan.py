# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A pair plan as one host sees it: its own pairs, in order, and where the others listen; and its packed form.

Every host gets the whole plan, so its size counts by the square of the number of hosts, in what is sent and in what the controller holds; addresses are
much alike and pack to about a tenth.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from .._core.errors import InputError
from .._core.numbers import is_count
from .._core.words import some
from .._device.host import MAX_DEVICE_ID
from .schedule import Schedule, Slot, ip_text, parse_schedule

OPTIONS = ("qps", "source_port")
"""What a listed pair may have of its own: see _perf.perftest_options."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTROL_ADDRESS = re.compile(r"[A-Za-z0-9._:%-]{1,255}")


@dataclass(frozen=True)
class Endpoint:
    host: str
    device: int
    address: str

    def as_dict(self) -> Dict[str, Any]:
        """As in a record."""
        return {"host": self.host, "device": self.device, "address": self.address}

    def __str__(self) -> str:
        return "%s npu %d" % (self.host, self.device)


@dataclass(frozen=True)
class Pair:
    """``round`` counts from 1; ``order`` is the place in the whole plan, the same on every host; ``options``: of the tool, for this pair alone."""

    id: str
    round: int
    order: int
    source: Endpoint
    target: Endpoint
    options: Tuple[Tuple[str, int], ...] = ()

    @property
    def rail(self) -> Optional[int]:
        """The device id where both ends have the same, None across rails."""
        return self.source.device if self.source.device == self.target.device else None

    def endpoint(self, host: str) -> Endpoint:
        """Return the endpoint on ``host``."""
        return self.source if self.source.host == host else self.target

    def partner(self, host: str) -> Endpoint:
        """Return the endpoint on the other host."""
        return self.target if self.source.host == host else self.source


@dataclass(frozen=True)
class Control:
    """Where a host's runner listens."""

    address: str
    port: int

    def __str__(self) -> str:
        return "%s port %d" % (self.address, self.port)


@dataclass(frozen=True)
class Plan:
    """``pairs``: those of ``host`` only, in the order of the plan."""

    run_id: str
    host: str
    pairs: Tuple[Pair, ...]
    controls: Mapping[str, Control]

    @property
    def initiated(self) -> Tuple[Pair, ...]:
        """The pairs that this host initiates, and so measures."""
        return tuple(pair for pair in self.pairs if pair.source.host == self.host)

    @property
    def devices(self) -> Tuple[int, ...]:
        """Devices of this host that take part."""
        return tuple(sorted({pair.endpoint(self.host).device for pair in self.pairs}))

    def limited(self, devices: Iterable[int]) -> "Plan":
        """The same plan with these devices of this host only."""
        wanted = set(devices)
        return replace(self, pairs=tuple(pair for pair in self.pairs if pair.endpoint(self.host).device in wanted))


def check_name(what: str, value: Any) -> str:
    """A run or pair id: part of paths and record ids, so letters, digits, ``.``, ``_`` and ``-`` only. Raises InputError."""
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        raise InputError("%s %r is not a name of up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit" % (what, value))
    return value


def is_plan(data: Any) -> bool:
    """Has it the form of a pair plan, whatever stands in it?"""
    whole = isinstance(data, dict) and isinstance(data.get("hosts"), dict) and isinstance(data.get("rounds", []), list)
    return whole and ("rounds" in data or "schedule" in data)


def parse_plan(data: Any, host: str, run_id: str) -> Plan:
    """The plan of the filter hccn.cluster.pair_plan, or the part of it that concerns ``host``: by ``schedule``, pair by pair in ``rounds``, or both,
    the listed rounds after the others.

    Raises InputError, which names the pair: unknown host, no address, an end used twice in a round, an id twice.
    """
    check_name("run_id", run_id)
    if not is_plan(data):
        raise InputError("plan is no pair plan: it needs rounds (a list) or a schedule, and hosts (a dictionary)",
                         "make it with the filter hccn.cluster.pair_plan")
    if data.get("run_id") not in (None, run_id):
        raise InputError("plan belongs to the run %r, not to %r" % (data["run_id"], run_id))
    controls = {name: _control(name, value) for name, value in data["hosts"].items()}
    if host not in controls:
        raise InputError("plan does not know the host %r" % host, "its hosts are %s" % some(sorted(controls)))
    schedule = parse_schedule(data["schedule"], controls) if "schedule" in data else None
    scheduled = _scheduled(schedule, host) if schedule else []
    rounds, orders = (schedule.rounds, schedule.last) if schedule else (0, 0)
    listed = [replace(pair, round=pair.round + rounds, order=pair.order + orders) for pair in _pairs(data.get("rounds", []), controls)
              if host in (pair.source.host, pair.target.host)]
    twice = {pair.id for pair in scheduled} & {pair.id for pair in listed}
    if twice:
        raise InputError("plan: the pair id %s stands twice" % sorted(twice)[0])
    return Plan(run_id, host, tuple(scheduled + listed), controls)


def _scheduled(schedule: Schedule, host: str) -> List[Pair]:
    """This host's pairs of a schedule."""
    if host not in schedule.order:
        return []
    known: Dict[Slot, Endpoint] = {}

    def end(slot: Slot) -> Endpoint:
        if slot not in known:
            known[slot] = Endpoint(schedule.order[slot[0]], schedule.rails[slot[1]], schedule.addresses[slot[0]][slot[1]] or "")
        return known[slot]

    name = schedule.names()
    return [Pair(name(planned.number), planned.round, planned.number - 1, end(planned.source), end(planned.target))
            for planned in schedule.pairs(schedule.order.index(host))]


def _control(host: str, value: Any) -> Control:
    if not isinstance(value, dict):
        raise InputError("plan: the entry of host %s is not a dictionary" % host)
    address, port = value.get("control_address"), _whole(value.get("control_port"))
    if not isinstance(address, str) or _CONTROL_ADDRESS.fullmatch(address) is None:
        raise InputError("plan: host %s has the control_address %r, which is no address" % (host, address))
    if port is None or not 1 <= port <= 65535:
        raise InputError("plan: host %s has the control_port %r, which is no port" % (host, value.get("control_port")))
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
                raise InputError("plan: the pair id %s stands twice" % pair.id)
            ids.add(pair.id)
            for end in (pair.source, pair.target):
                if (end.host, end.device) in taken:
                    raise InputError("plan: %s is in two pairs of round %d, the second is %s" % (end, number, pair.id))
                taken.add((end.host, end.device))
            pairs.append(pair)
    return pairs


def _pair(entry: Any, number: int, order: int, controls: Mapping[str, Control]) -> Pair:
    if not isinstance(entry, dict):
        raise InputError("plan: round %d holds something that is no pair: %r" % (number, entry))
    name = check_name("plan: the pair id", entry.get("id"))
    source, target = (_endpoint(name, side, entry.get(side), controls) for side in ("source", "target"))
    pair = Pair(name, number, order, source, target, _options(name, entry.get("options")))
    if pair.source.host == pair.target.host:
        raise InputError("plan: both ends of pair %s lie on %s" % (name, pair.source.host))
    return pair


def _endpoint(pair: str, side: str, value: Any, controls: Mapping[str, Control]) -> Endpoint:
    if not isinstance(value, dict) or not isinstance(value.get("host"), str):
        raise InputError("plan: the %s of pair %s names no host" % (side, pair))
    if value["host"] not in controls:
        raise InputError("plan: the %s of pair %s is %r, which is not among the hosts of the plan" % (side, pair, value["host"]))
    device = _whole(value.get("device"))
    if device is None or not 0 <= device <= MAX_DEVICE_ID:
        raise InputError("plan: the %s of pair %s has the device %r, which is no id of 0 to %d" % (side, pair, value.get("device"), MAX_DEVICE_ID))
    address = ip_text(str(value.get("address")))
    if address is None:
        raise InputError("plan: the %s of pair %s has the address %r, which is no IP address" % (side, pair, value.get("address")))
    return Endpoint(value["host"], device, address)


def _options(pair: str, value: Any) -> Tuple[Tuple[str, int], ...]:
    """What makes the packets of a second try take another way."""
    if value is None:
        return ()
    if not isinstance(value, dict) or not set(value) <= set(OPTIONS) or any((_whole(number) or 0) < 1 for number in value.values()):
        raise InputError("plan: the options of pair %s are %r, they may hold numbers for %s" % (pair, value, " and ".join(OPTIONS)))
    return tuple(sorted((name, _whole(number) or 0) for name, number in value.items()))


def _whole(value: Any) -> Optional[int]:
    """An int, also where a template made a string of it."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and is_count(value) else None


PACKED = "packed"
NEEDED = ("hosts", "rounds", "schedule")
"""What a host needs of a plan to work its part."""
MAX_UNPACKED_BYTES = 256 << 20
"""Bytes that a packed plan may have. A listed one has some 150 for each pair."""


def needed(plan: Mapping[str, Any]) -> Dict[str, Any]:
    """The plan without all else: two plans that agree in this are worked alike."""
    return {name: plan[name] for name in NEEDED if name in plan}


def pack(plan: Mapping[str, Any]) -> Dict[str, str]:
    """``{"packed": TEXT}``: what is NEEDED of the plan as base64 of zlib of JSON. The same plan gives the same text."""
    text = json.dumps(needed(plan), sort_keys=True, separators=(",", ":"))
    return {PACKED: base64.b64encode(zlib.compress(text.encode("utf-8"))).decode("ascii")}


def unpack(plan: Any) -> Any:
    """The plan of ``pack``; what is not packed is returned as it is. Raises InputError where the text is damaged."""
    if not isinstance(plan, dict) or set(plan) != {PACKED}:
        return plan
    packing = zlib.decompressobj()
    try:
        text = packing.decompress(base64.b64decode(str(plan[PACKED]), validate=True), MAX_UNPACKED_BYTES)
        if packing.unconsumed_tail:
            raise InputError("plan: the packed plan has more than %d MiB" % (MAX_UNPACKED_BYTES >> 20))
        if not packing.eof:
            raise ValueError("it ends too early")
        return json.loads(text.decode("utf-8"))
    except (ValueError, zlib.error, RecursionError) as error:
        raise InputError("plan: the packed plan is damaged: %s" % error, "make it with the filter hccn.cluster.packed_plan") from None
