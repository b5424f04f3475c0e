"""The selection of NPUs by leaf and QDD, with the six examples of the vendor's description of link failover."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import leaf_topology, nic_switch
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError

TOPOLOGY = [
    {"leaf": "leaf 1", "backup": "leaf 2", "nodes": None, "qdds": [
        {"qdd": "QDD8", "backup": "QDD7", "ports": {"B": "8", "A": 0}},
        {"qdd": "QDD6", "backup": "QDD5", "ports": {"A": 2, "B": 10}},
        {"qdd": "QDD4", "backup": "QDD3", "ports": {"A": 4, "B": 12}},
        {"qdd": "QDD2", "backup": "QDD1", "ports": {"A": 6, "B": 14}}]},
]
LEAF = ["0", "8", "2", "10", "4", "12", "6", "14"]


@pytest.mark.parametrize("entry, devices", [
    ({"node": "node-1", "qdd": "QDD8"}, ["0", "8"]),
    ({"node": "node-1", "qdd": "QDD8", "port": "A"}, ["0"]),
    ({"node": "node-1", "leaf": "leaf 1"}, LEAF),
])
@pytest.mark.parametrize("direction, operation", [("failover", True), ("switchback", False)])
def test_examples_of_the_vendor(entry, devices, direction, operation):
    request = nic_switch.request("job", leaf_topology.select([entry], TOPOLOGY), direction)
    assert request == {"jobID": "job", "nicOps": {"node-1": {"dev": devices, "op": [operation] * len(devices)}}}


def test_devices_need_no_topology():
    nics = [{"node": "b", "devices": ["8", 0]}, {"node": "a", "devices": [3]}, {"node": "b", "devices": [1]}]
    assert leaf_topology.select(nics, None) == {"b": [8, 0, 1], "a": [3]}


@pytest.mark.parametrize("nics, message", [
    ([], "nics is empty: ClusterD would accept the request and do nothing"),
    ([{"node": "n", "devices": []}], r"nics\[0\].devices is empty"),
    ([{"node": "n", "devices": ["0", 0]}], "NPU 0 of node n is listed twice"),
    ([{"node": "n", "devices": [0]}, {"node": "n", "qdd": "QDD8"}], "NPU 0 of node n is listed twice"),
    ([{"node": "n", "devices": ["device0"]}], r"nics\[0\].devices: 'device0' is not the id of an NPU, such as 0 or 8"),
    ([{"node": "n", "devices": [True]}], "True is not the id of an NPU"),
    ([{"node": "", "devices": [0]}], r"nics\[0\] has no node"),
    ([{"node": "n"}], "select the NPUs of node n with exactly one of devices, leaf and qdd"),
    ([{"node": "n", "devices": [0], "leaf": "leaf 1"}], "select the NPUs of node n with exactly one of devices, leaf and qdd"),
    ([{"node": "n", "devices": [0], "port": "A"}], "port requires qdd"),
    ([{"node": "n", "qdd": "QDD9"}], "topology has no QDD 'QDD9' on node n"),
    ([{"node": "n", "leaf": "leaf 3"}], "topology has no leaf 'leaf 3'; it has leaf 1"),
])
def test_invalid_selections_are_rejected(nics, message):
    with pytest.raises(InputError, match=message):
        leaf_topology.select(nics, TOPOLOGY)


@pytest.mark.parametrize("entry, message", [
    ({"qdds": []}, r"topology\[0\] has no leaf"),
    ({"leaf": "a", "qdds": []}, r"topology\[0\].qdds must be a list"),
    ({"leaf": "a", "qdds": [{"qdd": "q", "ports": {"C": 0}}]}, r"topology\[0\].qdds\[0\].ports must contain the NPU of each port"),
    ({"leaf": "a", "qdds": [{"qdd": "q", "ports": {"A": "x"}}]}, r"topology\[0\].qdds\[0\].ports.A: 'x' is not the id"),
    ({"leaf": "a", "qdds": [{"qdd": "q", "ports": {"A": 0}, "colour": 1}]}, "colour is unknown; valid keys are qdd, backup, ports"),
    ({"leaf": "a", "qdds": [{"qdd": "q", "ports": {"A": 0}}, {"qdd": "r", "ports": {"B": 0}}]}, "NPU 0 is connected to port A of q and to port B of r"),
    ({"leaf": "a", "nodes": ["n"], "qdds": [{"qdd": "q", "ports": {"A": 0, "B": 0}}]}, "NPU 0 of n is connected to port A of q and to port B of q"),
])
def test_invalid_topologies_are_rejected(entry, message):
    with pytest.raises(InputError, match=message):
        leaf_topology.parse([entry])


def test_leaves_of_some_nodes():
    some = [{"leaf": "a", "nodes": ["n1"], "qdds": [{"qdd": "q", "ports": {"A": 0}}]}, {"leaf": "a", "qdds": [{"qdd": "q", "ports": {"A": 1, "B": 3}}]}]
    assert leaf_topology.on_leaf(some, "a") == ({"n1": [0]}, [1, 3])
    assert leaf_topology.select([{"node": "n1", "leaf": "a"}, {"node": "n2", "leaf": "a"}], some) == {"n1": [0], "n2": [1, 3]}
    with pytest.raises(InputError, match="topology has the leaf a, but not for node n2"):
        leaf_topology.select([{"node": "n2", "leaf": "a"}], some[:1])
    with pytest.raises(InputError, match="the QDD q has no NPU on port 'B'"):
        leaf_topology.select([{"node": "n1", "qdd": "q", "port": "B"}], some)
