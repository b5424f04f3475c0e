"""Variables of hosts for rank tables, and host names in problems. The whole action is tested in tests/integration/rank_table."""

from __future__ import annotations

import socket

import pytest

from ansible.errors import AnsibleError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import HostAddresses
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Group, Model, Server
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table import compose, host_vars as rank_table


@pytest.mark.parametrize("host, given, variables, expected", [
    ("n1", {"n1": "192.0.2.1"}, {"rank_table_server_id": "192.0.2.2", "ansible_host": "192.0.2.3"}, "192.0.2.1"),
    ("n1", {"n2": "192.0.2.1"}, {"rank_table_server_id": "192.0.2.2", "ansible_host": "192.0.2.3"}, "192.0.2.2"),
    ("n1", {}, {"ansible_host": "192.0.2.3"}, "192.0.2.3"),
    ("n1", {}, {"ansible_host": "fd00::3"}, "fd00::3"),
    ("192.0.2.4", {}, {}, "192.0.2.4"),
    ("192.0.2.4", {}, {"ansible_host": "known"}, "192.0.2.4"),
    ("n1", {}, {"ansible_host": "known"}, "192.0.2.9"),
    ("known", {}, {"ansible_host": "unknown"}, "192.0.2.9"),
])
def test_the_sources_of_a_server_id_in_order_of_precedence(host, given, variables, expected):
    assert rank_table.server_id(host, given, lambda: variables, {"known": "192.0.2.9"}.get) == expected


@pytest.mark.parametrize("host, ansible_host", [("n1", "192.0.2.3"), ("192.0.2.4", "known")])
def test_names_are_not_resolved_if_there_is_an_address(host, ansible_host):
    def look_up(name):
        raise AssertionError

    assert rank_table.server_id(host, {}, lambda: {"ansible_host": ansible_host}, look_up).startswith("192.0.2.")


def test_a_host_without_an_address_is_an_error():
    with pytest.raises(InputError, match="neither ansible_host nor the host's name is an IP address or resolves to one; set the variable"):
        rank_table.server_id("n1", {}, lambda: {"ansible_host": "unknown"}, {}.get)


def test_the_variables_of_a_host_are_not_read_if_the_option_has_its_address():
    def variables():
        raise AssertionError

    assert rank_table.server_id("n1", {"n1": "node_0"}, variables) == "node_0"


@pytest.mark.parametrize("answers, expected", [
    (["192.0.2.10", "192.0.2.9"], "192.0.2.9"),
    (["fd00::1", "192.0.2.9"], "192.0.2.9"),
    (["fd00::2", "fd00::1"], "fd00::1"),
    ([], None),
])
def test_a_name_with_several_addresses_always_resolves_to_the_same_one(monkeypatch, answers, expected):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: [(0, 0, 0, "", (answer, 0)) for answer in answers])
    assert rank_table.resolve("n1") == expected


def test_a_name_that_does_not_resolve(monkeypatch):
    def fail(*_args, **_more):
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert rank_table.resolve("n1") is None


class Undefined(dict):
    def get(self, key, default=None):
        raise AnsibleError("'site' is undefined")


def test_addresses_and_results_are_read_from_variables_of_hosts():
    hosts = rank_table.HostVars({"n1": {"npu": {"devices": []}, "ansible_host": "192.0.2.1", "rank_table_host_ip": "198.51.100.1"}, "n2": Undefined()})
    none = {"server_ids": {}, "host_ips": {}, "container_ips": {}}
    assert hosts.result("n1", "npu") == {"devices": []}
    assert hosts.result("n1", "other") is None
    assert hosts.result("n2", "npu").message == "the variable npu cannot be read: 'site' is undefined"
    assert hosts.result("n3", "npu").message == "not in the inventory"
    assert hosts.addresses("n1", none) == HostAddresses("192.0.2.1", "198.51.100.1", None)
    given = dict(none, host_ips={"n1": "198.51.100.2"}, container_ips={"n1": "10.244.0.1"})
    assert hosts.addresses("n1", given) == HostAddresses("192.0.2.1", "198.51.100.2", "10.244.0.1")
    with pytest.raises(InputError, match="no server_id: 'site' is undefined"):
        hosts.addresses("n2", none)
    with pytest.raises(InputError, match="the variable rank_table_rack cannot be read: 'site' is undefined"):
        hosts.rack("n2", {})
    assert hosts.rack("n2", {"n2": 7}) == "7"


DEVICES = (Device(0, "192.168.1.1"), Device(1, "192.168.1.2"))
SERVERS = (Server("n1", "192.0.2.1", DEVICES), Server("n2", "192.0.2.2", DEVICES))


@pytest.mark.parametrize("groups, where, host", [
    ((Group("", SERVERS),), "server_list[1].device[0].device_ip", "n2"),
    ((Group("", SERVERS),), "status", None),
    ((Group("", SERVERS),), None, None),
    ((Group("", SERVERS),), "rank_list[2].device_id", "n2"),
    ((Group("0", SERVERS[1:]), Group("2", SERVERS[:1])), "server_group_list[1].server_list[0].device[1].device_ip", "n1"),
    ((Group("0", SERVERS[1:]), Group("2", SERVERS[:1])), "server_group_list[1].group_id", None),
    ((Group("prefill", SERVERS[1:]), Group("decode", SERVERS)), "decode_device_list[1].device_ip", "n1"),
    ((Group("prefill", SERVERS[1:]), Group("decode", SERVERS)), "decode_device_list[2]", "n2"),
])
def test_problems_of_a_table_name_the_host(groups, where, host):
    problem, = compose.with_hosts([Problem("rule", "error", "m", where=where)], Model(groups, "1.0"))
    assert problem.host == host
