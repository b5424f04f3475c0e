# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_info."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Mapping

from . import read, read_950, session


def gather(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """The return values of device_info; ``failed`` and ``msg`` by ``fail_on``. Raises HccnError where nothing could be read."""
    started = time.time()
    here = session.start(params)
    topics = params["gather"]
    smi = read.SmiReader(here.smi, here.host, topics)
    effects: List[Dict[str, Any]] = []
    if here.host.dialect == "950":
        devices = read_950.read_devices(here.tool, here.devices, topics, smi)
    else:
        before = here.conf_text() if "tls" in topics else None
        devices = read.read_devices(here.tool, here.devices, topics, read.TlsReader(here.tool, before, here.path, check_mode), smi)
        effects = read.side_effects(here.path, before, here.conf_text()) if "tls" in topics else []
    result: Dict[str, Any] = {
        "devices": devices, "product": here.host.product, "dialect": here.host.dialect, "side_effects": effects,
        "measurements": read.records(devices, here.host, started),
    }
    if read.failed(devices, params["fail_on"]):
        result.update(failed=True, msg=read.sentence(devices))
    return result
