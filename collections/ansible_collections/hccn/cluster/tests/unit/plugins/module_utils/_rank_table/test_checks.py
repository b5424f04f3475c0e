"""Each rule with a table that violates it, and with a similar table that does not."""

from __future__ import annotations

import copy
import json
import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem, as_dicts
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, document
from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table import tables

GOOD = {
    "status": "completed", "version": "1.0", "server_count": "2", "server_list": [
        {"server_id": "192.0.2.11", "host_ip": "192.0.2.11", "container_ip": "10.244.0.11", "device": [
            {"device_id": "0", "device_ip": "192.168.100.101", "device_port": "16667", "host_port": "16666", "rank_id": "0"},
            {"device_id": "1", "device_ip": "192.168.100.102", "device_port": "16667", "host_port": "16666", "rank_id": "1"}]},
        {"server_id": "192.0.2.12", "host_ip": "192.0.2.12", "container_ip": "10.244.0.12", "device": [
            {"device_id": "0", "device_ip": "192.168.101.101", "device_port": "16667", "host_port": "16666", "rank_id": "2"},
            {"device_id": "1", "device_ip": "192.168.101.102", "device_port": "16667", "host_port": "16666", "rank_id": "3"}]}]}

ABSENT = object()
READERS = ("hccl", "mindie_llm", "clusterd")
"""A table of the format of GOOD."""


def check_file(path, readers=("hccl",)):
    return checks.examine_file(path, readers).problems


def changed(*edits):
    """Return GOOD with values set at paths, which are lists of keys and indices. ABSENT removes the key."""
    table = copy.deepcopy(GOOD)
    for path, value in edits:
        target = table
        for step in path[:-1]:
            target = target[step]
        if value is ABSENT:
            del target[path[-1]]
        else:
            target[path[-1]] = value
    return table


def dev(server, place, key):
    return ["server_list", server, "device", place, key]


def srv(server, key):
    return ["server_list", server, key]


def found(table, product=None, readers=("hccl",)):
    """Return (rule, severity, where, code) of each problem."""
    return [(problem.rule, problem.severity, problem.where, problem.error_code) for problem in checks.check(table, readers, product)]


@pytest.mark.parametrize("product", [None, "910A", "A2", "A3", "310P"])
def test_a_good_table_passes_for_its_readers(product):
    assert checks.check(GOOD, READERS, product) == []


D00, D01, D10, D11 = "server_list[0].device[0].", "server_list[0].device[1].", "server_list[1].device[0].", "server_list[1].device[1]."
EDITS = [
    # status
    ("initializing", [(["status"], "initializing")], [("status", "error", "status", "EI0004")]),
    ("no status", [(["status"], ABSENT)], [("required_keys", "error", "status", "EI0017")]),
    # version
    ("unknown version", [(["version"], "1.5")], [("version", "error", "version", "EI0014")]),
    ("no version", [(["version"], ABSENT)], [("required_keys", "error", "version", "EI0017")]),
    # numbers instead of strings
    ("version as a number", [(["version"], 1.0)], [("string_values", "error", "version", "EI0017")]),
    ("server_count as a number", [(["server_count"], 2)], [("string_values", "error", "server_count", "EI0017")]),
    ("rank_id as a number", [(dev(1, 0, "rank_id"), 2)], [("string_values", "error", D10 + "rank_id", "EI0017")]),
    ("device_id as a number", [(dev(0, 1, "device_id"), 1)], [("string_values", "error", D01 + "device_id", "EI0017")]),
    ("device_ip as null", [(dev(0, 1, "device_ip"), None)], [("string_values", "error", D01 + "device_ip", "EI0017")]),
    ("rank_id as true", [(dev(1, 1, "rank_id"), True)], [("string_values", "error", D11 + "rank_id", "EI0017")]),
    ("server_id as a number", [(srv(0, "server_id"), 1)], [("string_values", "error", "server_list[0].server_id", "EI0017")]),
    ("a key that HCCL does not read", [(dev(0, 0, "note"), 1)], []),
    # server_list, server_count
    ("no server_list", [(["server_list"], ABSENT)], [("server_list", "error", "server_list", "EI0017")]),
    ("empty server_list", [(["server_list"], [])], [("server_list", "error", "server_list", "EI0017")]),
    ("server_list as an object", [(["server_list"], {})], [("server_list", "error", "server_list", "EI0017")]),
    ("a server that is text", [(["server_list", 1], "192.0.2.12")],
     [("server_list", "error", "server_list[1]", "EI0017"), ("device_count", "warning", "server_list[1].device", "EI0014")]),
    ("wrong server_count", [(["server_count"], "4")], [("server_count", "error", "server_count", "EI0014")]),
    ("server_count in words", [(["server_count"], "two")], [("server_count", "error", "server_count", "EI0014")]),
    ("no server_count", [(["server_count"], ABSENT)], []),
    # server_id
    ("no server_id", [(srv(1, "server_id"), ABSENT)], [("required_keys", "error", "server_list[1].server_id", "EI0017")]),
    ("empty server_id", [(srv(1, "server_id"), "")], [("server_id", "error", "server_list[1].server_id", "EI0014")]),
    ("server_id of 64 bytes", [(srv(1, "server_id"), "n" * 64)], []),
    ("server_id of 65 bytes", [(srv(1, "server_id"), "n" * 65)], [("server_id", "error", "server_list[1].server_id", "EI0014")]),
    ("server_id of 33 letters in 66 bytes", [(srv(1, "server_id"), "\u00e9" * 33)], [("server_id", "error", "server_list[1].server_id", "EI0014")]),
    ("server_id twice", [(srv(1, "server_id"), "192.0.2.11")], [("server_id", "error", "server_list[1].server_id", "EI0014")]),
    # device list
    ("no device", [(srv(1, "device"), ABSENT)],
     [("required_keys", "error", "server_list[1].device", "EI0017"), ("device_count", "warning", "server_list[1].device", "EI0014")]),
    ("empty device", [(srv(1, "device"), [])],
     [("device_list", "error", "server_list[1].device", "EI0014"), ("device_count", "warning", "server_list[1].device", "EI0014")]),
    ("device as an object", [(srv(1, "device"), {})],
     [("device_list", "error", "server_list[1].device", "EI0014"), ("device_count", "warning", "server_list[1].device", "EI0014")]),
    ("a device that is text", [(["server_list", 1, "device", 1], "davinci1")],
     [("device_list", "error", "server_list[1].device[1]", "EI0014"), ("device_ip", "error", D11 + "device_ip", "EI0014")]),
    # device_id
    ("no device_id", [(dev(0, 0, "device_id"), ABSENT)], [("required_keys", "error", D00 + "device_id", "EI0017")]),
    ("device_id in words", [(dev(0, 0, "device_id"), "davinci0")], [("device_id", "error", D00 + "device_id", "EI0014")]),
    ("device_id negative", [(dev(0, 0, "device_id"), "-1")], [("device_id", "error", D00 + "device_id", "EI0014")]),
    ("device_id with a leading zero", [(dev(0, 0, "device_id"), "00")], []),
    ("device_id in other digits", [(dev(0, 0, "device_id"), "\u0663")], [("device_id", "error", D00 + "device_id", "EI0014")]),
    ("device_id beyond 32 bits", [(dev(0, 0, "device_id"), "4294967296")], [("device_id", "error", D00 + "device_id", "EI0014")]),
    ("device_id with 5,000 digits", [(dev(0, 0, "device_id"), "1" * 5000)], [("device_id", "error", D00 + "device_id", "EI0014")]),
    ("device_id 31", [(dev(0, 0, "device_id"), "31")], []),
    ("device_id 32", [(dev(0, 0, "device_id"), "32")], [("device_id", "error", D00 + "device_id", "EI0014")]),
    ("device_id twice in a server", [(dev(0, 1, "device_id"), "0")], [("device_id", "error", D01 + "device_id", "EI0014")]),
    # rank ids
    ("no rank_id", [(dev(1, 1, "rank_id"), ABSENT)], [("required_keys", "error", D11 + "rank_id", "EI0017")]),
    ("rank_id in words", [(dev(1, 1, "rank_id"), "last")], [("rank_ids", "error", D11 + "rank_id", "EI0014")]),
    ("a gap", [(dev(1, 1, "rank_id"), "7")], [("rank_ids", "error", D11 + "rank_id", "EI0014")]),
    ("ranks from 1", [(dev(0, 0, "rank_id"), "4"), (dev(0, 0, "device_id"), "7"), (dev(0, 1, "rank_id"), "3"), (dev(1, 0, "rank_id"), "1"),
                      (dev(1, 1, "rank_id"), "2")], [("rank_ids", "error", D00 + "rank_id", "EI0014")]),
    ("a rank twice", [(dev(1, 1, "rank_id"), "2")], [("rank_ids", "error", D11 + "rank_id", "EI0014")]),
    # device_ip
    ("no address on the NPU", [(dev(0, 1, "device_ip"), "-.-.-.-")], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("the device plugin's error value", [(dev(0, 1, "device_ip"), "-1")], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("0.0.0.0", [(dev(0, 1, "device_ip"), "0.0.0.0")], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("no device_ip", [(dev(0, 1, "device_ip"), ABSENT)], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("empty device_ip", [(dev(0, 1, "device_ip"), "")], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("a byte beyond 255", [(dev(0, 1, "device_ip"), "192.168.100.256")], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("a leading zero", [(dev(0, 1, "device_ip"), "192.168.100.010")], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("a null byte", [(dev(0, 1, "device_ip"), "192.168.100.1\0")], [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ("an address twice in a server", [(dev(0, 1, "device_ip"), "192.168.100.101")], [("device_ip_unique", "error", D01 + "device_ip", "EI0014")]),
    ("an address twice over servers", [(dev(1, 1, "device_ip"), "192.168.100.101")], [("device_ip_unique", "error", D11 + "device_ip", "EI0014")]),
    ("two addresses in one device", [(dev(1, 1, "device_ip"), "192.168.101.102,192.168.101.103")],
     [("device_ip_count", "error", D11 + "device_ip", "EI0014")]),
    ("a comma at the end", [(dev(1, 1, "device_ip"), "192.168.101.102,")], []),
    # families
    ("one IPv6 address", [(dev(1, 1, "device_ip"), "fd00::1")], [("ip_family", "error", D11 + "device_ip", "EI0001")]),
    ("one IPv6 host", [(srv(1, "host_ip"), "fd00::1")], [("ip_family", "error", "server_list[1].host_ip", "EI0001")]),
    ("all IPv6", [(dev(server, place, "device_ip"), "fe80::%d:%d%%eth0" % (server, place)) for server in (0, 1) for place in (0, 1)], []),
    ("one IPv6 address in two spellings", [(dev(server, place, "device_ip"), ("fd00::1", "fd00::2", "fd00:0::1", "fd00::3")[2 * server + place])
                                           for server in (0, 1) for place in (0, 1)], [("device_ip_unique", "error", D10 + "device_ip", "EI0014")]),
    # host_ip, ports
    ("host_ip that is a name", [(srv(0, "host_ip"), "node-1")], [("host_ip", "error", "server_list[0].host_ip", "EI0014")]),
    ("no host_ip", [(srv(0, "host_ip"), ABSENT)], []),
    ("port 0", [(dev(0, 0, "device_port"), "0")], [("ports", "error", D00 + "device_port", "EI0014")]),
    ("port 65536", [(dev(0, 0, "host_port"), "65536")], [("ports", "error", D00 + "host_port", "EI0014")]),
    ("port 65535", [(dev(0, 0, "host_port"), "65535")], []),
    ("port in words", [(dev(0, 0, "backup_device_port"), "none")], [("ports", "error", D00 + "backup_device_port", "EI0014")]),
    ("port 22", [(dev(0, 0, "device_vnic_port"), "22")], [("ports", "warning", D00 + "device_vnic_port", "EI0014")]),
    ("port as a list", [(dev(0, 0, "host_port"), [])], [("string_values", "error", D00 + "host_port", "EI0017")]),
    # super pods
    ("super_pod_list with 1.0", [(["super_pod_list"], [])], [("super_pod_list", "warning", "super_pod_list", None)]),
    ("version 1.2 without super pods", [(["version"], "1.2")], [("super_pod_list", "warning", "super_pod_list", None)]),
    # order
    ("interleaved servers", [(dev(0, 1, "rank_id"), "3"), (dev(1, 1, "rank_id"), "1")], [("rank_order", "error", "server_list[1]", None)]),
    ("servers in another order", [(dev(server, place, "rank_id"), "2310"[2 * server + place]) for server in (0, 1) for place in (0, 1)], []),
]


@pytest.mark.parametrize("edits, expected", [pytest.param(edits, expected, id=name) for name, edits, expected in EDITS])
def test_a_rule_finds_its_mistake_and_no_other(edits, expected):
    assert found(changed(*edits)) == expected


@pytest.mark.parametrize("edits, product, expected", [
    ([], "950", [("version", "error", "version", "EI0014")]),
    ([(dev(0, 1, "device_id"), "7")], "910A", []),
    ([(dev(0, 1, "device_id"), "8")], "910A", [("device_id", "error", D01 + "device_id", "EI0014")]),
    ([(dev(0, 1, "device_id"), "15")], "A2", []),
    ([(dev(0, 1, "device_id"), "16")], "A2", [("device_id", "error", D01 + "device_id", "EI0014")]),
    ([(dev(0, 1, "device_id"), "16")], "A3", [("device_id", "error", D01 + "device_id", "EI0014")]),
    ([(dev(0, 1, "device_id"), "31")], "310P", []),
    ([(dev(0, 1, "device_ip"), ABSENT)], "A3", [("device_ip", "warning", D01 + "device_ip", "EI0014")]),
    ([(dev(0, 1, "device_ip"), "")], "A2", [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ([(dev(0, 1, "device_ip"), "")], "910A", []),
    ([(dev(0, 1, "device_ip"), ""), (srv(0, "host_ip"), ABSENT)], "910A", [("device_ip", "error", D01 + "device_ip", "EI0014")]),
    ([(["server_list", 1, "device"], [GOOD["server_list"][1]["device"][0]])], None, [("device_count", "warning", "server_list[1].device", "EI0014")]),
    ([(["server_list", 1, "device"], [GOOD["server_list"][1]["device"][0]])], "910A", [("device_count", "error", "server_list[1].device", "EI0014")]),
    ([(["server_list", 1, "device"], [GOOD["server_list"][1]["device"][0]])], "A2", []),
])
def test_limits_depend_on_the_product(edits, product, expected):
    assert found(changed(*edits), product) == expected


def one_server(count):
    return {"status": "completed", "version": "1.0", "server_list": [
        {"server_id": "node-1", "device": [{"device_id": str(number), "rank_id": str(number)} for number in range(count)]}]}


def test_one_server_needs_no_addresses():
    assert found(one_server(8), "A2") == []


@pytest.mark.parametrize("count, expected", [(4, []), (3, [("device_count", "error", "server_list[0].device", "EI0014")])])
def test_910a_accepts_powers_of_two(count, expected):
    assert found(one_server(count), "910A") == expected


def test_two_servers_with_ranks_inside_the_block_of_the_first():
    ranks = [[0, 1, 6], [2, 3], [4, 5]]
    table = {"status": "completed", "version": "1.0", "server_list": [
        {"server_id": "node-%d" % server, "device": [
            {"device_id": str(place), "device_ip": "192.168.%d.%d" % (server, place + 1), "rank_id": str(rank)} for place, rank in enumerate(row)]}
        for server, row in enumerate(ranks)]}
    assert found(table, "A2") == [("rank_order", "error", "server_list[1]", None), ("rank_order", "error", "server_list[2]", None)]


def test_all_problems_of_all_rules_are_reported():
    table = changed((["status"], "initializing"), (["server_count"], "3"), (srv(1, "server_id"), "192.0.2.11"), (dev(0, 0, "device_ip"), "-.-.-.-"),
                    (dev(0, 1, "device_ip"), "-1"), (dev(1, 0, "rank_id"), 9), (dev(1, 1, "device_id"), "0"), (["super_pod_list"], []))
    assert found(table) == [
        ("status", "error", "status", "EI0004"),
        ("string_values", "error", D10 + "rank_id", "EI0017"),
        ("server_count", "error", "server_count", "EI0014"),
        ("server_id", "error", "server_list[1].server_id", "EI0014"),
        ("device_id", "error", D11 + "device_id", "EI0014"),
        ("rank_ids", "error", D10 + "rank_id", "EI0014"),
        ("device_ip", "error", D00 + "device_ip", "EI0014"),
        ("device_ip", "error", D01 + "device_ip", "EI0014"),
        ("super_pod_list", "warning", "super_pod_list", None),
    ]


@pytest.mark.parametrize("edits, expected", [
    ([(dev(0, 1, "device_ip"), "-.-.-.-")], {
        "rule": "device_ip", "severity": "error", "where": D01 + "device_ip", "device": 1, "reader": "hccl", "error_code": "EI0014",
        "message": "'-.-.-.-' is not an IP address of an NPU", "hint": "the NPU has no address: set one with hccn.cluster.device_network"}),
    ([(dev(1, 1, "rank_id"), 3)], {
        "rule": "string_values", "severity": "error", "where": D11 + "rank_id", "device": 1, "reader": "hccl", "error_code": "EI0017",
        "message": "rank_id is not a string but 3: HCCL then treats it as missing", "hint": 'write "3"'}),
    ([(dev(1, 1, "rank_id"), "9")], {
        "rule": "rank_ids", "severity": "error", "where": D11 + "rank_id", "device": 1, "reader": "hccl", "error_code": "EI0014",
        "message": "rank_id 9: 4 ranks must be numbered 0 to 3 without a gap; missing first: 3"}),
    ([(["status"], "x" * 100)], {
        "rule": "status", "severity": "error", "where": "status", "reader": "hccl", "error_code": "EI0004",
        "message": "status is '" + "x" * 59 + "...: HCCL waits up to 30 minutes for 'completed', then gives up"}),
])
def test_a_problem_has_a_path_a_message_and_a_hint(edits, expected):
    assert as_dicts(checks.check(changed(*edits))) == [expected]


@pytest.mark.parametrize("table, reader, message", [
    ({"server_group_list": []}, "hccl", "this is a global rank table (server_group_list), which MindIE-Motor reads: HCCL does not accept it"),
    ({"prefill_device_list": []}, "mindie_llm", "this is a prefill and decode table of the vLLM connector: MindIE-LLM does not accept it"),
    ({"decode_device_list": []}, "hccl", "this is a prefill and decode table of the vLLM connector: HCCL does not accept it"),
    ({"status": "completed", "group_list": []}, "clusterd", "this is an old group_list table, which HCCL reads on 910A only: ClusterD does not accept it"),
    ({"version": "2.0", "rank_list": []}, "mindie_motor",
     "this is a table of version 2.0 (rank_list), which HCCL reads on Ascend 950 only: MindIE-Motor does not accept it"),
    ({"version": "2.0", "server_list": []}, "vllm",
     "this is a table of version 2.0, which HCCL reads on Ascend 950 only: the vLLM connector does not accept it"),
    ({"version": "2.0", "peer_list": []}, "hccl", "this is a topology file of Ascend 950: HCCL does not accept it"),
    ({"version": "1.1", "server_list": []}, "mindie_llm", "this is a heterogeneous table of version 1.1: MindIE-LLM does not accept it"),
    ({"version": "1.3"}, "hccl", "this is a local_comm_res of HIXL: HCCL does not accept it"),
    ({"version": "1.3", "endpoint_list": []}, "hccl", "this is a local_comm_res of HIXL: HCCL does not accept it"),
    (GOOD, "mindie_motor", "this is a table with server_list, which HCCL and MindIE-LLM read: MindIE-Motor does not accept it"),
    ({"server_group_list": []}, "hixl", "this is a global rank table (server_group_list), which MindIE-Motor reads: HIXL does not accept it"),
])
def test_an_unsupported_format_is_one_problem(table, reader, message):
    assert as_dicts(checks.check(table, [reader])) == [{"rule": "format", "severity": "error", "reader": reader, "message": message}]


@pytest.mark.parametrize("groups, expected", [
    (slice(2, 3), [("group_count", "the number of groups is 1: MindIE-Motor accepts 2 to 98"),
                   ("coordinator_group", "no group has group_id '0', which is for the coordinators")]),
    (slice(2, 4), [("coordinator_group", "no group has group_id '0', which is for the coordinators")]),
    (slice(0, 3), [])])
def test_groups_that_only_mindie_motor_needs_are_warnings_unless_it_is_named(groups, expected):
    table = tables.global_table()
    table["server_group_list"] = table["server_group_list"][groups]
    for named, severity in ((True, "error"), (False, "warning")):
        problems = checks.check(table, ["mindie_motor"], named=named)
        assert [(problem.rule, problem.message, problem.severity) for problem in problems] == [(*one, severity) for one in expected]


@pytest.mark.parametrize("groups, rules", [([], ["group_count", "coordinator_group", "instances"]), (None, ["group_list"]), (["x"], None)])
def test_tables_without_an_instance_are_refused_by_any_reader(groups, rules):
    problems = checks.check({"version": "1.0", "status": "completed", "server_group_list": groups}, ["mindie_motor"], named=False)
    assert [problem for problem in problems if problem.severity == "error"]
    assert rules is None or [problem.rule for problem in problems] == rules


def test_heterogeneous_tables_are_not_checked():
    assert as_dicts(checks.check({"version": "1.1", "server_list": []})) == [{
        "rule": "format", "severity": "warning", "reader": "hccl",
        "message": "this is a heterogeneous table of version 1.1, for which HCCL has a separate parser: not checked"}]


def test_many_problems_of_a_rule_are_counted():
    table = one_server(75)
    for device in table["server_list"][0]["device"]:
        device.update(device_ip="-1")
    problems = [problem for problem in checks.check(table, product="310P") if problem.rule == "device_ip"]
    assert len(problems) == 51
    assert problems[50] == Problem("device_ip", "error", "25 more problems of the rule device_ip", reader="hccl", error_code="EI0014")


@pytest.mark.parametrize("edits, expected", [
    ([(["server_count"], 2)], [("server_count", "server_count")]),
    ([(["server_count"], ABSENT)], [("server_count", "server_count")]),
    ([(["server_count"], "3")], [("server_count", "server_count")]),
    ([(["server_list"], GOOD["server_list"][:1]), (["server_count"], "1")], [("server_count", "server_list")]),
    ([(["server_list", 1, "device"], [GOOD["server_list"][1]["device"][0]])], [("device_count", "server_list[1].device")]),
    ([(srv(0, "container_ip"), ABSENT)], [("container_ip", "server_list[0].container_ip")]),
    ([(dev(0, 0, "device_id"), "64")], [("device_values", D00 + "device_id")]),
    ([(dev(0, 1, "rank_id"), "512")], [("device_values", D01 + "rank_id")]),
    ([(dev(0, 1, "rank_id"), "511")], []),
    ([(dev(0, 1, "rank_id"), 1)], [("string_values", D01 + "rank_id")]),
    ([(srv(0, "server_id"), ABSENT)], [("server_id", "server_list[0].server_id")]),
    ([(dev(0, 0, "rank_id"), "1")], [("master", "server_list")]),
    ([(dev(0, 0, "device_ip"), "0.0.0.0")], [("device_values", D00 + "device_ip")]),
    ([(dev(0, 0, "device_ip"), 7)], [("string_values", D00 + "device_ip"), ("device_values", D00 + "device_ip")]),
    ([(dev(0, 0, "device_ip"), "-.-.-.-")], [("device_values", D00 + "device_ip")]),
    ([(dev(0, 0, "device_ip"), "192.168.100.101,192.168.100.103")], [("device_values", D00 + "device_ip")]),
    ([(["status"], "initializing"), (["version"], "9")], []),
])
def test_mindie_llm_rules(edits, expected):
    assert [(problem.rule, problem.where) for problem in checks.check(changed(*edits), ["mindie_llm"])] == expected


def test_mindie_llm_counts_devices_and_servers():
    many = {"server_count": "61", "server_list": [
        {"server_id": str(server), "container_ip": "10.244.0.1", "device": [
            {"device_id": str(place), "rank_id": "1", "device_ip": "192.168.1.1"} for place in range(33)]} for server in range(61)]}
    problems = checks.check(many, ["mindie_llm"])
    assert as_dicts(problems[:2]) == [
        {"rule": "server_count", "severity": "error", "where": "server_list", "reader": "mindie_llm",
         "message": "the length of server_list is 61: MindIE-LLM accepts 2 to 60 servers"},
        {"rule": "device_count", "severity": "error", "where": "server_list[0].device", "reader": "mindie_llm",
         "message": "the number of devices is 33: MindIE-LLM accepts 1 to 32 in each server"}]


def test_clusterd_rules():
    table = changed((["status"], "initializing"), (srv(0, "host_ip"), ABSENT), (srv(1, "container_ip"), ""))
    assert found(table, readers=["clusterd"]) == [("status", "error", "status", None), ("pod_addresses", "warning", "server_list[0].host_ip", None),
                                                  ("pod_addresses", "warning", "server_list[1].container_ip", None)]


def test_problems_name_their_reader():
    assert [(problem.reader, problem.rule) for problem in checks.check(changed((srv(0, "container_ip"), ""), (["status"], "")), READERS)] == [
        ("hccl", "status"), ("mindie_llm", "container_ip"), ("clusterd", "status"), ("clusterd", "pod_addresses")]


def test_invalid_text_is_a_problem_for_each_reader():
    assert as_dicts(checks.check_text("{", ["hccl", "mindie_llm"])) == [
        {"rule": "json", "severity": "error", "reader": "hccl", "error_code": "EI0004",
         "message": "not JSON: line 1 column 2: Expecting property name enclosed in double quotes"},
        {"rule": "json", "severity": "error", "reader": "mindie_llm",
         "message": "not JSON: line 1 column 2: Expecting property name enclosed in double quotes"}]


def test_text_is_limited_to_40_mb(monkeypatch):
    text = json.dumps(GOOD)
    monkeypatch.setattr(checks, "MAX_TEXT", len(text))
    assert checks.check_text(text) == [] and checks.check_text(text.encode()) == []
    monkeypatch.setattr(checks, "MAX_TEXT", len(text) - 1)
    assert as_dicts(checks.check_text(text)) == [{"rule": "size", "severity": "error", "reader": "hccl", "error_code": "EI0004",
                                                  "message": "the table has %d bytes: HCCL reads at most %d" % (len(text), len(text) - 1)}]
    assert document.MAX_TEXT == 41943040


def written(folder, name="hccl.json", mode=0o640, content=None):
    path = folder / name
    path.write_text(json.dumps(GOOD) if content is None else content)
    path.chmod(mode)
    return str(path)


def test_a_file_is_checked(tmp_path):
    assert check_file(written(tmp_path), READERS) == []


@pytest.mark.parametrize("name, message", [
    ("hccl.txt", "the path %s does not end in .json: HCCL does not read it"),
    ("hccl.json.json", "the path %s contains .json before its end: HCCL does not read it"),
])
def test_the_name_of_a_file_is_checked(tmp_path, name, message):
    path = written(tmp_path, name)
    assert as_dicts(check_file(path)) == [{"rule": "file_name", "severity": "error", "reader": "hccl", "error_code": "EI0004",
                                           "message": message % path}]
    assert check_file(path, ["mindie_llm"]) == []


def test_a_link_is_checked_by_its_target(tmp_path):
    path = written(tmp_path, "hccl.txt")
    os.symlink(path, str(tmp_path / "link.json"))
    assert [problem.rule for problem in check_file(str(tmp_path / "link.json"))] == ["file_name"]


@pytest.mark.parametrize("mode, rules", [
    (0o640, []), (0o600, []), (0o400, []), (0o644, ["file_mode"]), (0o660, ["file_mode"]), (0o750, ["file_mode"])])
def test_the_mode_of_a_file_is_checked_for_mindie_only(tmp_path, mode, rules):
    path = written(tmp_path, mode=mode)
    assert [problem.rule for problem in check_file(path, ["hccl", "mindie_llm"])] == rules
    assert check_file(path, ["hccl"]) == []


def test_a_file_beyond_the_limit_is_not_read_completely(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "MAX_TEXT", 10)
    assert [(problem.rule, problem.message) for problem in check_file(written(tmp_path, content="x" * 25))] == [
        ("size", "the table has 25 bytes: HCCL reads at most 10, so it is not checked further")]


def test_an_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot read the rank table .*absent.json: No such file or directory"):
        check_file(str(tmp_path / "absent.json"))


@pytest.mark.parametrize("edits, sentence", [
    ([(["super_pod_list"], [])], "super_pod_list: HCCL ignores super_pod_list, since it reads it with version 1.2 only (rule super_pod_list)"),
    ([(["server_count"], "3"), (["super_pod_list"], [])],
     "server_count: server_count is '3', but server_list has 2 entries (rule server_count, EI0014), and 1 more problem"),
    ([(["server_list"], [])], "server_list: server_list is empty: HCCL requires one entry per server (rule server_list, EI0017)"),
    ([(dev(0, 0, "device_ip"), "-1"), (dev(0, 1, "device_ip"), "-1"), (dev(1, 1, "device_ip"), "-1")],
     "server_list[0].device[0].device_ip: '-1' is not an IP address of an NPU (rule device_ip, EI0014), and 2 more problems"),
])
def test_the_failure_message_has_the_first_problem_and_a_count(edits, sentence):
    assert checks.failure_message(checks.check(changed(*edits))) == sentence


def test_the_failure_message_without_a_path():
    assert checks.failure_message(checks.check_text("[]")) == "not a rank table: the JSON value is not an object but a list (rule json, EI0004)"
