# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_info."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .._core.words import npus
from . import device_errors, device_session, read, read_950, software


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "gather": {"type": "list", "elements": "str", "choices": list(read.TOPICS), "default": list(read.DEFAULT_TOPICS)}, "cann_home": {"type": "path"},
}
"""Options of modules that read the devices (documented in the fragment hccn.cluster._devices.gather)."""


def gather(session: device_session.Session, params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of device_info, with ``failed`` and ``msg`` by ``fail_on``. Raises HccnError if nothing could be read."""
    started = time.time()
    if params["fail_on"] is None and os.sep in session.tool.path and not os.path.exists(session.tool.path):
        # Checked here, since a call without topics does not run hccn_tool.
        raise HccnError(device_errors.TOOL_MISSING, "%s: no such program" % session.tool.path, "install it or give its path")
    topics = params["gather"]
    smi = read.SmiReader(session.smi, session.host, topics)
    known = [device for device in session.devices if device in session.host.devices]
    effects: List[Dict[str, Any]] = []
    after = None
    if session.host.dialect == "950":
        devices = read_950.read_devices(session.tool, known, topics, smi)
    else:
        before = after = session.conf_text() if "tls" in topics else _conf_text(session, topics)
        devices = read.read_devices(session.tool, known, topics, read.TlsReader(session.tool, before, session.path, check_mode), smi)
        if "tls" in topics:
            after = session.conf_text()
            effects = read.side_effects(session.path, before, after)
    if read.TOPICS_IN_CONF.intersection(topics):
        _add_conf(devices, after)
    cann = software.cann_version([params["cann_home"]] if params.get("cann_home") else software.CANN_HOMES) if "versions" in topics else None
    found = {device["id"]: device for device in devices}
    results = [found.get(device) or _absent(session, device) for device in session.devices]
    result: Dict[str, Any] = {
        "devices": results, "product": session.host.product, "dialect": session.host.dialect, "machine": machine_id(session.path), "side_effects": effects,
        "measurements": read.records(results, session.host, started, cann),
    }
    if "versions" in topics:
        result["cann"] = cann
    _apply_fail_on(result, session, params["fail_on"])
    return result


def _conf_text(session: device_session.Session, topics: List[str]) -> Optional[str]:
    """Return the text of hccn.conf, None if it is not needed or cannot be read. The devices can be read without it."""
    if not read.TOPICS_IN_CONF.intersection(topics):
        return None
    try:
        return session.conf_text()
    except HccnError:
        return None


def _add_conf(devices: List[Dict[str, Any]], text: Optional[str]) -> None:
    values = read.values_in_conf(text, [device["id"] for device in devices])
    for device in devices:
        device.update(device_errors.refuse_templates({"conf": values[device["id"]], "errors": device["errors"]}))


def _absent(session: device_session.Session, device: int) -> Dict[str, Any]:
    """Return the result for a requested device that does not exist on the host."""
    message = "no such NPU on this host, which has %s" % (npus(session.host.devices) if session.host.devices else "none")
    error = HccnError(device_errors.NO_SUCH_DEVICE, message, "see npu-smi info -m for the ids; they are physical ids")
    return {"id": device, "errors": [error.as_dict()]}


def _apply_fail_on(result: Dict[str, Any], session: device_session.Session, fail_on: Optional[str]) -> None:
    devices = result["devices"]
    if fail_on is None:
        error = device_errors.fatal_error(devices, session.host.devices, read.SMI_TOPICS)
        if error is not None:
            result.update(failed=True, error=error, msg=HccnError(error["code"], error["message"], error.get("hint", "")).sentence())
    elif device_errors.failed(devices, fail_on):
        result.update(failed=True, msg=device_errors.sentence(devices))


MACHINE_ID_PATHS = ("/etc/machine-id", "/sys/class/dmi/id/product_uuid")
"""Both are used, as far as they can be read. Machines installed from one image may share the first, and only root can read the second."""

_MAX_BYTES = 256
_ID_DIGITS = 16


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read(_MAX_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return ""


def machine_id(conf: str, paths: Sequence[str] = MACHINE_ID_PATHS) -> Optional[str]:
    """Return an id of the machine that is stable over reboots, None if neither file can be read.

    It includes the path of hccn.conf, so that simulated hosts with separate files on one machine have different ids.
    """
    ids = [_content(path) for path in paths]
    if not any(ids):
        return None
    whole = "\n".join(ids + [os.path.realpath(conf)])
    return hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:_ID_DIGITS]
