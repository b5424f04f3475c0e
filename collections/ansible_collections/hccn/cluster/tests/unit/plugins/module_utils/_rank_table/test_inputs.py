"""Tables from text, files and ConfigMaps, their comparison with hosts, and the limits of a result."""

from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem, as_dicts
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import (
    checks, global_table_rules, local_comm_res_rules, mindie_clusterd_rules, rank_list_rules,
)

from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table import tables
from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table.mutations import MUTATIONS

TABLE = tables.hccl()
BAD = dict(TABLE, server_count="3")
WRONG_COUNT = {"rule": "server_count", "severity": "error", "where": "server_count", "reader": "hccl", "error_code": "EI0014", "hint": 'write "2"',
               "message": "server_count is '3', but server_list has 2 entries"}


def check_file(path, readers=("hccl",)):
    return checks.examine_file(path, readers).problems


def manifest(**data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rings-config-job"}, "data": data}


@pytest.mark.parametrize("document, job", [
    (BAD, None),
    (manifest(**{"hccl.json": json.dumps(BAD)}), None),
    (manifest(**{"hccl.json": json.dumps(BAD), "jobName": "resnet", "total": "1", "cm_index": "0"}), "resnet"),
    (manifest(**{"hccl.json": BAD, "version": "1700000000"}), None),
    (manifest(**{"jobstart_hccl.json": json.dumps(BAD), "other": "1"}), None),
    ({"hccl.json": json.dumps(BAD), "jobName": "resnet"}, "resnet"),
    ({"hccl.json": json.dumps(BAD), "jobName": 7}, None),
])
def test_a_table_is_found_in_a_config_map(document, job):
    verdict = checks.examine_text(json.dumps(document), ["hccl"])
    assert as_dicts(verdict.problems) == [WRONG_COUNT]
    assert (verdict.document, verdict.format, verdict.job) == (BAD, "hccl", job)


@pytest.mark.parametrize("document, message, hint", [
    (manifest(), "the ConfigMap has no data", None),
    ({"kind": "ConfigMap"}, "the ConfigMap has no data", None),
    (manifest(jobName="resnet", job_id="1"), "the ConfigMap has no key hccl.json, only jobName, job_id", None),
    (manifest(**{"a.json": "{}", "b.json": "{}"}), "the ConfigMap has no key hccl.json, only a.json, b.json", None),
    (manifest(**{"hccl.json": 7}), "hccl.json of the ConfigMap is neither a string nor an object", None),
    ({"kind": "ConfigMapList", "items": []}, "a Kubernetes ConfigMapList is not a rank table", "pass one ConfigMap of its items"),
])
def test_a_config_map_without_a_table_is_reported(document, message, hint):
    problem, = checks.check_text(json.dumps(document), ["mindie_llm"])
    assert (problem.rule, problem.message, problem.hint) == ("config_map", message, hint)


def test_one_part_of_a_split_table_causes_a_warning():
    problem, = checks.check_text(json.dumps(manifest(**{"hccl.json": json.dumps(TABLE), "total": "3", "cm_index": "1"})))
    assert (problem.rule, problem.severity, problem.message) == (
        "config_map", "warning", "this ConfigMap has one of 3 parts of the table: the other ranks are missing")


@pytest.mark.parametrize("text", ["apiVersion: v1\nkind: ConfigMap\n", "---\nkind: ConfigMap\n", "data:\n  hccl.json: |\n    {}\n"])
@pytest.mark.parametrize("encode", [str, str.encode])
def test_yaml_gets_a_hint(text, encode):
    problem, = checks.check_text(encode(text))
    assert problem.rule == "json"
    assert problem.hint == "this is YAML: give it as JSON (kubectl get configmap NAME -o json), or the value of its key hccl.json"


def test_the_mode_of_a_file_with_a_config_map_is_checked(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(manifest(**{"hccl.json": json.dumps(BAD)})))
    path.chmod(0o640)
    assert as_dicts(check_file(str(path))) == [WRONG_COUNT]


def test_sizes_by_reader(monkeypatch, tmp_path):
    assert local_comm_res_rules.MAX_TEXT == 65536
    text = json.dumps(tables.one_device())
    monkeypatch.setattr(local_comm_res_rules, "MAX_TEXT", len(text) - 1)
    assert as_dicts(checks.check_text(text, ["hixl", "clusterd"]))[0] == {
        "rule": "size", "severity": "error", "reader": "hixl", "message": "the table has %d bytes: HIXL reads at most %d" % (len(text), len(text) - 1)}

    monkeypatch.setattr(checks, "MAX_TEXT", 50)
    paths = {}
    for name, table in (("1.0", TABLE), ("2.0", tables.rank_list())):
        paths[name] = tmp_path / ("%s.table" % name)
        paths[name].write_text(json.dumps(table))
        paths[name].chmod(0o640)
    found = {name: [(problem.reader, problem.severity, problem.message.split(": ")[1]) for problem in
                    check_file(str(path), ["hccl", "mindie_llm", "hixl"]) if problem.rule == "size"] for name, path in paths.items()}
    assert found == {
        "1.0": [("hccl", "error", "HCCL reads at most 50, so it is not checked further"), ("mindie_llm", "warning", "too large to be checked"),
                ("hixl", "error", "HIXL reads at most %d, so it is not checked further" % (len(text) - 1))],
        "2.0": [("hccl", "warning", "too large to be checked"), ("mindie_llm", "warning", "too large to be checked"),
                ("hixl", "error", "HIXL reads at most %d, so it is not checked further" % (len(text) - 1))]}


def test_limits_of_the_readers_are_inclusive():
    assert (mindie_clusterd_rules.MINDIE_MAX_RANK, mindie_clusterd_rules.MINDIE_SERVERS, mindie_clusterd_rules.MINDIE_DEVICES,
            mindie_clusterd_rules.MINDIE_MAX_DEVICE_ID) == (
        511, (2, 60), (1, 32), 63)
    assert (global_table_rules.MAX_SERVERS, global_table_rules.GROUPS, global_table_rules.DEVICES, global_table_rules.MAX_ID,
            global_table_rules.MAX_SUPER_DEVICE_ID) == (
        96, (2, 98), (1, 128), 2048, 1073741824)
    assert (rank_list_rules.MAX_RANKS, rank_list_rules.MAX_LOCAL_ID, checks.MAX_MODES) == (65536, 64, {"mindie_llm": 0o640, "mindie_motor": 0o640})


@pytest.mark.parametrize("servers, devices, rules", [(2, 16, []), (32, 16, []), (60, 8, []), (33, 16, ["device_values"] * 16), (61, 8, ["server_count"]),
                                                     (1, 8, ["server_count"])])
def test_limits_of_mindie_llm(servers, devices, rules):
    assert [problem.rule for problem in checks.check(tables.hccl(servers, devices), ["mindie_llm"])] == rules


@pytest.mark.parametrize("servers, instances, expected", [
    (96, 1, []), (1, 96, []), (48, 2, []),
    (97, 1, [("server_list", "error", "server_group_list[2].server_list"), ("server_list", "error", "server_group_list")]),
    (49, 2, [("server_list", "error", "server_group_list")]),
    (1, 97, [("group_count", "error", "server_group_list"), ("server_list", "error", "server_group_list")]),
])
def test_limits_of_mindie_motor(servers, instances, expected):
    problems = checks.check(tables.global_table(servers, 1, instances), ["mindie_motor"])
    assert [(problem.rule, problem.severity, problem.where) for problem in problems if problem.rule != "sdid"] == expected


def test_a_rank_list_of_65537_is_refused(monkeypatch):
    monkeypatch.setattr(rank_list_rules, "MAX_RANKS", 3)
    assert [(problem.rule, problem.where) for problem in checks.check(tables.rank_list())] == [("rank_count", "rank_list")]


def worst(servers, devices):
    """A table in which every value is wrong and long."""
    long = "\u00e9" * 70
    device = dict.fromkeys(("device_id", "device_ip", "device_port", "host_port", "device_vnic_port", "backup_device_port", "backup_device_ip",
                            "super_device_id", "rank_id"), long)
    server = {"server_id": long, "host_ip": long, "container_ip": 7, "device": [device] * devices + [long]}
    pods = [{"super_pod_id": "", "server_list": [{"server_id": long + "x"}]}] * servers
    return {"status": long, "version": "1.2", "server_count": long, "server_list": [server] * servers + [long], "super_pod_list": pods}


@pytest.mark.parametrize("table", [worst(200, 16), dict(worst(200, 16), version="1.0")])
def test_the_size_of_a_result_is_limited(table):
    problems = checks.check(table, checks.READERS)
    assert len(json.dumps(as_dicts(problems))) < 256 * 1024
    assert {problem.rule for problem in problems} > {"device_id", "device_ip", "ports", "host_ip", "server_id"}
    reported = [problem for problem in problems if problem.rule == "device_ip" and problem.reader == "hccl"]
    assert reported[-1] == Problem("device_ip", "error", "3395 more problems of the rule device_ip", reader="hccl", error_code="EI0014")
    assert len(reported) == checks.FEW + 1


def test_every_error_code_has_a_text():
    codes = {rule.code for rules in checks.RULES["hccl"].values() for rule in rules if rule.code}
    assert codes == set(checks.ERROR_TEXTS)
    assert checks.error_texts(checks.check(BAD) + checks.check_text("{")) == {
        "EI0004": "Failed to parse the ranktable file %s. Reason: %s",
        "EI0014": "Value %s for ranktable variable %s is invalid. Expected value: %s."}
    assert checks.error_texts([]) == {}


def test_a_problem_has_its_path():
    for mutation in MUTATIONS:
        for problem in checks.check(mutation.apply(mutation.table()), [mutation.reader], mutation.product):
            assert problem.where or "more problems of the rule" in problem.message, mutation


def test_a_table_is_compared_with_hosts():
    nodes = {"n1": {"devices": [{"id": number, "address": tables.address(0, number), "errors": []} for number in range(2)]},
             "n2": {"devices": [{"id": number, "address": tables.address(1, number), "errors": []} for number in range(2)]}}
    verdict = checks.examine_document(TABLE, ["hccl"])
    assert checks.against_hosts(verdict, nodes).problems == []
    del nodes["n2"]
    assert [(problem.rule, problem.severity) for problem in checks.against_hosts(verdict, nodes).problems] == [("drift_host", "error")]
    assert checks.against_hosts(verdict, nodes, {"n1": tables.server_id(1)}).problems[0].rule == "drift_address"


def test_a_document_that_cannot_be_compared_with_hosts():
    none = checks.examine_text("{", ["hccl"])
    assert checks.against_hosts(none, {}) is none
    verdict = checks.examine_document({"server_list": [{"device": []}]}, ["clusterd"])
    assert [problem.message for problem in checks.against_hosts(verdict, {}).problems][-1] == (
        "the table cannot be compared with the hosts: server_list[0].server_id is missing")
