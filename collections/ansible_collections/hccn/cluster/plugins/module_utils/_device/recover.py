# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Apply hccn.conf to the devices as the driver does at boot, by ``hccn_tool -cfg recovery``, only where a device differs from the file.

One device after the other: the command writes into hccn.conf. Each of its items is tried four times with a second between.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from .._core.errors import HccnError
from .._core.problems import Problem
from . import conf
from .parse_network import UNSET_ADDRESSES
from .read import MAX_PARALLEL, TOPIC_OF_KEY, TlsReader, read_plain
from .device_session import Session

TIMEOUT = 120.0
"""Seconds for one device: 3 to 12 were recorded, and a device that is not ready takes longer."""

Difference = Dict[str, Any]
"""``{key, file, device}``; ``device`` is None where nothing is set or the value is not known."""


@dataclass
class Comparison:
    """The differences between a device and its lines of hccn.conf."""

    differences: List[Difference]
    errors: List[Dict[str, Any]]


def _file_values(text: str, device: int) -> Dict[str, str]:
    found = conf.values_by_device(text).get(device, {})
    return {key: found[key] for key in (*TOPIC_OF_KEY, "tls_enable") if key in found}


def _tls(reader: TlsReader, device: int, values: Dict[str, str], found: Dict[str, Any]) -> None:
    """Add the TLS flag of a device. Without certificate it does not report the flag: where the file disables TLS, the key is then not compared."""
    answer = reader.read(device)
    if values["tls_enable"] == "0" and any(error["code"] == "no_certificate" for error in answer["errors"]):
        del values["tls_enable"]
        return
    found["errors"] += answer["errors"]
    enabled = answer["tls"]["enabled"]
    found["tls_enable"] = None if enabled is None else int(enabled)


def _compare(values: Dict[str, str], found: Dict[str, Any]) -> Comparison:
    seen = {key: None if found.get(key) is None else str(found[key]) for key in values}
    wanted = {key: None if key == "netdetect" and value in UNSET_ADDRESSES else value for key, value in values.items()}
    return Comparison([{"key": key, "file": values[key], "device": seen[key]} for key in values if seen[key] != wanted[key]], found["errors"])


def compare(session: Session, devices: Sequence[int], text: str) -> Dict[int, Comparison]:
    """Compare each device with ``text``, which need not be written yet. Only keys of the text are compared."""
    values = {device: _file_values(text, device) for device in devices}

    def plain(device: int) -> Dict[str, Any]:
        return read_plain(session.tool, device, sorted({TOPIC_OF_KEY[key] for key in values[device] if key in TOPIC_OF_KEY}))

    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        found = dict(zip(devices, pool.map(plain, devices)))
    reader = TlsReader(session.tool, session.conf_text(), session.path, True)
    for device in devices:
        if "tls_enable" in values[device]:
            _tls(reader, device, values[device], found[device])
    return {device: _compare(values[device], found[device]) for device in devices}


def _hindrance(problems: Sequence[Problem], device: int) -> Optional[Dict[str, Any]]:
    """Return an error in the file of this device, or one that names no device and so may concern any."""
    for problem in problems:
        if problem.severity == "error" and problem.device in (None, device):
            message = "not recovered: %s, %s" % (problem.where, problem.message)
            return HccnError("conf_problem", message, problem.hint or "correct the file first").as_dict()
    return None


def _recover(session: Session, device: int) -> List[Dict[str, Any]]:
    try:
        session.tool.patient(TIMEOUT).set(device, "-cfg", "recovery")
    except HccnError as error:
        return [error.as_dict()]
    return []


def _result(device: int, changed: bool, before: Comparison, after: Sequence[Difference], errors: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    return {"id": device, "changed": changed, "differences_before": before.differences, "differences_after": list(after), "errors": list(errors)}


def _apply(session: Session, device: int, before: Comparison) -> Dict[str, Any]:
    errors = _recover(session, device)
    after = compare(session, [device], session.conf_text() or "")[device]
    errors += after.errors
    if not errors and after.differences:
        keys = ", ".join(one["key"] for one in after.differences)
        errors.append(HccnError("not_applied", "the recovery reported success, but the device still differs in %s" % keys,
                                "see /var/log/hccn_tool/hccn_config.log").as_dict())
    return _result(device, after.differences != before.differences, before, after.differences, errors)


def recover(session: Session, text: str, problems: Sequence[Problem], allow_busy: bool, check_mode: bool) -> List[Dict[str, Any]]:
    """Return a result for each device of ``session``; ``text`` is the text of hccn.conf, in check mode the expected one."""
    comparisons = compare(session, session.devices, text)
    for device, seen in comparisons.items():
        hindrance = _hindrance(problems, device) if seen.differences and not seen.errors else None
        seen.errors += [hindrance] if hindrance else []
    results = []
    for device, seen in comparisons.items():
        if seen.differences and not seen.errors:  # asked right before the device's turn: a recovery takes seconds
            seen.errors += session.refusals([device], allow_busy).values()
        if seen.errors or not seen.differences:
            results.append(_result(device, False, seen, seen.differences, seen.errors))
        elif check_mode:
            results.append(_result(device, True, seen, [], []))
        else:
            results.append(_apply(session, device, seen))
    return results
