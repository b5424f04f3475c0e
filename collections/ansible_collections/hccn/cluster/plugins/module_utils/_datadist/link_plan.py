# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The plan of links: clusters of LLM-DataDist, each on one NPU of a host, and the calls of LinkLlmClusters."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from .._core.errors import InputError
from .._core.untrusted_text import json_object
from .._rank_table.local_comm_res import ENDPOINT_VERSION

MAX_CLUSTERS = 16
"""Clusters per call (LLM_CLUSTER_NUM_EXCEED_LIMIT)."""
DEFAULT_TIMEOUT_MS = 1000
"""The default of LinkLlmClusters."""
PREFILL, DECODE = "prefill", "decode"

Npu = Tuple[str, int]
"""Host and physical id."""


class Cluster(NamedTuple):
    """``ip_infos`` are host addresses with ports; ``local_comm_res`` is the unparsed option."""

    id: int
    role: str
    host: str
    device: int
    ip_infos: Tuple[Tuple[str, int], ...]
    local_comm_res: str

    @property
    def npu(self) -> Npu:
        return self.host, self.device

    @property
    def limited(self) -> bool:
        """Return True if the limit of links applies: unless local_comm_res has version 1.3."""
        return str((json_object(self.local_comm_res) or {}).get("version")) != ENDPOINT_VERSION


class Call(NamedTuple):
    """One call of LinkLlmClusters by ``caller``."""

    caller: Cluster
    remotes: Tuple[Cluster, ...]
    timeout_ms: int


class LinkPlan(NamedTuple):
    clusters: Tuple[Cluster, ...]
    calls: Tuple[Call, ...]

    @property
    def npus(self) -> List[Npu]:
        """All NPUs of the plan, each once, in the order of the plan."""
        return list(dict.fromkeys(cluster.npu for cluster in self.clusters))

    def pairs(self) -> Iterator[Tuple[Cluster, Cluster]]:
        """Yield every link once, whichever side initiates it."""
        seen: Dict[FrozenSet[int], None] = {}
        for call in self.calls:
            for remote in call.remotes:
                key = frozenset((call.caller.id, remote.id))
                if key not in seen:
                    seen[key] = None
                    yield call.caller, remote


def _ip_infos(entry: Mapping[str, Any], where: str) -> Tuple[Tuple[str, int], ...]:
    found = []
    for info in entry.get("ip_infos") or ():
        ip, port = info.get("ip"), info.get("port")
        if not ip or not isinstance(port, int) or not 0 < port < 65536:
            raise InputError("%s.ip_infos: %r is not an ip with a port from 1 to 65535" % (where, info))
        found.append((str(ip), port))
    return tuple(found)


def _clusters(entries: Sequence[Mapping[str, Any]]) -> Dict[int, Cluster]:
    found: Dict[int, Cluster] = {}
    for place, entry in enumerate(entries):
        where = "clusters[%d]" % place
        if entry["cluster"] in found:
            raise InputError("%s: the cluster %d is listed twice; ids must be unique among all clusters that link" % (where, entry["cluster"]))
        if entry["cluster"] < 0 or entry["device"] < 0:
            raise InputError("%s: ids must be 0 or more" % where)
        found[entry["cluster"]] = Cluster(id=entry["cluster"], role=entry["role"], host=entry["host"], device=entry["device"],
                                          ip_infos=_ip_infos(entry, where), local_comm_res=entry.get("local_comm_res") or "")
    if not found:
        raise InputError("clusters is empty: list the clusters to link")
    return found


def _known(clusters: Mapping[int, Cluster], wanted: int, where: str) -> Cluster:
    if wanted not in clusters:
        raise InputError("%s: there is no cluster %d in clusters" % (where, wanted))
    return clusters[wanted]


def _calls(entries: Sequence[Mapping[str, Any]], clusters: Mapping[int, Cluster]) -> Iterator[Call]:
    for place, entry in enumerate(entries):
        where = "calls[%d]" % place
        remotes = tuple(_known(clusters, wanted, where) for wanted in entry["remotes"])
        if not remotes or entry["cluster"] in entry["remotes"] or len(set(entry["remotes"])) != len(remotes):
            raise InputError("%s.remotes must not be empty or contain the calling cluster or duplicates" % where)
        yield Call(_known(clusters, entry["cluster"], where), remotes, entry["timeout_ms"])


def _default_calls(clusters: Mapping[int, Cluster], timeout_ms: int) -> Iterator[Call]:
    """Yield calls by which each decode cluster links all prefill clusters, MAX_CLUSTERS per call."""
    prefill = [cluster for cluster in clusters.values() if cluster.role == PREFILL]
    for cluster in clusters.values():
        if cluster.role == DECODE:
            for start in range(0, len(prefill), MAX_CLUSTERS):
                yield Call(cluster, tuple(prefill[start:start + MAX_CLUSTERS]), timeout_ms)


def parse(clusters: Sequence[Mapping[str, Any]], calls: Any, timeout_ms: int) -> LinkPlan:
    """Parse the options of datadist_check. If ``calls`` is None, every decode cluster links every prefill cluster. Raises InputError."""
    found = _clusters(clusters)
    made = _default_calls(found, timeout_ms) if calls is None else _calls(calls, found)
    return LinkPlan(tuple(found.values()), tuple(made))
