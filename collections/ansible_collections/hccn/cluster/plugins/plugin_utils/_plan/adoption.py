# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Adopt a configured host: return inventory variables for what hccn.conf contains and the devices agree with.

If a device and the file differ, neither value is taken and the difference is a problem. A run with the variables therefore changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.untrusted_text import has_template
from ...module_utils._core.numbers import is_count
from ...module_utils._core.problems import Problem, as_dicts
from ...module_utils._core.words import printable
from ...module_utils._device import conf, declare
from ...module_utils._device.host import MAX_DEVICE_ID
from ...module_utils._device.network_items import canonical
from ...module_utils._device.parse_network import UNSET_ADDRESSES

TLS_KEY = "tls_enable"
GROUPS = (("address", "netmask", "gateway"), ("netdetect",))
"""Keys that device_info reads as well. The keys of a group are left out together, since a netmask alone means nothing."""

WHY_UNREAD = {"would_write": "the query would write tls_enable into hccn.conf", "no_final_newline": "hccn.conf has no newline at its end",
              conf.NUL_BYTES: "hccn.conf ends in NUL bytes"}
"""Reasons of device_info as sentences."""

Settings = dict[str, Any]


def adopt(info: Any, file: Any) -> dict[str, Any]:
    """Return ``{variables, problems}`` from the results of device_info and hccn_conf. Raises InputError.

    In ``variables``, ``bring_up_network`` has the addresses that are equal on device and file, ``bring_up_config`` the settings that are only in the file.
    """
    devices = _part(info, "devices", "device_info")
    if not devices:
        raise InputError("there is nothing to adopt: device_info returned no device", str(info.get("msg") or ""))
    config, problems = config_of(_part(file, "settings", "hccn_conf"))
    found = {entry["id"]: entry["settings"] for entry in config}
    network, made = [], []
    for device in devices:
        settings = found.pop(device["id"], {})
        problems += _compare(device, settings)
        settings.pop(TLS_KEY, None)
        addresses = {} if info.get("dialect") == "950" else _addresses(device, settings)
        if addresses:
            network.append({"id": device["id"], **addresses})
        if settings:
            made.append({"id": device["id"], "settings": settings})
    problems += [Problem("absent_device", "warning", "it is not adopted: the host does not have this NPU", device=device) for device in found]
    state, hindrances = _tls(devices, {entry["device"]: entry["value"] for entry in reversed(file["settings"]) if entry["key"] == TLS_KEY})
    variables = {"bring_up_tls_state": state, "bring_up_network": network, "bring_up_config": made}
    return {"variables": variables, "problems": as_dicts(problems + hindrances) + _known(file)}


def config_of(settings: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Convert the settings that hccn_conf returns (``device``, ``key``, ``value``) to its option ``config``. Return problems for those that it refuses.

    Of a key that may occur only once, the first value is taken, as hccn_tool does.
    """
    made: dict[int, Settings] = {}
    problems: list[Problem] = []
    for setting in settings:
        device, key, value = int(setting["device"]), str(setting["key"]), str(setting["value"])
        problem = _refused(device, key, value)
        if problem is not None:
            problems.append(problem)
            continue
        values = made.setdefault(device, {})
        if key not in values:
            values[key] = _plain(value)
        elif key in conf.REPEATABLE_KEYS:
            before = values[key] if isinstance(values[key], list) else [values[key]]
            values[key] = [*before, _plain(value)]
    return [{"id": device, "settings": values} for device, values in made.items()], problems


def _part(result: Any, key: str, module: str) -> Sequence[Any]:
    if not isinstance(result, Mapping) or not isinstance(result.get(key), Sequence) or isinstance(result[key], str):
        raise InputError(f"this is not a result of {module}: it has no {key}", "pass the registered result of the task")
    entries = list(result[key])
    for entry in entries:
        if not isinstance(entry, Mapping) or not _is_entry(entry, module):
            raise InputError(f"this is not a result of {module}: its {key} contain {printable(entry, 80)!r}", "pass the registered result of the task")
    return entries


def _is_entry(entry: Mapping[str, Any], module: str) -> bool:
    """Return True if an element of the result has the fields that are read, with the right types."""
    if module == "hccn_conf":
        return _is_id(entry.get("device")) and all(isinstance(entry.get(name), (str, int)) for name in ("key", "value"))
    errors, tls = entry.get("errors"), entry.get("tls")
    return (_is_id(entry.get("id")) and (errors is None or (isinstance(errors, (list, tuple)) and all(isinstance(error, Mapping) for error in errors)))
            and (tls is None or (isinstance(tls, Mapping) and tls.get("enabled") in (None, True, False))))


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_DEVICE_ID


def _known(file: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the problems that hccn_conf found. It does not report faults that it would repair, so these are read from its diff."""
    problems, diff = file.get("problems"), file.get("diff")
    known = [dict(problem) for problem in problems if isinstance(problem, Mapping) and isinstance(problem.get("message"), str)
             and problem.get("rule") != "absent_device"] if isinstance(problems, (list, tuple)) else []
    before = str((diff.get("before") if isinstance(diff, Mapping) else None) or "")
    if "\0" in before:
        known += as_dicts([Problem(conf.NUL_BYTES, "warning", "the file holds NUL bytes, left by a write that was cut off: bring_up will remove them")])
    elif not conf.ends_in_newline(before):
        known += as_dicts([Problem("final_newline", "warning", "the last line of the file has no newline: bring_up will add it")])
    return known


def _plain(value: str) -> str | int:
    """Return a number as int if that loses nothing: 1, but not 01."""
    return int(value) if is_count(value) and str(int(value)) == value else value


def _refused(device: int, key: str, value: str) -> Problem | None:
    where = f"{key}_{device}"
    if has_template(key) or has_template(value):
        return Problem("template", "error", f"{where} is skipped: the inventory would read it as a template", device=device)
    try:
        declare.declared_keys({"state": "present", "settings": None, "config": [{"id": device, "settings": {key: value}}]}, ())
    except InputError as error:
        return Problem("invalid_value", "error", f"{where} is skipped: {error.message.partition(': ')[2]}", device=device)
    return None


def _unread(device: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the error of each topic that could not be read."""
    return {str(error.get("topic")): error for error in device.get("errors") or ()}


def _addresses(device: Mapping[str, Any], settings: Settings) -> Settings:
    """Move the addresses that the device has as well out of ``settings``, for device_network (which does not support the 950)."""
    unread = _unread(device)
    taken: Settings = {}
    for group in GROUPS:
        if group[0] in device and not unread.keys() & set(group):
            taken.update({key: settings.pop(key) for key in group if key in settings})
    return {key: value for key, value in taken.items() if _shown(value) is not None}


def _compare(device: Mapping[str, Any], settings: Settings) -> list[Problem]:
    """Return the differences of device and file, and remove them from ``settings``."""
    unread = _unread(device)
    problems = []
    for group in GROUPS:
        differing = []
        for key in group:
            topic = "address" if key == "netmask" else key
            if topic in unread or key not in device:
                continue
            on_device, in_file = _shown(device[key]), _shown(settings.get(key))
            if on_device != in_file:
                differing.append(f"{key} is {on_device or 'not set'} on the device and {in_file or 'not set'} in the file")
        if differing:
            for key in group:
                settings.pop(key, None)
            problems.append(Problem("differs", "error", f"{'; '.join(differing)}: not adopted", device=device["id"],
                                    hint="make them equal with device_network or hccn_conf, then adopt again"))
    for topic, error in unread.items():
        if topic != "tls":
            problems.append(Problem("unread", "warning", f"{topic} could not be read, so it is not compared with the file: {error.get('message')}",
                                    device=device["id"]))
    return problems


def _shown(value: Any) -> str | None:
    return None if value is None or str(value) in UNSET_ADDRESSES else canonical(str(value))


def _tls(devices: Sequence[Mapping[str, Any]], in_file: Mapping[int, str]) -> tuple[str, list[Problem]]:
    """Return the TLS state that all devices and the file have in common, else ``unchanged`` and the problems."""
    flags = {device["id"]: (device.get("tls") or {}).get("enabled") for device in devices}
    problems = _unread_flags(devices)
    for device, enabled in flags.items():
        value = in_file.get(device)
        if enabled is not None and value != str(int(enabled)):
            problems.append(Problem("differs", "error", f"the TLS flag is {'on' if enabled else 'off'} on the device and "
                                    f"{'not set' if value is None else repr(value)} in the file: not adopted", device=device))
    if not problems and len(set(flags.values())) > 1:
        on = ", ".join(str(device) for device, enabled in flags.items() if enabled)
        problems.append(Problem("tls_differs", "error", f"the TLS flag is on for NPU {on} and off for the others: not adopted",
                                hint="NPUs with different TLS flags cannot connect: run the playbook hccn.cluster.tls"))
    if problems:
        return "unchanged", problems
    return ("enabled" if next(iter(flags.values())) else "disabled"), []


def _unread_flags(devices: Sequence[Mapping[str, Any]]) -> list[Problem]:
    """Return one problem for each reason why TLS flags were not read."""
    reasons: dict[str, list[str]] = {}
    for device in devices:
        tls = device.get("tls") or {}
        if tls.get("enabled") is None:
            reason = str(tls.get("reason") or "device_info did not gather it")
            reasons.setdefault(WHY_UNREAD.get(reason, reason), []).append(str(device["id"]))
    return [Problem("tls_unknown", "warning", f"the TLS flag of NPU {', '.join(ids)} was not read: {reason}") for reason, ids in reasons.items()]
