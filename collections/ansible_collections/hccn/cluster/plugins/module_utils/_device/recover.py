# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Apply hccn.conf to devices that differ from it with ``hccn_tool -cfg recovery``, as the driver does at boot.

Devices are recovered one after the other, since the command writes hccn.conf. It tries each setting four times, with a second in between.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from .._core.errors import HccnError
from .._core.problems import Problem
from . import conf, conf_rules
from .c_numbers import unsigned
from .device_session import Session
from .parse_network import UNSET_ADDRESSES
from .read import MAX_PARALLEL, TOPIC_OF_KEY, TlsReader, is_not_ready, read_plain

TIMEOUT = 120.0
"""Timeout for one device in seconds. Recorded runs took 3 to 12 s, and a device that is not ready takes longer."""

Difference = Dict[str, Any]
"""``{key, file, device}``. ``device`` is None if the setting is not set or not known."""


@dataclass
class Comparison:
    """The differences between a device and its lines of hccn.conf."""

    differences: List[Difference]
    errors: List[Dict[str, Any]]


def _file_values(text: str, device: int) -> Dict[str, str]:
    found = conf.values_by_device(text).get(device, {})
    return {key: _as_read(key, found[key]) for key in (*TOPIC_OF_KEY, "tls_enable") if key in found}


def _as_read(key: str, value: str) -> str:
    """Return a value as the device reports it after recovery: numbers without a sign and zeros in front."""
    if key not in ("mtu", "tls_enable") or conf_rules.refusal(key, value) is not None:
        return value
    return "%d" % (unsigned(value)[0] % (1 << 32))


def _tls(reader: TlsReader, device: int, values: Dict[str, str], found: Dict[str, Any]) -> None:
    """Add the TLS flag of a device. A device without certificates does not report it; if the file disables TLS, the key is then not compared."""
    answer = reader.read(device, not is_not_ready(found["errors"]))
    if values["tls_enable"] == "0" and any(error["code"] == "no_certificate" for error in answer["errors"]):
        del values["tls_enable"]
        return
    found["errors"] += answer["errors"]
    enabled = answer["tls"]["enabled"]
    found["tls_enable"] = None if enabled is None else int(enabled)


def _compare(values: Dict[str, str], found: Dict[str, Any]) -> Comparison:
    actual = {key: None if found.get(key) is None else str(found[key]) for key in values}
    wanted = {key: None if key == "netdetect" and value in UNSET_ADDRESSES else value for key, value in values.items()}
    return Comparison([{"key": key, "file": values[key], "device": actual[key]} for key in values if actual[key] != wanted[key]], found["errors"])


def compare(session: Session, devices: Sequence[int], text: str) -> Dict[int, Comparison]:
    """Compare each device with ``text``, which may differ from hccn.conf. Only keys of the text are compared."""
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


def _blocking_problem(problems: Sequence[Problem], device: int) -> Optional[Dict[str, Any]]:
    """Return an error of the file that concerns this device, or no device in particular."""
    for problem in problems:
        if problem.severity == "error" and problem.device in (None, device):
            message = "not recovered: %s, %s" % (problem.where, problem.message)
            return HccnError("conf_problem", message, problem.hint or "correct the file first").as_dict()
    return None


def _recover(session: Session, device: int, allow_busy: bool) -> List[Dict[str, Any]]:
    try:
        session.tool.with_timeout(TIMEOUT).set(device, "-cfg", "recovery", before_retry=lambda: session.require_idle(device, allow_busy))
    except HccnError as error:
        return [error.as_dict()]
    return []


def _result(device: int, changed: bool, before: Comparison, after: Sequence[Difference], errors: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    return {"id": device, "changed": changed, "differences_before": before.differences, "differences_after": list(after), "errors": list(errors)}


def _apply(session: Session, device: int, before: Comparison, allow_busy: bool) -> Dict[str, Any]:
    errors = _recover(session, device, allow_busy)
    after = compare(session, [device], session.conf_text() or "")[device]
    errors += after.errors
    if not errors and after.differences:
        keys = ", ".join(one["key"] for one in after.differences)
        errors.append(HccnError("not_applied", "the recovery reported success, but the device still differs in %s" % keys,
                                "see /var/log/hccn_tool/hccn_config.log").as_dict())
    return _result(device, after.differences != before.differences, before, after.differences, errors)


def recover(session: Session, text: str, problems: Sequence[Problem], allow_busy: bool, check_mode: bool) -> List[Dict[str, Any]]:
    """Return a result for each device of ``session``. ``text`` is the text of hccn.conf, in check mode the expected one."""
    comparisons = compare(session, session.devices, text)
    for device, comparison in comparisons.items():
        problem = _blocking_problem(problems, device) if comparison.differences and not comparison.errors else None
        comparison.errors += [problem] if problem else []
    results = []
    for device, comparison in comparisons.items():
        if comparison.differences and not comparison.errors:  # checked right before each device, since recoveries take seconds
            comparison.errors += session.refusals([device], allow_busy).values()
        if comparison.errors or not comparison.differences:
            results.append(_result(device, False, comparison, comparison.differences, comparison.errors))
        elif check_mode:
            results.append(_result(device, True, comparison, [], []))
        else:
            results.append(_apply(session, device, comparison, allow_busy))
    return results
