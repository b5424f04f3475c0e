"""Tables with known mistakes of generators and users, and the rules that report them."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, document, formats
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.super_pod import sdid_of

from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table import tables


def found(table, *readers, product=None):
    return [(problem.reader, problem.rule, problem.severity, problem.where) for problem in checks.check(table, readers, product)]


def drifted(table, nodes):
    verdict = checks.examine_document(table, ["hccl"])
    assert verdict.problems == []
    return [(problem.rule, problem.severity, problem.host, problem.device) for problem in checks.against_hosts(verdict, nodes).problems]


def node(addresses):
    """A result of device_info: ``{id: address}``."""
    return {"devices": [{"id": number, "address": address, "errors": []} for number, address in addresses.items()]}


def host_addresses(server, devices=2):
    return {number: tables.address(server, number) for number in range(devices)}


# Generators.

def test_an_ipv6_address_cut_at_its_first_colon():
    """hccl_tools.py reads the text between the first two colons of the line that hccn_tool prints."""
    table = tables.hccl()
    table["server_list"][0]["device"][0]["device_ip"] = "ipv6 addr:fd00::1".split(":")[1]
    assert found(table, "hccl") == [("hccl", "device_ip", "error", "server_list[0].device[0].device_ip")]


def test_tables_of_hosts_merged_without_renumbering():
    """merge_hccl.py only appends; each host's table begins with rank 0, and each names its server 127.0.0.1."""
    parts = [tables.hccl(1), tables.hccl(1)]
    for server, part in enumerate(parts):
        part["server_list"][0]["server_id"] = "127.0.0.1"
        for number, device in enumerate(part["server_list"][0]["device"]):
            device["device_ip"] = tables.address(server, number)
    table = dict(parts[0], server_count="2", server_list=parts[0]["server_list"] + parts[1]["server_list"])
    assert found(table, "hccl") == [
        ("hccl", "server_id", "error", "server_list[1].server_id"),
        ("hccl", "rank_ids", "error", "server_list[1].device[0].rank_id"), ("hccl", "rank_ids", "error", "server_list[1].device[1].rank_id"),
        ("hccl", "rank_order", "error", "server_list[1]")]


def test_the_same_host_merged_twice():
    """gen_ranktable.sh uses node 0 for every node without NODE_RANK, so a server repeats with other ranks."""
    table = tables.hccl(2)
    table["server_list"][1] = dict(copy.deepcopy(table["server_list"][0]))
    for number, device in enumerate(table["server_list"][1]["device"]):
        device["rank_id"] = str(2 + number)
    assert {rule for _reader, rule, _severity, _where in found(table, "hccl")} == {"server_id", "device_ip_unique"}
    table = tables.prefill_decode()
    table["decode_device_list"] = [dict(entry, cluster_id=str(number + 3)) for number, entry in enumerate(table["prefill_device_list"])]
    assert found(table, "vllm") == [
        ("vllm", "device_unique", "warning", "decode_device_list[0].device_id"), ("vllm", "device_unique", "warning", "decode_device_list[1].device_id"),
        ("vllm", "server_count", "warning", "server_count")]


def test_device_ids_sorted_as_text():
    """PyMotor's hccl_tools.py: 0, 1, 10, 11, 12, ..., 2, 3."""
    table = tables.hccl(1, 16)
    ids = sorted(str(number) for number in range(16))
    for rank, (device, number) in enumerate(zip(table["server_list"][0]["device"], ids)):
        device.update(device_id=number, rank_id=str(rank))
    problem, = checks.check(table)
    assert (problem.rule, problem.severity, problem.where) == ("device_order", "warning", "server_list[0].device")
    assert problem.message == "the ranks follow the device ids sorted as text (0, 1, 10, 11, 12, 13, 14, 15, 2, 3), not as numbers"


def test_super_pods_that_hccl_ignores():
    """PyMotor's hccl_tools.py writes super_pod_list with version 1.0."""
    assert found(dict(tables.super_pods(), version="1.0"), "hccl") == [("hccl", "super_pod_list", "warning", "super_pod_list")]


def test_one_sdid_twice_in_a_table_of_version_1_0():
    """Nothing reads the list until the version is corrected."""
    table = dict(tables.super_pods(), version="1.0")
    del table["super_pod_list"]
    table["server_list"][0]["device"][1]["super_device_id"] = table["server_list"][0]["device"][0]["super_device_id"]
    assert found(table, "hccl") == [("hccl", "super_device_id", "warning", "server_list[0].device[1].super_device_id")]


def test_all_servers_in_super_pod_0():
    """PyMotor's hccl_tools.py always writes "0": servers of two super pods then share SDIDs."""
    table = tables.super_pods(servers=4, pods=2)
    members = [member for pod in table["super_pod_list"] for member in pod["server_list"]]
    table["super_pod_list"] = [{"super_pod_id": "0", "server_list": members}]
    assert {(rule, severity) for _reader, rule, severity, _where in found(table, "hccl")} == {("super_device_id", "error")}


def test_a_count_of_processes_instead_of_servers():
    """gen_ranktable.py writes torchrun's world size."""
    assert found(dict(tables.prefill_decode(), server_count="16"), "vllm") == [("vllm", "server_count", "warning", "server_count")]


def test_an_empty_address_where_a_command_failed():
    """gen_ranktable.py and pd_ranktable_tools.py ignore exit codes."""
    table = tables.prefill_decode()
    table["prefill_device_list"][1]["device_ip"] = ""
    assert found(table, "vllm") == [("vllm", "device_ip", "error", "prefill_device_list[1].device_ip")]


def test_device_ids_that_stayed_numbers():
    table = tables.prefill_decode()
    table["decode_device_list"][0]["device_id"] = 0
    assert found(table, "vllm") == [("vllm", "string_values", "error", "decode_device_list[0].device_id")]


def test_a_count_that_became_a_number():
    """pd_ranktable_tools.py after a merge: HCCL and MindIE-LLM require a string, MindIE-Motor does not read it."""
    assert found(dict(tables.hccl(), server_count=2), "hccl", "mindie_llm") == [
        ("hccl", "string_values", "error", "server_count"), ("mindie_llm", "server_count", "error", "server_count")]
    table = tables.global_table()
    table["server_group_list"][2]["server_count"] = 2
    assert found(table, "mindie_motor") == [("mindie_motor", "server_count", "warning", "server_group_list[2].server_count")]


def test_decode_entries_are_checked_as_prefill_entries_are():
    """pd_ranktable_tools.py checks the prefill list twice."""
    table = tables.prefill_decode()
    del table["decode_device_list"][1]["device_ip"]
    assert found(table, "vllm") == [("vllm", "required_keys", "error", "decode_device_list[1].device_ip")]


def test_instance_groups_behind_the_first_are_checked_too():
    """MindIE-Motor validates the first instance group only, so a violation in others is a warning."""
    table = tables.global_table()
    table["server_group_list"][3]["server_list"][0]["device"][0].update(device_ip="-.-.-.-", rank_id="2049")
    assert found(table, "mindie_motor") == [
        ("mindie_motor", "device_values", "warning", "server_group_list[3].server_list[0].device[0].rank_id"),
        ("mindie_motor", "device_ip", "warning", "server_group_list[3].server_list[0].device[0].device_ip")]


def test_a_table_from_a_stale_hccn_conf():
    """LLM-DataDist and hccl_tools.py read the file, not the device."""
    nodes = {tables.server_id(server): node(host_addresses(server)) for server in range(2)}
    nodes[tables.server_id(1)]["devices"][1]["address"] = "172.17.0.99"
    assert drifted(tables.hccl(), nodes) == [("drift_address", "error", tables.server_id(1), 1)]


def test_a_table_longer_than_hccl_reads(monkeypatch):
    """hccl-controller writes up to 50 MB."""
    assert document.MAX_TEXT == 41943040
    monkeypatch.setattr(checks, "MAX_TEXT", 300)
    assert [problem.rule for problem in checks.check_text(document.to_text(tables.hccl()))] == ["size"]
    assert checks.check_text(document.to_text(tables.rank_list())) == []


# Mistakes of users.

def test_logical_ids_in_a_table_of_a_container():
    """NPUs 4 and 7 are 0 and 1 in the container: HCCL compares with the physical ids."""
    assert drifted(tables.hccl(1), {tables.server_id(0): node({4: tables.address(0, 0), 7: tables.address(0, 1)})}) == [
        ("drift_device", "error", tables.server_id(0), 0), ("drift_device", "error", tables.server_id(0), 1),
        ("drift_device", "warning", tables.server_id(0), None)]


def test_one_sdid_for_three_devices():
    """98369551 is device 15 of server 23, but was written for the devices 4, 5 and 7."""
    assert sdid_of(23, 15) == 98369551
    table = tables.prefill_decode(devices=8)
    for number in (4, 5, 7):
        table["prefill_device_list"][number]["super_device_id"] = "98369551"
    assert found(table, "vllm") == [
        ("vllm", "super_device_id", "error", "prefill_device_list[5].super_device_id"),
        ("vllm", "super_device_id", "error", "prefill_device_list[7].super_device_id"),
        ("vllm", "sdid", "warning", "prefill_device_list[4].super_device_id"), ("vllm", "sdid", "warning", "prefill_device_list[5].super_device_id"),
        ("vllm", "sdid", "warning", "prefill_device_list[7].super_device_id")]


def test_an_npu_without_an_address():
    table = tables.hccl()
    table["server_list"][1]["device"][0]["device_ip"] = "-.-.-.-"
    where = "server_list[1].device[0].device_ip"
    assert found(table, "hccl", "mindie_llm") == [("hccl", "device_ip", "error", where), ("mindie_llm", "device_values", "error", where)]
    assert {problem.hint for problem in checks.check(table, ["hccl", "mindie_llm"])} == {
        "the NPU has no address: set one with hccn.cluster.device_network"}


def test_a_stale_table_on_a_950():
    problem, = checks.check(tables.hccl(), product="950")
    assert (problem.rule, problem.error_code, problem.hint) == (
        "version", "EI0014", "in a container this may be a stale /etc/hccl_rootinfo.json of the host")


def test_two_processes_on_one_npu():
    """The second process cannot listen on its port."""
    table = tables.prefill_decode()
    table["decode_device_list"][0] = dict(table["prefill_device_list"][0], cluster_id="3")
    assert ("vllm", "device_unique", "warning", "decode_device_list[0].device_id") in found(table, "vllm")


@pytest.mark.parametrize("reader", ["mindie_llm", "mindie_motor"])
def test_a_mode_of_0644(reader):
    """Ascend Operator writes hccl.json with this mode."""
    assert [(problem.rule, problem.reader) for problem in checks.check_mode(0o644, ["hccl", reader])] == [("file_mode", reader)]
    assert checks.check_mode(0o640, checks.READERS) == []


def test_device_plugin_errors_in_a_table_of_ascend_operator():
    """-1 for an address that cannot be read, -2 for an SDID."""
    table = tables.super_pods()
    table["server_list"][0]["device"][0].update(device_ip="-1", super_device_id="-2")
    del table["server_list"][0]["device"][1]["backup_device_ip"]
    problems = checks.check(table)
    assert [(problem.rule, problem.where, problem.hint) for problem in problems] == [
        ("device_ip", "server_list[0].device[0].device_ip",
         "-1 is what the device plugin writes when it cannot read the address: check the NPU with hccn.cluster.device_info"),
        ("super_device_id", "server_list[0].device[0].super_device_id", "-2 is what the device plugin writes when it cannot read the SDID")]


def test_a_table_with_comments():
    """The manuals print tables with comments."""
    text = document.to_text(tables.hccl()).replace('"completed",', '"completed",  // ready')
    problem, = checks.check_text(text)
    assert (problem.rule, problem.error_code, problem.hint) == ("json", "EI0004", "JSON has no comments: remove them")


def test_an_unfinished_config_map():
    """Ascend Operator creates the ConfigMap like this."""
    verdict = checks.examine_text('{"kind": "ConfigMap", "data": {"hccl.json": "{\\"status\\":\\"initializing\\"}"}}', ["hccl", "clusterd"])
    assert verdict.format == formats.UNKNOWN
    assert [(problem.reader, problem.rule) for problem in verdict.problems] == [
        ("hccl", "status"), ("hccl", "required_keys"), ("hccl", "server_list"), ("clusterd", "status")]
