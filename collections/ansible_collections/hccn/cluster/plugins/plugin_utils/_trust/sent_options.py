# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Detect options of this collection that a host sends as facts. Facts override the inventory and the defaults of roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleActionFail

ROLE_PREFIXES = (
    "adopt_", "bring_up_", "check_collective_", "check_fabric_", "check_reachability_", "compare_", "conclude_", "container_mapping_",
    "datadist_ready_", "hccn_", "nic_switch_", "perf_tools_", "quarantine_", "rank_table_", "report_", "restore_", "retest_", "switch_upgrade_", "tls_",
    "validate_")
"""Prefixes of the variables that users set for the roles and playbooks. A test compares them with the roles."""

PREFIXES = ("__", "npu_smi", *ROLE_PREFIXES)
"""Prefixes of all variables of the roles and playbooks."""

INVENTORY = ("inventory_dir", "inventory_file")
"""Variables of Ansible that facts override as well. Defaults of roles refer to them."""

SHOWN = 3


def names_of(facts: Any) -> list[str]:
    """Return the names in the variable ``ansible_facts`` of a host that are options of this collection."""
    return sorted(name for name in facts if isinstance(name, str) and _is_option(name)) if isinstance(facts, Mapping) else []


def refuse(variables: Mapping[str, Any]) -> None:
    """Raise AnsibleActionFail if the host of these task variables sent an option as a fact."""
    found = names_of(variables.get("ansible_facts"))
    if found:
        raise AnsibleActionFail(refusal(str(variables.get("inventory_hostname", "the host")), found))


def refusal(host: str, names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(name[:64] for name in known[:SHOWN]) + (" ..." if len(known) > SHOWN else "")
    return (f"{host} sent {shown} as facts (ansible_facts), which would override options of hccn.cluster; these are read only from the inventory. "
            f"Exclude {host} with hccn_hosts and find out what set the facts. If a fact cache is enabled, clear it with --flush-cache.")


def _is_option(name: str) -> bool:
    return name.startswith(PREFIXES) or name in INVENTORY
