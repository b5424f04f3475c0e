"""The role simulated_cluster: a node of each product, as described by an inventory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml

from tests.simulator.hccn_sim.node import Node
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.project import ROOT

HOSTS = {
    "a2": {"simulated_cluster_network": "10.78.1"},
    "a3": {
        "simulated_cluster_network": "10.78.2", "simulated_cluster_product": "A3", "simulated_cluster_server_index": 4,
        "simulated_cluster_super_pod_id": 9, "simulated_cluster_super_pod_size": 48, "simulated_cluster_state": ["3.tls=1"],
    },
    "a3alone": {"simulated_cluster_network": "10.78.3", "simulated_cluster_product": "A3", "simulated_cluster_devices": 4},
    "n950": {"simulated_cluster_network": "10.78.4", "simulated_cluster_product": "950"},
}
SETTINGS = ("product", "server_index", "super_pod_id", "super_pod_size")


def test_role_makes_nodes_of_every_product(tmp_path: Path) -> None:
    own = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "simulated_cluster_node": f"{tmp_path}/{{{{ inventory_hostname }}}}"}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": HOSTS, "vars": own}}))
    (tmp_path / "play.yml").write_text("- hosts: all\n  gather_facts: false\n  roles: [simulated_cluster]\n")
    argv = [ANSIBLE_PLAYBOOK, "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    done = subprocess.run(argv, env=ansible_environment(ANSIBLE_ROLES_PATH=str(ROOT / "roles")), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr

    nodes = {name: Node(str(tmp_path / name)) for name in HOSTS}
    assert {name: [node.config[key] for key in SETTINGS] for name, node in nodes.items()} == {
        "a2": ["A2", None, 0, 384], "a3": ["A3", 4, 9, 48], "a3alone": ["A3", None, 0, 384], "n950": ["950", None, 0, 384]}
    assert {name: len(node.devices()) for name, node in nodes.items()} == {"a2": 8, "a3": 16, "a3alone": 4, "n950": 8}
    assert nodes["a2"].conf.lines()[4:8] == ["address_1=10.78.1.11", "netmask_1=255.255.0.0", "gateway_1=10.78.0.1", "netdetect_1=10.78.0.1"]
    assert nodes["a3"].conf.lines()[:8] == [
        "address_0=10.78.2.10", "netmask_0=255.255.128.0", "gateway_0=10.78.0.1", "netdetect_0=10.78.0.1",
        "address_1=10.78.130.11", "netmask_1=255.255.128.0", "gateway_1=10.78.128.1", "netdetect_1=10.78.128.1"]
    assert json.loads((tmp_path / "a3/state/devices.json").read_text())["3"]["tls"] == "1"
    assert nodes["a3"].config["switch_addresses"] == ["10.78.0.1", "10.78.128.1"]
