# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Baselines as a YAML file that is reviewed in git: groups in a fixed order, so that equal baselines give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from .baseline import Baseline, as_fields, rounded
from .cells import End
from .format import HistoryError, major
from .summary import Group

SCHEMA = "hccn.cluster/baseline/1"
_HEAD = "# Baselines, written by hccn.cluster.report (format: baseline). Edit this file or write it again, and review the difference.\n---\n"
_UNKNOWN: dict[str, Any] = {"size_bytes": None}


def dump(baselines: Mapping[Group, Baseline]) -> str:
    """Return the content of the file."""
    groups = [_group(group, baselines[group]) for group in sorted(baselines, key=Group.sort_key)]
    return _HEAD + yaml.safe_dump({"schema": SCHEMA, "groups": groups}, sort_keys=False, allow_unicode=True, width=160)


def _group(group: Group, known: Baseline) -> dict[str, Any]:
    entry = {**as_fields(group), "median": rounded(known.median), "spread": rounded(known.spread), "runs": known.runs}
    ends: dict[str, dict[Any, float]] = {}
    for end, value in sorted(known.ends.items(), key=lambda item: (item[0].host, str(item[0].device))):
        ends.setdefault(end.host, {})[end.device] = rounded(value)
    return {**entry, "ends": ends} if ends else entry


def load(path: Path) -> dict[Group, Baseline]:
    """Return the baselines of a file. Raise HistoryError (baseline_not_readable)."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _refused(path, str(getattr(error, "strerror", None) or error).splitlines()[0]) from error
    if not isinstance(content, dict) or major(content.get("schema")) != SCHEMA or not isinstance(content.get("groups"), list):
        raise _refused(path, f"it is not a mapping with schema {SCHEMA} and a list of groups")
    found = {}
    for number, entry in enumerate(content["groups"]):
        try:
            group = Group(*(entry.get(name, _UNKNOWN.get(name, "")) for name in Group._fields))
            ends = {End(str(host), device): float(value) for host, devices in (entry.get("ends") or {}).items() for device, value in devices.items()}
            found[group] = Baseline(float(entry["median"]), float(entry["spread"]), int(entry.get("runs", 0)), ends, pinned=True)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _refused(path, f"groups[{number}] is incomplete: {type(error).__name__} {error}") from error
    return found


def _refused(path: Path, why: str) -> HistoryError:
    return HistoryError("baseline_not_readable", f"{path}: {why}", "Create the file with hccn.cluster.report and format: baseline.")
