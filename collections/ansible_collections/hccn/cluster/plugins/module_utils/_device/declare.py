# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of hccn_conf: set and remove keys of the file, check it, and apply it to devices."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError, InputError
from .._core.problems import Problem, as_dicts
from . import conf, conf_check, conf_file, conf_rules, device_session, host, recover, reserved, saved_state
from .conf_replay import RecoveryHost
from .device_errors import failed, sentence
from .host import MAX_DEVICE_ID, expand
from .npu_smi import NpuSmi

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "settings": {"type": "dict"},
    "config": {"type": "list", "elements": "dict", "options": {"id": {"type": "int", "required": True}, "settings": {"type": "dict", "required": True}}},
    "backup": {"type": "bool", "default": False},
}
"""Options of modules that set keys of hccn.conf (all but settings are documented in the fragment hccn.cluster._devices.declared)."""

_NUMBERED = re.compile(r"_\d+$")


def _values(where: str, key: str, value: Any) -> List[str]:
    values = value if isinstance(value, list) else [value]
    if any(one is None or isinstance(one, (list, dict)) for one in values):
        raise InputError("%s: the value %r of %s is neither a text nor a number" % (where, value, key))
    texts = [str(int(one)) if isinstance(one, bool) else str(one) for one in values]
    if not key or any(character in key for character in "=# \t\r\n") or _NUMBERED.search(key):
        raise InputError("%s: %r is not a key of hccn.conf: give it without '=' and without the device's number" % (where, key))
    if len(texts) > 1 and key not in conf.REPEATABLE_KEYS:
        raise InputError("%s: %s has %d values but takes only one; only %s may be repeated" % (
            where, key, len(texts), ", ".join(conf.REPEATABLE_KEYS)))
    for text in texts:
        if any("\ud800" <= character <= "\udfff" for character in key + text):
            raise InputError("%s: %r of %s has a character that cannot be written into a file" % (where, text, key))
        if any(character in text for character in "\n\r\0") or len(conf.encoded(key + text)) + 5 > conf.MAX_LINE:
            raise InputError("%s: the value of %s does not fit on one line of %d bytes" % (where, key, conf.MAX_LINE))
        error = conf_rules.refusal(key, text)
        if error:
            raise InputError("%s: %s: %s" % (where, key, error))
    return texts


def declared_keys(params: Mapping[str, Any], devices: Sequence[int]) -> Dict[Tuple[int, str], List[str]]:
    """Return ``settings`` for each of ``devices`` and ``config``, which takes precedence, by device and key. Raises InputError."""
    absent = params["state"] == "absent"
    wanted: Dict[Tuple[int, str], List[str]] = {}
    for device in devices:
        for key, value in (params["settings"] or {}).items():
            wanted[(device, key)] = [] if absent else _values("settings", key, value)
    seen = set()
    for index, entry in enumerate(params["config"] or []):
        if entry["id"] in seen:
            raise InputError("config[%d]: device %d is listed twice" % (index, entry["id"]))
        if not 0 <= entry["id"] <= MAX_DEVICE_ID:
            raise InputError("config[%d]: id %d is not a physical id of 0 to %d" % (index, entry["id"], MAX_DEVICE_ID))
        seen.add(entry["id"])
        for key, value in entry["settings"].items():
            wanted[(entry["id"], key)] = [] if absent else _values("config[%d].settings" % index, key, value)
    return wanted


def _text(path: str, create: bool) -> Optional[str]:
    """Return the text, None if the file will be created."""
    text = conf_file.read(path)
    if text is None and not create:
        raise HccnError("conf_missing", "%s does not exist" % path, "set create: true, or create it with the installer of the driver")
    return text


class _Seen(NamedTuple):
    """The devices of ``settings``, and the host: its devices and product, None if they are unknown and ``devices`` is not ``all``."""

    devices: List[int]
    present: Optional[Sequence[int]]
    found: Optional[host.Host]


def _probe(params: Mapping[str, Any], npu_smi: NpuSmi) -> Optional[host.Host]:
    try:
        return host.probe(npu_smi)
    except HccnError:
        if params["settings"] and [word.strip() for word in params["devices"]] == ["all"]:
            raise
        return None


def _devices(params: Mapping[str, Any], found: Optional[host.Host]) -> _Seen:
    present = None if found is None else found.devices
    return _Seen(expand(params["devices"], present or ()), present, found)


def _host(seen: _Seen, npu_smi: NpuSmi, text: str) -> RecoveryHost:
    """Return what decides about addresses. Whether an A3 host is in a super pod only matters for addresses of 192.0.0.0/8, so it is only asked then."""
    product = None if seen.found is None else seen.found.product
    if product != "A3" or seen.found is None or not seen.found.chips or "address_" not in text or "=192." not in text:
        return RecoveryHost(product)
    try:
        return RecoveryHost(product, reserved.is_in_super_pod(npu_smi.super_pod(seen.found.chips[0]).server_index))
    except HccnError:
        return RecoveryHost(product)


def _session(params: Mapping[str, Any]) -> device_session.Session:
    """Return the session of a recovery. It is started before the file is changed, so that errors leave the file unchanged."""
    session = device_session.start(dict(params, hccn_conf=params["path"]))
    session.host.refuse_950()
    named = [entry["id"] for entry in params["config"] or [] if entry["id"] in session.host.devices]
    return replace(session, devices=session.devices + [device for device in named if device not in session.devices])


def _write(params: Mapping[str, Any], edit: Callable[[str], str], backup: Callable[[str], str]) -> Optional[str]:
    """Edit the file, and return the path of its backup if one was made."""
    path = params["path"]
    if params["create"]:
        conf_file.create(path)
    copies: List[str] = []

    def keep(text: str) -> None:
        if params.get("keep_previous"):
            saved_state.save(path, text)
        if params["backup"]:
            copies.append(backup(path))

    conf_file.change(path, edit, float(params["timeout"]), keep)
    return copies[0] if copies else None


def declare(params: Mapping[str, Any], check_mode: bool, backup: Callable[[str], str], known: Optional[host.Host] = None) -> Dict[str, Any]:
    """Return the values of hccn_conf. ``backup(path)`` copies the file and returns the path of the copy. ``known``: the host, if it was probed before.

    Raises HccnError.
    """
    path = params["path"]
    npu_smi = NpuSmi(params["npu_smi"])
    seen = _devices(params, known or _probe(params, npu_smi))
    wanted = declared_keys(params, seen.devices)
    session = _session(params) if params["recover"] else None
    found = _text(path, params["create"])
    before, missing = found or "", found is None
    result: Dict[str, Any] = {}
    after = conf.edit(before, wanted)
    if not check_mode and (after != before or missing):
        copy = _write(params, lambda text: conf.edit(text, wanted), backup)
        result.update({"backup_file": copy} if copy else {})
        after = _text(path, False) or ""
    facts = _host(seen, npu_smi, after)
    if session is not None:
        result["recovered"] = recover.recover(session, after, conf_check.check(after, seen.present, facts), params["allow_busy"], check_mode)
        after = after if check_mode else _text(path, False) or ""
    judged = before if check_mode and not wanted else after  # without a declaration, check mode is a question about the file as it is
    problems = conf_check.check(judged, seen.present, facts)
    pending = conf_check.pending(problems, judged, params["pending_network"], seen.present, facts)
    result.update(
        pending=as_dicts(pending),
        changed=after != before or missing or any(one["changed"] for one in result.get("recovered", ())), problems=as_dicts(problems),
        settings=[{"device": setting.device, "key": setting.key, "value": setting.value} for setting in conf.settings(after)],
        diff={"before_header": "%s, which does not exist" % path if missing else path, "after_header": path, "before": before, "after": after},
    )
    if after != before:
        result["previous"] = before
    if params.get("keep_previous"):
        result["saved"] = saved_state.state_of(path)
    return _with_failure(result, [problem for problem in problems if problem not in pending], path, params["fail_on"])


def _with_failure(result: Dict[str, Any], problems: Sequence[Problem], path: str, fail_on: str) -> Dict[str, Any]:
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors and fail_on != "none":
        return dict(result, failed=True, msg="%s has %d problem(s) left, the first: %s, %s" % (path, len(errors), errors[0].where, errors[0].message))
    recovered = result.get("recovered", [])
    if failed(recovered, fail_on):
        return dict(result, failed=True, msg=sentence(recovered))
    return result
