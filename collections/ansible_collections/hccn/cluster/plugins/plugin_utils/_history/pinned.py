# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Write and read baselines as a YAML file for review in git. Groups are sorted, so that equal baselines give equal files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from .baseline import Baseline, as_fields, rounded
from .pair_results import Endpoint
from .format import HistoryError, major
from .summary import Group

SCHEMA = "hccn.cluster/baseline/1"
_HEAD = "# Baselines, written by hccn.cluster.report (format: baseline). Edit this file or write it again, and review the difference.\n---\n"
_UNKNOWN: dict[str, Any] = {"size_bytes": None}


def dump(baselines: Mapping[Group, Baseline]) -> str:
    """Return the content of a file with the baselines."""
    groups = [_group(group, baselines[group]) for group in sorted(baselines, key=Group.sort_key)]
    return _HEAD + yaml.safe_dump({"schema": SCHEMA, "groups": groups}, sort_keys=False, allow_unicode=True, width=160)


def _group(group: Group, known: Baseline) -> dict[str, Any]:
    entry = {**as_fields(group), "median": rounded(known.median), "spread": rounded(known.spread), "runs": known.runs}
    by_host: dict[str, dict[Any, float]] = {}
    for endpoint, value in sorted(known.endpoints.items(), key=lambda item: (item[0].host, str(item[0].device))):
        by_host.setdefault(endpoint.host, {})[endpoint.device] = rounded(value)
    return {**entry, "ends": by_host} if by_host else entry


def load(path: Path) -> dict[Group, Baseline]:
    """Return the baselines of a file. Raise HistoryError (baseline_not_readable)."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _not_readable(path, str(getattr(error, "strerror", None) or error).splitlines()[0]) from error
    if not isinstance(content, dict) or major(content.get("schema")) != SCHEMA or not isinstance(content.get("groups"), list):
        raise _not_readable(path, f"it is not a mapping with schema {SCHEMA} and a list of groups")
    found = {}
    for number, entry in enumerate(content["groups"]):
        try:
            group = Group(*(entry.get(name, _UNKNOWN.get(name, "")) for name in Group._fields))
            endpoints = {Endpoint(str(host), device): float(value) for host, devices in (entry.get("ends") or {}).items() for device, value in devices.items()}
            found[group] = Baseline(float(entry["median"]), float(entry["spread"]), int(entry.get("runs", 0)), endpoints, pinned=True)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _not_readable(path, f"groups[{number}] is incomplete: {type(error).__name__} {error}") from error
    return found


def _not_readable(path: Path, reason: str) -> HistoryError:
    return HistoryError("baseline_not_readable", f"{path}: {reason}", "Create the file with hccn.cluster.report and format: baseline.")
