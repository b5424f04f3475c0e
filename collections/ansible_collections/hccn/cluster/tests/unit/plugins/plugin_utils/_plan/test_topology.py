from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_hosts import read_hosts
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.topology import find_groups, pack, topology_of_hosts, unpack


def host(number, *devices, **fields):
    return {"host": "n%d" % number, "control_address": "192.168.0.%d" % number, "control_port": 18514,
            "devices": [{"id": place, "address": "10.0.%d.%d" % (place, number), **device} for place, device in enumerate(devices)], **fields}


def lldp(system, chassis=None):
    return {"lldp": {"system_name": system, "port": "400GE1/0/1", "chassis": chassis, "management_address": None, "system_description": None}}


def groups(*hosts, table=None):
    return find_groups(read_hosts(hosts), table)


def leaves(*hosts, table=None):
    return {name: dict(found.leaves) for name, found in groups(*hosts, table=table).items()}


LABELS = {"volcano.sh/tor": "tor-1", "volcano.sh/hypernode": "node-1", "huawei.com/topotree.superpodid": "3", "huawei.com/topotree.rackid": "12"}


def test_lldp_names_the_leaf_of_each_device():
    assert leaves(host(1, lldp("leaf-1"), lldp("leaf-2")), host(2, lldp(None, "00:e0:fc:00:00:02"), {"lldp": None})) == {
        "n1": {0: "leaf-1", 1: "leaf-2"}, "n2": {0: "00:e0:fc:00:00:02"}}


def test_switches_with_the_same_name_are_distinguished_by_chassis():
    assert leaves(host(1, lldp("HUAWEI", "00:01"), lldp("HUAWEI", "00:02")), host(2, lldp("HUAWEI"), lldp("leaf-9", "00:03"))) == {
        "n1": {0: "HUAWEI 00:01", 1: "HUAWEI 00:02"}, "n2": {0: "HUAWEI", 1: "leaf-9"}}


def test_switch_names_are_printable_and_bounded():
    assert leaves(host(1, lldp("leaf\n\x1b[31m-1")), host(2, lldp("x" * 300)))["n1"] == {0: "leaf??[31m-1"}
    assert leaves(host(1, lldp("leaf\n\x1b[31m-1")), host(2, lldp("x" * 300)))["n2"] == {0: "x" * 64}


def test_the_inventory_comes_before_lldp_and_lldp_before_labels():
    given = host(1, {**lldp("by-lldp"), "leaf": "by-device"}, lldp("by-lldp"), {}, labels=LABELS)
    assert leaves(given, host(2, {}))["n1"] == {0: "by-device", 1: "by-lldp", 2: "tor-1"}
    assert leaves({**given, "leaf": {"1": "by-host"}}, host(2, {}))["n1"] == {0: "by-device", 1: "by-host", 2: "tor-1"}
    assert leaves({**given, "leaf": "by-host"}, host(2, {}), table={"n1": {"leaf": {0: "by-table"}}})["n1"] == {
        0: "by-table", 1: "by-host", 2: "by-host"}
    assert dict(groups(given, host(2, {}))["n1"].leaf_sources) == {0: "inventory", 1: "lldp", 2: "label"}


def test_groups_from_kubernetes_labels():
    found = groups(host(1, {}, labels=LABELS), host(2, {}, labels={"volcano.sh/hypernode": "node-2", "volcano.sh/tor": ""}), host(3, {}, labels=None))
    assert [dict(found[name].leaves) for name in ("n1", "n2", "n3")] == [{0: "tor-1"}, {0: "node-2"}, {}]
    assert [(found[name].super_pod, found[name].rack) for name in ("n1", "n2", "n3")] == [("3", "12"), (None, None), (None, None)]


def test_super_pods_reported_by_the_npus():
    device = {"super_pod": {"sdid": 1, "super_pod_size": 384, "super_pod_id": 0, "server_index": 4}}
    found = groups(host(1, {"super_pod": None}, device), host(2, device, super_pod="pod-7"), host(3, device, labels=LABELS))
    assert [found[name].super_pod for name in ("n1", "n2", "n3")] == ["0", "pod-7", "0"]


def test_rails_default_to_the_device_ids():
    found = groups(host(1, {}, {"rail": "5"}), host(2, {}, {}), table={"n2": {"rail": {1: 3}}})
    assert [dict(found[name].rails) for name in ("n1", "n2")] == [{0: 0, 1: 5}, {0: 0, 1: 3}]


@pytest.mark.parametrize("given, table, message", [
    (host(1, {}, leaf=["a", "b"]), None, "host n1: leaf is a list"),
    (host(1, {"rail": "x"}), None, "host n1 NPU 0: rail is 'x', not a whole number"),
    (host(1, {}), [], "groups is not a dictionary with an entry for each host"),
    (host(1, {}), {"n1": "leaf-1"}, "groups: the entry of host n1 is not a dictionary"),
    (host(1, {}), {"n1": {"leav": "leaf-1"}}, "groups: host n1 has 'leav', which is none of leaf, rail, super_pod, rack"),
    (host(1, {}), {"N1": {"leaf": "leaf-1"}}, "groups has none of the hosts"),
])
def test_invalid_groups_are_refused(given, table, message):
    with pytest.raises(InputError) as raised:
        groups(given, host(2, {}), table=table)
    assert raised.value.message == message


def test_a_topology_is_packed_and_unpacked():
    hosts = read_hosts([host(1, lldp("leaf-1"), lldp("leaf-2"), super_pod="a"), host(2, lldp("leaf-1"), lldp("leaf-1")), host(3, {}, {"rail": 7}, rack="r")])
    topology = topology_of_hosts(hosts, find_groups(hosts), [0, 1])
    order = ["n3", "n1", "n2"]
    packed = pack(topology, order, [0, 1])
    assert packed == {"super_pod": {"names": ["a"], "of": [None, 0, None]}, "rack": {"names": ["r"], "of": [0, None, None]},
                      "leaf": {"names": ["leaf-1", "leaf-2"], "of": [None, [0, 1], 0]},
                      "leaf_from": {"names": ["lldp"], "of": [None, 0, 0]}, "rail": [[0, 7], [0, 1], [0, 1]]}
    addresses = {entry.name: entry.devices for entry in hosts}
    assert unpack(packed, order, [0, 1], [[addresses[name][device] for device in (0, 1)] for name in order]) == topology


@pytest.mark.parametrize("name", ["{{ lookup('pipe', 'id') }}", "leaf {% raw %}", "{# x", "#jinja2: variable_start_string: '<<'\n<< x"])
def test_a_switch_name_with_a_template_is_ignored(name):
    hosts = read_hosts([host(1, lldp(name)), host(2, lldp("leaf-2"))])
    groups = find_groups(hosts)
    assert groups["n1"].leaves == {}
    assert groups["n2"].leaves == {0: "leaf-2"}
