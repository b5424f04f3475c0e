from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import as_dicts
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.drift import drift
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Group, Model, Server, one_group
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.formats import read

from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table import tables


def node(*addresses, pod=None):
    devices = []
    for number, address in enumerate(addresses):
        devices.append({"id": number, "address": address, "errors": []})
        if pod is not None:
            devices[-1]["super_pod"] = {"sdid": pod[1] << 22 | number // 2 << 18 | number % 2 << 16 | number, "super_pod_id": pod[0], "server_index": pod[1]}
    return {"devices": devices}


TABLE = one_group((Server("s1", "192.0.2.1", (Device(0, "192.168.1.1"), Device(1, "192.168.1.2"))), Server("s2", "n2", (Device(0, "192.168.2.1"),))), "1.0")
NODES = {"n1": node("192.168.1.1", "192.168.1.2"), "n2": node("192.168.2.1")}


def differences(nodes, model=TABLE, **more):
    return [(problem["rule"], problem["severity"], problem.get("host"), problem["message"]) for problem in as_dicts(drift(model, nodes, **more))]


def test_an_unchanged_cluster_has_no_drift():
    assert differences(NODES) == []


@pytest.mark.parametrize("nodes, expected", [
    ({**NODES, "n1": node("192.168.1.1", "192.168.1.9")},
     [("drift_address", "error", "n1", "device 1 has the address 192.168.1.9, but 192.168.1.2 in the table")]),
    ({**NODES, "n1": node("192.168.1.1", None)}, [("drift_address", "error", "n1", "device 1 has no address, but 192.168.1.2 in the table")]),
    ({**NODES, "n1": node("192.168.1.1")}, [("drift_device", "error", "n1", "the table has device 1, which the host does not have")]),
    ({**NODES, "n2": node("192.168.2.1", "192.168.2.2", None)}, [("drift_device", "warning", "n2", "device 1, 2 of this host is not in the table")]),
    ({**NODES, "n3": node("192.168.3.1")}, [("drift_host", "warning", "n3", "the host is not in the table")]),
    ({"n1": NODES["n1"]}, [("drift_host", "error", None, "the table has the server n2, which does not match any host")]),
    ({**NODES, "n2": None},
     [("drift_host", "error", "n2", "cannot be compared with the table: no result of device_info: unreachable, or not in that play")]),
    ({**NODES, "n2": InputError("not in the inventory")}, [("drift_host", "error", "n2", "cannot be compared with the table: not in the inventory")]),
])
def test_differences_are_reported(nodes, expected):
    assert differences(nodes) == expected


def test_server_ids_identify_a_server_without_matching_addresses():
    nodes = {**NODES, "n1": node("10.0.0.1", "10.0.0.2")}
    assert differences(nodes)[0] == ("drift_host", "error", None, "the table has the server 192.0.2.1, which does not match any host")
    assert differences(nodes, server_ids={"n1": "192.0.2.1"}) == [
        ("drift_address", "error", "n1", "device 0 has the address 10.0.0.1, but 192.168.1.1 in the table"),
        ("drift_address", "error", "n1", "device 1 has the address 10.0.0.2, but 192.168.1.2 in the table")]


def test_super_pods_are_compared():
    model = one_group((Server("n1", "n1", (Device(0, "192.168.1.1", 37748736), Device(1, "192.168.1.2", 98369551)), super_pod_id="0"),), "1.2")
    assert differences({"n1": node("192.168.1.1", "192.168.1.2", pod=(3, 9))}, model) == [
        ("drift_super_device_id", "error", "n1", "device 1 has the super device id 37814273, but 98369551 in the table"),
        ("drift_super_pod", "error", "n1", "the host is in super pod 3, but in 0 in the table")]


def test_virtual_nics_and_several_addresses_of_an_npu_match():
    model = Model((Group("prefill", (Server("n1", "n1", (Device(0, "192.23.2.199"),)),)),
                   Group("decode", (Server("n1", "n1", (Device(1, "192.168.1.2,192.168.9.2"),)),)), Group("0", (Server("c", "c"),))), "1.2")
    assert differences({"n1": node("192.168.1.1", "192.168.1.2", pod=(0, 23))}, model) == []


def test_ipv6_spellings_are_equal():
    model = one_group((Server("s1", "192.0.2.1", (Device(0, "fd00:0:0::000A"), Device(1, "fd00::c"))),), "1.0")
    assert differences({"n1": node("fd00::a", "fd00::b")}, model) == [
        ("drift_address", "error", "n1", "device 1 has the address fd00::b, but fd00::c in the table")]


def test_servers_of_version_2_0_are_matched_by_addresses_of_any_layer():
    nodes = {"n%d" % server: node(*(tables.address(server, device) for device in range(2))) for server in range(2)}
    assert differences(nodes, read(tables.rank_list())) == []
    del nodes["n0"]["devices"][1]
    assert differences({"n0": nodes["n0"]}, read(tables.rank_list())) == [
        ("drift_device", "error", "n0", "the table has device 1, which the host does not have"),
        ("drift_host", "warning", None, "no host has an address of the devices in net instance rack-1: they cannot be compared")]


def test_endpoints_are_compared_by_address():
    nodes = {"n0": node(tables.address(0, 0), tables.address(0, 1)), "n1": node(tables.address(1, 0))}
    assert differences(nodes, read(tables.endpoints())) == []
    nodes["n0"] = node(tables.address(0, 0), "172.31.0.9")
    assert differences(nodes, read(tables.endpoints())) == [
        ("drift_address", "error", None, "the endpoint 172.17.0.1 is not the address of any NPU of the hosts")]
