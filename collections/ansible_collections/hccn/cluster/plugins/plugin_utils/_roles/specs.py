# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The variables of the collection's roles, read from the files of the roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load

ROLES = Path(__file__).resolve().parents[3] / "roles"

HOST_VARIABLES = frozenset(("rank_table_container_ip", "rank_table_host_ip", "rank_table_rack", "rank_table_server_id"))
"""Variables of hosts that no argument specification contains, since they are read for all hosts at once."""

PLAY_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "hccn_conf": {"type": "str"}, "hccn_fail_on": {"type": "str", "choices": ["never", "failed", "slow", "any"]}, "hccn_history": {"type": "str"},
    "hccn_hosts": {"type": "raw"}, "hccn_job_needs": {"type": "list", "elements": "str"}, "hccn_job_wants": {"type": "list", "elements": "str"},
    "hccn_max_fail_percentage": {"type": "raw"}, "hccn_quarantine": {"type": "raw"}, "hccn_serial": {"type": "raw"}, "hccn_tool": {"type": "str"},
    "hccn_validated": {"type": "raw"}, "quarantine_host": {"type": "str"}, "retest_pairs": {"type": "raw"}}
"""Variables of playbooks and rulebooks; a test compares them with the playbooks."""

PUBLISHED = frozenset(("hccn_check_collective_history", "hccn_check_fabric", "hccn_check_fabric_history", "hccn_check_reachability", "hccn_compare",
                       "hccn_conclusion", "hccn_report"))
"""The variables that jobs publish with set_stats. AWX passes them to the next jobs of a workflow as extra variables."""


def options(folder: Path = ROLES) -> dict[str, Mapping[str, Any]]:
    """Return the options of playbooks, and of all entry points of all roles, by name.

    No option is required here: a role checks that when it runs.
    """
    found: dict[str, Mapping[str, Any]] = dict(PLAY_OPTIONS)
    for path in sorted(folder.glob("*/meta/argument_specs.yml")):
        for entry_point in _read(path)["argument_specs"].values():
            for name, option in (entry_point.get("options") or {}).items():
                found[name] = {key: value for key, value in option.items() if key not in ("required", "description")}
    return found


def of_role(name: str, folder: Path = ROLES) -> dict[str, Mapping[str, Any]]:
    """Return the options of the main entry point of a role."""
    options: dict[str, Mapping[str, Any]] = _read(folder / name / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    return options


def known(specs: Mapping[str, Any]) -> frozenset[str]:
    """Return all names that a user may set."""
    return frozenset(specs) | HOST_VARIABLES | PUBLISHED


def set_by_tasks(folder: Path = ROLES) -> frozenset[str]:
    """Return the variables that tasks of the roles register or set, which later plays of a job find among the variables of hosts."""
    return frozenset(name for path in sorted(folder.glob("*/tasks/*.yml")) for name in _set_by(_read(path)))


def _set_by(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _set_by(inner)
    elif isinstance(value, dict):
        if isinstance(value.get("register"), str):
            yield value["register"]
        facts = value.get("ansible.builtin.set_fact")
        if isinstance(facts, dict):
            yield from facts
        for part in ("block", "rescue", "always"):
            yield from _set_by(value.get(part))


def _read(path: Path) -> Any:
    with path.open(encoding="utf-8") as file:
        return yaml_load(file)
