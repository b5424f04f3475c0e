# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Match patterns with the hosts of the inventory."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager

from ...module_utils._core.words import natural, printable, some
from .job_problem import NO_HOSTS, JobProblem

GROUPS = 8
"""The number of groups that the message lists."""
ALL = ("all", "ungrouped")


def matched(loader: Any, groups: Mapping[str, Sequence[str]], pattern: str | Sequence[str], limit: str | None = None) -> list[str]:
    """Return the hosts that match the pattern of a play, in the order of the play. ``groups``: Ansible's variable of that name."""
    if not pattern:
        return []  # InventoryManager would return all hosts
    manager = InventoryManager(loader, parse=False)
    for group, hosts in groups.items():
        manager.add_group(group)
        for host in hosts:
            manager.add_host(host, group=group)
    try:
        manager.subset(limit)
        return [str(host.name) for host in manager.list_hosts(pattern)]
    except AnsibleError:
        return []


def no_hosts(groups: Mapping[str, Sequence[str]], pattern: str | Sequence[str], limit: str | None = None) -> JobProblem:
    """Return the problem of a pattern that matches no host."""
    text = pattern if isinstance(pattern, str) else ", ".join(pattern)
    if not groups.get("all"):
        return JobProblem(NO_HOSTS, "The inventory has no hosts: give one with -i")
    named = sorted((group for group in groups if group not in ALL and groups[group]), key=natural)
    similar = difflib.get_close_matches(text[:100], named, n=1)
    suggestion = f" Did you mean {printable(similar[0])}?" if similar else ""
    counted = [f"{printable(group)} ({len(groups[group])} host{'s' if len(groups[group]) != 1 else ''})" for group in named]
    available = f"The groups are {some(counted, GROUPS)}" if named else f"It has no groups, and {len(groups['all'])} hosts"
    limited = f" under --limit {printable(limit)}" if limit else ""
    return JobProblem(NO_HOSTS, f"The pattern {printable(text)!r} matches no host of the inventory{limited}.{suggestion} {available}. Give a group or hosts "
                                "with -e hccn_hosts=NAME")
