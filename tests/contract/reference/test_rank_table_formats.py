"""Compare written rank tables with tables from manuals and from the tests of their readers, and check that reading and writing a table preserves it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import document, formats
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import HostAddresses, TableOptions, assemble
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import one_group
from tests.lib.project import shared

FOLDER = "samples/ranktable"

NOT_OF_A_DEVICE = ("device_port", "host_port", "backup_device_ip", "backup_device_port", "hardware_type")
"""Keys whose values cannot be derived from a host."""


def sample(name: str) -> Any:
    """Return a sample as JSON, without the comments of the manual."""
    text = shared(f"{FOLDER}/{name}").read_text()
    return json.loads(re.sub(r"//.*", "", text) if name.endswith(".txt") else text)


def derivable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: derivable(member) for key, member in value.items() if key not in NOT_OF_A_DEVICE}
    return [derivable(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "wanted", "product"), [
    ("hccl_v1.0_910_doc.json", "hccl", "910A"), ("hccl_v1.0_a2_doc.json", "hccl", "A2"), ("hccl_v1.0_a3_classic_doc.json", "hccl", "A3"),
    ("hccl_v1.0_hcomm_example.json", "hccl", "A2"), ("a3_superpod_v1.2.json.txt", "hccl", "A3"), ("mindie_llm_ut_ranktable.json", "mindie", "A2"),
    ("pymotor_hccl_a2.json", "hccl", "A2"),
])
def test_written_table_equals_the_sample(name: str, wanted: str, product: str) -> None:
    table = sample(name)
    pods = {server["server_id"]: pod["super_pod_id"] for pod in table.get("super_pod_list", []) for server in pod["server_list"]}
    nodes, places = {}, {}
    for number, server in enumerate(table["server_list"]):
        devices = []
        for device in server["device"]:
            found = {"id": int(device["device_id"]), "address": device.get("device_ip"), "errors": []}
            if pods:
                found["super_pod"] = {"sdid": int(device["super_device_id"]), "super_pod_id": int(pods[server["server_id"]]), "server_index": 0}
            elif product == "A3":
                found["super_pod"] = {"sdid": 0, "super_pod_id": 0, "server_index": 1023}
            devices.append(found)
        nodes[f"n{number}"] = {"product": product, "devices": devices}
        places[f"n{number}"] = HostAddresses(server["server_id"], server.get("host_ip"), server.get("container_ip"))
    assembly = assemble(nodes, places.__getitem__, TableOptions(wanted), expand)
    assert assembly.problems == ()
    written = formats.build(wanted, one_group(assembly.servers, assembly.version))
    wanted_table = derivable(table)
    # Optional for HCCL; one sample has none.
    wanted_table.setdefault("server_count", str(len(table["server_list"])))
    assert written == wanted_table


ROUND_TRIPS = {
    "hccl_v1.0_910_doc.json": "hccl", "hccl_v1.0_a2_doc.json": "hccl", "hccl_v1.0_a3_classic_doc.json": "hccl", "a3_superpod_v1.2.json.txt": "hccl",
    "mindie_llm_ut_ranktable.json": "mindie", "pymotor_hccl_a2.json": "mindie", "hccl_v2.0_a5_eid_doc.json": "hccl", "hccl_v2.0_a5_ipv4_doc.json": "hccl",
    "motor_global_rank_table_cross_node.json": "global",
    "hixl_local_comm_res_v1.3_L109.json": "local_comm_res", "hixl_local_comm_res_v1.3_L117.json": "local_comm_res",
    "hixl_local_comm_res_v1.3_L226.json": "local_comm_res", "hixl_local_comm_res_v1.3_L243.json": "local_comm_res",
    "hixl_local_comm_res_v1.3_L275.json": "local_comm_res", "llm_datadist_local_comm_res_v1.0_doc.json": "local_comm_res",
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_sample_survives_a_round_trip(name: str) -> None:
    table = sample(name)
    written = formats.build(ROUND_TRIPS[name], formats.read(table))
    assert written == table
    assert document.parse(document.to_text(written)) == table


def test_old_group_list_becomes_a_current_table() -> None:
    model = formats.read(sample("hccl_grouplist_910_doc.json"))
    assert formats.build("hccl", model._replace(version="1.0"))["server_list"] == [
        {"server_id": "node_0", "device": [{"device_id": "0", "device_ip": "192.168.1.8", "rank_id": "0"}]},
        {"server_id": "node_1", "device": [{"device_id": "1", "device_ip": "192.168.1.9", "rank_id": "1"}]}]


@pytest.mark.parametrize("name", ["clusterd_global_ranktable_v1.0_doc.json", "motor_example_global_ranktable.json", "a5_topo_file_doc.json"])
def test_placeholders_and_other_files_are_refused(name: str) -> None:
    with pytest.raises(ParseError):
        formats.read(sample(name))
