# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Convert the state that a host saved before a change to options of the modules that restore it. The saved state is untrusted data and is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.numbers import is_integer
from ...module_utils._core.problems import Problem, as_dicts
from ...module_utils._core.untrusted_text import json_object
from ...module_utils._device import conf, conf_rules
from ...module_utils._device.network_config import OPTIONS, settable
from ...module_utils._device.network_items import canonical
from ...module_utils._device.saved_state import SCHEMA
from .adoption import config_of

_TIME = re.compile(r"[0-9TZ:.-]{1,30}")
_INTEGERS = ("mtu", "ipv6_prefix", "shaping")
_ROWS = ("pfc", "prio_tc")
SEND_ARP = ("send_arp_period", "send_arp_status")

Devices = Sequence[Mapping[str, Any]]


def restore_options(saved: Any, settings: Sequence[Mapping[str, Any]] = (), devices: Devices = ()) -> dict[str, Any]:
    """Return the options of each module. ``settings``: what hccn_conf returns now. ``devices``: what device_info returns now. Raises InputError.

    ``{saved_at, replayed: config of hccn_conf that has to be set before the addresses, network: config of device_network, tls: {enabled: ids, disabled:
    ids}, present: config of hccn_conf, absent: the same for keys that were not there, problems, missing: sentences about addresses that were changed but
    not saved}``.
    """
    saved = json_object(saved) if isinstance(saved, str) else saved
    if not isinstance(saved, Mapping) or saved.get("schema") != SCHEMA:
        raise InputError(f"the saved state does not have the schema {SCHEMA}", "another version saved it, or it is another file")
    if not _TIME.fullmatch(str(saved.get("saved_at"))):
        raise InputError("saved_at of the saved state is not a time")
    text = saved.get("hccn_conf")
    present, problems = config_of({"device": one.device, "key": one.key, "value": one.value} for one in conf.settings(str(text or "")))
    entries = _entries(saved, "network")
    network, unsettable, missing = _network(entries)
    missing += _unsaved(entries, str(text or ""), settings, devices)
    replayed, kept = _gratuitous_arp(str(text or ""), settings, {entry["id"] for entry in network if "address" in entry})
    return {
        "saved_at": str(saved["saved_at"]),
        "replayed": replayed,
        "network": network,
        "tls": _tls_flags(_entries(saved, "tls")),
        "present": present,
        "absent": _new_keys(text, settings),
        "problems": as_dicts([*problems, *unsettable, *kept]),
        "missing": missing,
    }


def _entries(saved: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = saved.get(key) or []
    if not isinstance(entries, Sequence) or isinstance(entries, str) or any(
            not isinstance(entry, Mapping) or not is_integer(entry.get("id")) for entry in entries):
        raise InputError(f"{key} of the saved state is not a list of entries with id")
    return [dict(entry) for entry in entries]


def _is_option(option: str, value: Any) -> bool:
    """Return True if the value has the type that device_network takes for this option."""
    if value is None:
        return True
    if option in _INTEGERS:
        return is_integer(value)
    if option in _ROWS:
        return isinstance(value, list) and all(is_integer(one) for one in value)
    if option == "dscp_to_tc":
        return isinstance(value, Mapping) and all(one is None or is_integer(one) for one in value.values())
    return isinstance(value, str) or option == "roce_port" and is_integer(value)


def _network(entries: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Problem], list[str]]:
    """Return ``config`` of device_network, problems for options that it cannot restore, and sentences about addresses that it cannot restore."""
    config, problems, missing = [], [], []
    for whole in entries:
        device, entry = whole["id"], {option: value for option, value in whole.items() if option != "id"}
        odd = [option for option, value in entry.items() if option not in OPTIONS or not _is_option(option, value)]
        if odd:
            raise InputError(f"the saved state of NPU {device} has options or values that device_network does not take: {', '.join(map(ascii, odd))}")
        if isinstance(entry.get("dscp_to_tc"), Mapping):
            entry["dscp_to_tc"] = {dscp: tc for dscp, tc in entry["dscp_to_tc"].items() if tc is not None} or None
        values, faults = settable(entry)
        config += [{"id": device, **values}] if values else []
        missing += [f"NPU {device}: the address that was saved cannot be set ({wrong})" for option, wrong in faults if option in ("address", "netmask")]
        problems += [Problem("not_settable", "error", f"{option}: {wrong}", device=device) for option, wrong in faults
                     if option not in ("address", "netmask")]
        if "address" in entry and entry["address"] is None:
            problems.append(Problem("no_address", "warning", f"NPU {device} had no address and keeps the one that it has: hccn_tool cannot remove it",
                                    device=device))
    return config, problems, missing


def _unsaved(entries: Sequence[Mapping[str, Any]], text: str, settings: Sequence[Mapping[str, Any]], devices: Devices) -> Iterator[str]:
    """Return a sentence for each NPU whose address was changed in hccn.conf since then without being saved."""
    known = {entry["id"] for entry in entries if "address" in entry}
    now = {setting["device"]: str(setting["value"]) for setting in reversed(settings) if setting["key"] == "address"}
    for device in devices:
        number, address = device["id"], device.get("address")
        before = conf.value_of(text, number, "address")
        if number in known or address is None or number not in now or canonical(now[number]) != canonical(str(address)):
            continue
        if before is None or canonical(before) != canonical(str(address)):
            old = "" if before is None else f" (hccn.conf had {ascii(before)[1:-1]})"
            yield (f"NPU {number}: its address was changed to {canonical(str(address))}, but the address that it had before was not saved{old}. "
                   "Set it with device_network.")


def _gratuitous_arp(text: str, settings: Sequence[Mapping[str, Any]], addressed: Set[int]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Return the former values of ``send_arp_*`` where they changed, and a problem for each NPU whose address is not set again.

    ``hccn_tool -ip -s`` applies these lines of the file to the device, so that they are restored before the addresses. A status that was not in the
    file was off.
    """
    now = {(setting["device"], setting["key"]): str(setting["value"]) for setting in reversed(settings)}
    config, kept = [], []
    for device in sorted({device for device, key in now if key in SEND_ARP} | {one.device for one in conf.settings(text) if one.key in SEND_ARP}):
        values = {}
        for key in SEND_ARP:
            before = conf.value_of(text, device, key)
            if before is None or conf_rules.refusal(key, before):
                before = "0" if key == "send_arp_status" and (device, key) in now else None
            if before is not None and now.get((device, key)) != before:
                values[key] = before
        if values and device in addressed:
            config.append({"id": device, "settings": values})
        elif values:
            kept.append(Problem("gratuitous_arp", "warning", f"NPU {device}: gratuitous ARP stays as it is on the device until the next boot, since only a "
                                "new address changes it", device=device))
    return config, kept


def _tls_flags(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return ids by TLS state, as the option ``devices`` takes them, without flags that were not known."""
    return {state: [str(entry["id"]) for entry in entries if entry.get("enabled") is wanted] for state, wanted in (("enabled", True), ("disabled", False))}


def _new_keys(text: Any, settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the keys that the file has now and did not have then; none if the file was not saved."""
    if text is None:
        return []
    before = {(one.device, one.key) for one in conf.settings(str(text))}
    added: dict[int, dict[str, Any]] = {}
    for setting in settings:
        if (setting["device"], setting["key"]) not in before:
            added.setdefault(setting["device"], {})[str(setting["key"])] = ""
    return [{"id": device, "settings": keys} for device, keys in added.items()]
