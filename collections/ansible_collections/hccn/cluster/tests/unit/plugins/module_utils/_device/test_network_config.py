from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._device import network_config

NETWORK = {"address": "10.78.1.10", "netmask": "255.255.255.0"}


def wanted(*config, text="", present=(0, 1)):
    return network_config.wanted([dict({"id": index}, **entry) for index, entry in enumerate(config)], present, text, "/etc/hccn.conf")


def test_options_are_normalized():
    entry = dict(NETWORK, gateway="10.78.1.1", netdetect="10.78.1.1", mtu=1280, ipv6_address="FD00:78::0010", ipv6_prefix=64,
                 ipv6_gateway="fd00:78:0::1", ipv6_netdetect="fd00:78::1", roce_port="4097", pfc=[1, 1, 1, 1, 0, 0, 0, 0],
                 dscp_to_tc={"40": "3", 7: 0}, prio_tc=[0, 1, 2, 3] * 2, shaping=10000)
    assert wanted(entry) == {0: dict(entry, ipv6_address="fd00:78::10", ipv6_gateway="fd00:78::1", roce_port=4097, dscp_to_tc={"7": 0, "40": 3})}


def test_missing_options_are_not_wanted():
    assert wanted({"address": None, "mtu": 1500}, {}) == {0: {"mtu": 1500}, 1: {}}


def test_dscp_values_as_a_list_and_port_auto():
    assert wanted({"dscp_to_tc": [{"dscp": 33, "tc": 2}], "roce_port": "auto"}) == {0: {"roce_port": "auto", "dscp_to_tc": {"33": 2}}}


@pytest.mark.parametrize("entry, sentence", [
    ({"address": "10.78.1.10"}, "address: give netmask with it"),
    ({"netmask": "255.255.255.0"}, "netmask: give address with it"),
    (dict(NETWORK, address="10.78.1.300"), "address: '10.78.1.300' is not an IPv4 address"),
    (dict(NETWORK, address="10.78.1.10/24"), "address: '10.78.1.10/24' is not an IPv4 address"),
    (dict(NETWORK, address="224.0.0.5"), "address: 224.0.0.5 is not the address of a host"),
    (dict(NETWORK, address="0.0.0.0"), "address: 0.0.0.0 is not the address of a host"),
    (dict(NETWORK, address="10.78.1.0"), "address: 10.78.1.0 is not the address of a host in 10.78.1.0/24"),
    (dict(NETWORK, address="10.78.1.255"), "address: 10.78.1.255 is not the address of a host in 10.78.1.0/24"),
    (dict(NETWORK, netmask="255.0.255.0"), "netmask: 255.0.255.0 is not contiguous"),
    (dict(NETWORK, netmask="0.0.0.255"), "netmask: 0.0.0.255 is not contiguous"),
    (dict(NETWORK, netmask="0.0.0.0"), "netmask: 0.0.0.0 would make every address local"),
    (dict(NETWORK, netmask="24"), "netmask: '24' is not a dotted netmask"),
    (dict(NETWORK, gateway="10.78.2.1"), "gateway: 10.78.2.1 lies outside 10.78.1.0/24, the network of the address"),
    ({"netdetect": "255.255.255.255"}, "netdetect: 255.255.255.255 is not the address of a host"),
    ({"ipv6_address": "fd00::1"}, "ipv6_address: give ipv6_prefix with it"),
    ({"ipv6_address": "fd00::1", "ipv6_prefix": 129}, "ipv6_prefix: 129 is outside 0 to 128"),
    ({"ipv6_address": "10.0.0.1", "ipv6_prefix": 64}, "ipv6_address: '10.0.0.1' is not an IPv6 address"),
    ({"ipv6_netdetect": "::"}, "ipv6_netdetect: :: is not the address of a host"),
    ({"ipv6_address": "fd00::1", "ipv6_prefix": 64, "ipv6_gateway": "fd01::1"},
     "ipv6_gateway: fd01::1 lies outside fd00::/64, the network of the address"),
    ({"mtu": 67}, "mtu: 67 is outside 68 to 9702"),
    ({"mtu": 9703}, "mtu: 9703 is outside 68 to 9702"),
    ({"mtu": 1279}, "mtu: 1279 is below 1280: the device would lose its IPv6 addresses, and hccn_tool asks for confirmation; run it by hand"),
    ({"roce_port": "4096"}, "roce_port: 4096 is outside 4097 to 65535"),
    ({"roce_port": "any"}, "roce_port: 'any' is neither a port number nor auto"),
    ({"pfc": [0, 0, 1]}, "pfc: give 8 numbers of 0 to 1, one for each priority"),
    ({"pfc": [0, 0, 0, 0, 0, 0, 0, 2]}, "pfc: give 8 numbers of 0 to 1, one for each priority"),
    ({"pfc": [1, 1, 1, 1, 1, 0, 0, 0]}, "pfc: 5 priorities are enabled, at most 4 are allowed"),
    ({"prio_tc": [0, 0, 0, 0, 0, 0, 0, 4]}, "prio_tc: give 8 numbers of 0 to 3, one for each priority"),
    ({"dscp_to_tc": {64: 0}}, "dscp_to_tc: dscp 64 is outside 0 to 63"),
    ({"dscp_to_tc": {33: 4}}, "dscp_to_tc: tc 4 of dscp 33 is outside 0 to 3"),
    ({"dscp_to_tc": {"-1": 0}}, "dscp_to_tc: dscp -1 is outside 0 to 63"),
    ({"dscp_to_tc": {}}, "dscp_to_tc: give a dictionary such as {33: 2}, or a list of dictionaries with dscp and tc"),
    ({"dscp_to_tc": [{"dscp": 3}]}, "dscp_to_tc: give a dictionary such as {33: 2}, or a list of dictionaries with dscp and tc"),
    ({"dscp_to_tc": [{"dscp": 3, "tc": 0}, {"dscp": "03", "tc": 1}]}, "dscp_to_tc: dscp 3 is listed twice"),
    ({"shaping": 9999}, "shaping: 9999 is outside 10000 to 200000"),
    ({"shaping": 200001}, "shaping: 200001 is outside 10000 to 200000"),
])
def test_message_of_each_rule(entry, sentence):
    with pytest.raises(InputError) as caught:
        wanted(entry)
    assert caught.value.message == "config[0]." + sentence


def test_network_of_two_addresses_has_no_broadcast_address():
    assert wanted({"address": "10.78.1.10", "netmask": "255.255.255.254"})[0]["address"] == "10.78.1.10"


def test_all_faults_are_reported_at_once():
    config = [{"id": 0, "mtu": 1, "shaping": 1}, {"id": 0}, {"id": 9, "mtu": 9999}]
    with pytest.raises(InputError) as caught:
        network_config.wanted(config, (0, 1), None, "/etc/hccn.conf")
    assert caught.value.message == (
        "config[1].id: device 0 is already in config[0]; config[2].id: this host has no device 9, only 0-1; "
        "config[0].mtu: 1 is outside 68 to 9702; config[0].shaping: 1 is outside 10000 to 200000; config[2].mtu: 9999 is outside 68 to 9702")


def test_empty_config_is_refused():
    with pytest.raises(InputError) as caught:
        network_config.wanted([], (0, 1), None, "/etc/hccn.conf")
    assert caught.value.message == "config is empty: give an entry with an id for each device"


def test_duplicate_address_in_config_is_refused():
    with pytest.raises(InputError) as caught:
        wanted(NETWORK, NETWORK)
    assert caught.value.message == "config[1].address: 10.78.1.10 is taken, config[0] has it too"


def test_address_of_another_device_is_refused():
    with pytest.raises(InputError) as caught:
        wanted({"ipv6_address": "fd00::0001", "ipv6_prefix": 64}, text="IPv6address_1=fd00::1\n")
    assert caught.value.message == "config[0].ipv6_address: fd00::1 is taken, device 1 has it in /etc/hccn.conf"


def test_swapped_addresses_and_those_of_absent_devices_are_allowed():
    other = dict(NETWORK, address="10.78.1.11")
    text = "address_0=10.78.1.10\naddress_1=10.78.1.11\naddress_7=10.78.1.11\n"
    assert sorted(wanted(other, NETWORK, text=text)) == [0, 1]
