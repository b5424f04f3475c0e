# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A plan as a rule instead of a list of pairs, so that millions of pairs fit into the arguments of a task. Only this module expands such plans.

    {"method": "circle", "order": ["n3", "n1"], "rails": [0, 1], "addresses": [["10.0.0.3", "10.0.1.3"], ["10.0.0.1", null]], "rounds": 1}

``rails`` are device ids, ``addresses`` are by host and rail, null if a host lacks that device. ``first`` is the first turn of the circle method, ``stride``
belongs to the method ``devices``, and ``groups`` (one number for each host) to ``leaves``.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .._core.errors import InputError
from .._core.numbers import is_count, is_integer
from .._device.host import MAX_DEVICE_ID
from .round_robin import Devices, Halves, Hosts, Leaves, Meeting, RoundRobin

CIRCLE, DEVICES, LEAVES = "circle", "devices", "leaves"
METHODS = (CIRCLE, DEVICES, LEAVES)

Rule = Union[Hosts, Devices, Halves, Leaves]

Slot = Tuple[int, int]
"""The index of a host in ``order`` and of a device in ``rails``."""


class Planned(NamedTuple):
    """``round`` and ``number`` count from 1; the number is the position of the pair in the whole plan, the same on every host."""

    round: int
    number: int
    source: Slot
    target: Slot


class Schedule:
    """A rule applied to hosts and rails. ``rounds``: number of the rule's rounds to use."""

    def __init__(self, rule: Rule, order: Sequence[str], rails: Sequence[int], addresses: Sequence[Sequence[Optional[str]]], rounds: int) -> None:
        self.rule = rule
        self.order = order
        self.rails = rails
        self.addresses = addresses
        self.rounds = rounds

    def pairs(self, host: Optional[int] = None) -> Iterator[Planned]:
        """Yield all pairs, or those of one host, in order, without pairs of which a side lacks the device."""
        for number, (start, meetings) in enumerate(self.rule.walk(self.rounds, host), 1):
            for meeting in meetings:
                for place, source, target in self.slots(meeting):
                    if self._address(source) is not None and self._address(target) is not None:
                        yield Planned(number, (start + meeting.place) * self.rule.span + place + 1, source, target)

    def slots(self, meeting: Meeting) -> Iterator[Tuple[int, Slot, Slot]]:
        """Yield position, source and target of the pairs of slots of a meeting. If equal slots meet, every second pair has the opposite direction."""
        span = self.rule.span
        for place in range(span):
            one = (meeting.source, meeting.source_slot + place)
            other = (meeting.target, meeting.target_slot + (place + meeting.shift) % span)
            yield (place, other, one) if place % 2 and meeting.shift % 2 == 0 else (place, one, other)

    @property
    def last(self) -> int:
        """The largest possible number of a pair."""
        return self.rule.places(self.rounds) * self.rule.span

    def names(self) -> "Names":
        """Return the naming of the pairs."""
        return Names(self.last)

    def _address(self, slot: Slot) -> Optional[str]:
        return self.addresses[slot[0]][slot[1]]


class Names:
    """Makes ids of pairs from their numbers, with a fixed width so that they sort."""

    def __init__(self, last: int) -> None:
        self._width = max(4, len(str(last)))

    def __call__(self, number: int) -> str:
        return "p%0*d" % (self._width, number)


def make_rule(method: str, count: int, span: int, first: int = 0, stride: int = 1, groups: Sequence[int] = ()) -> Rule:
    """Return the rule of a method for ``count`` hosts of ``span`` devices."""
    if method == LEAVES:
        return Leaves(groups, span)
    if method == CIRCLE:
        return Hosts(RoundRobin(count, first), span)
    return Halves(count, span, stride, first) if count % 2 and span % 2 == 0 else Devices(RoundRobin(count, first), span, stride)


def parse_schedule(data: Any, hosts: Mapping[str, Any]) -> Schedule:
    """Return the ``schedule`` of a plan with these hosts. Raises InputError."""
    if not isinstance(data, dict) or data.get("method") not in METHODS:
        raise _wrong("has no method of %s" % ", ".join(METHODS))
    order, rails = _order(data.get("order"), hosts), _rails(data.get("rails"))
    rule = make_rule(data["method"], len(order), len(rails), _whole(data, "first", 0, None, 0), _whole(data, "stride", 1, None, 1),
                     _groups(data.get("groups"), len(order)) if data["method"] == LEAVES else ())
    return Schedule(rule, order, rails, _addresses(data.get("addresses"), order, rails), _whole(data, "rounds", 0, rule.rounds))


def _wrong(problem: str) -> InputError:
    return InputError("plan: its schedule %s" % problem, "make the plan with the filter hccn.cluster.pair_plan")


def _whole(data: Mapping[str, Any], key: str, low: int, high: Optional[int], default: Optional[int] = None) -> int:
    value = data.get(key, default)
    value = int(value) if isinstance(value, str) and is_count(value) else value
    if not is_integer(value) or value < low or (high is not None and value > high):
        raise _wrong("has %r for %s, which is not a number from %d%s" % (value, key, low, "" if high is None else " to %d" % high))
    return value


def _order(value: Any, hosts: Mapping[str, Any]) -> List[str]:
    if not isinstance(value, list) or len(value) < 2 or len({str(name) for name in value}) < len(value):
        raise _wrong("has no order of two hosts or more, each once")
    for name in value:
        if not isinstance(name, str) or name not in hosts:
            raise _wrong("names the host %r, which is not among the hosts of the plan" % (name,))
    return value


def _rails(value: Any) -> List[int]:
    if not isinstance(value, list) or not value:
        raise _wrong("has no rails")
    rails = [_whole({"rails": rail}, "rails", 0, MAX_DEVICE_ID) for rail in value]
    if len(set(rails)) < len(rails):
        raise _wrong("has the same rail twice")
    return rails


def _groups(value: Any, count: int) -> List[int]:
    if not isinstance(value, list) or len(value) != count:
        raise _wrong("has no groups, one number for each host")
    groups = [_whole({"groups": group}, "groups", 0, count - 1) for group in value]
    if set(groups) != set(range(max(groups) + 1)):
        raise _wrong("has groups that are not numbered from 0 without a gap")
    return groups


def _addresses(value: Any, order: Sequence[str], rails: Sequence[int]) -> List[List[Optional[str]]]:
    if not isinstance(value, list) or len(value) != len(order):
        raise _wrong("has no addresses, one list for each host")
    known: List[List[Optional[str]]] = []
    for host, addresses in zip(order, value):
        if not isinstance(addresses, list) or len(addresses) != len(rails):
            raise _wrong("has not one address of %s for each of its %d rails" % (host, len(rails)))
        known.append([address if address is None else _address(host, rail, address) for rail, address in zip(rails, addresses)])
    return known


def _address(host: str, rail: int, value: Any) -> str:
    address = ip_text(str(value))
    if address is None:
        raise _wrong("has the address %r of %s NPU %d, which is not an IP address" % (value, host, rail))
    return address


@lru_cache(maxsize=1 << 16)
def ip_text(text: str) -> Optional[str]:
    """Return an IP address in its usual spelling, None for other text and for an address with a scope, which has a meaning on one host only. Cached, since
    plans repeat the same addresses."""
    try:
        return None if "%" in text else str(ipaddress.ip_address(text))
    except ValueError:
        return None


def listed_numbers(names: Sequence[str]) -> int:
    """Return the largest number among the ids that Names made, 0 if there are none."""
    return max((int(name[1:]) for name in names if name[:1] == "p" and is_count(name[1:])), default=0)


def as_endpoints(schedule: Schedule, planned: Planned) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Return source and target as the pairs of a listed plan contain them."""
    source, target = (
        {"host": schedule.order[host], "device": schedule.rails[slot], "address": schedule.addresses[host][slot]}
        for host, slot in (planned.source, planned.target))
    return source, target
