# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the preconditions of LLM-DataDist on hosts and NPUs, by the results of other modules.

Source: the description of LinkLlmClusters, hicann/hixl docs/zh/api (products, hccn.conf, TLS), Ascend/mind-cluster ascend-docker-runtime (its mounts).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import InputError
from .._core.problems import Problem
from .link_plan import Cluster, LinkPlan, Npu

SUPPORTED = ("A3", "800I A2", "A200I A2 Box")
UNSUPPORTED = ("A2 training", "200I A2", "500 A2", "910A", "310P")
"""Values of the option ``products``: Atlas A2 training, Atlas 200I/500 A2 inference, Atlas training and Atlas inference series."""
_SUPPORTED_BOARDS = {"A3": True, "910A": False, "310P": False}
"""Products that are identified by the board data. A2 may be of either kind, and the description does not mention the 950."""

_NOT_MAPPED = {"missing": "error", "stale": "error", "unreadable": "error", "copy": "warning"}

_DOWN = ("repair the link, or remove the NPU from the plan. While it is down, links that are made at the same time can time out. To link the other NPUs "
         "anyway, the older description recommends hccn_tool -tls -s enable 1 on all of these NPUs (hccn.cluster.tls with tls_state enabled), which needs "
         "timeouts of 2000 ms; the newer description no longer does. It is your choice which one to follow")


class Facts(NamedTuple):
    """Results by host: ``nodes`` of device_info, ``mounts`` of hccn_conf_mount, ``ports`` of the probe; ``products`` as named by the user."""

    nodes: Mapping[str, Any]
    mounts: Mapping[str, Any]
    ports: Mapping[str, Any]
    products: Mapping[str, str]

    def device(self, npu: Npu) -> Optional[Mapping[str, Any]]:
        for entry in (self.nodes.get(npu[0]) or {}).get("devices") or ():
            if entry.get("id") == npu[1]:
                found: Mapping[str, Any] = entry
                return found
        return None

    def product(self, host: str) -> Optional[str]:
        return self.products.get(host) or (self.nodes.get(host) or {}).get("product")

    def tls(self, npu: Npu) -> Optional[bool]:
        """Return the TLS setting of an NPU; None if it is unknown."""
        enabled = ((self.device(npu) or {}).get("tls") or {}).get("enabled")
        return enabled if isinstance(enabled, bool) else None


def _of(npu: Npu, rule: str, message: str, hint: str, severity: str = "error", where: Optional[str] = None) -> Problem:
    return Problem(rule, severity, message, host=npu[0], device=npu[1], where=where, hint=hint, reader="llm_datadist")


def _by_host(npus: Sequence[Npu]) -> Dict[str, List[int]]:
    found: Dict[str, List[int]] = {}
    for host, device in npus:
        found.setdefault(host, []).append(device)
    return found


def check_products(products: Mapping[str, str]) -> None:
    """Raise InputError for an unknown product."""
    for host, product in products.items():
        if product not in SUPPORTED + UNSUPPORTED:
            raise InputError("products: %r of host %s is none of %s" % (product, host, ", ".join(SUPPORTED + UNSUPPORTED)))


def supported(facts: Facts, host: str) -> Optional[bool]:
    """Return whether LLM-DataDist supports the product of a host; None if unknown, which is reported as a problem."""
    named = facts.products.get(host)
    if named:
        return named in SUPPORTED
    return _SUPPORTED_BOARDS.get(str(facts.product(host)))


def product(plan: LinkPlan, facts: Facts) -> Iterator[Problem]:
    for host, devices in _by_host(plan.npus).items():
        known, npu = supported(facts, host), (host, devices[0])
        if known is None:
            yield _of(npu, "product_unknown", "it is unknown whether LLM-DataDist supports %s (board data: %s)" % (host, facts.product(host) or "none"),
                      "set products (in the playbook: datadist_ready_product) to one of %s" % ", ".join(SUPPORTED + UNSUPPORTED))
        elif not known:
            yield _of(npu, "product", "LLM-DataDist does not support %s (%s)" % (host, facts.product(host)), "it supports %s" % ", ".join(SUPPORTED))


def devices_known(plan: LinkPlan, facts: Facts) -> Iterator[Problem]:
    for host, devices in _by_host(plan.npus).items():
        gone = [device for device in devices if facts.device((host, device)) is None]
        if gone:
            yield _of((host, gone[0]), "device_unknown", "there is no result for NPU %s of %s" % (", ".join(map(str, gone)), host),
                      "check that the host is reachable and has these NPUs")


def link(plan: LinkPlan, facts: Facts) -> Iterator[Problem]:
    for npu in plan.npus:
        entry = facts.device(npu)
        if entry is not None and entry.get("link") != "up":
            state = entry.get("link")
            yield _of(npu, "link", "the link of NPU %d of %s %s" % (npu[1], npu[0], "is " + str(state) if state else "could not be read"), _DOWN)


def address(plan: LinkPlan, facts: Facts) -> Iterator[Problem]:
    first: Dict[str, Npu] = {}
    for npu in plan.npus:
        entry = facts.device(npu)
        if entry is None:
            continue
        own = entry.get("address")
        if not own:
            yield _of(npu, "address", "NPU %d of %s has no address" % (npu[1], npu[0]), "set one with hccn.cluster.bring_up or hccn.cluster.device_network")
            continue
        other = first.setdefault(own, npu)
        if other != npu:
            yield _of(npu, "address", "NPU %d of %s has the same address %s as NPU %d of %s" % (npu[1], npu[0], own, other[1], other[0]),
                      "assign a unique address to each NPU")


def tls(plan: LinkPlan, facts: Facts) -> Iterator[Problem]:
    """Check that TLS is equal on all NPUs. The problem is reported for the setting that fewer NPUs have."""
    states = {npu: facts.tls(npu) for npu in plan.npus if facts.device(npu) is not None}
    on = [npu for npu, state in states.items() if state is True]
    off = [npu for npu, state in states.items() if state is False]
    fewer, word, others = (on, "on", "off") if len(on) <= len(off) else (off, "off", "on")
    if on and off:
        for host, devices in _by_host(fewer).items():
            yield _of((host, devices[0]), "tls", "TLS is %s on NPU %s of %s and %s on the %d others: they cannot link" % (
                word, ", ".join(map(str, devices)), host, others, len(states) - len(fewer)),
                "make it equal on all, with hccn.cluster.tls (tls_state: %s to follow the others)" % ("disabled" if word == "on" else "enabled"))
    for host, devices in _by_host([npu for npu, state in states.items() if state is None]).items():
        yield _of(
            (host, devices[0]), "tls_unknown", "the TLS setting of NPU %s of %s could not be read, so it may differ" % (", ".join(map(str, devices)), host),
            "see tls.reason in the result of hccn.cluster.device_info")


def _container(host: str, wanted: Sequence[int], entry: Mapping[str, Any]) -> Iterator[Problem]:
    concerned = [device for device in entry.get("devices") or () if device in wanted]
    severity = _NOT_MAPPED.get(str(entry.get("state")))
    if concerned and severity:
        where = "container %s pid %s (%s)" % (str(entry.get("container"))[:12], entry.get("pid"), entry.get("command"))
        yield _of((host, concerned[0]), "hccn_conf_" + str(entry["state"]), "a container with NPU %s of %s does not see the host's /etc/hccn.conf: %s" % (
            ", ".join(map(str, concerned)), host, _STATES[str(entry["state"])]), str(entry.get("remedy") or ""), severity, where)


_STATES = {"missing": "the file is missing", "stale": "its content differs, usually since the file on the host was replaced after the start of the container",
           "unreadable": "it cannot be read", "copy": "it is a copy, which does not follow changes on the host"}


def conf(plan: LinkPlan, facts: Facts) -> Iterator[Problem]:
    """Check /etc/hccn.conf, from which LLM-DataDist reads the addresses if local_comm_res is empty, also in a container."""
    for host, devices in _by_host([cluster.npu for cluster in plan.clusters if not cluster.local_comm_res]).items():
        result = facts.mounts.get(host)
        if not isinstance(result, dict) or "containers" not in result:
            yield _of((host, devices[0]), "hccn_conf_unknown", "it is unknown whether containers of %s see /etc/hccn.conf" % host,
                      "add the result of hccn.cluster.hccn_conf_mount to mounts", "warning")
            continue
        for found in result.get("problems") or ():
            if str(found.get("rule", "")).startswith("host_conf_"):
                yield _of((host, devices[0]), "hccn_conf", "%s: %s" % (host, found.get("message")), str(found.get("hint") or ""))
        for entry in result["containers"]:
            yield from _container(host, devices, entry)


def ports_used(plan: LinkPlan, facts: Facts) -> Iterator[Problem]:
    """A port that a cluster listens on must be free."""
    used: Dict[Tuple[str, str, int], str] = {}
    for host, result in facts.ports.items():
        for entry in (result or {}).get("probed") or ():
            if entry["state"] != "free":
                used[host, entry["ip"], entry["port"]] = entry["state"]
    reported: Dict[Tuple[str, str, int], Cluster] = {}
    for cluster in plan.clusters:
        for ip, port in cluster.ip_infos:
            state = used.get((cluster.host, ip, port))
            if state and reported.setdefault((cluster.host, ip, port), cluster) is cluster:
                yield _of(cluster.npu, "port_" + state, "%s port %d of cluster %d on %s: %s" % (
                    ip, port, cluster.id, cluster.host, "the port is in use" if state == "used" else "the host does not have this address"),
                    "use another port" if state == "used" else "use an address of the host")


def all_of(plan: LinkPlan, facts: Facts) -> List[Problem]:
    rules = (product, devices_known, address, link, tls, conf, ports_used)
    return [problem for rule in rules for problem in rule(plan, facts)]
