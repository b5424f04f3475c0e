# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tool of the host instead of the NPU: real iperf3 between loopback addresses, nothing of hccn_tool."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.rounds import make_plan
from tests.fabric.cluster import Cluster, records, run, until
from tests.support import skip


def test_iperf3(make: Callable[..., Cluster]) -> None:
    if shutil.which("iperf3") is None:
        skip("iperf3")
    cluster = make(3, 1)
    network = 10 + os.getpid() % 200
    hosts = [{**host, "devices": [{"id": 0, "address": f"127.{network}.0.{number}"}]} for number, host in enumerate(cluster.hosts(), 1)]
    options = {"tool": "iperf3", "duration": 1, "size": "64K", "iterations": None, "hccn_tool": "/nonexistent", "server_start_delay": 30, "pair_timeout": 45}
    found = records(run(cluster, make_plan(hosts, "full"), **options))
    assert [(record["status"], record["tool"]["name"], record["operation"]) for record in found] == [("ok", "iperf3", "write")] * 3
    assert all(record["samples"][0]["bandwidth_gbit_s"] > 0 and record["samples"][0]["size_bytes"] == 65536 for record in found)
    assert {record["command"][0] for record in found} == {"iperf3"}
    assert [cluster.calls(name) for name in cluster.ports] == [[], [], []]
    until(lambda: not cluster.processes())
