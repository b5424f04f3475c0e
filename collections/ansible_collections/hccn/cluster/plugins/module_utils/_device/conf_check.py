# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check an hccn.conf for problems: errors where ``hccn_tool -cfg recovery``, which applies the file at every boot, fails; warnings for the rest."""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.numbers import is_integer
from .._core.problems import Problem
from . import conf, conf_replay, conf_rules, conf_warnings
from .conf_replay import UNKNOWN, RecoveryFailure, RecoveryHost
from .network_config import network_of
from .network_items import AUTO_PORT, ITEMS

WHOLE_FILE = "the file"
_FAILS = "hccn_tool -cfg recovery fails on it"
_HINTS = {
    "final_newline": "hccn.cluster.hccn_conf adds the newline",
    conf.NUL_BYTES: "hccn.cluster.hccn_conf removes the NUL bytes",
    "carriage_return": "rewrite the file with LF line ends, and in place, since containers mount its inode",
    "glued_key": "put it on a separate line, and set the correct values of both keys",
    "blank_around_equals": "write key=value without blanks",
    "too_large": "remove lines, for instance comments, until the file has at most %d bytes" % conf.MAX_BYTES,
    "duplicate_address": "give each NPU a different address",
}


def _kind(failure: RecoveryFailure) -> Tuple[str, str]:
    """Return the rule that a failure breaks, and its message."""
    message = "%s_%d: %s" % (failure.key, failure.device, failure.message) if failure.key else failure.message
    if failure.rule == "final_newline":
        return failure.rule, "the last line has no newline, so recovery joins the next line to it, and fails: %s" % message
    if failure.rule == conf.NUL_BYTES:
        return failure.rule, "recovery drops the end of the line at the NUL byte, joins the next line to it, and fails: %s" % message
    if failure.rule:
        return failure.rule, message
    joined = conf_warnings.joined_key(failure.value)
    if joined is not None:
        return "glued_key", "%s is joined to the value of %s_%d on one line" % (joined, failure.key, failure.device)
    if failure.value.endswith("\r"):
        return "carriage_return", "%s_%d ends in a CR, which belongs to the value: hccn_tool -cfg recovery fails on it" % (failure.key, failure.device)
    rule = conf_rules.RULES.get(failure.key)
    if failure.value != failure.value.strip() and rule is not None and rule.error(failure.value.strip()) is None:
        return "blank_around_equals", message
    return "invalid_value", message


def _error(failure: RecoveryFailure) -> Problem:
    rule, message = _kind(failure)
    return Problem(rule, "error", message, device=failure.device, where="line %d" % failure.line if failure.line else WHOLE_FILE,
                   hint=_HINTS.get(rule, _FAILS))


def check(text: str, present: Optional[Sequence[int]] = None, host: RecoveryHost = UNKNOWN) -> List[Problem]:
    """Return all problems of a file: errors in the order of the recoveries, then warnings. ``present``: the devices of the host, None if unknown.

    The errors are those of a boot, which recovers all devices in the order of their ids.
    """
    devices = conf_replay.devices_of(text) if present is None else sorted(present)
    errors = [_error(failure) for failure in conf_replay.replay(text, devices, host)[0]]
    broken = {problem.rule for problem in errors}
    whole = (conf_warnings.nul_bytes(text), conf_warnings.final_newline(text), conf_warnings.carriage_return(text))
    warnings = [problem for problem in whole if problem is not None and problem.rule not in broken]
    warnings += list(conf_warnings.malformed_lines(text)) + list(conf_warnings.of_settings(conf.settings(text), host, present))
    said = {(problem.rule, problem.message) for problem in errors}
    return errors + [problem for problem in warnings if (problem.rule, problem.message) not in said]


def _values(entry: Mapping[str, Any]) -> Dict[str, str]:
    """Return the values that an entry of ``config`` of device_network sets in hccn.conf, by key without device number."""
    found: Dict[str, str] = {}
    for item in ITEMS:
        for option, key in zip(item.options, item.keys):
            value = entry.get(option)
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                found[key] = AUTO_PORT if key == "roce_port" and value == "auto" else str(value)
    return found


def _loses_gateway(text: str, device: int, values: Mapping[str, str]) -> bool:
    """Return True if a new address removes the gateway of the file, since the gateway is outside the new network."""
    old = {key: conf.value_of(text, device, key) for key in ("address", "netmask", "gateway")}
    if old["gateway"] is None or "gateway" in values or not {"address", "netmask"} <= set(values):
        return False
    if (old["address"], old["netmask"]) == (values["address"], values["netmask"]):
        return False  # the address may not be set at all
    try:
        return ipaddress.ip_address(old["gateway"]) not in network_of(values["address"], values["netmask"])
    except ValueError:
        return True


def predicted_text(text: str, config: Sequence[Mapping[str, Any]]) -> str:
    """Return the text after device_network has set ``config``, as far as conf_check reads it."""
    edits: Dict[Tuple[int, str], List[str]] = {}
    for entry in config:
        device = entry.get("id")
        if is_integer(device):
            values = _values(entry)
            edits.update({(device, key): [value] for key, value in values.items()})
            if _loses_gateway(text, device, values):
                edits.update({(device, "gateway"): [], (device, "IPv6gateway"): []})
    return conf.edit(text, edits)


def _identity(problem: Problem) -> Tuple[str, Optional[int], str]:
    """Return the identity of a problem. Its line is not part of it, since lines move when others are removed."""
    return problem.rule, problem.device, problem.message


def pending(problems: Sequence[Problem], text: str, config: Sequence[Mapping[str, Any]], present: Optional[Sequence[int]] = None,
            host: RecoveryHost = UNKNOWN) -> List[Problem]:
    """Return those of the ``problems`` of ``text`` that device_network with ``config`` will solve."""
    if not problems or not config:
        return []
    remaining = {_identity(problem) for problem in check(predicted_text(text, config), present, host)}
    return [problem for problem in problems if _identity(problem) not in remaining]
