"""Test which problems of hccn.conf the declared addresses solve."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device import conf_check
from ansible_collections.hccn.cluster.plugins.module_utils._device.conf_replay import RecoveryHost

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


ADDRESS = "address_0=10.0.0.10\nnetmask_0=255.255.255.0\n"


@pytest.mark.parametrize("line", [
    "netdetect_0=255.255.255.255", "mtu_0=04200", "mtu_0=+4200", "send_arp_period_0=0", "send_arp_period_0=3601", "send_arp_period_0=x",
    "bitmap_0=1,1,1,1,1,0,0,0", "bitmap_0=1,1,1", "dscp_tc_0=64:0,", "dscp_tc_0=33:4,", "prio_tc_0=0,1,2", "roce_port_0=auto", "roce_port_0=4096",
    "roce_port_0=65536", "bw_limit_0=9999", "bw_limit_0=200001", "mac_addr_0=bc:1e:85:aa:bb", "mac_addr_0=01:00:5e:00:00:01",
    "route_address_20.0.0.0_netmask_255.255.255.0_0=10.0.0.1", "# ip_rule_0=add from 10.0.0.10 table 100", "arp_0=x", "tc_cfg_0=x", "udp_port_mode_0=x",
    "udp_port_mode_0=multi_qp", "dcqcn_cnp_dscp_0=64", "down_fault_time_0=4", "lldp_portid_type_0=x", "tsa_0=x", "tcbw_0=x", "xsfp_reset_max_times_0=31",
    "mem_reserve_0=pdccl:3", "pfc_storm_watchdog_mode_0=3", "cdr_reset_switch_0=on", "scdr_reset_delay_time_0=61", "ip_route_0=x",
    "ip_route_0=add 30.0.0.0/24 via 10.0.0.1 dev eth0 table 256", "static_speed_0=1", "downgrade_lane_switch_0=2", "IPv6gateway_0=x"])
def test_line_on_which_recovery_fails_is_an_error(line):
    (problem,) = conf_check.check(ADDRESS + line + "\n")
    assert (problem.severity, problem.where, problem.device) == ("error", "line 3", 0)


@pytest.mark.parametrize("address", ["192.168.1.5", "192.168.2.200", "0.0.0.0", "255.255.255.255"])
def test_address_that_recovery_always_refuses_is_an_error(address):
    (problem,) = conf_check.check(ADDRESS.replace("10.0.0.10", address), host=RecoveryHost("A2"))
    assert (problem.severity, problem.where) == ("error", "line 1")


@pytest.mark.parametrize("address, super_pod, expected", [
    ("192.50.1.10", True, ("reserved_network", "error")), ("192.50.1.10", None, ("reserved_network", "warning")), ("192.50.1.10", False, None),
    ("192.168.7.1", False, ("reserved_network", "error")), ("192.168.8.1", False, None)])
def test_reserved_addresses_of_an_a3_host(address, super_pod, expected):
    found = [(problem.rule, problem.severity) for problem in conf_check.check(ADDRESS.replace("10.0.0.10", address), host=RecoveryHost("A3", super_pod))]
    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize("lines, rule, where", [
    ("bw_limit_0=0100000", "ignored_value", "line 3"), ("udhcpc_enable_0=1\ngateway_0=10.0.0.1", "ignored_key", "line 4"),
    ("arp_0=-i eth0 -s 10.0.0.7 bc:1e:85:00:00:07\narp_0=-i eth0 -s 10.0.0.8 bc:1e:85:00:00:08", "ignored_key", "line 4"),
    ("gateway_0=10.9.0.1", "gateway_outside_network", "line 3"), ("dcqcn_alg_mode_0=1", "ignored_key", "line 3"),
    ("route_address_20.0.0.0_netmask_255.255.255.0_0=gateway_10.9.0.1", "removed_route", "line 3"), ("dscp_tc_0=x", "ignored_value", "line 3"),
    ("mtu_ 0=4200", "ignored_line", "line 3"), ("IPv6address_0=fd00::1\nIPv6netmask_0=x", "ignored_value", "line 4")])
def test_what_recovery_ignores_in_silence_is_a_warning(lines, rule, where):
    (problem,) = conf_check.check(ADDRESS + lines + "\n")
    assert (problem.rule, problem.severity, problem.where) == (rule, "warning", where)


def test_gateway_outside_its_network_is_sent_at_boot():
    (problem,) = conf_check.check(ADDRESS + "gateway_0=10.9.0.1\n")
    assert problem.hint == "hccn_tool -gateway -s refuses this gateway, but recovery sends it to the device at boot"


def test_dies_of_an_a3_npu_with_one_address():
    text = ADDRESS + ADDRESS.replace("_0", "_1")
    (problem,) = conf_check.check(text, host=RecoveryHost("A3"))
    assert (problem.rule, problem.severity, problem.device) == ("duplicate_address", "error", 1)
    (problem,) = conf_check.check(text, host=RecoveryHost("A2"))
    assert (problem.rule, problem.severity, problem.device) == ("duplicate_address", "warning", 1)


@pytest.mark.parametrize("bytes_left, rules", [(0, ["too_large"]), (60, [])])
def test_file_that_the_tool_cannot_write(bytes_left, rules):
    """A2 recovery writes two lines of 25 bytes each."""
    text = "# " + "x" * 300 + "\n"
    text = text * (1023999 // len(text))
    text += "#" * (1023999 - len(text) - bytes_left - 1) + "\n"
    assert [problem.rule for problem in conf_check.check(text, [0], RecoveryHost("A2"))] == rules
    assert conf_check.check(text, [0], RecoveryHost("A3")) == []


def test_mtu_too_low_for_the_ipv6_address():
    (problem,) = conf_check.check(ADDRESS + "mtu_0=1279\nIPv6address_0=fd00::1\nIPv6netmask_0=64\n")
    assert (problem.severity, problem.where, problem.message) == ("error", "line 3", "mtu_0: an MTU below 1280 allows no IPv6 address")
