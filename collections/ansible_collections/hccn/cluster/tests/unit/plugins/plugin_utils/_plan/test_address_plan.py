from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.address_plan import plan_addresses, refusal

SUBNET = {"cidr": "10.0.0.0/24", "gateway": "10.0.0.1"}


def a2(name, devices=range(8), **fields):
    return {"host": name, "product": "A2", "devices": list(devices), **fields}


def addresses(hosts, subnets, **options):
    made = plan_addresses(hosts, subnets, **options)
    assert made.problems == []
    return {host: [entry["address"] for entry in entries] for host, entries in made.config.items()}


def wrong(hosts, subnets=None, **options):
    made = plan_addresses(hosts, subnets, **options)
    assert made.config == {}
    return [(problem.rule, problem.host, problem.device, problem.message) for problem in made.problems]


def by_hand(device, address, **fields):
    return {"id": device, "address": address, "netmask": "255.255.255.0", **fields}


def test_the_plan_is_the_config_of_device_network():
    assert plan_addresses([a2("npu1", [0, 1])], [SUBNET]).config == {"npu1": [
        {"id": 0, "address": "10.0.0.2", "netmask": "255.255.255.0", "gateway": "10.0.0.1", "netdetect": "10.0.0.1"},
        {"id": 1, "address": "10.0.0.3", "netmask": "255.255.255.0", "gateway": "10.0.0.1", "netdetect": "10.0.0.1"}]}


def test_a_host_has_the_block_of_its_number():
    assert addresses([a2("npu1", [0, 7]), a2("npu2", [0, 7]), a2("npu31", [7])], [SUBNET]) == {
        "npu1": ["10.0.0.2", "10.0.0.9"], "npu2": ["10.0.0.10", "10.0.0.17"], "npu31": ["10.0.0.249"]}


def test_other_hosts_do_not_change_the_addresses_of_a_host():
    alone = addresses([a2("npu2")], [SUBNET])
    more = addresses([a2("npu4"), a2("npu2", config=[{"id": 3, "mtu": 4200}]), a2("npu1", range(2)), a2("npu3")], [SUBNET])
    assert more["npu2"] == alone["npu2"] == ["10.0.0.%d" % number for number in range(10, 18)]


def test_sources_of_the_number_of_a_host():
    hosts = [a2("alpha", [0]), a2("a2-02.example.com", [0]), a2("10.9.8.3", [0]), a2("c9", [0], number=4), a2("d9", [0], number=4), a2("npu006", [0])]
    assert addresses(hosts, ["10.0.0.0/24"], numbers={"d9": "5"}) == {
        "alpha": ["10.0.0.1"], "a2-02.example.com": ["10.0.0.9"], "10.9.8.3": ["10.0.0.17"], "c9": ["10.0.0.25"], "d9": ["10.0.0.33"],
        "npu006": ["10.0.0.41"]}
    assert addresses([a2("npu" + "9" * 5000, [0]), a2("npu2", [0])], ["10.0.0.0/24"])["npu2"] == ["10.0.0.9"]


def test_the_place_in_the_list_can_be_excluded_as_number():
    message = "it has no number: its name has no digits at its end, and its place among the hosts of a run may change"
    assert wrong([a2("alpha", [0]), a2("npu2", [0])], [SUBNET], number_by_place=False) == [("no_number", "alpha", 0, message)]
    assert addresses([a2("alpha", [0]), a2("npu2", [0])], [SUBNET], numbers={"alpha": 7}, number_by_place=False) == {
        "alpha": ["10.0.0.50"], "npu2": ["10.0.0.10"]}
    assert addresses([a2("alpha", [0], config=[by_hand(0, "10.0.0.9")])], [SUBNET], number_by_place=False) == {"alpha": ["10.0.0.9"]}


def test_first_number_may_be_0():
    assert addresses([a2("node0", [0]), a2("node1", [0])], ["10.0.0.0/24"], first_number=0) == {"node0": ["10.0.0.1"], "node1": ["10.0.0.9"]}
    assert wrong([a2("node0")], [SUBNET]) == [("number_too_small", "node0", 0, "the number of the host is 0, and the first is 1")]


def test_the_block_size_is_that_of_the_product_or_devices_per_host():
    a3 = {"host": "x2", "product": "A3", "devices": [0, 1, 15], "in_super_pod": True}
    assert addresses([a3], ["10.0.0.0/24", "10.0.1.0/24"]) == {"x2": ["10.0.0.9", "10.0.1.9", "10.0.1.16"]}
    assert addresses([a2("x2", [0, 15])], ["10.0.0.0/24"], devices_per_host=16) == {"x2": ["10.0.0.17", "10.0.0.32"]}


def test_the_block_size_of_an_unknown_product_follows_its_ids():
    assert addresses([{"host": "x2", "devices": [0, 7]}], ["10.0.0.0/24"]) == {"x2": ["10.0.0.9", "10.0.0.16"]}
    assert addresses([{"host": "x2", "devices": [0, 8]}], ["10.0.0.0/24"]) == {"x2": ["10.0.0.17", "10.0.0.25"]}
    assert addresses([{"host": "x2", "devices": [0, 16]}], ["10.0.0.0/24"]) == {"x2": ["10.0.0.65", "10.0.0.81"]}


def test_the_subnets_of_each_product():
    hosts = [{"host": "x1", "product": "910A", "devices": range(8)}]
    assert addresses(hosts, ["10.0.%d.0/24" % number for number in range(4)]) == {
        "x1": ["10.0.0.1", "10.0.1.1", "10.0.2.1", "10.0.3.1", "10.0.0.2", "10.0.1.2", "10.0.2.2", "10.0.3.2"]}
    rails = [{"cidr": "10.0.%d.0/24" % number, "rail": number} for number in range(4)]
    assert addresses([{"host": "x3", "product": "A3", "devices": range(4), "in_super_pod": True}], rails) == {
        "x3": ["10.0.0.3", "10.0.1.3", "10.0.2.3", "10.0.3.3"]}


def test_a_host_may_have_subnets_of_its_own():
    hosts = [a2("a1", [0]), a2("b1", [0], subnets=["10.0.9.0/24"])]
    assert addresses(hosts, ["10.0.0.0/24"]) == {"a1": ["10.0.0.1"], "b1": ["10.0.9.1"]}


def test_results_of_device_info_are_devices():
    devices = [{"id": 0, "address": "192.168.1.1", "super_pod": {"server_index": 3}, "errors": []}, {"id": 3, "super_pod": None, "errors": []}]
    assert addresses([{"host": "x1", "product": "A3", "devices": devices}], ["10.0.0.0/24", "10.0.1.0/24"]) == {"x1": ["10.0.0.1", "10.0.1.2"]}
    assert wrong([{"host": "x1", "product": "A3", "devices": devices[:1]}], ["192.0.1.0/24"]) == [
        ("reserved_network", "x1", 0, "192.0.1.1 is in 192.0.0.0/8, which the NPUs of an A3 host use internally")]


def test_addresses_written_by_hand_take_precedence():
    config = [by_hand(1, "10.9.0.5"), {"id": 0, "mtu": 4200, "gateway": None}]
    made = plan_addresses([a2("npu1", [0, 1], config=config)], ["10.0.0.0/24"], ignore=["one_subnet"])
    assert made.problems == []
    assert made.config == {"npu1": [
        {"id": 0, "address": "10.0.0.1", "netmask": "255.255.255.0", "mtu": 4200}, {"id": 1, "address": "10.9.0.5", "netmask": "255.255.255.0"}]}


def test_without_subnets_only_written_addresses_are_checked():
    assert plan_addresses([a2("npu1", config=[by_hand(4, "10.9.0.5")]), {"host": "npu2"}]).config == {
        "npu1": [{"id": 4, "address": "10.9.0.5", "netmask": "255.255.255.0"}], "npu2": []}
    assert wrong([{"host": "n1", "product": "A2", "config": [by_hand(0, "192.168.1.9")]}]) == [
        ("reserved_network", "n1", 0, "192.168.1.9 is in 192.168.1.0/24, which the NPUs of an A2 host use internally")]


def for_file(device, **settings):
    return {"id": device, "settings": settings}


def test_settings_for_hccn_conf_are_checked_and_not_returned():
    config = [for_file(2, address="10.9.0.5", netmask="255.255.255.0", IPv6address="fd00::5"), for_file(3, send_arp_status=1), {"id": 3, "mtu": 4200}]
    assert plan_addresses([{"host": "n1", "config": config}]).config == {"n1": [{"id": 3, "mtu": 4200}]}
    assert addresses([a2("n1", [2, 3], config=config)], ["10.9.0.0/24"]) == {"n1": ["10.9.0.4"]}
    assert wrong([{"host": "n1", "config": [*config[:2], by_hand(3, "10.9.0.5")]}]) == [
        ("duplicate_address", "n1", 3, "10.9.0.5 is also the address of n1 NPU 2, config[0].settings")]
    assert wrong([{"host": "n1", "product": "A2", "config": [for_file(0, address="192.168.1.9", netmask="255.255.255.0")]}]) == [
        ("reserved_network", "n1", 0, "192.168.1.9 is in 192.168.1.0/24, which the NPUs of an A2 host use internally")]


def test_file_and_device_must_not_be_given_different_values():
    assert wrong([{"host": "n1", "config": [by_hand(0, "10.9.0.5"), for_file(0, address="10.9.0.6", netmask="255.255.255.0")]}]) == [
        ("contradiction", "n1", 0, "address is 10.9.0.6 here, and 10.9.0.5 in config[0]")]
    assert wrong([a2("n1", [0], config=[for_file(0, netdetect="10.0.0.7")])], [SUBNET]) == [
        ("contradiction", "n1", 0, "netdetect is 10.0.0.7 here, and 10.0.0.1 planned from 10.0.0.0/24")]
    assert plan_addresses([{"host": "n1", "config": [by_hand(0, "10.9.0.5"), for_file(0, address="10.9.0.5", netmask="255.255.255.0")]}]).problems == []


def test_the_same_address_on_two_hosts_names_both_places():
    hosts = [a2("npu1", [0, 1]), a2("npu2", [0, 1], config=[by_hand(1, "10.0.0.2", ipv6_address="fd00::1", ipv6_prefix=64)]),
             {"host": "npu3", "config": [by_hand(0, "10.7.0.1", ipv6_address="fd00::1", ipv6_prefix=64)]}]
    made = plan_addresses(hosts, ["10.0.0.0/24"])
    assert [problem.as_dict() for problem in made.errors] == [
        {"rule": "duplicate_address", "severity": "error", "host": "npu2", "device": 1, "where": "config[0]", "hint": "give each NPU an address of its own",
         "message": "10.0.0.2 is also the address of npu1 NPU 1, planned from 10.0.0.0/24"},
        {"rule": "duplicate_address", "severity": "error", "host": "npu3", "device": 0, "where": "config[0]", "hint": "give each NPU an address of its own",
         "message": "fd00::1 is also the address of npu2 NPU 1, config[0]"}]


def test_two_hosts_with_the_same_number_collide():
    assert wrong([a2("a-01"), a2("b-1")], [SUBNET]) == [
        ("number_collision", "b-1", None, "its number is 1, and so is that of a-01: they would have the same addresses of 10.0.0.0/24")]
    assert addresses([a2("a-01", [0]), a2("b-1", [0], subnets=["10.0.1.0/24"]), a2("c-1", [])], ["10.0.0.0/24"])["b-1"] == ["10.0.1.1"]


def test_a_subnet_that_is_too_small_is_a_problem():
    assert wrong([a2("npu31"), a2("npu32")], [SUBNET]) == [
        ("pool_too_small", "npu32", 5,
         "10.0.0.0/24 has 253 addresses for NPUs, 10.0.0.2 to 10.0.0.254, which do not reach to the host with number 32 and its 8 NPUs there")]


def test_a_gateway_among_the_addresses_is_a_problem():
    assert wrong([a2("npu1"), a2("npu2")], [{"cidr": "10.0.0.0/24", "gateway": "10.0.0.200"}]) == [
        ("gateway_in_pool", None, None, "the gateway 10.0.0.200 of 10.0.0.0/24 is among the addresses for NPUs, 10.0.0.1 to 10.0.0.254")]


@pytest.mark.parametrize(("host", "subnets", "problem"), [
    (a2("n1", [0, 8, 9]), [SUBNET], ("too_many_devices", "n1", 8, "8 NPUs are planned for each host, with the ids 0 to 7")),
    (a2("n1", [0, 5]), [{"cidr": "10.0.0.0/24", "rail": 0}], ("no_subnet", "n1", 5, "none of the subnets is for this NPU")),
    ({"host": "n1"}, [SUBNET], ("no_devices", "n1", None, "it has neither devices nor a config written by hand")),
    (a2("n1", [0], config=[by_hand(1, "10.0.0.9")]), ["10.0.0.0/24"], ("absent_device", "n1", 1, "the host does not have this NPU")),
    (a2("n1", [0, 1]), ["10.0.0.0/24", "10.0.1.0/24"],
     ("one_subnet", "n1", 1, "10.0.1.1 is in 10.0.1.0/24, NPU 0 in 10.0.0.0/24: all NPUs of an A2 host must be in one subnet")),
])
def test_devices_that_cannot_be_planned_are_problems(host, subnets, problem):
    assert wrong([host], subnets) == [problem]


def test_a_warning_does_not_stop_the_plan():
    made = plan_addresses([{"host": "n1", "product": "910A", "devices": [0, 1]}], ["10.0.0.0/24"])
    assert [(problem.rule, problem.severity) for problem in made.problems] == [("four_subnets", "warning")]
    assert [entry["address"] for entry in made.config["n1"]] == ["10.0.0.1", "10.0.0.2"]


def test_the_refusal_quotes_three_problems_and_counts_the_rest():
    made = plan_addresses([{"host": "n1", "config": [by_hand(device, "10.0.0.1") for device in range(6)]}])
    hint = "(give each NPU an address of its own)"
    assert refusal(made.errors) == "; ".join(
        f"n1 NPU {device} (config[{device}]): 10.0.0.1 is also the address of n1 NPU 0, config[0] {hint}" for device in (1, 2, 3)) + "; and 2 more"
    assert refusal(made.errors[:3]).endswith(hint)


@pytest.mark.parametrize(("hosts", "options", "message"), [
    ("npu1", {}, "address_plan takes a list of hosts, each with host, and devices or config"),
    ([{"devices": [0]}], {}, "an entry of the hosts has no name: {'devices': [0]}"),
    ([{"host": "n1"}, {"host": "n1"}], {}, "host n1 is listed twice"),
    ([a2("n1", [0, 0])], {}, "host n1: device id 0 is listed twice, or is not in 0 to 63"),
    ([a2("n1", [64])], {}, "host n1: device id 64 is listed twice, or is not in 0 to 63"),
    ([{"host": "n1", "devices": "all"}], {}, "host n1: devices is not a list of ids, or of what device_info returned"),
    ([{"host": "n1", "devices": [{"address": "x"}]}], {}, "host n1: device id is None, not a whole number"),
    ([{"host": "n1", "product": "a2"}], {}, "host n1: product 'a2' is not known"),
    ([{"host": "n1", "config": {"id": 0}}], {}, "host n1: config is not a list of dictionaries with id and address"),
    ([{"host": "n1", "config": [{"address": "x"}]}], {}, "host n1: config[0].id is None, not a whole number"),
    ([{"host": "n1", "config": [{"id": 0}, {"id": "0"}]}], {}, "host n1: config[1]: NPU 0 is already in config[0]"),
    ([{"host": "n1", "config": [for_file(0), {"id": 0}, for_file(0)]}], {}, "host n1: config[2]: NPU 0 is already in config[0].settings"),
    ([{"host": "n1", "number": "one"}], {}, "host n1: number is 'one', not a whole number"),
    ([{"host": "n1"}], {"numbers": {"n1": True}}, "numbers: n1 is True, not a whole number"),
    ([{"host": "n1", "subnets": ["10.0.0.1/24"]}], {}, "subnets of n1[0].cidr: 10.0.0.1/24 is an address in a subnet"),
    ([{"host": "n1"}], {"ignore": ["duplicate_address"]}, "ignore: duplicate_address cannot be ignored"),
])
def test_invalid_input_is_refused(hosts, options, message):
    with pytest.raises(InputError) as raised:
        plan_addresses(hosts, **options)
    assert raised.value.message == message


def test_a_thousand_hosts_with_sixteen_dies_are_planned():
    hosts = [{"host": f"n{number}", "product": "A3", "devices": range(16), "in_super_pod": True} for number in range(1, 1001)]
    made = plan_addresses(hosts, ["10.0.0.0/17", "10.0.128.0/17"])
    assert made.problems == []
    assert len({entry["address"] for entries in made.config.values() for entry in entries}) == 16000
    assert made.config["n1000"][15] == {"id": 15, "address": "10.0.159.64", "netmask": "255.255.128.0"}
    hosts[999]["config"] = [{**made.config["n1"][0], "id": 2}]
    assert wrong(hosts, ["10.0.0.0/17", "10.0.128.0/17"]) == [
        ("duplicate_address", "n1000", 2, "10.0.0.1 is also the address of n1 NPU 0, planned from 10.0.0.0/17")]
