"""Mistakes of widely used scripts that write rank tables. Each test names the script or the thread."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, formats, selection, table_merge
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import HostAddresses, TableOptions, assemble
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Model, Server, one_group


def node(*devices, product="A2"):
    return {"product": product, "devices": [dict(device, errors=[]) for device in devices]}


def at(number, address, sdid=None, super_pod_id=0):
    found = {"id": number, "address": address}
    return dict(found, super_pod={"sdid": sdid, "super_pod_id": super_pod_id, "server_index": sdid >> 22}) if sdid is not None else found


def written(nodes, name="hccl", place=HostAddresses, groups=None, **wishes):
    assembly = assemble(nodes, place, TableOptions(name, **wishes), expand)
    assert [problem.message for problem in assembly.problems if problem.severity == "error"] == []
    parts, _problems = selection.grouped(name, assembly.servers, groups, place, expand)
    return formats.build(name, Model(parts, assembly.version))


def devices_of(table):
    return [device for server in table["server_list"] for device in server["device"]]


def test_mindspore_hccl_tools_accepts_eight_devices_of_one_digit():
    table = written({"n1": node(*(at(number, "192.168.1.%d" % number) for number in range(16)))}, devices=["0-15"])
    assert [device["device_id"] for device in devices_of(table)] == [str(number) for number in range(16)]


def test_mindspore_hccl_tools_cuts_ipv6_addresses():
    assert devices_of(written({"n1": node(at(0, "fd00::1:2"))}))[0]["device_ip"] == "fd00::1:2"


def test_mindspore_hccl_tools_raises_a_key_error_without_an_address():
    result = {"product": "A2", "devices": [{"id": 0, "address": None, "errors": [{"topic": "address", "message": "hccn_tool is missing"}]}]}
    problem, = assemble({"n1": result}, HostAddresses, TableOptions(), expand).problems
    assert (problem.severity, problem.host, problem.device, problem.message) == ("error", "n1", 0, "device 0: hccn_tool is missing")


@pytest.mark.parametrize("order", [["n10", "n2"], ["n2", "n10"]])
def test_mindspore_merge_hccl_has_the_ranks_of_its_command_line(order):
    nodes = {name: node(at(0, "192.168.1.%s" % name[1:])) for name in order}
    servers = selection.ordered(assemble(nodes, HostAddresses, TableOptions(), expand).servers, "host", {}.get)
    assert [server.host for server in servers] == ["n2", "n10"]


def test_mindspore_merge_hccl_accepts_duplicate_servers():
    source = table_merge.SourceTable("hccl_4p.json", one_group([Server("n1", "n1", (Device(0, "192.168.1.1", rank=0),))], "1.0"))
    with pytest.raises(InputError, match="device 0 of server n1 is in both hccl_4p.json and again.json"):
        table_merge.merged([source, source._replace(name="again.json")], "hccl", "1.0")


def test_pymotor_hccl_tools_sorts_device_ids_as_text():
    nodes = {"n1": node(*(at(int(text), "192.168.1.%s" % text) for text in sorted(map(str, range(16)))))}
    assert [(device["device_id"], device["rank_id"]) for device in devices_of(written(nodes))] == [(str(number), str(number)) for number in range(16)]


def test_pymotor_hccl_tools_writes_a_super_pod_list_with_version_1_0():
    for version, has in (("auto", True), ("1.0", False), ("1.2", True)):
        table = written({"n1": node(at(0, "192.168.1.1", 37748736), product="A3")}, version=version)
        assert (table["version"] == "1.2", "super_pod_list" in table, "super_device_id" in devices_of(table)[0]) == (has, has, has)


def test_pymotor_hccl_tools_calls_every_super_pod_0():
    table = written({"n1": node(at(0, "192.168.1.1", 37748736, 7), product="A3")})
    assert table["super_pod_list"] == [{"super_pod_id": "7", "server_list": [{"server_id": "n1"}]}]


def test_pymotor_hccl_tools_uses_127_0_0_1_without_a_server_id():
    def place(_host):
        raise InputError("no server_id")

    problem, = assemble({"n1": node(at(0, "192.168.1.1"))}, place, TableOptions(), expand).problems
    assert (problem.severity, problem.message) == ("error", "no server_id")


def test_vllm_gen_ranktable_counts_processes_as_servers():
    groups = [{"name": "prefill", "hosts": ["n1", "n2"], "devices": ["0"]}, {"name": "decode", "hosts": ["n2"], "devices": ["1"]}]
    nodes = {name: node(at(0, "192.168.1.%s" % name[1:]), at(1, "192.168.2.%s" % name[1:])) for name in ("n1", "n2")}
    table = written(nodes, "vllm_pd", groups=groups)
    assert (table["server_count"], [device["cluster_id"] for key in ("prefill", "decode") for device in table[key + "_device_list"]]) == ("2", ["1", "2", "3"])


@pytest.mark.parametrize("words", [[4, 7], ["4", "7"], ["4", 7]])
def test_vllm_gen_ranktable_fails_on_device_ids_that_are_text(words):
    nodes = {"n1": node(*(at(number, "192.168.1.%d" % number) for number in range(8)))}
    assert [device["device_id"] for device in devices_of(written(nodes, devices=words))] == ["4", "7"]


def test_vllm_gen_ranktable_ignores_a_failed_command():
    nodes = {"n1": {"failed": True, "msg": "npu-smi is missing"}, "n2": None}
    assert [(problem.host, problem.message) for problem in assemble(nodes, HostAddresses, TableOptions(), expand).problems] == [
        ("n1", "device_info failed: npu-smi is missing"), ("n2", "no result of device_info: unreachable, or not in that play")]


def test_omniinfer_pd_ranktable_tools_writes_server_count_as_a_number():
    sources = [table_merge.SourceTable(name, one_group([Server(name, name, (Device(0, "192.168.1.%s" % name[1:]),))], "1.0")) for name in ("n1", "n2")]
    table = formats.build("hccl", Model(table_merge.merged(sources, "hccl", "1.0"), "1.0"))
    assert table["server_count"] == "2"


def test_omniinfer_pd_ranktable_tools_does_not_check_decode():
    nodes = {name: node(at(0, "192.168.1.1"), at(1, "192.168.2.%s" % name[1:])) for name in ("n1", "n2")}
    groups = [{"name": "prefill", "hosts": ["n1"], "devices": ["1"]}, {"name": "decode", "hosts": ["n1", "n2"], "devices": ["0"]}]
    table = written(nodes, "vllm_pd", lambda host: HostAddresses("192.0.2." + host[1:]), groups)
    assert {problem.where for problem in checks.check(table, ["vllm"])} == {"decode_device_list[1].device_ip"}


def test_motor_gen_global_ranktable_adds_a_number_to_text():
    groups = [{"name": "coordinator", "hosts": ["n1"]}, {"name": "controller", "hosts": ["n1"]}, {"name": "p", "hosts": ["n1"]}, {"name": "d", "hosts": ["n2"]}]
    nodes = {"n1": node(at(0, "192.168.1.1")), "n2": node(at(0, "192.168.1.2"), at(1, "192.168.1.3"))}
    table = written(nodes, "global", groups=groups)
    assert [group["server_count"] for group in table["server_group_list"]] == ["1", "1", "1", "1"]


def test_vllm_ascend_2618_one_table_cannot_suit_the_connector_and_hccl():
    server = Server("n1", "n1", (Device(4, "192.168.1.4"), Device(7, "192.168.1.7")))
    (found,), (problem,) = selection.logical([server])
    assert [device.id for device in found.devices] == [0, 1]
    assert "HCCL requires the physical id" in problem.message


def test_vllm_ascend_2900_one_super_device_id_for_several_devices():
    nodes = {"n1": node(at(4, "192.168.1.4", 98369551), at(5, "192.168.1.5", 98369551), product="A3")}
    problems = checks.check(written(nodes), ["hccl"], "A3")
    assert any(problem.severity == "error" and "super_device_id" in str(problem.where) and problem.device == 5 for problem in problems)


def test_gpustack_2551_an_npu_without_an_address():
    for address in (None, "", "-.-.-.-", "-1"):
        assembly = assemble({"n1": node(at(0, address), at(1, "192.168.1.2"))}, HostAddresses, TableOptions(), expand)
        if address:
            found = checks.check(formats.build("hccl", one_group(assembly.servers, "1.0")), ["hccl"])
            assert ("device_ip", "server_list[0].device[0].device_ip") in [(problem.rule, problem.where) for problem in found]
        else:
            assert [problem.message for problem in assembly.problems] == ["device 0 has no address"]


def test_gpustack_runtime_27_a_950_gets_no_table_of_version_1_0():
    problem, = assemble({"n1": node(at(0, "192.168.1.1"), product="950")}, HostAddresses, TableOptions(), expand).problems
    assert problem.severity == "error"
    table = written({"n1": node(at(0, "192.168.1.1"), product="950")}, version="1.0")
    assert [problem.rule for problem in checks.check(table, ["hccl"], "950")] == ["version"]
