# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks of the fault matrix, and how a host's state is read: from its hccn.conf and its devices, never by the product."""

from __future__ import annotations

import json
import re

from tests.testbed import Lab

from tests.harness.cells import Job

TABLE = "/etc/rank_table.json"
_ADDRESS = re.compile(r"^address_\d+=(\d+\.\d+)\.", re.MULTILINE)
_SWITCH = re.compile(r"^tls_enable_\d+=(\d)$", re.MULTILINE)


def _network_and_switch(lab: Lab, name: str) -> str:
    """``10.79 tls 1`` where hccn.conf and all devices agree; what the devices say stands behind where they do not."""
    text = lab.path(name, "/etc/hccn.conf").read_text()
    filed = _told(_ADDRESS.findall(text), _SWITCH.findall(text) or ["0"])
    devices = [lab.state(name, device) for device in range(lab.hosts[name].devices)]
    live = _told([".".join(device["ip"].split(".")[:2]) for device in devices], [device.get("tls") or "0" for device in devices])
    return filed if filed == live else f"{filed}, devices {live}"


def _told(networks: list[str], switches: list[str]) -> str:
    return f"{'+'.join(sorted(set(networks)))} tls {'+'.join(sorted(set(switches)))}"


def _table(lab: Lab, name: str) -> str:
    """How many servers and ranks the host's rank table has; ``none``; ``torn`` where it is no JSON."""
    path = lab.path(name, TABLE)
    if not path.exists():
        return "none"
    try:
        servers = json.loads(path.read_text())["server_list"]
    except ValueError:
        return "torn"
    return f"{len(servers)} servers, {sum(len(server['device']) for server in servers)} ranks"


BRING_UP = Job(
    "bring_up", {"bring_up_subnets": [{"cidr": "10.79.0.0/16", "gateway": "10.79.0.1"}], "bring_up_tls_state": "enabled"},
    frozenset({"-ip", "-s"}), "TASK [hccn.cluster.bring_up : Read all NPUs]", _network_and_switch)
TLS = Job("tls", {"tls_state": "enabled"}, frozenset({"-tls", "-s"}), "TASK [hccn.cluster.tls : State of the host]", _network_and_switch)
RANK_TABLE = Job("rank_table", {"rank_table_path": TABLE}, frozenset({"-ip", "-g"}), "TASK [hccn.cluster.rank_table : What was written]", _table)
