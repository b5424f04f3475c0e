from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device.subnets import Owner, check, duplicates, in_super_pod


def npu(device, address, netmask="255.255.255.0", **fields):
    return dict({"id": device, "address": address, "netmask": netmask}, **fields)


def found(devices, product=None, super_pod=None):
    return [(problem.rule, problem.severity, problem.device, problem.where) for problem in check(devices, product, super_pod)]


def message(devices, product=None, super_pod=None):
    problems = check(devices, product, super_pod)
    assert len(problems) == 1
    return problems[0].message


@pytest.mark.parametrize(("devices", "product", "super_pod"), [
    ([npu(device, "10.0.0.%d" % (10 + device), gateway="10.0.0.1", netdetect="10.0.0.1") for device in range(8)], "A2", None),
    ([npu(device, "10.0.%d.%d" % (device % 4, 10 + device)) for device in range(8)], "910A", None),
    ([npu(device, "10.0.%d.%d" % (device % 2, 10 + device)) for device in range(16)], "A3", True),
    ([npu(device, "10.0.%d.1" % device) for device in range(16)], "A3", False),
    ([npu(device, "10.0.%d.1" % device) for device in range(8)], "950", None),
    ([npu(device, "10.0.%d.1" % device) for device in range(8)], None, None),
    ([{"id": 0, "address": None, "netmask": None, "gateway": None, "netdetect": None}, {"id": 1}], "A2", None),
    ([npu(0, "10.0.0.1", "255.255.255.254"), npu(1, "10.0.0.0", "255.255.255.254")], "A2", None),
    ([npu(0, "10.0.0.1"), npu(2, "10.0.0.2")], "A3", True),
    ([], "A2", None),
])
def test_valid_addresses(devices, product, super_pod):
    assert found(devices, product, super_pod) == []


@pytest.mark.parametrize(("entry", "rule", "option", "expected"), [
    (npu(3, "10.0.0.300"), "invalid_address", "address", "'10.0.0.300' is not an IPv4 address"),
    (npu(3, "10.0.0.0"), "invalid_address", "address", "10.0.0.0 is not the address of a host in 10.0.0.0/24"),
    (npu(3, "10.0.0.255"), "invalid_address", "address", "10.0.0.255 is not the address of a host in 10.0.0.0/24"),
    (npu(3, "224.0.0.5"), "invalid_address", "address", "224.0.0.5 is not the address of a host"),
    (npu(3, "0.0.0.0"), "invalid_address", "address", "0.0.0.0 is not the address of a host"),
    (npu(3, "255.255.255.255"), "invalid_address", "address", "255.255.255.255 is not the address of a host"),
    (npu(3, "10.0.0.5", "0.0.0.0"), "invalid_netmask", "netmask", "0.0.0.0 would make every address local"),
    (npu(3, "10.0.0.5", "255.0.255.0"), "invalid_netmask", "netmask", "255.0.255.0 is not contiguous"),
    (npu(3, "10.0.0.5", "24"), "invalid_netmask", "netmask", "'24' is not a dotted netmask"),
    (npu(3, "10.0.0.5", None), "invalid_address", "address", "give netmask with it"),
    (npu(3, "10.0.0.5", gateway="10.0.1.1"), "invalid_gateway", "gateway", "10.0.1.1 lies outside 10.0.0.0/24, the network of the address"),
    (npu(3, "10.0.0.5", gateway="switch"), "invalid_gateway", "gateway", "'switch' is not an IPv4 address"),
    (npu(3, "10.0.0.5", netdetect="255.255.255.255"), "invalid_netdetect", "netdetect", "255.255.255.255 is not the address of a host"),
])
@pytest.mark.parametrize("product", ["A2", None])
def test_invalid_values(entry, rule, option, expected, product):
    assert found([entry], product) == [(rule, "error", 3, "devices[0].%s" % option)]
    assert message([entry], product) == expected


def test_loopback_address():
    assert found([npu(0, "127.0.0.1", "255.0.0.0")]) == [("loopback_address", "error", 0, "devices[0].address")]
    assert message([npu(0, "127.0.0.1", "255.0.0.0")]) == "127.0.0.1 is a loopback address: packets to it never leave the NPU"


@pytest.mark.parametrize(("address", "product", "super_pod", "severity"), [
    ("192.168.0.255", "A2", None, None), ("192.168.1.1", "A2", None, "error"), ("192.168.2.254", "A2", None, "error"), ("192.168.3.1", "A2", None, None),
    ("192.168.1.1", "910A", None, None), ("192.168.1.1", None, None, None),
    ("191.255.0.1", "A3", True, None), ("192.0.0.1", "A3", True, "error"), ("192.255.0.1", "A3", True, "error"), ("193.0.0.1", "A3", True, None),
    ("192.167.0.1", "A3", False, None), ("192.168.0.1", "A3", False, "error"), ("192.168.7.1", "A3", False, "error"), ("192.168.8.1", "A3", False, None),
    ("192.168.7.1", "A3", None, "error"), ("192.168.8.1", "A3", None, "warning"), ("191.255.0.1", "A3", None, None),
])
def test_reserved_networks(address, product, super_pod, severity):
    wanted = [("reserved_network", severity, 0, "devices[0].address")] if severity else []
    assert found([npu(0, address, "255.255.0.0")], product, super_pod) == wanted


def test_message_about_a_reserved_network():
    assert message([npu(0, "192.168.1.7")], "A2") == "192.168.1.7 is in 192.168.1.0/24, which the NPUs of an A2 host use internally"
    assert message([npu(0, "192.200.0.7")], "A3") == "192.200.0.7 is in 192.0.0.0/8, which the NPUs of an A3 host use internally inside a super pod"


def test_npus_of_an_a2_host_must_share_one_subnet():
    devices = [npu(0, "10.0.9.10")] + [npu(device, "10.0.0.%d" % (10 + device)) for device in range(1, 8)]
    assert found(devices, "A2") == [("one_subnet", "error", 0, "devices[0].address")]
    assert message(devices, "A2") == "10.0.9.10 is in 10.0.9.0/24, NPU 1 in 10.0.0.0/24: all NPUs of an A2 host must be in one subnet"


def test_different_netmasks_are_different_subnets():
    assert found([npu(0, "10.0.0.1"), npu(1, "10.0.0.2", "255.255.0.0")], "A2") == [("one_subnet", "error", 1, "devices[1].address")]


def test_npu_pairs_of_a_910a_host_must_share_a_subnet():
    devices = [npu(device, "10.0.%d.%d" % (device % 4, 10 + device)) for device in range(7)] + [npu(7, "10.0.9.17")]
    assert found(devices, "910A") == [("four_subnets", "error", 7, "devices[7].address")]
    assert message(devices, "910A") == (
        "10.0.9.17 is in 10.0.9.0/24, NPU 3 in 10.0.3.0/24: each of the NPU pairs 0 and 4, 1 and 5, 2 and 6, 3 and 7 of a 910A host must share a subnet")


def test_npu_pairs_of_a_910a_host_must_be_in_different_subnets():
    devices = [npu(device, "10.0.%d.%d" % (min(device % 4, 2), 10 + device)) for device in range(8)]
    assert found(devices, "910A") == [("four_subnets", "error", 3, "devices[3].address")]
    assert message(devices, "910A") == "10.0.2.13 is in 10.0.2.0/24, and so is NPU 2: the NPUs 0, 1, 2 and 3 of a 910A host must be in different subnets"


def test_one_subnet_on_910a_is_a_warning():
    devices = [npu(device, "10.0.0.%d" % (10 + device)) for device in range(8)]
    assert found(devices, "910A") == [("four_subnets", "warning", 0, "devices[0].address")]
    assert message(devices, "910A") == "all NPUs are in 10.0.0.0/24: this is only correct for a 910A host in AMP mode"
    assert found([devices[0], devices[4]], "910A") == []


def test_dies_of_an_a3_npu_must_be_in_different_subnets():
    devices = [npu(2, "10.0.0.12"), npu(3, "10.0.0.13"), npu(4, "10.0.0.14"), npu(5, "10.0.1.15")]
    assert found(devices, "A3", True) == [("sibling_subnet", "error", 3, "devices[1].address")]
    assert message(devices, "A3", True) == "10.0.0.13 is in 10.0.0.0/24, and so is die 2 of the same NPU (10.0.0.12)"
    assert found([npu(0, "10.0.0.1", "255.255.0.0"), npu(1, "10.0.1.1")], "A3", True) == [("sibling_subnet", "error", 1, "devices[1].address")]


def test_npus_without_subnet_are_not_checked():
    assert found([npu(0, "10.0.0.1"), npu(1, "10.0.1.300"), {"id": 2}], "A2") == [("invalid_address", "error", 1, "devices[1].address")]


def test_problems_are_sorted_and_name_host_and_place():
    devices = [npu(1, "192.168.1.7", gateway="10.0.0.1", where="config[4]"), npu(0, "127.0.0.1", "255.0.0.0")]
    problems = check(devices, "A2", None, host="npu1", where="config")
    assert [(problem.rule, problem.host, problem.device, problem.where) for problem in problems] == [
        ("invalid_gateway", "npu1", 1, "config[4]"), ("reserved_network", "npu1", 1, "config[4]"), ("loopback_address", "npu1", 0, "config[1].address"),
        ("one_subnet", "npu1", 0, "config[1].address")]


def test_duplicate_addresses():
    owners = [Owner("10.0.0.1", "n1", 0, "config[0]"), Owner("10.0.0.2", "n1", 1, "config[1]"), Owner("10.0.0.1", "n2", 5, "config[2]"),
              Owner("fd00::1", "n1", 0, "config[0]"), Owner("fd00:0::1", "n2", 0, "config[0]"), Owner("10.0.0.1", "n3", 6, "x")]
    assert [(problem.host, problem.device, problem.where, problem.message) for problem in duplicates(owners)] == [
        ("n2", 5, "config[2]", "10.0.0.1 is also the address of n1 NPU 0, config[0]"),
        ("n2", 0, "config[0]", "fd00:0::1 is also the address of n1 NPU 0, config[0]"),
        ("n3", 6, "x", "10.0.0.1 is also the address of n1 NPU 0, config[0]")]
    assert [problem.message for problem in duplicates([Owner("10.0.0.1", None, 0, "line 1"), Owner("10.0.0.1", None, 1, "line 5")])] == [
        "10.0.0.1 is also the address of NPU 0, line 1"]
    assert duplicates(owners[:2]) == []


@pytest.mark.parametrize(("devices", "known"), [
    ([], None),
    ([{"id": 0}], None),
    ([{"id": 0, "super_pod": None, "errors": []}], False),
    ([{"id": 0, "super_pod": {"server_index": 1023}}], False),
    ([{"id": 0, "super_pod": {"server_index": 0}, "errors": []}], True),
    ([{"id": 0, "super_pod": None, "errors": [{"topic": "super_pod", "code": "timeout"}]}], None),
    ([{"id": 0, "super_pod": None, "errors": [{"topic": "super_pod"}]}, {"id": 1, "super_pod": {"server_index": 4}, "errors": [{"topic": "link"}]}], True),
])
def test_in_super_pod_from_device_info(devices, known):
    assert in_super_pod(devices) is known
