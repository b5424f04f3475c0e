# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What was saved of a host before a change, as the options of the modules that put it back. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.problems import as_dicts
from ...module_utils._device import conf
from .adopted import config_of

SCHEMA = "hccn.cluster/restore/1"


def restore(saved: Any, settings: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The options of each module; ``settings``: what hccn_conf says that the file holds now. Raises InputError.

    ``{saved_at, network: config of device_network, tls: {enabled: ids, disabled: ids}, present: config of hccn_conf, absent: the same for keys that
    were not there, problems}``.
    """
    if not isinstance(saved, Mapping) or saved.get("schema") != SCHEMA:
        raise InputError(f"what was saved is not of the schema {SCHEMA}", "it was made by another version, or is another file")
    text = saved.get("hccn_conf")
    present, problems = config_of({"device": one.device, "key": one.key, "value": one.value} for one in conf.settings(text or ""))
    return {
        "saved_at": str(saved.get("saved_at")),
        "network": _entries(saved, "network"),
        "tls": _switches(_entries(saved, "tls")),
        "present": present,
        "absent": _new_keys(text, settings),
        "problems": as_dicts(problems),
    }


def _entries(saved: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = saved.get(key) or []
    if not isinstance(entries, Sequence) or isinstance(entries, str) or any(
            not isinstance(entry, Mapping) or not isinstance(entry.get("id"), int) for entry in entries):
        raise InputError(f"what was saved as {key} is not a list of entries with id")
    return [dict(entry) for entry in entries]


def _switches(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Ids by state, as the option ``devices`` takes them; a switch that was not known is left alone."""
    return {state: [str(entry["id"]) for entry in entries if entry.get("enabled") is wanted] for state, wanted in (("enabled", True), ("disabled", False))}


def _new_keys(text: Any, settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Keys that the file has now and had not then; none where the file was not saved."""
    if text is None:
        return []
    before = {(one.device, one.key) for one in conf.settings(str(text))}
    gone: dict[int, dict[str, Any]] = {}
    for setting in settings:
        if (setting["device"], setting["key"]) not in before:
            gone.setdefault(setting["device"], {})[str(setting["key"])] = ""
    return [{"id": device, "settings": keys} for device, keys in gone.items()]
