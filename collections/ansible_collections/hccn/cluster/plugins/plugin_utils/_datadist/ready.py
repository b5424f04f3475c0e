# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The links that the role datadist_ready establishes on each host, and the lines of its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._datadist.link_plan import DECODE, DEFAULT_TIMEOUT_MS, PREFILL

Entry = Mapping[str, Any]


def calls_of(host: str, clusters: Sequence[Entry], planned: Sequence[Entry], timeout_ms: int) -> list[dict[str, Any]]:
    """Return the calls of the decode clusters of a host: the planned ones, or else one per cluster that links all prefill clusters within ``timeout_ms``.

    ``own`` is the calling cluster; ``remotes`` have ``cluster``, ``ip`` and ``port``. Raises InputError if a prefill cluster has no address.
    """
    own = [cluster for cluster in clusters if cluster["host"] == host and cluster["role"] == DECODE]
    remotes = [_remote(cluster) for cluster in clusters if cluster["role"] == PREFILL] if own else []
    everything: Entry = {"remotes": [remote["cluster"] for remote in remotes], "timeout_ms": timeout_ms}
    found = []
    for cluster in own:
        for call in [one for one in planned if one["cluster"] == cluster["cluster"]] if planned else [everything]:
            found.append({"own": cluster, "remotes": [remote for remote in remotes if remote["cluster"] in call["remotes"]],
                          "timeout_ms": call.get("timeout_ms", DEFAULT_TIMEOUT_MS)})
    return found


def _remote(cluster: Entry) -> dict[str, Any]:
    if not cluster.get("ip_infos"):
        raise InputError(f"the prefill cluster {cluster['cluster']} has no ip_infos", "give the address and port at which it listens")
    first = cluster["ip_infos"][0]
    return {"cluster": cluster["cluster"], "ip": first["ip"], "port": first["port"]}


def lines(checked: Entry) -> list[str]:
    """Return the result of datadist_check as a summary and one line for each problem."""
    planned, problems = checked["planned"], checked["problems"]
    summary = f"LLM-DataDist: {planned['links']} links of {planned['clusters']} clusters on {planned['devices']} NPUs, {len(problems)} problems"
    return [summary, *map(_line, problems)]


def _line(problem: Entry) -> str:
    """Return the line of a problem. Problems that were only counted have neither host nor hint."""
    where = f"{problem['host']} NPU {problem['device']}: " if "host" in problem else ""
    return f"{problem['severity']}: {where}{problem['message']}" + (f". {problem['hint']}" if "hint" in problem else "")
