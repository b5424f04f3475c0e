# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The topology of a run: leaf switches with their hosts and NPUs, coloured by verdict. Hosts are rows, rails are columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...module_utils._core.words import natural
from .._findings.finding import ON_HOST, Finding
from .._history.pair_results import Endpoint
from .._history.summary import RunContext
from .verdicts import HostVerdict

MOST_PER_GROUP = 32
"""Hosts that are drawn in one block; a larger leaf has several blocks."""
MOST_DRAWN = 1024
"""Up to this number of hosts, all blocks are drawn; beyond, only those with a host that is not good."""
ABSENT = ""
_OF_SEVERITY = {"failed": "failed", "slow": "slow", "degraded": "degraded", "unknown": "not_measured"}
_WHOLE_HOST = ("unreachable", "busy", "not_measured", "not_judged")
"""Classes of a host that its NPUs without a finding have, too."""


@dataclass(frozen=True)
class TopologyHost:
    """A host with its class and that of its NPU on each rail, ABSENT if it has none."""

    name: str
    state: str
    npus: list[str]


@dataclass(frozen=True)
class Block:
    """Hosts below the same leaf switches: one name if all rails share the leaf, else one per rail, empty if unknown."""

    leaves: list[str]
    hosts: list[TopologyHost]

    @property
    def bad(self) -> list[str]:
        """Return the hosts and NPUs that are not good, for the description of the picture."""
        found = []
        for host in self.hosts:
            npus = [str(place) for place, state in enumerate(host.npus) if state not in ("good", ABSENT)]
            if len(npus) == len([state for state in host.npus if state != ABSENT]) and host.state != "good":
                found.append(host.name)
            elif npus:
                found.append(f"{host.name} NPU {','.join(npus)}")
        return found


@dataclass(frozen=True)
class Topology:
    """``rails``: the ids of the NPUs, which are the columns of all blocks. ``states``: the classes that occur. ``hidden``: good hosts that are not drawn."""

    rails: list[int]
    blocks: list[Block]
    states: list[str]
    hidden: int = 0


def build(context: RunContext, ends: Iterable[Endpoint], verdicts: Sequence[HostVerdict], findings: Iterable[Finding]) -> Topology | None:
    """Return the topology, None if fewer than two hosts or no NPUs are known. ``ends``: all NPUs of the run."""
    npus: dict[str, set[int]] = {}
    for end in (*ends, *context.leaves):
        if isinstance(end.device, int):
            npus.setdefault(end.host, set()).add(end.device)
    if not npus or len(verdicts) < 2:
        return None
    rails = sorted(set().union(*npus.values()))
    of_npus = _states(findings)
    groups: dict[tuple[str, ...], list[TopologyHost]] = {}
    for row in sorted(verdicts, key=lambda row: natural(row.host)):
        mine = npus.get(row.host, set())
        leaves = [context.leaves.get(Endpoint(row.host, rail), "") for rail in rails]
        states = [_state(row, of_npus, rail) if rail in mine else ABSENT for rail in rails]
        groups.setdefault(tuple(leaves), []).append(TopologyHost(row.host, row.verdict, states))
    blocks = [Block(_short(leaves), hosts[place:place + MOST_PER_GROUP])
              for leaves, hosts in sorted(groups.items(), key=lambda item: [natural(leaf) for leaf in item[0]])
              for place in range(0, len(hosts), MOST_PER_GROUP)]
    found = {state for block in blocks for host in block.hosts for state in (*host.npus, host.state)} - {ABSENT}
    drawn = [block for block in blocks if block.bad] if len(verdicts) > MOST_DRAWN else blocks
    return Topology(rails, drawn, sorted(found), len(verdicts) - sum(len(block.hosts) for block in drawn))


def _short(leaves: Sequence[str]) -> list[str]:
    known = set(leaves) - {""}
    return [] if not known else [known.pop()] if len(known) == 1 else list(leaves)


def _states(findings: Iterable[Finding]) -> dict[Endpoint, str]:
    """Return the class of each NPU that a finding names, the worst one."""
    found: dict[Endpoint, str] = {}
    for one in findings:
        if one.component.kind in ON_HOST and one.severity in _OF_SEVERITY:
            state = "busy" if one.cause == "busy_npu" else _OF_SEVERITY[one.severity]
            for host, device in one.devices:
                found.setdefault(Endpoint(host, device), state)
    return found


def _state(row: HostVerdict, of_npus: Mapping[Endpoint, str], device: int) -> str:
    own = of_npus.get(Endpoint(row.host, device))
    if row.verdict == "unreachable" or own is None and row.verdict in _WHOLE_HOST:
        return row.verdict
    if own is not None:
        return own
    return "good" if any(end.host == row.host for end in of_npus) else row.verdict
