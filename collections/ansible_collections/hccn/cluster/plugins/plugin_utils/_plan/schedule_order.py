# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Make the schedule of a plan: order the hosts so that the first rounds cover as many leaves as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._fabric import schedule as rules
from .plan_hosts import PlanHost, shuffled
from .topology import Groups

QUICK, FULL, LEAVES, DEVICES = "quick", "full", "leaves", "devices"

QUICK_ROUNDS = 2

Wiring = tuple[str | None, ...]


def make_schedule(plan: str, hosts: Sequence[PlanHost], groups: Mapping[str, Groups], rails: Sequence[int], seed: Any, adaptive: bool) -> dict[str, Any]:
    """Return the whole schedule of the plans quick, full, leaves and devices, as module_utils/_fabric/schedule.py reads it. Raises InputError."""
    order = shuffled(hosts, seed)
    wirings = {host.name: groups[host.name].wiring(rails) for host in order}
    numbers = _wiring_numbers(order, wirings)
    known = any(leaf is not None for wiring in wirings.values() for leaf in wiring)
    found: dict[str, Any] = {"method": {LEAVES: rules.LEAVES, DEVICES: rules.DEVICES}.get(plan, rules.CIRCLE)}
    if plan == LEAVES:
        if not known:
            raise InputError("the plan leaves needs the leaves of the hosts, but knows none",
                             "name them in the inventory, or read them with device_info (gather: lldp)")
        found["groups"] = [numbers[wirings[host.name]] for host in order]
    elif plan != QUICK and len(numbers) > 1:
        order = _in_rotated_layers(order, wirings)
        found["first"] = _first_rotation(plan, len(order), len(rails))
    if plan == DEVICES:
        found["stride"] = len(numbers) + len(numbers) % 2 if len(numbers) > 1 else 2
    rule = rules.make_rule(found["method"], len(order), len(rails), found.get("first", 0), found.get("stride", 1), found.get("groups", ()))
    rounds = min(rule.rounds, 1 if adaptive else QUICK_ROUNDS) if plan == QUICK else rule.rounds
    return {**found, "order": [host.name for host in order], "rails": list(rails), "rounds": rounds,
            "addresses": [[host.devices.get(rail) for rail in rails] for host in order]}


def _wiring_numbers(order: Sequence[PlanHost], wirings: Mapping[str, Wiring]) -> dict[Wiring, int]:
    """Return a number for each wiring of hosts to leaves, in the order of the first host that has it."""
    numbers: dict[Wiring, int] = {}
    for host in order:
        numbers.setdefault(wirings[host.name], len(numbers))
    return numbers


def _in_rotated_layers(order: Sequence[PlanHost], wirings: Mapping[str, Wiring]) -> list[PlanHost]:
    """Return the hosts in layers of one host per leaf, each layer rotated against the one before by one place more.

    In the round-robin circle method, the places that meet in a round have the same sum. If the leaves simply took turns, only leaves of one sum would meet.
    With the rotation, each layer meets with another sum, and about as many rounds as there are leaves cover every pair of leaves.
    """
    members: dict[Wiring, list[PlanHost]] = {}
    for host in order:
        members.setdefault(wirings[host.name], []).append(host)
    leaves = list(members.values())
    layered = []
    for layer in range(max(map(len, leaves))):
        turned = layer * (layer + 1) // 2
        for place in range(len(leaves)):
            leaf = leaves[(place + turned) % len(leaves)]
            layered += leaf[layer:layer + 1]
    return layered


def _first_rotation(plan: str, hosts: int, slots: int) -> int:
    """Return the rotation of the circle whose sum is in the middle of the ring: half the pairs have that sum, half the one beyond the end of the ring."""
    members = 2 * hosts if plan == DEVICES and hosts % 2 and slots % 2 == 0 else hosts
    turns = members - 1 + members % 2
    middle = turns // 2 + (turns // 2 + 1) % 2
    return (turns - 2 - middle) // 2 % turns
