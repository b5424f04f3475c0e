# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Choose the NPUs that can be measured from the answers to the probe, and leave out the others with a reason.

Answers are untrusted data. An answer, or an NPU in it, that the modules would not return is left out by name and does not affect other hosts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.numbers import is_count
from ...module_utils._core.words import printable, some
from ...module_utils._device.host import MAX_DEVICE_ID
from ...module_utils._fabric.schedule import ip_text
from .._connection.packed_result import unpacked

ANSWER_NOT_UNDERSTOOD, ADDRESS_NOT_SET, ADDRESS_INVALID, ADDRESS_DUPLICATE, LINK_DOWN, DEVICE_BUSY, ERROR = (
    "answer_not_understood", "address_not_set", "address_invalid", "address_duplicate", "link_down", "device_busy", "device_error")

HARMLESS_TOPICS = ("link", "lldp", "conf", "optical", "counters", "link_changes")
"""Topics of errors of an NPU that do not prevent a measurement."""

LONGEST_MESSAGE = 300
LONGEST_VALUE = 60
NAMED = 4
"""NPUs with the same address that a message names."""
MOST_DEVICES = 4 * (MAX_DEVICE_ID + 1)
"""Largest number of entries in an answer."""

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_LLDP_KEYS = ("system_name", "chassis")

Reason = dict[str, Any]
"""``host``, ``device`` (None for the host as a whole), ``code`` and ``message``."""


@dataclass
class Measurable:
    """``hosts``: as pair_plan takes them. ``left_out``: reasons, in the order of the hosts."""

    hosts: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[Reason] = field(default_factory=list)


@dataclass
class _Npu:
    host: str
    entry: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.host} NPU {self.entry['id']}"


def measurable(hosts: Iterable[str], variables: Callable[[str], Mapping[str, Any]], register_name: str, control_port: int = 0,
               allow_busy: bool = False) -> Measurable:
    """Return the hosts with the NPUs that can be measured.

    ``variables`` returns the variables of a host: ``register_name`` has the answer to the probe, and ``check_fabric_leaf`` and others the topology.
    """
    found = Measurable()
    reasons: dict[str, list[Reason]] = {}
    npus: dict[str, list[_Npu]] = {}
    for host in hosts:
        npus[host], reasons[host] = _npus(host, variables(host).get(register_name), allow_busy)
    for owners in _by_address(npus).values():
        if len(owners) > 1:
            for npu in owners:
                others = some([str(other) for other in owners[:NAMED + 1] if other is not npu], NAMED, len(owners) - 1)
                why = f"its address {npu.entry['address']} is also that of {others}; it is unknown which of them is right"
                reasons[npu.host].append(_reason(npu.host, npu.entry["id"], ADDRESS_DUPLICATE, why))
                npus[npu.host].remove(npu)
    for host, mine in npus.items():
        found.left_out += sorted(reasons[host], key=lambda reason: -1 if reason["device"] is None else reason["device"])
        if mine:
            found.hosts.append(_entry(host, variables(host), [npu.entry for npu in mine], control_port))
    return found


def _entry(host: str, own: Mapping[str, Any], devices: list[dict[str, Any]], control_port: int) -> dict[str, Any]:
    port = own.get("check_fabric_control_port")
    return {"host": host, "devices": devices, "leaf": own.get("check_fabric_leaf"), "labels": own.get("check_fabric_labels") or {},
            "super_pod": own.get("check_fabric_super_pod"), "rack": own.get("check_fabric_rack"),
            "control_address": own.get("check_fabric_control_address", own.get("ansible_host", host)), "control_port": control_port if port is None else port}


def _by_address(npus: Mapping[str, Sequence[_Npu]]) -> dict[str, list[_Npu]]:
    owners: dict[str, list[_Npu]] = {}
    for mine in npus.values():
        for npu in mine:
            owners.setdefault(npu.entry["address"], []).append(npu)
    return owners


def _npus(host: str, answer: Any, allow_busy: bool) -> tuple[list[_Npu], list[Reason]]:
    """Return the NPUs that can be measured according to the answer of their host, and the reasons for the others."""
    devices = answer.get("devices") if isinstance(answer, Mapping) else None
    if not isinstance(devices, Sequence) or isinstance(devices, str) or len(devices) > MOST_DEVICES:
        why = f"the probe answered {printable(answer, LONGEST_VALUE)!r}, whose devices are not a list of NPUs"
        return [], [_reason(host, None, ANSWER_NOT_UNDERSTOOD, why)]
    good: list[_Npu] = []
    reasons: list[Reason] = []
    ids = [_id(device) for device in devices]
    for device, number in zip(devices, ids):
        if number is None or ids.count(number) > 1:
            shown = device.get("id") if isinstance(device, Mapping) else device
            why = f"the probe names NPU {number} twice" if number is not None else f"the probe names an NPU with the id {printable(shown, LONGEST_VALUE)!r}"
            if not any(reason["message"] == why for reason in reasons):
                reasons.append(_reason(host, number, ANSWER_NOT_UNDERSTOOD, why))
            continue
        why_not = _why_not(device, allow_busy)
        if why_not is not None:
            reasons.append(_reason(host, number, *why_not))
        else:
            good.append(_Npu(host, {"id": number, "address": ip_text(str(device["address"])), **_wiring(device)}))
    return good, reasons


def _id(device: Any) -> int | None:
    number = device.get("id") if isinstance(device, Mapping) else None
    number = int(number) if isinstance(number, str) and is_count(number) else number
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MAX_DEVICE_ID else None


def _why_not(device: Mapping[str, Any], allow_busy: bool) -> tuple[str, str] | None:
    """Return code and message if an NPU cannot be measured."""
    errors = device.get("errors")
    for error in errors if isinstance(errors, (list, tuple)) else () if errors is None else (errors,):
        fields = error if isinstance(error, Mapping) else {"message": error}
        if fields.get("topic") not in HARMLESS_TOPICS:
            code = fields.get("code")
            return code if isinstance(code, str) and _CODE.fullmatch(code) else ERROR, printable(fields.get("message") or "it has an error", LONGEST_MESSAGE)
    if device.get("link") == "down":
        return LINK_DOWN, "its link is down"
    address = device.get("address")
    if address in (None, ""):
        return ADDRESS_NOT_SET, "it has no address"
    if not isinstance(address, str) or ip_text(str(address)) is None:
        return ADDRESS_INVALID, f"its address {printable(address, LONGEST_VALUE)!r} is not an IP address"
    processes = device.get("processes")
    if processes and not allow_busy:
        pids = [printable(one.get("pid"), 12) if isinstance(one, Mapping) else "?" for one in processes] if isinstance(processes, (list, tuple)) else ["?"]
        return DEVICE_BUSY, f"it is at work, pid {some(pids)}"
    return None


def _wiring(device: Mapping[str, Any]) -> dict[str, Any]:
    """Return leaf and super pod of an NPU from the answer, if they are text or numbers."""
    found: dict[str, Any] = {}
    lldp, super_pod = device.get("lldp"), device.get("super_pod")
    if isinstance(lldp, Mapping):
        found["lldp"] = {key: str(lldp[key]) for key in _LLDP_KEYS if isinstance(lldp.get(key), str)}
    number = super_pod.get("super_pod_id") if isinstance(super_pod, Mapping) else None
    if isinstance(number, (str, int)) and not isinstance(number, bool):
        found["super_pod"] = {"super_pod_id": number}
    return found


def _reason(host: str, device: int | None, code: str, message: str) -> Reason:
    return {"host": host, "device": device, "code": code, "message": message}


def line(reason: Reason) -> str:
    """Return the line that is shown for an NPU or host that is left out."""
    npu = "" if reason["device"] is None else f" NPU {reason['device']}"
    return f"Left out: {reason['host']}{npu}: {reason['message']}"


def context(answer: Any, leaf: Any = None) -> dict[str, Any]:
    """Return the context for the records of a host from its answer: leaf, line rates and product."""
    known = unpacked(answer) if isinstance(answer, Mapping) else {}
    devices = known.get("devices")
    rates = {}
    for device in devices[:MOST_DEVICES] if isinstance(devices, (list, tuple)) else ():
        number, speed = _id(device), device.get("speed") if isinstance(device, Mapping) else None
        if number is not None and isinstance(speed, (int, float)) and not isinstance(speed, bool) and 0 < speed < float("inf"):
            rates[str(number)] = speed / 1000
    product = known.get("product")
    return {"leaf": leaf, "line_rate_gbit_s": rates, "product": printable(product, LONGEST_VALUE) if isinstance(product, str) else None}
