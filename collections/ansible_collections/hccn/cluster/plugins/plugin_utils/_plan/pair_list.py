# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Arrange a given list of pairs in rounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import InputError
from .edge_coloring import color_edges
from .input_numbers import whole_number
from .plan_hosts import PlanHost

NpuId = tuple[str, int]
"""A host's name and a device id."""

NpuPair = tuple[NpuId, NpuId]
"""Source and target."""


def rounds_of_pairs(pairs: Any, hosts: Sequence[PlanHost], rails: Collection[int]) -> list[list[NpuPair]]:
    """Return rounds in which no NPU occurs twice, the largest first: at most one round more than the NPU with the most pairs has.

    ``pairs``: ``[host, host]`` for all devices that both have among the rails, or ``{source: {host, device}, target: {...}}``. Two NPUs may be given once
    in each direction; the second directions have rounds of their own. Raises InputError.
    """
    if not isinstance(pairs, Sequence) or isinstance(pairs, str) or not pairs:
        raise InputError("pairs is not a list of pairs, such as [[n1, n2], [n1, n3]]")
    known = {host.name: host for host in hosts}
    batches: list[dict[frozenset[NpuId], NpuPair]] = [{}, {}]
    for entry in pairs:
        for pair in _pairs(entry, known, rails):
            key = frozenset(pair)
            earlier = [batch[key] for batch in batches if key in batch]
            if pair in earlier or len(earlier) == len(batches):
                raise InputError(f"pairs: {_text(pair[0])} to {_text(pair[1])} is listed twice")
            batches[len(earlier)][key] = pair
    return [one for batch in batches for one in edge_colored_rounds(list(batch.values()))]


def without_absent(pairs: Any, absent: Iterable[Any]) -> tuple[Any, list[str]]:
    """Return the pairs that can be measured, and a sentence for each of the others.

    ``absent``: names of hosts, or ``{host, device}``. Entries that are not pairs remain, and ``rounds_of_pairs`` refuses them.
    """
    gone = {_name(one) if isinstance(one, Mapping) else str(one) for one in absent}
    if not gone or not isinstance(pairs, Sequence) or isinstance(pairs, str):
        return pairs, []
    measurable, sentences = [], []
    for entry in pairs:
        sides = _sides(entry)
        missing = [side for side in sides if not gone.isdisjoint((_name(side), str(side.get("host"))))]
        if missing:
            sentences.append(f"{' and '.join(map(_name, sides))}: {_name(missing[0])} cannot be measured")
        else:
            measurable.append(entry)
    return measurable, sentences


def _sides(entry: Any) -> list[Mapping[str, Any]]:
    """Return source and target of a pair in either form; nothing for an entry that is not a pair."""
    if isinstance(entry, Mapping):
        return [side for side in (entry.get("source"), entry.get("target")) if isinstance(side, Mapping)]
    return [{"host": name} for name in entry] if isinstance(entry, Sequence) and not isinstance(entry, str) else []


def _name(side: Mapping[str, Any]) -> str:
    """Return host and device as text. The device id may be a string if a template made it."""
    host, device = side.get("host"), side.get("device")
    return str(host) if device is None else _text((host, device))


def edge_colored_rounds(pairs: Sequence[NpuPair]) -> list[list[NpuPair]]:
    """Return the pairs in rounds, by edge coloring. No two NPUs may have more than one pair."""
    colors = color_edges(pairs)
    rounds: list[list[NpuPair]] = [[] for _round in range(max(colors, default=-1) + 1)]
    for pair, color in zip(pairs, colors):
        rounds[color].append(pair)
    return rounds


def _pairs(entry: Any, known: Mapping[str, PlanHost], rails: Collection[int]) -> list[NpuPair]:
    if isinstance(entry, Mapping):
        one, other = (_npu(entry.get(side), side, known) for side in ("source", "target"))
        if one[0] == other[0]:
            raise InputError(f"pairs: both NPUs are on {one[0]}")
        return [(one, other)]
    if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 2:
        raise InputError(f"pairs: {entry!r} is not a pair", "give two hosts, or source and target with host and device each")
    source, target = (_host(name, known) for name in entry)
    if source is target:
        raise InputError(f"pairs: {source.name} is paired with itself")
    shared = sorted(device for device in source.devices if device in target.devices and device in rails)
    if not shared:
        raise InputError(f"pairs: {source.name} and {target.name} have no device with the same id")
    return [((source.name, device), (target.name, device)) if place % 2 == 0 else ((target.name, device), (source.name, device))
            for place, device in enumerate(shared)]


def _host(name: Any, known: Mapping[str, PlanHost]) -> PlanHost:
    if not isinstance(name, str) or name not in known:
        raise InputError(f"pairs: {name!r} is not among the hosts")
    return known[name]


def _npu(value: Any, side: str, known: Mapping[str, PlanHost]) -> NpuId:
    if not isinstance(value, Mapping):
        raise InputError(f"pairs: a {side} is not a dictionary with host and device: {value!r}")
    host = _host(value.get("host"), known)
    device = whole_number(f"pairs: the device of {host.name}", value.get("device"))
    if device not in host.devices:
        raise InputError(f"pairs: {host.name} has no NPU {device}")
    return host.name, device


def _text(npu: tuple[Any, Any]) -> str:
    return f"{npu[0]} NPU {npu[1]}"
