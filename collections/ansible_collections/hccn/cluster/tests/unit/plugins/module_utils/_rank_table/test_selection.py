from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import selection
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import HostAddresses
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Group, Server
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.super_pod import sdid_of


def server(host, super_pod_id=None, server_index=0, ids=(0, 1)):
    return Server(host, "id-of-" + host, tuple(Device(number, "192.168.1.%d" % number, sdid_of(server_index, number)) for number in ids),
                  super_pod_id=super_pod_id)


SERVERS = (server("n10", "1", 4), server("n2", "0", 7), server("n1", "1", 3), server("m3", "10", 0))


@pytest.mark.parametrize("order, hosts", [
    ("given", ["n10", "n2", "n1", "m3"]),
    ("host", ["m3", "n1", "n2", "n10"]),
    ("super_pod", ["n2", "n1", "n10", "m3"]),
    ("rack", ["n1", "n10", "n2", "m3"]),
])
def test_hosts_are_sorted_by_each_order(order, hosts):
    racks = {"n10": "r2", "n2": "r2", "n1": "r1", "m3": "r10"}
    assert [found.host for found in selection.ordered(SERVERS, order, racks.get)] == hosts


def test_letters_sort_before_numbers():
    servers = [server(name) for name in ("10.0.0.9", "n1", "2a", "10.0.0.10")]
    assert [found.host for found in selection.ordered(servers, "host", {}.get)] == ["n1", "2a", "10.0.0.9", "10.0.0.10"]


@pytest.mark.parametrize("order, message", [
    ("rack", "rank_order: rack: the rack of n2, m3 is unknown; set the variable rank_table_rack, or the option racks"),
    ("super_pod", "rank_order: super_pod: the super pod of n5 is unknown; gather super_pod with device_info, or use another order"),
])
def test_an_order_without_its_data_is_refused(order, message):
    servers = SERVERS if order == "rack" else (*SERVERS, server("n5"))
    with pytest.raises(InputError, match=message):
        selection.ordered(servers, order, {"n10": "r2", "n1": "r1"}.get)


def test_logical_ids_are_those_of_a_container():
    found, problems = selection.logical([server("n1", ids=(0, 1)), server("n2", ids=(4, 7)), server("n3", ids=(2,))])
    assert [[device.id for device in one.devices] for one in found] == [[0, 1], [0, 1], [0]]
    assert [device.address for device in found[1].devices] == ["192.168.1.4", "192.168.1.7"]
    problem, = problems
    assert (problem.severity, problem.host, problem.device) == ("warning", "n2", 4)
    assert problem.message == "device_id 0 is NPU 4: HCCL requires the physical id (ranktable config devId[0], but local devId[4])"


def grouped(name, groups, servers=SERVERS):
    return selection.grouped(name, servers, groups, lambda host: HostAddresses("id-of-" + host, None, "10.0.0.1"), expand)


def test_a_format_without_groups_has_one_group():
    assert grouped("hccl", None) == ((Group("", SERVERS),), [])
    assert grouped("global", None) == ((Group("2", SERVERS),), [])


def test_prefill_and_decode_on_one_host():
    groups, problems = grouped("vllm_pd", [
        {"name": "decode", "hosts": ["n1", "m3"], "devices": ["1"]}, {"name": "prefill", "hosts": ["n1", "n2"], "devices": ["0"]}])
    assert [(group.name, [(one.host, [device.id for device in one.devices]) for one in group.servers]) for group in groups] == [
        ("decode", [("n1", [1]), ("m3", [1])]), ("prefill", [("n1", [0]), ("n2", [0])])]
    assert [(problem.severity, problem.host, problem.message) for problem in problems] == [
        ("warning", "n10", "is in no group, so it is not in the table")]


def test_groups_of_a_global_table():
    groups, problems = grouped("global", [
        {"name": "controller", "hosts": ["n0"]}, {"name": "coordinator", "hosts": ["n1"], "container_ips": {"n1": "10.0.0.9"}},
        {"name": "p", "hosts": ["n10", "n2"], "container_ips": {"n2": "10.0.0.7"}, "deploy_server": 1}, {"name": "d", "hosts": ["n1", "m3"]},
        {"name": "17", "hosts": []}])
    assert [(group.name, group.more, [(one.host, one.server_id, one.container_ip, len(one.devices)) for one in group.servers]) for group in groups] == [
        ("1", {}, [("n0", "id-of-n0", "10.0.0.1", 0)]),
        ("0", {}, [("n1", "id-of-n1", "10.0.0.9", 0)]),
        ("2", {"deploy_server": "1"}, [("n10", "id-of-n10", None, 2), ("n2", "id-of-n2", "10.0.0.7", 2)]),
        ("3", {}, [("n1", "id-of-n1", None, 2), ("m3", "id-of-m3", None, 2)]),
        ("17", {}, [])]
    assert problems == []


@pytest.mark.parametrize("name, groups, message", [
    ("hccl", [{"name": "a", "hosts": ["n1"]}], "groups is for the formats global and vllm_pd, not for hccl"),
    ("vllm_pd", None, "format vllm_pd needs groups: the hosts that prefill and those that decode"),
    ("vllm_pd", [{"name": "both", "hosts": ["n1"]}], "groups: both: format vllm_pd has the groups prefill and decode"),
    ("vllm_pd", [{"name": "decode", "hosts": ["n1"]}, {"name": "decode", "hosts": ["n2"]}], "groups: duplicate name decode"),
    ("vllm_pd", [{"name": "decode", "hosts": ["n1"]}, {"name": "prefill", "hosts": ["n1"], "devices": ["1"]}],
     "groups: device 1 of n1 is in decode and in prefill"),
    ("vllm_pd", [{"name": "decode", "hosts": ["n7"]}], "groups: decode: n7 is not among the hosts of the table"),
    ("vllm_pd", [{"name": "decode", "hosts": ["n1"], "devices": ["1-3"]}],
     "groups: decode: n1 has no device 2, 3 in the table"),
    ("global", [{"name": "2", "hosts": ["n1"]}, {"name": "p", "hosts": ["n2"]}], "groups: duplicate name 2"),
])
def test_invalid_groups_are_refused(name, groups, message):
    with pytest.raises(InputError, match=message):
        grouped(name, groups)
