from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.address_plan import plan_addresses
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.bring_up_hosts import hosts_for_address_plan

SUBNETS = [{"cidr": "10.5.0.0/16"}]


def answer(*flags):
    return {"product": "A2", "devices": [{"id": device, "super_pod": None, "tls": {"enabled": flag}} for device, flag in enumerate(flags)]}


def test_hosts_with_devices_or_config_are_planned():
    variables = {"n1": {"npus": answer(False, False), "bring_up_network": [{"id": 0, "address": "10.6.0.1", "netmask": "255.0.0.0"}]},
                 "n2": {"npus": answer(False), "bring_up_subnets": []}, "n3": {}}
    config = [{"id": 0, "settings": {"mtu": 4200}}]
    assert hosts_for_address_plan(variables, variables.__getitem__, "npus", [], config, SUBNETS) == [
        {"host": "n1", "config": [*variables["n1"]["bring_up_network"], *config], "subnets": SUBNETS, "product": "A2",
         "devices": [{"id": 0, "super_pod": None}, {"id": 1, "super_pod": None}]},
        {"host": "n2", "config": config, "subnets": [], "product": "A2", "devices": [{"id": 0, "super_pod": None}]},
        {"host": "n3", "config": config, "subnets": SUBNETS}]
    assert [entry["host"] for entry in hosts_for_address_plan(variables, variables.__getitem__, "npus", [], [], SUBNETS)] == ["n1", "n2"]


@pytest.mark.parametrize("odd", [5, "text", {"devices": 5}, {"devices": [{"id": "x"}]}, {"devices": [{"id": 1}, {"id": 1}]}, {"devices": [{"id": -1}]},
                                 {"devices": [{"id": True}]}, {"devices": [5]}])
def test_a_malformed_answer_does_not_affect_other_hosts(odd):
    variables = {"n1": {"npus": answer(False)}, "n2": {"npus": odd}, "n3": {"npus": answer(False)}}
    made = plan_addresses(hosts_for_address_plan(variables, variables.__getitem__, "npus", [], [], SUBNETS), [], None, number_by_place=False)
    assert made.errors == []
    assert {host: [entry["id"] for entry in entries] for host, entries in made.config.items()} == {"n1": [0], "n3": [0]}


@pytest.mark.parametrize("product", ["A9", 5, ["A2"], {"a": 1}, None])
def test_an_invalid_product_is_unknown(product):
    variables = {"n1": {"npus": {**answer(False), "product": product}}}
    assert "product" not in hosts_for_address_plan(variables, variables.__getitem__, "npus", [], [], SUBNETS)[0]


@pytest.mark.parametrize("pod, errors, kept", [
    ({"server_index": 3}, [], {"super_pod": {"server_index": 3}}), (None, [], {"super_pod": None}), ({"server_index": "x"}, [], {}), ("x", [], {}),
    (None, [{"topic": "super_pod"}], {}), (None, "broken", {}), (None, [5], {"super_pod": None})])
def test_the_super_pod_is_passed_if_it_was_read(pod, errors, kept):
    variables = {"n1": {"npus": {"devices": [{"id": 0, "super_pod": pod, "errors": errors}]}}}
    assert hosts_for_address_plan(variables, variables.__getitem__, "npus", [], [], SUBNETS)[0]["devices"] == [{"id": 0, **kept}]
