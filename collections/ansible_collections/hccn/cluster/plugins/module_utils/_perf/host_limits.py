# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Limits of a host that many ranks run into when they connect: what the manual of hccl_test wants, and what a login to the host has.

Source: Ascend documentation of HCCL performance testing, docs/zh/hccl_test/execution.md: somaxconn, tcp_max_syn_backlog and open files are to be 65535.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Tuple

from .._core.numbers import is_count
from .._core.words import some

WANTED = 65535
NAMES = ("ulimit -n", "net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog")
UNLIMITED = ("unlimited", "infinity")
_NAMED = 5

ASK: Tuple[str, ...] = ("sh", "-c", "ulimit -n; cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/tcp_max_syn_backlog 2>/dev/null; true")
"""Ends with 0 wherever a login is taken, so it proves that, too. The limit of open files is that of the login, which is the ranks'."""


def parse(text: str) -> Dict[str, Optional[int]]:
    """Limits by name; None for no limit. What is not there or is no number is left out."""
    found: Dict[str, Optional[int]] = {}
    for name, line in zip(NAMES, text.splitlines()):
        word = line.strip()
        if word in UNLIMITED:
            found[name] = None
        elif is_count(word):
            found[name] = int(word)
    return found


def low(limits: Mapping[str, Optional[int]]) -> List[str]:
    """``ulimit -n 1024`` for each limit that is lower than wanted."""
    return ["%s %d" % (name, value) for name, value in limits.items() if value is not None and value < WANTED]


def warning(answers: Mapping[str, str], name_of: Mapping[str, str]) -> Optional[str]:
    """One sentence for all hosts with low limits. ``answers``: what ``ASK`` printed, by host; ``name_of``: how people call the hosts."""
    hosts: Dict[str, List[str]] = {}
    for host, text in answers.items():
        found = low(parse(text))
        if found:
            hosts.setdefault(", ".join(found), []).append(name_of.get(host, host))
    if not hosts:
        return None
    return "the manual of hccl_test wants limits of %d for many ranks: %s" % (
        WANTED, "; ".join("%s has %s" % (some(names, _NAMED), limits) for limits, names in sorted(hosts.items())))
