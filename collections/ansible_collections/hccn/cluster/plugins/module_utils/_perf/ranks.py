# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Probe and kill the ranks of a run on all hosts. They are found by the mark of the run in their environment.

If one rank of a collective stops, the whole collective stops, and no output names the rank. The states of the processes do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Dict, List, Mapping, Sequence, Set, Tuple

from .._core import process
from .._core.errors import HccnError
from .._core.numbers import is_count
from . import ssh_login
from .ssh_login import Login

STATES = {"T": "stopped by a signal", "t": "stopped by a debugger", "D": "stuck in the kernel"}
"""States of a process (proc(5)) that block a collective. A sleeping or running process may wait for others."""

_SCRIPT = (
    'for file in $(grep -lzxF -- "$1" /proc/[0-9]*/environ 2>/dev/null); do folder=${file%/environ}; '
    r"""rank=$(tr '\0' '\n' < "$file" 2>/dev/null | sed -n 's/^PMI_RANK=//p; s/^OMPI_COMM_WORLD_RANK=//p' | head -n 1); """
    r"""state=$(sed -n 's/^[0-9]* (.*) \(.\) .*/\1/p' "$folder/stat" 2>/dev/null); """
    'if [ "$2" = end ]; then kill -KILL "${folder#/proc/}" 2>/dev/null; fi; '
    'if [ -n "$rank" ]; then echo "rank $rank $state"; fi; done; exit 0'
)
"""A single line, since not every login shell accepts line breaks in quotes."""
PROBE, END = "probe", "end"


@dataclass(frozen=True)
class RankStates:
    """``states``: the states of the processes of each rank that was found; ``silent``: hosts that did not answer, with the error."""

    states: Mapping[int, Set[str]] = field(default_factory=dict)
    silent: Mapping[str, HccnError] = field(default_factory=dict)


def probe(login: Login, hosts: Sequence[str], mark: str, action: str = PROBE) -> RankStates:
    """Probe the ranks on all hosts; with END, kill every process of the run by its pid. Hosts that do not answer are returned as ``silent``."""
    try:
        answers = ssh_login.run_on_all(login, hosts, ["sh", "-c", _SCRIPT, action, "%s=%s" % (process.MARK, mark), action])
    except HccnError as error:
        return RankStates(silent=dict.fromkeys(hosts, error))
    states: Dict[int, Set[str]] = {}
    for result in answers.values():
        for line in result.stdout.splitlines():
            words = line.split()
            if len(words) == 3 and words[0] == "rank" and is_count(words[1]):
                states.setdefault(int(words[1]), set()).add(words[2])
    return RankStates(states, {refusal.host: refusal.error for refusal in ssh_login.refusals(answers)})


def end(login: Login, hosts: Sequence[str], mark: str) -> RankStates:
    """Kill the processes that a run left on its hosts, and no others."""
    return probe(login, hosts, mark, END)


@dataclass(frozen=True)
class Suspects:
    """``hosts``: names as in the record; ``sentence`` describes each of them and is empty if there are none."""

    hosts: Tuple[str, ...] = ()
    sentence: str = ""


def suspects(seen: RankStates, ranks: int, addresses: Sequence[str], host_of: Callable[[int], str], names: Mapping[str, str]) -> Suspects:
    """Return the hosts that block a run. If no rank states are known, these are the silent hosts.

    ``host_of``: returns the name of the host of a rank; ``names``: names of hosts by address.
    """
    found: Dict[str, List[str]] = {}
    for address in addresses:
        if address in seen.silent:
            found.setdefault(names[address], []).append("does not answer (%s)" % seen.silent[address].message)
    silent = set(found)
    for rank in range(ranks) if seen.states else ():
        host = host_of(rank)
        bad = sorted(seen.states.get(rank, set()) & set(STATES))
        if host in silent:
            continue
        if rank not in seen.states:
            found.setdefault(host, []).append("rank %d has ended" % rank)
        elif bad:
            found.setdefault(host, []).append("rank %d is %s" % (rank, STATES[bad[0]]))
    return Suspects(tuple(found), "; ".join("%s: %s" % (host, ", ".join(reasons)) for host, reasons in found.items()))
