# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings about the NPUs of one host, from the result of device_info."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils._core.words import printable, without_device_number
from . import causes, reading
from .finding import Finding, finding, of_host, of_npus
from .stages import of_failed_task, of_unreachable

INFORMATIVE_TOPICS = ("lldp", "optical", "counters", "link_changes", "vnic", "mac", "network_version", "dscp_to_tc", "pfc")
"""Topics whose errors are only notes."""
UNSUPPORTED_CODES = ("unsupported_on_product", "unsupported_in_vm", "optical_unsupported", "optical_absent", "unknown_command", "unknown_option")

LINKS = {
    "down": (causes.FAILED, "the link is down"),
    "partial": (causes.DEGRADED, "the link is partly up: some of its ports or lanes are down"),
    "unknown": (causes.UNKNOWN, "hccn_tool does not report whether the link is up"),
}

CONF = {"address": "", "netmask": "the netmask ", "gateway": "the gateway ", "mtu": "the MTU ", "tls_enabled": "TLS "}
"""Options that are compared with hccn.conf, with their names in messages."""
LOST = ("address", "netmask", "gateway")
"""Options that a device with an address loses at a reboot if hccn.conf does not contain them."""

LONGEST_VALUE = 60


def of_devices(host: str, result: Any, stage: str) -> list[Finding]:
    """Return the findings about a host and its NPUs. ``result``: the registered result of the host, of any type."""
    if result is None:
        return [finding("not_measured", of_host(host), "the host returned no result", [host], stage=stage)]
    answer = reading.mapping(result)
    if reading.is_true(answer.get("skipped")):
        return []
    if reading.is_true(answer.get("unreachable")):
        return [of_unreachable(host, stage, answer.get("msg"))]
    found = reading.devices(answer)
    if reading.is_true(answer.get("failed")) and not found:
        return [_of_failure(host, answer, stage)]
    if not isinstance(answer.get("devices"), (list, tuple)):
        return [finding("answer_not_understood", of_host(host), f"it answered {printable(result, LONGEST_VALUE)!r}, whose devices are not a list of NPUs",
                        [host], stage=stage)]
    odd = len(answer["devices"]) - len(found)
    why = f"{odd} of the NPUs in its answer have no id, or one that occurs twice"
    dropped = [finding("answer_not_understood", of_host(host), why, [host], stage=stage)] if odd else []
    return dropped + _errors(host, answer, found, stage) + _links(host, found, stage) + _addresses(host, found, stage) + _conf(host, found, stage)


def _of_failure(host: str, answer: Mapping[str, Any], stage: str) -> Finding:
    error = reading.mapping(answer.get("error"))
    code, message, hint = (reading.text(error.get(key)) for key in ("code", "message", "hint"))
    if not message:
        return of_failed_task(host, {"stage": stage, "task": "Read the NPUs", "msg": answer.get("msg"), "code": code})
    return finding(causes.of_code(code, "tool_failed"), of_host(host), message, [host], evidence=[hint] if hint else (), stage=stage)


def _errors(host: str, answer: Mapping[str, Any], found: Mapping[int, Mapping[str, Any]], stage: str) -> list[Finding]:
    """Return one finding per error, with all NPUs that have it and all topics that could not be read because of it."""
    groups: dict[tuple[str, str, str], tuple[dict[int, None], dict[str, None], dict[str, None]]] = {}
    listed = [(number, error) for number, device in found.items() for error in reading.mappings(device.get("errors"))
              if not (error.get("topic") == "lldp" and device.get("link") == "down")]  # a port without a link has no neighbour to be read
    listed += [(number, error) for error in reading.mappings(answer.get("errors")) for number in reading.ids(error.get("devices"))]
    for number, error in listed:
        code, topic, hint = (reading.text(error.get(key)) for key in ("code", "topic", "hint"))
        message = without_device_number(reading.text(error.get("message")) or code or "it has an error", number)
        cause = causes.of_code(code, "tool_failed")
        harmless = cause in ("tool_failed", "device_error") and (topic in INFORMATIVE_TOPICS or code in UNSUPPORTED_CODES)
        numbers, topics, hints = groups.setdefault((cause, causes.NOTE if harmless else causes.CAUSES[cause].severity, message), ({}, {}, {}))
        numbers[number] = None
        topics.update({topic: None} if topic else {})
        hints.update({hint: None} if hint else {})
    return [_on(host, cause, (", ".join(topics) + ": " if topics else "") + message, numbers, stage, severity, hints)
            for (cause, severity, message), (numbers, topics, hints) in groups.items()]


def _links(host: str, found: Mapping[int, Mapping[str, Any]], stage: str) -> list[Finding]:
    links = []
    for state, (severity, message) in LINKS.items():
        mine = {number: device for number, device in found.items() if device.get("link") == state}
        evidence = [f"NPU {number} port {port.get('port')}: {port.get('link')}" for number, device in mine.items()
                    for port in reading.mappings(device.get("ports")) if port.get("link") not in ("up", None)]
        links += [_on(host, "link_down", message, mine, stage, severity, evidence)] if mine else []
    return links


def _addresses(host: str, found: Mapping[int, Mapping[str, Any]], stage: str) -> list[Finding]:
    unset, invalid = [], {}
    for number, device in found.items():
        failed = any(error.get("topic") == "address" for error in reading.mappings(device.get("errors")))
        if "address" not in device or failed or "address" in reading.texts(device.get("unread")):
            continue
        address = device["address"]
        if address in (None, ""):
            unset.append(number)
        elif not _is_address(address):
            invalid[number] = f"its address {printable(address, LONGEST_VALUE)!r} is not an IP address"
    return ([_on(host, "address_not_set", "it has no address", unset, stage)] if unset else []) + [
        _on(host, "address_invalid", message, [number], stage) for number, message in invalid.items()]


def _is_address(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(ipaddress.ip_address(value))
    except ValueError:
        return False


def _conf(host: str, found: Mapping[int, Mapping[str, Any]], stage: str) -> list[Finding]:
    """Return one finding per option in which hccn.conf and the devices differ."""
    differing = []
    for option in CONF:
        messages = {number: message for number, device in found.items() for message in [_difference(option, device)] if message}
        if messages:
            numbers = list(messages)
            alike = len(set(messages.values())) == 1
            message = messages[numbers[0]] if alike else f"{messages[numbers[0]]} (NPU {numbers[0]}, the others alike)"
            differing.append(_on(host, "conf_differs", message, numbers, stage,
                                 evidence=() if alike else [f"NPU {number}: {message}" for number, message in messages.items()]))
    return differing


def _difference(option: str, device: Mapping[str, Any]) -> str:
    conf = device.get("conf")
    if not isinstance(conf, Mapping):
        return ""
    here = _flag(reading.mapping(device.get("tls")).get("enabled")) if option == "tls_enabled" else _value(device.get(option))
    there = _flag(conf.get(option)) if option == "tls_enabled" else _value(conf.get(option))
    if not here:
        return ""
    if there:
        return "" if here == there else f"the device has {CONF[option]}{here}, hccn.conf has {there}, which the next reboot sets"
    if option in LOST and option not in conf and _value(device.get("address")):
        return f"the device has {CONF[option]}{here}, hccn.conf has none: it is lost at the next reboot"
    return ""


def _value(value: Any) -> str:
    """Return a value as text, empty if it is unknown."""
    return printable(value, LONGEST_VALUE) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def _flag(value: Any) -> str:
    """Return a TLS flag as text; in hccn.conf it is a digit."""
    return {"True": "on", "1": "on", "False": "off", "0": "off"}.get(str(value), "") if isinstance(value, (bool, int, str)) else ""


def _on(host: str, cause: str, message: str, numbers: Iterable[int], stage: str, severity: str | None = None, evidence: Iterable[str] = ()) -> Finding:
    npus = [(host, number) for number in numbers]
    return finding(cause, of_npus(npus), message, [host], npus, evidence, stage, severity=severity)
