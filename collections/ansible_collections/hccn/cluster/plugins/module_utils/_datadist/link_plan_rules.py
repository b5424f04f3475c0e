# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the plan for errors with which LinkLlmClusters refuses a call or fails.

Source: the description of LinkLlmClusters, hicann/hixl docs/zh/api/cpp/LLM-DataDist-interface.md, examples/README.md.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from .._core.problems import Problem
from .._rank_table import checks
from .._rank_table.super_pod import DIES
from .link_plan import MAX_CLUSTERS, Cluster, LinkPlan, Npu

MAX_LINKS = 512
"""Links per card, without a local_comm_res of version 1.3 (kMaxLinkNum)."""
MIN_TIMEOUT_MS, MIN_TIMEOUT_TLS_MS = 200, 2000
"""Recommended minimum timeouts; the second one applies if TLS is enabled."""


def _problem(rule: str, cluster: Cluster, message: str, hint: str, severity: str = "error", where: Optional[str] = None) -> Problem:
    return Problem(rule, severity, message, host=cluster.host, device=cluster.device, where=where, hint=hint, reader="llm_datadist")


def clusters_per_call(plan: LinkPlan) -> Iterator[Problem]:
    for place, call in enumerate(plan.calls):
        if len(call.remotes) > MAX_CLUSTERS:
            yield _problem("clusters_a_call", call.caller, "cluster %d links %d clusters in one call: %d are too many (LLM_CLUSTER_NUM_EXCEED_LIMIT)" % (
                call.caller.id, len(call.remotes), len(call.remotes)), "link at most %d clusters per call" % MAX_CLUSTERS, where="calls[%d]" % place)


def links_per_device(plan: LinkPlan) -> Iterator[Problem]:
    links: Dict[Npu, int] = {}
    first_cluster: Dict[Npu, Cluster] = {}
    for pair in plan.pairs():
        for cluster in pair:
            if cluster.limited:
                links[cluster.npu] = links.get(cluster.npu, 0) + 1
                first_cluster.setdefault(cluster.npu, cluster)
    for npu, count in links.items():
        if count > MAX_LINKS:
            message = "%d links are planned on NPU %d of %s: the limit is %d (LLM_PARAM_INVALID, Link num is over limit)" % (count, npu[1], npu[0], MAX_LINKS)
            yield _problem(
                "links_a_device", first_cluster[npu], message,
                "plan fewer links, spread the clusters over more NPUs, or set local_comm_res to {\"version\": \"1.3\"} "
                "(HDK 25.5.0 and toolkit 9.1.0 or newer), which has no limit")


def ip_infos(plan: LinkPlan) -> Iterator[Problem]:
    """Check that a cluster has one ip_info if it listens, or if it calls without a local_comm_res."""
    callers = {call.caller.id for call in plan.calls}
    remotes = {remote.id for call in plan.calls for remote in call.remotes}
    for cluster in plan.clusters:
        count = len(cluster.ip_infos)
        needed = cluster.id in remotes or (cluster.id in callers and not cluster.local_comm_res)
        if count > 1 or (needed and not count):
            yield _problem("ip_infos", cluster, "cluster %d has %d ip_infos, but needs exactly one" % (cluster.id, count), "set one ip with its port")


def sibling_dies(plan: LinkPlan, product_of: Mapping[str, Optional[str]]) -> Iterator[Problem]:
    for one, other in plan.pairs():
        same = one.host == other.host and one.device != other.device and one.device // DIES == other.device // DIES
        if same and product_of.get(one.host) == "A3":
            yield _problem("sibling_dies", one, "clusters %d and %d are on the two dies %d and %d of one NPU, which cannot reach each other by RoCE" % (
                one.id, other.id, one.device, other.device), "use dies of two NPUs, such as 0 and 2")
        elif one.npu == other.npu:
            yield _problem("same_device", one, "clusters %d and %d are on one device" % (one.id, other.id), "link clusters of two devices")


def timeouts(plan: LinkPlan, tls: Mapping[Npu, Optional[bool]]) -> Iterator[Problem]:
    for place, call in enumerate(plan.calls):
        secure = any(tls.get(cluster.npu) for cluster in (call.caller,) + call.remotes)
        least = MIN_TIMEOUT_TLS_MS if secure else MIN_TIMEOUT_MS
        if call.timeout_ms < least:
            yield _problem("timeout", call.caller, "the timeout of cluster %d is %d ms: %d ms or more are recommended%s" % (
                call.caller.id, call.timeout_ms, least, " with TLS" if secure else ""), "raise timeout_ms", "warning", "calls[%d]" % place)


def duplicate_ports(plan: LinkPlan) -> Iterator[Problem]:
    first: Dict[Tuple[str, str, int], Cluster] = {}
    for cluster in plan.clusters:
        for ip, port in cluster.ip_infos:
            other = first.setdefault((cluster.host, ip, port), cluster)
            if other is not cluster:
                yield _problem("port_twice", cluster, "clusters %d and %d both have %s port %d on %s" % (other.id, cluster.id, ip, port, cluster.host),
                               "assign a different port to each cluster")


def local_comm_res(plan: LinkPlan) -> Iterator[Problem]:
    """Check the option by the rules of HIXL."""
    for cluster in plan.clusters:
        if cluster.local_comm_res:
            for found in checks.check_text(cluster.local_comm_res, ["hixl"]):
                yield _problem("local_comm_res." + found.rule, cluster, "local_comm_res of cluster %d: %s" % (cluster.id, found.message),
                               found.hint or "see the manual of LLM-DataDist", found.severity, found.where)


def all_of(plan: LinkPlan, product_of: Mapping[str, Optional[str]], tls: Mapping[Npu, Optional[bool]]) -> List[Problem]:
    rules: Tuple[Any, ...] = (clusters_per_call(plan), links_per_device(plan), ip_infos(plan), sibling_dies(plan, product_of), timeouts(plan, tls),
                              duplicate_ports(plan), local_comm_res(plan))
    return [problem for rule in rules for problem in rule]
