# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Evaluate role options that name files, commands or servers of the controller, without facts of hosts.

A fact overrides the inventory and the defaults of roles, and the overridden value cannot be recovered. Therefore, an option that a fact overrides is
refused, and so is an option whose value refers to a fact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError

from .sent_options import refusal

NAMES = frozenset((
    "adopt_force", "adopt_inventory",
    "check_collective_job", "check_collective_log",
    "check_fabric_pods",
    "compare_history",
    "hccn_clusterd", "hccn_kubernetes",
    "nic_switch_confirm",
    "quarantine_command", "quarantine_enabled", "quarantine_most_percent", "quarantine_node", "quarantine_provider", "quarantine_reason", "quarantine_state",
    "quarantine_timeout_s", "quarantine_undo_command",
    "rank_table_job",
    "report_baseline", "report_history", "report_path", "report_prometheus_path", "report_results_host", "report_results_path",
    "switch_upgrade_confirm", "switch_upgrade_state_file"))
"""The options that the lookup controller_option accepts. A test requires every option of a role to be listed here or as an option of hosts."""

OF_HOSTS = ("ansible_facts", "ansible_local", "hostvars", "vars")
"""Variables that give access to the facts of this and of other hosts."""


def value(templar: Any, variables: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Return the option ``name`` of the host with these variables; ``default`` if it is not set. Raises AnsibleError."""
    if name not in NAMES:
        raise AnsibleError(f"controller_option: {name} is not an option of hccn.cluster for the controller")
    host, facts = str(variables.get("inventory_hostname", "the host")), variables.get("ansible_facts")
    if isinstance(facts, Mapping) and name in facts:
        raise AnsibleActionFail(refusal(host, [name]))
    known = without_facts(variables)
    if name not in known and default is not None:
        return default
    try:
        return templar.copy_with_new_env(available_variables=known).template(known[name])
    except KeyError:
        raise AnsibleError(f"{name} is not set for {host}.") from None
    except AnsibleError as error:
        raise AnsibleError(f"{name} of {host} cannot be used: {error}. It affects the controller, so it must not refer to facts of hosts, nor to "
                           "hostvars or vars.") from error


def without_facts(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables that no fact of the host can have set. Facts are also variables with the prefix ``ansible_``."""
    facts = variables.get("ansible_facts")
    sent = facts if isinstance(facts, Mapping) else {}
    return {name: variables[name] for name in variables if name not in OF_HOSTS and name not in sent and name.replace("ansible_", "", 1) not in sent}
