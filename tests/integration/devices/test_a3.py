"""device_info on a simulated A3 server in a super pod."""

from __future__ import annotations

from pathlib import Path

from tests.lib.hosts import node, tools
from tests.lib.module import call_module


def test_positions_of_sixteen_dies(tmp_path: Path) -> None:
    root = node(tmp_path / "npu23", "--product", "A3", "--server-index", "23", "--super-pod-id", "5", "--super-pod-size", "384",
                "--address-template", "10.78.1.1{device}", "--address-template", "10.78.129.1{device}", "--netmask", "255.255.128.0",
                "--state", "11.process=4711:python3:49207", devices=16)
    result = call_module("device_info", {**tools(root), "gather": ["address", "vnic", "super_pod", "processes", "versions"], "fail_on": "any"})
    assert (result["product"], result["dialect"], [device["id"] for device in result["devices"]]) == ("A3", "910", list(range(16)))
    assert result["devices"][15] == {
        "id": 15, "address": "10.78.129.115", "netmask": "255.255.128.0", "errors": [], "processes": [],
        "vnic": {"link": "up", "address": "192.23.3.184", "netmask": "255.255.255.0"},
        "super_pod": {"sdid": 98369551, "super_pod_size": 384, "super_pod_id": 5, "server_index": 23},
        "versions": {"driver": "24.1.rc3", "firmware": "7.5.0.1.129"}, "serial": "SIMNPU230007",
        "conf": {"address": "10.78.129.115", "netmask": "255.255.128.0"},
    }
    assert [(device["id"], device["processes"]) for device in result["devices"] if device["processes"]] == [
        (11, [{"pid": 4711, "name": "python3", "memory_mb": 49207}])]


def test_server_outside_super_pods(tmp_path: Path) -> None:
    root = node(tmp_path / "npu1", "--product", "A3", devices=2)
    result = call_module("device_info", {**tools(root), "gather": ["vnic", "super_pod"], "devices": ["1"]})
    assert result["devices"][0]["vnic"]["address"] == "192.168.3.198"
    assert result["devices"][0]["super_pod"]["server_index"] == 1023
