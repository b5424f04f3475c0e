# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of datadist_check: check whether the planned clusters can link, and probe ports."""

from __future__ import annotations

import errno
import socket
from typing import Any, Dict, List, Mapping, Sequence

from .._core.errors import HccnError, InputError
from .._core.problems import Problem, as_dicts, fails
from .._rank_table.checks import bounded
from . import host_rules, link_plan_rules
from .link_plan import parse

FREE, USED, NO_ADDRESS = "free", "used", "no_address"


def port_state(ip: str, port: int) -> str:
    """Return whether a port is free, by binding it for a moment: ``free``, ``used``, or ``no_address`` if the host lacks the address.

    Raises OSError for other errors.
    """
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Ignore connections that are closing.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ip, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return USED
            if error.errno in (errno.EADDRNOTAVAIL, errno.EINVAL) or isinstance(error, socket.gaierror):
                return NO_ADDRESS
            raise
    return FREE


def _probe(entries: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    found = []
    for entry in entries:
        try:
            found.append({"ip": entry["ip"], "port": entry["port"], "state": port_state(entry["ip"], entry["port"])})
        except (OSError, OverflowError) as error:
            raise HccnError("port_not_probed", "%s port %d cannot be probed: %s" % (entry["ip"], entry["port"], error),
                            "ports below 1024 need root" if isinstance(error, PermissionError) else "") from error
    return {"probed": found, "problems": []}


def _sentence(problems: Sequence[Problem]) -> str:
    ordered = sorted(problems, key=lambda problem: problem.severity != "error")
    first = ordered[0]
    return "%d problem%s, the first: %s (%s)" % (len(problems), "" if len(problems) == 1 else "s", first.message, first.hint)


def check(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the values of datadist_check, with ``failed`` and ``msg`` according to ``fail_on``. Raises HccnError."""
    if params["clusters"] is None:
        return _probe(params["probe"])
    if params["nodes"] is None:
        raise InputError("clusters requires nodes, the results of device_info by host")
    host_rules.check_products(params["products"])
    plan = parse(params["clusters"], params["calls"], params["timeout_ms"])
    facts = host_rules.Facts(nodes=params["nodes"], mounts=params["mounts"], ports=params["ports"], products=params["products"])
    hosts = list(dict.fromkeys(cluster.host for cluster in plan.clusters))
    product_of = {host: facts.product(host) for host in hosts}
    tls = {npu: facts.tls(npu) for npu in plan.npus}
    problems: List[Problem] = bounded(host_rules.all_of(plan, facts) + link_plan_rules.all_of(plan, product_of, tls))
    result: Dict[str, Any] = {
        "problems": as_dicts(problems),
        "planned": {"clusters": len(plan.clusters), "devices": len(plan.npus), "calls": len(plan.calls), "links": sum(1 for _pair in plan.pairs())},
        "products": {host: {"product": product_of[host], "supported": {None: "unknown", True: "yes", False: "no"}[host_rules.supported(facts, host)]}
                     for host in hosts}}
    if fails(problems, params["fail_on"]):
        result.update(failed=True, msg=_sentence(problems))
    return result
