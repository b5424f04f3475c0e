"""Test which problems of hccn.conf the declared addresses solve."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device import conf_check

FILE = "address_0=10.79.0.2\nnetmask_0=255.255.0.0\ngateway_0=10.99.0.1\n"
SAME = {"id": 0, "address": "10.79.0.2", "netmask": "255.255.0.0"}
OTHER = {"id": 0, "address": "10.80.0.2", "netmask": "255.255.0.0"}


@pytest.mark.parametrize("text, config, rules", [
    (FILE, [dict(SAME, gateway="10.79.0.1")], ["gateway_outside_network"]),
    (FILE, [{"id": 0, "gateway": "10.79.0.1"}], ["gateway_outside_network"]),
    (FILE, [OTHER], ["gateway_outside_network"]),  # hccn_tool takes a gateway of another network away with the old address
    (FILE, [{"id": 0, "address": "10.99.0.2", "netmask": "255.255.0.0"}], ["gateway_outside_network"]),
    (FILE, [SAME], []),  # nothing to set, so nothing takes it away
    (FILE, [dict(OTHER, id=1)], []),
    (FILE, [{"id": 0, "mtu": 4200}], []),
    (FILE, [], []),
    (FILE, [{"address": "10.80.0.2", "netmask": "255.255.0.0"}, {"id": True, "gateway": "10.79.0.1"}, {"id": "0", "gateway": "10.79.0.1"}], []),
    (FILE.replace("10.99.0.1", "none"), [OTHER], ["invalid_value"]),
    ("address_0=10.79.0.2netmask_0=255.255.0.0\n", [OTHER], ["glued_key", "incomplete_address"]),
    ("address_0=10.79.0.2\n", [OTHER], ["incomplete_address"]),
    ("mtu_0=1\nroce_port_0=5000\n", [{"id": 0, "mtu": 4200, "roce_port": "auto"}], ["invalid_value"]),
    ("address_0=10.79.0.2\nnetmask_0=255.255.0.0\naddress_1=10.79.0.2\nnetmask_1=255.255.0.0\n", [OTHER, dict(OTHER, id=1, address="10.80.0.3")],
     ["duplicate_address"]),
    ("IPv6address_0=fd00::1\n", [{"id": 0, "ipv6_address": "fd00::2", "ipv6_prefix": 64}], ["incomplete_address"]),
    ("tls_enable_0=2\naddress_0 = 10.79.0.2\n", [OTHER], []),
])
def test_pending_problems_are_those_that_the_network_solves(text, config, rules):
    assert [problem.rule for problem in conf_check.pending(conf_check.check(text), text, config)] == rules


def test_moved_line_does_not_make_a_problem_pending():
    """The line of the removed gateway is above the other problem."""
    text = "address_0=10.79.0.2\nnetmask_0=255.255.0.0\ngateway_0=10.99.0.1\ntls_enable_0=2\n"
    problems = conf_check.check(text)
    assert [problem.rule for problem in problems] == ["invalid_value", "gateway_outside_network"]
    assert [problem.rule for problem in conf_check.pending(problems, text, [OTHER])] == ["gateway_outside_network"]


def test_network_with_the_same_problem_makes_nothing_pending():
    text = "address_0=10.79.0.2\nnetmask_0=255.255.0.0\ngateway_0=10.99.0.1\n"
    assert conf_check.pending(conf_check.check(text), text, [dict(SAME, gateway="10.99.0.1")]) == []
