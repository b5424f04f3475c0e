# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Predict the NPUs of a host after the changes of a run in check mode, so that it does not fail because of faults that the changes would repair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import reading


def predicted(result: Mapping[str, Any], changes: Iterable[Any]) -> Mapping[str, Any]:
    """Return a result of device_info with the values that ``changes``, results of device_network and device_tls in check mode, would set."""
    changed = dict(reading.devices(result))
    for change in changes:
        for number, entry in reading.devices(change).items():
            after = entry.get("after")
            if number in changed and entry.get("changed") is True and isinstance(after, Mapping):
                changed[number] = _with_tls(changed[number], after) if "enabled" in after else _with_options(changed[number], after)
    entries = result.get("devices")
    if not isinstance(entries, (list, tuple)):
        return result
    return {**result, "devices": [changed[entry["id"]] if isinstance(entry, Mapping) and reading.device_id(entry.get("id")) is not None else entry
                                  for entry in entries]}


def _with_options(device: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    conf = {**reading.mapping(device.get("conf")), **reading.mapping(after.get("persistent"))}
    return {**device, **{name: value for name, value in after.items() if name != "persistent"},
            "conf": {name: value for name, value in conf.items() if value is not None}}


def _with_tls(device: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**device, "tls": {**reading.mapping(device.get("tls")), "enabled": after["enabled"]},
            "conf": {**reading.mapping(device.get("conf")), "tls_enabled": after.get("persistent")}}
