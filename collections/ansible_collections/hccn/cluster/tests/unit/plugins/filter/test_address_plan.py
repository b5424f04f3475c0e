from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.address_plan import FilterModule
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import address_pools

address_plan = FilterModule().filters()["address_plan"]
WRITTEN = [{"host": "n1", "config": [{"id": 0, "address": "10.0.0.5", "netmask": "255.255.255.0"}]},
           {"host": "n2", "config": [{"id": 1, "address": "10.0.0.5", "netmask": "255.255.255.0"}]}]


def test_the_filter_makes_a_plan():
    assert address_plan([{"host": "n2", "product": "A2", "devices": [0]}], ["10.0.0.0/24"], numbers={"n2": 3}, first_number=3, devices_per_host=1) == {
        "n2": [{"id": 0, "address": "10.0.0.1", "netmask": "255.255.255.0"}]}


def test_an_error_is_one_sentence():
    with pytest.raises(AnsibleFilterError) as raised:
        address_plan(WRITTEN)
    assert str(raised.value) == ("address_plan: n2 NPU 1 (config[0]): 10.0.0.5 is also the address of n1 NPU 0, config[0] "
                                 "(give each NPU an address of its own)")
    with pytest.raises(AnsibleFilterError) as raised:
        address_plan("n1")
    assert str(raised.value) == "address_plan: address_plan takes a list of hosts, each with host, and devices or config"


def test_problems_are_returned_on_request():
    assert address_plan(WRITTEN, problems=True) == {"config": {}, "problems": [{
        "rule": "duplicate_address", "severity": "error", "host": "n2", "device": 1, "where": "config[0]", "hint": "give each NPU an address of its own",
        "message": "10.0.0.5 is also the address of n1 NPU 0, config[0]"}]}
    assert address_plan(WRITTEN[:1], problems=True) == {"config": {"n1": WRITTEN[0]["config"]}, "problems": []}


def test_declared_addresses_are_checked_without_netaddr(monkeypatch):
    monkeypatch.setattr(address_pools, "netaddr", None)
    assert address_plan(WRITTEN[:1]) == {"n1": WRITTEN[0]["config"]}
    with pytest.raises(AnsibleFilterError) as raised:
        address_plan(WRITTEN[:1], ["10.0.0.0/24"])
    assert str(raised.value) == (
        "address_plan: planning addresses needs the Python library netaddr on the controller (pip install netaddr, beside ansible-core)")
