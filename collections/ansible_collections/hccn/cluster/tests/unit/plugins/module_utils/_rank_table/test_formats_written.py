"""The content of every format that is written, and the round trip of writing and reading."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import document, formats
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Group, Model, Server, one_group

A2 = (Server("n1", "192.0.2.11", (Device(2, "192.168.100.2"), Device(10, "192.168.100.10")), "198.51.100.1", "10.244.0.1",
             more={"hardware_type": "800I-A2-64G"}),
      Server("n2", "192.0.2.12", (Device(0, "192.168.101.1"),)))
A3 = (Server("n1", "192.0.2.21", (Device(0, "192.168.1.1", 37748736), Device(1, "192.168.2.1", 37814273)), super_pod_id="0"),
      Server("n2", "192.0.2.22", (Device(0, "192.168.1.2", 167772160),), super_pod_id="1"),
      Server("n3", "192.0.2.23", (Device(0, "192.168.1.3", 171966464, more={"device_port": "16667"}),), super_pod_id="0"))
LEVELS = [{"net_layer": 0, "net_instance_id": "az0-rack0-pod0", "net_type": "TOPO_FILE_DESC", "net_attr": "",
           "rank_addr_list": [{"addr_type": "IPV4", "addr": "172.16.0.10", "ports": ["1/0"]}]}]
OTHER = [dict(LEVELS[0], net_instance_id="az0-rack0-pod1")]
COORDINATOR = Group("0", (Server("n0", "192.0.2.10", (), None, "10.244.0.9"),))
CONTROLLER = Group("1", (Server("n0", "192.0.2.10", (), None, "10.244.0.8"),))

WRITTEN = {
    "hccl 1.0": ("hccl", one_group(A2, "1.0"), {
        "status": "completed", "version": "1.0", "server_count": "2", "server_list": [
            {"server_id": "192.0.2.11", "host_ip": "198.51.100.1", "container_ip": "10.244.0.1", "hardware_type": "800I-A2-64G", "device": [
                {"device_id": "2", "device_ip": "192.168.100.2", "rank_id": "0"}, {"device_id": "10", "device_ip": "192.168.100.10", "rank_id": "1"}]},
            {"server_id": "192.0.2.12", "device": [{"device_id": "0", "device_ip": "192.168.101.1", "rank_id": "2"}]}]}),
    "hccl 1.2": ("hccl", one_group(A3, "1.2"), {
        "status": "completed", "version": "1.2", "server_count": "3", "server_list": [
            {"server_id": "192.0.2.21", "device": [
                {"device_id": "0", "device_ip": "192.168.1.1", "super_device_id": "37748736", "rank_id": "0"},
                {"device_id": "1", "device_ip": "192.168.2.1", "super_device_id": "37814273", "rank_id": "1"}]},
            {"server_id": "192.0.2.22", "device": [{"device_id": "0", "device_ip": "192.168.1.2", "super_device_id": "167772160", "rank_id": "2"}]},
            {"server_id": "192.0.2.23", "device": [
                {"device_id": "0", "device_ip": "192.168.1.3", "super_device_id": "171966464", "device_port": "16667", "rank_id": "3"}]}],
        "super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "192.0.2.21"}, {"server_id": "192.0.2.23"}]},
                           {"super_pod_id": "1", "server_list": [{"server_id": "192.0.2.22"}]}]}),
    "hccl 2.0": ("hccl", one_group((Server("n1", "az0-rack0-pod0", (
        Device(0, more={"local_id": 8, "level_list": LEVELS}), Device(1, more={"level_list": LEVELS}))),
        Server("n2", "az0-rack0-pod1", (Device(0, more={"device_port": 16668, "level_list": OTHER}),))), "2.0"), {
        "status": "completed", "version": "2.0", "rank_count": 3, "rank_list": [
            {"rank_id": 0, "local_id": 8, "device_id": 0, "level_list": LEVELS},
            {"rank_id": 1, "local_id": 1, "device_id": 1, "level_list": LEVELS},
            {"rank_id": 2, "local_id": 0, "device_id": 0, "device_port": 16668, "level_list": OTHER}]}),
    "mindie": ("mindie", one_group(A2, "1.0"), {
        "status": "completed", "version": "1.0", "server_count": "2", "server_list": [
            {"server_id": "192.0.2.11", "host_ip": "198.51.100.1", "container_ip": "10.244.0.1", "hardware_type": "800I-A2-64G", "device": [
                {"device_id": "2", "device_ip": "192.168.100.2", "rank_id": "0"}, {"device_id": "10", "device_ip": "192.168.100.10", "rank_id": "1"}]},
            {"server_id": "192.0.2.12", "container_ip": "192.0.2.12", "device": [{"device_id": "0", "device_ip": "192.168.101.1", "rank_id": "2"}]}]}),
    "global 1.0": ("global", Model((COORDINATOR, CONTROLLER, Group("2", A2, {"deploy_server": "0"}), Group("3", A2[1:])), "1.0"), {
        "version": "1.0", "status": "completed", "server_group_list": [
            {"group_id": "0", "server_count": "1", "server_list": [{"server_id": "192.0.2.10", "server_ip": "10.244.0.9"}]},
            {"group_id": "1", "server_count": "1", "server_list": [{"server_id": "192.0.2.10", "server_ip": "10.244.0.8"}]},
            {"group_id": "2", "server_count": "2", "deploy_server": "0", "server_list": [
                {"server_id": "192.0.2.11", "server_ip": "10.244.0.1", "hardware_type": "800I-A2-64G", "device": [
                    {"device_id": "2", "device_ip": "192.168.100.2", "device_logical_id": "0", "rank_id": "0"},
                    {"device_id": "10", "device_ip": "192.168.100.10", "device_logical_id": "1", "rank_id": "1"}]},
                {"server_id": "192.0.2.12", "server_ip": "192.0.2.12", "device": [
                    {"device_id": "0", "device_ip": "192.168.101.1", "device_logical_id": "0", "rank_id": "2"}]}]},
            {"group_id": "3", "server_count": "1", "server_list": [
                {"server_id": "192.0.2.12", "server_ip": "192.0.2.12", "device": [
                    {"device_id": "0", "device_ip": "192.168.101.1", "device_logical_id": "0", "rank_id": "0"}]}]}]}),
    "global 1.2": ("global", Model((COORDINATOR, Group("2", A3[1:2])), "1.2"), {
        "version": "1.2", "status": "completed", "server_group_list": [
            {"group_id": "0", "server_count": "1", "server_list": [{"server_id": "192.0.2.10", "server_ip": "10.244.0.9"}]},
            {"group_id": "2", "server_count": "1", "server_list": [{"server_id": "192.0.2.22", "server_ip": "192.0.2.22", "device": [
                {"device_id": "0", "device_ip": "192.168.1.2", "super_device_id": "167772160", "device_logical_id": "0", "rank_id": "0"}]}],
             "super_pod_list": [{"super_pod_id": "1", "server_list": [{"server_id": "192.0.2.22"}]}]}]}),
    "vllm_pd": ("vllm_pd", Model((Group("prefill", (A3[0]._replace(devices=A3[0].devices[:1]),)),
                                  Group("decode", (A3[0]._replace(devices=A3[0].devices[1:]), A2[1]))), "1.2"), {
        "status": "completed", "version": "1.2", "server_count": "2",
        "prefill_device_list": [
            {"server_id": "192.0.2.21", "device_id": "0", "device_ip": "192.168.1.1", "super_pod_id": "0", "super_device_id": "37748736", "cluster_id": "1"}],
        "decode_device_list": [
            {"server_id": "192.0.2.21", "device_id": "1", "device_ip": "192.168.2.1", "super_pod_id": "0", "super_device_id": "37814273", "cluster_id": "2"},
            {"server_id": "192.0.2.12", "device_id": "0", "device_ip": "192.168.101.1", "cluster_id": "3"}]}),
    "local_comm_res 1.0": ("local_comm_res", one_group(A2[1:], "1.0"), {
        "status": "completed", "version": "1.0", "server_list": [{"server_id": "192.0.2.12", "device": [{"device_id": "0", "device_ip": "192.168.101.1"}]}]}),
    "local_comm_res 1.2": ("local_comm_res", one_group(A3[1:2], "1.2"), {
        "status": "completed", "version": "1.2", "server_list": [
            {"server_id": "192.0.2.22", "device": [{"device_id": "0", "device_ip": "192.168.1.2", "super_device_id": "167772160"}]}],
        "super_pod_list": [{"super_pod_id": "1", "server_list": [{"server_id": "192.0.2.22"}]}]}),
    "local_comm_res 1.3": ("local_comm_res", one_group(A3[1:2], "1.3"), {
        "version": "1.3", "net_instance_id": "superpod_1", "endpoint_list": [{"protocol": "roce", "comm_id": "192.168.1.2", "placement": "device"}]}),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_documents_of_each_format(case):
    name, model, table = WRITTEN[case]
    assert formats.build(name, model) == table


@pytest.mark.parametrize("case", WRITTEN)
def test_reading_and_writing_preserves_a_table(case):
    name, model, _table = WRITTEN[case]
    text = document.to_text(formats.build(name, model))
    again = formats.read(document.parse(text))
    assert document.to_text(formats.build(name, again)) == text
    assert (again.version, again.rank_count, len(again.servers)) == (model.version, model.rank_count, len(model.servers))


def test_keys_outside_the_model_are_preserved():
    table = {"status": "initializing", "version": "1.0", "server_count": "1", "extra": 1, "server_list": [
        {"server_id": "node_0", "host_ip": "172.16.0.1", "rack": "7", "device": [
            {"device_id": "1", "device_ip": "192.168.1.1,192.168.1.2", "backup_device_ip": "192.168.1.3", "host_port": "16666", "rank_id": "5"}]}]}
    model = formats.read(table)
    assert model.servers == (Server("node_0", "node_0", (
        Device(1, "192.168.1.1,192.168.1.2", rank=5, more={"backup_device_ip": "192.168.1.3", "host_port": "16666"}),), "172.16.0.1", more={"rack": "7"}),)
    assert formats.build("hccl", model) == table


def test_an_old_group_list_is_read():
    table = {"status": "completed", "group_count": "1", "group_list": [{"group_name": "hccl_world_group", "device_count": "3", "instance_list": [
        {"pod_name": "a", "server_id": "node_0", "devices": [{"device_id": "0", "device_ip": "192.168.1.8"}]},
        {"pod_name": "b", "server_id": "node_1", "devices": [{"device_id": "1", "device_ip": "192.168.1.9"}]},
        {"pod_name": "c", "server_id": "node_0", "devices": [{"device_id": "4", "device_ip": "192.168.1.10"}]}]}]}
    assert formats.read(table) == one_group((Server("node_0", "node_0", (Device(0, "192.168.1.8"), Device(4, "192.168.1.10"))),
                                            Server("node_1", "node_1", (Device(1, "192.168.1.9"),))), "")


def test_a_repeated_device_begins_a_new_server_in_version_2_0():
    ranks = [{"rank_id": rank, "local_id": device, "device_id": device, "level_list": LEVELS} for rank, device in enumerate((0, 1, 0, 1))]
    model = formats.read({"version": "2.0", "rank_count": 4, "rank_list": ranks})
    assert [[device.rank for device in server.devices] for server in model.servers] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("table", [{"version": "1.3"}, {"version": "1.3", "net_instance_id": "superpod1_1", "endpoint_list": [
    {"protocol": "ub_ctp", "comm_id": "00000000007f020000100000df149001", "placement": "host", "dst_eid": "00000000007f030000100000df141c01"}]}])
def test_endpoints_are_read_as_devices(table):
    assert formats.build("local_comm_res", formats.read(table)) == table


@pytest.mark.parametrize("table, message", [
    ({"status": "initializing"}, "this is not a rank table of any known format"),
    ({"peer_list": []}, "this is a topology file of Ascend 950"),
    ({"server_list": {}}, "server_list is not a list of objects"),
    ({"server_list": [{"device": []}]}, r"server_list\[0\].server_id is missing"),
    ({"server_list": [{"server_id": [], "device": []}]}, r"server_list\[0\].server_id is neither a string nor an integer"),
    ({"server_list": [{"server_id": "a", "device": [{"rank_id": "0"}]}]}, r"server_list\[0\].device\[0\].device_id is missing"),
    ({"server_list": [{"server_id": "a", "device": [{"device_id": "x"}]}]}, r"server_list\[0\].device\[0\].device_id is not a number: 'x'"),
    ({"server_list": [{"server_id": "a", "device": [{"device_id": "1", "super_device_id": "xx"}]}]}, r"device\[0\].super_device_id is not a number: 'xx'"),
    ({"server_list": [], "super_pod_list": [{"server_list": []}]}, r"super_pod_list\[0\].super_pod_id is missing"),
    ({"server_group_list": [{"group_id": "2", "server_list": [{"server_ip": "192.0.2.1"}]}]}, r"server_group_list\[0\].server_list\[0\].server_id is missing"),
    ({"prefill_device_list": [{"device_id": "1"}]}, r"prefill_device_list\[0\].server_id is missing"),
    ({"group_list": [{"instance_list": [{}]}]}, r"group_list\[0\].instance_list\[0\].server_id is missing"),
    ({"rank_list": [{"rank_id": 0}]}, r"rank_list\[0\].device_id is missing"),
    ({"version": "1.3", "endpoint_list": [{}]}, r"endpoint_list\[0\].comm_id is missing"),
])
def test_malformed_documents_are_refused(table, message):
    with pytest.raises(ParseError, match=message):
        formats.read(table)


@pytest.mark.parametrize("version, message", [("1.0", "of version 1.0 describes one NPU, not 3: select one host"), ("1.3", "describes one host, not 2")])
def test_local_comm_res_of_several_npus_or_hosts_is_refused(version, message):
    with pytest.raises(InputError, match=message):
        formats.build("local_comm_res", one_group(A2, version))
