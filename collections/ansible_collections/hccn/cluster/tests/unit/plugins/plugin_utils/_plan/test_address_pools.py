from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import address_pools
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.address_pools import make_pools, pool_slot


def only(subnet):
    return make_pools([subnet])[0]


@pytest.mark.parametrize(("subnet", "netmask", "addresses", "size"), [
    ("10.0.0.0/24", "255.255.255.0", "10.0.0.1 to 10.0.0.254", 254),
    ("10.0.0.0/255.255.0.0", "255.255.0.0", "10.0.0.1 to 10.0.255.254", 65534),
    ("10.0.0.4/31", "255.255.255.254", "10.0.0.4 to 10.0.0.5", 2),
    ({"cidr": "10.0.0.0/24", "gateway": "10.0.0.1"}, "255.255.255.0", "10.0.0.2 to 10.0.0.254", 253),
    ({"cidr": "10.0.0.0/24", "gateway": "10.0.0.254"}, "255.255.255.0", "10.0.0.1 to 10.0.0.253", 253),
    ({"cidr": "10.0.0.0/24", "first": "10.0.0.10", "last": "10.0.0.19"}, "255.255.255.0", "10.0.0.10 to 10.0.0.19", 10),
])
def test_range_of_addresses_for_npus(subnet, netmask, addresses, size):
    pool = only(subnet)
    assert (pool.netmask, pool.range(), pool.size, pool.gateway_inside()) == (netmask, addresses, size, False)


def test_settings_of_a_device():
    assert only("10.0.0.0/24").settings(4) == {"address": "10.0.0.5", "netmask": "255.255.255.0"}
    assert only({"cidr": "10.0.0.0/24", "gateway": "10.0.0.1"}).settings(0) == {
        "address": "10.0.0.2", "netmask": "255.255.255.0", "gateway": "10.0.0.1", "netdetect": "10.0.0.1"}
    assert only({"cidr": "10.0.0.0/24", "netdetect": "10.9.0.1"}).settings(0) == {
        "address": "10.0.0.1", "netmask": "255.255.255.0", "netdetect": "10.9.0.1"}


@pytest.mark.parametrize(("subnet", "inside"), [
    ({"cidr": "10.0.0.0/24", "gateway": "10.0.0.100"}, True),
    ({"cidr": "10.0.0.0/24", "gateway": "10.0.0.1", "first": "10.0.0.1"}, True),
    ({"cidr": "10.0.0.0/24", "gateway": "10.0.0.100", "last": "10.0.0.99"}, False),
    ({"cidr": "10.0.0.0/24", "gateway": "10.0.0.100", "first": "10.0.0.101"}, False),
])
def test_a_gateway_among_the_addresses_is_detected(subnet, inside):
    assert only(subnet).gateway_inside() is inside


def slots(subnets, devices, per_host):
    made = make_pools(subnets)
    return [(made.index(place.pool), place.slot, place.block) if place else None for place in (pool_slot(made, device, per_host) for device in devices)]


def test_devices_take_subnets_in_turn():
    assert slots(["10.0.0.0/24"], range(4), 8) == [(0, 0, 8), (0, 1, 8), (0, 2, 8), (0, 3, 8)]
    assert slots(["10.0.%d.0/24" % number for number in range(4)], [0, 3, 4, 7], 8) == [(0, 0, 2), (3, 0, 2), (0, 1, 2), (3, 1, 2)]
    assert slots(["10.0.0.0/24", "10.0.1.0/24"], [0, 1, 14, 15], 16) == [(0, 0, 8), (1, 0, 8), (0, 7, 8), (1, 7, 8)]
    assert slots(["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"], [0, 7], 8) == [(0, 0, 3), (1, 2, 3)]


def test_subnets_may_name_their_devices():
    subnets = [{"cidr": "10.0.0.0/24", "devices": ["4-5", 0]}, {"cidr": "10.0.1.0/24", "rail": 1}, {"cidr": "10.0.2.0/24", "devices": [2]}]
    assert slots(subnets, range(6), 8) == [(0, 2, 3), (1, 0, 1), (2, 0, 1), None, (0, 0, 3), (0, 1, 3)]


@pytest.mark.parametrize(("subnets", "message"), [
    ("10.0.0.0/24", "subnets is not a list of subnets such as 10.78.0.0/16"),
    ([], "subnets is not a list of subnets such as 10.78.0.0/16"),
    (["10.0.0.0"], "subnets[0].cidr: '10.0.0.0' is not an IPv4 subnet such as 10.78.0.0/16"),
    (["10.0.0.0/24", "10.0.0.0/33"], "subnets[1].cidr: '10.0.0.0/33' is not an IPv4 subnet such as 10.78.0.0/16"),
    (["fd00::/64"], "subnets[0].cidr: 'fd00::/64' is not an IPv4 subnet such as 10.78.0.0/16"),
    ([{"gateway": "10.0.0.1"}], "subnets[0].cidr: None is not an IPv4 subnet such as 10.78.0.0/16"),
    (["10.0.0.7/24"], "subnets[0].cidr: 10.0.0.7/24 is an address in a subnet"),
    ([{"cidr": "10.0.0.0/24", "netmask": "x", "gw": "y"}], "subnets[0]: gw, netmask is not known"),
    ([{"cidr": "10.0.0.0/24", "gateway": "10.0.1.1"}], "subnets[0].gateway: 10.0.1.1 is outside 10.0.0.0/24"),
    ([{"cidr": "10.0.0.0/24", "first": "ten"}], "subnets[0].first: 'ten' is not an IPv4 address"),
    ([{"cidr": "10.0.0.0/24", "netdetect": "ten"}], "subnets[0].netdetect: 'ten' is not an IPv4 address"),
    ([{"cidr": "10.0.0.0/24", "first": "10.0.0.9", "last": "10.0.0.8"}], "subnets[0]: no address is left between its first and its last"),
    ([{"cidr": "10.0.0.0/24", "rail": 1}, "10.0.1.0/24"], "subnets: some of the subnets name their devices or rail and some do not"),
    ([{"cidr": "10.0.0.0/24", "rail": 1}, {"cidr": "10.0.1.0/24", "devices": ["0-1"]}], "subnets: NPU 1 is named by two subnets"),
    ([{"cidr": "10.0.0.0/24", "rail": 1, "devices": [1]}], "subnets[0]: devices and rail are both given"),
    ([{"cidr": "10.0.0.0/24", "devices": ["a"]}], "subnets[0]: devices: 'a' is neither an id, nor a range such as 0-7, nor all alone"),
])
def test_invalid_subnets_are_refused(subnets, message):
    with pytest.raises(InputError) as raised:
        make_pools(subnets)
    assert raised.value.message == message


def test_a_controller_without_netaddr_is_an_error(monkeypatch):
    monkeypatch.setattr(address_pools, "netaddr", None)
    with pytest.raises(InputError) as raised:
        make_pools(["10.0.0.0/24"])
    assert raised.value.sentence() == "planning addresses needs the Python library netaddr on the controller (pip install netaddr, beside ansible-core)"
