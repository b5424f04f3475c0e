# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Plan which NPUs ping each other: the first rounds of the full plan, which cover as many pairs of leaves as possible.

Each round pairs every NPU with one of the same rail on another host, so ``partners`` rounds give each NPU as many partners. One NPU of each pair sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from ...module_utils._core.errors import InputError
from .input_numbers import whole_number
from .pair_plan import make_plan
from .plan_forms import rounds_of, topology_of
from .schedule_order import FULL

MOST_PARTNERS = 64
UNUSED_PORT = 1


def ping_plan(hosts: Any, partners: Any = 4, seed: Any = 0) -> dict[str, Any]:
    """Return ``plan``, a plan of listed pairs, and ``targets``, those of each host as device_ping takes them. Without two hosts, both are empty.

    Raises InputError.
    """
    count = whole_number("partners", partners)
    if not 1 <= count <= MOST_PARTNERS:
        raise InputError(f"partners is {count}, it must be 1 to {MOST_PARTNERS}")
    # Pings need no control connection, so the hosts may have no port for one.
    known = [{**host, "control_port": UNUSED_PORT} if isinstance(host, Mapping) else host for host in hosts] if isinstance(hosts, list) else hosts
    whole = make_plan(known, FULL, seed=seed, compact=True, allow_empty=True)
    rounds = [list(one) for one in islice(rounds_of(whole), count)]
    targets: dict[str, list[dict[str, Any]]] = {host: [] for host in whole["hosts"]}
    for entry in (entry for one in rounds for entry in one):
        source, target = entry["source"], entry["target"]
        targets[source["host"]].append({"device": source["device"], "address": target["address"], "host": target["host"], "target_device": target["device"]})
    return {"plan": {"plan": "pairs", "rounds": rounds, "hosts": whole["hosts"], "topology": topology_of(whole)}, "targets": targets}
