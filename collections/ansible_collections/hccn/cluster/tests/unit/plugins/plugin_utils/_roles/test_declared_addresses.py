"""Declared addresses, checked without a host."""

from __future__ import annotations

import pytest

from ansible.errors import AnsibleError

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import declared_addresses
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.job_problem import JobProblem

SUBNETS = [{"cidr": "10.78.0.0/16", "gateway": "10.78.0.1"}]


def by_hand(address, device=0, netmask="255.255.0.0"):
    return {"bring_up_network": [{"id": device, "address": address, "netmask": netmask}]}


def checked(hosts, can_plan=True):
    wrong, skipped = declared_addresses.problems_of(list(hosts), hosts.__getitem__, can_plan)
    assert skipped == []
    return wrong


def test_valid_addresses_have_no_problem():
    assert checked({"npu1": by_hand("10.78.1.1"), "npu2": by_hand("10.78.1.2"), "npu3": {}}) == []
    assert checked({f"npu{number}": {"bring_up_subnets": SUBNETS, "validate_product": "A2"} for number in range(1, 9)}) == []


def test_a_duplicate_address_names_both_npus():
    (found,) = checked({"npu1": by_hand("10.78.1.1"), "npu2": by_hand("10.78.1.1", 5)})
    assert (found.cause, found.hosts, found.devices) == ("address_conflict", ("npu2",), (("npu2", 5),))
    assert found.message.startswith("10.78.1.1 is also the address of npu1 NPU 0")


def test_a_declared_address_can_conflict_with_a_planned_one():
    (found,) = checked({"npu1": {"bring_up_subnets": SUBNETS, "validate_product": "A2"}, "npu9": {**by_hand("10.78.0.2"), "validate_product": "A2"}})
    assert (found.cause, found.hosts, found.devices) == ("address_conflict", ("npu9",), (("npu9", 0),))
    assert found.message.startswith("10.78.0.2 is also the address of npu1 NPU 0")


def test_an_address_that_no_host_can_have():
    (found,) = checked({"npu1": by_hand("10.78.255.255", 3)})
    assert (found.cause, found.hosts, found.devices) == ("address_invalid", ("npu1",), (("npu1", 3),))


@pytest.mark.parametrize("product", [{}, {"validate_product": "A2"}])
def test_two_hosts_with_the_same_number(product):
    (found,) = checked({"a-1": {"bring_up_subnets": SUBNETS, **product}, "b-1": {"bring_up_subnets": SUBNETS, **product}})
    assert (found.cause, found.hosts) == ("address_conflict", ("b-1",))
    assert found.message.startswith("its number is 1, and so is that of a-1")


def test_numbers_are_those_of_the_first_host():
    hosts = {"a-1": {"bring_up_subnets": SUBNETS, "bring_up_numbers": {"b-1": 2}}, "b-1": {"bring_up_subnets": SUBNETS}}
    assert checked(hosts) == []


def test_a_host_without_a_number():
    (found,) = checked({"login": {"bring_up_subnets": SUBNETS}})
    assert (found.cause, found.hosts) == ("address_invalid", ("login",))
    assert found.message.startswith("it has no number")


def test_a_host_with_declared_addresses_needs_no_number():
    assert checked({"login": {"bring_up_subnets": SUBNETS, **by_hand("10.78.1.1")}}) == []


def test_declared_addresses_are_checked_without_netaddr():
    hosts = {"login": {"bring_up_subnets": SUBNETS}, "npu1": by_hand("10.78.1.1"), "npu2": by_hand("10.78.1.1")}
    assert [problem.cause for problem in checked(hosts, can_plan=False)] == ["address_conflict"]


def test_an_invalid_host_does_not_hide_others():
    hosts = {"npu1": {"bring_up_network": [{"id": "x"}]}, "npu2": by_hand("10.78.1.1"), "npu3": by_hand("10.78.1.1"),
             "npu4": {"bring_up_subnets": ["10.78.0.0"]}}
    assert [(problem.cause, problem.hosts, problem.message.split(",")[0]) for problem in checked(hosts)] == [
        ("address_invalid", ("npu1",), "config[0].id is 'x'"),
        ("address_conflict", ("npu3",), "10.78.1.1 is also the address of npu2 NPU 0"),
        ("address_invalid", ("npu4",), "bring_up_subnets[0].cidr: '10.78.0.0' is not an IPv4 subnet such as 10.78.0.0/16")]


@pytest.mark.parametrize("name", ["bring_up_network", "bring_up_config", "bring_up_subnets", "bring_up_numbers", "validate_product"])
@pytest.mark.parametrize("value", [None, 5, "x", {"a": 1}, [], [None], [[1]], [{}], [{"id": 0, "address": {"a": 1}, "netmask": 7}], [{"cidr": []}]])
def test_malformed_values_raise_no_error(name, value):
    for more in ({}, {"validate_product": "A2"}):
        declared_addresses.problems_of(["npu1"], {"npu1": {**more, name: value}}.__getitem__, True)


@pytest.mark.parametrize("name, value, sentence", [
    ("validate_devices", 40, "devices is 40, a host of A2 has 1 to 8"), ("validate_devices", "x", "validate_devices is 'x', not a whole number"),
    ("validate_server_index", 1, "server_index is for A3 super pods, the product is A2")])
def test_invalid_variables_of_a_product_are_reported(name, value, sentence):
    assert checked({"npu1": {"bring_up_subnets": SUBNETS, "validate_product": "A2", name: value}}) == [JobProblem("invalid_variable", sentence, ("npu1",))]


def test_variables_that_cannot_be_evaluated_yet_cause_warnings():
    class Undefined(dict):
        def __getitem__(self, name):
            raise AnsibleError("'later' is undefined")

    left = [{"id": 0, "address": "{{ later }}", "netmask": "255.255.0.0"}]
    hosts = {"npu1": Undefined(bring_up_network="{{ later }}"), "npu2": by_hand("10.78.1.1"), "npu3": {"bring_up_config": left},
             "npu4": {**by_hand("10.78.1.4"), "validate_product": "{{ product }}"}}
    wrong, skipped = declared_addresses.problems_of(list(hosts), hosts.__getitem__, True)
    assert wrong == []
    assert [problem.sentence(4) for problem in skipped] == [
        "npu1: the declared addresses are not checked, since bring_up_network cannot be evaluated yet",
        "npu3: the declared addresses are not checked, since bring_up_config cannot be evaluated yet",
        "npu4: the declared addresses are not checked, since validate_product cannot be evaluated yet"]
