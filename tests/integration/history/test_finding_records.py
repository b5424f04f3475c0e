"""Records of findings and conclusions match the published schema for all causes, kinds and severities."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.record import KINDS as RECORD_KINDS
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective_study
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import conclusion
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.causes import CAUSES, SEVERITIES
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import KINDS, STAGES, Component, finding
from tests.lib import schemas

SCHEMA = schemas.documents()["urn:hccn.cluster:measurement:1"]


def sample_of(kind: str) -> dict:
    [rule] = [rule for rule in SCHEMA["allOf"] if rule["if"]["properties"].get("kind") == {"const": kind}]
    return rule["then"]["properties"]["samples"]["items"]["properties"]


def test_schema_has_the_values_of_the_code() -> None:
    found, end = sample_of("finding"), sample_of("conclusion")
    assert tuple(SCHEMA["properties"]["kind"]["enum"]) == RECORD_KINDS
    assert tuple(found["component"]["properties"]["kind"]["enum"]) == KINDS
    assert (tuple(found["severity"]["enum"]), tuple(found["stage"]["enum"])) == (SEVERITIES, STAGES)
    assert (tuple(end["result"]["enum"]), tuple(end["fail_on"]["enum"])) == (conclusion.RESULTS, tuple(conclusion.FAILING_RESULTS))
    assert tuple(end["hosts"]["propertyNames"]["enum"]) == conclusion.CLASSES


@pytest.mark.parametrize("cause", CAUSES)
def test_records_of_every_cause(cause: str) -> None:
    for severity in SEVERITIES:
        one = finding(cause, Component("npu", "n1 NPU 0"), "it is so", devices=[("n1", 0)], evidence=["a"], stage="bring_up", severity=severity)
        assert schemas.violations("measurement/1", one.as_record(1)) == []
    assert schemas.violations("measurement/1", finding(cause, Component("run", "run"), "it is so").as_record(2)) == []


@pytest.mark.parametrize("fail_on", conclusion.FAILING_RESULTS)
def test_records_of_a_conclusion(fail_on: str) -> None:
    one = finding("link_down", Component("npu", "n1 NPU 0"), "it is down", devices=[("n1", 0)])
    for hosts, found in ((["n1", "n2"], [one]), (["n1"], []), ([], [])):
        for record in conclusion.conclude(hosts, {}, found, fail_on).as_records():
            assert schemas.violations("measurement/1", record) == []


def test_records_of_a_collective() -> None:
    findings = [{"kind": "group", "hosts": ["n3"], "message": "n3: slow", "limit_gbyte_s": 70.0, "evidence": ["slow over n3: 50 GB/s"]},
                {"kind": "rail", "device": 1, "hosts": ["n1", "n2"], "message": "device 1 of all hosts: 30 GB/s", "evidence": []},
                {"kind": "size", "hosts": ["n1", "n2"], "message": "any 2 hosts together are slow", "limit_gbyte_s": 70.0, "evidence": []}]
    records = collective_study.finding_records(collective_study.Study(findings=findings), "r")
    assert [schemas.violations("measurement/1", record) for record in records] == [[], [], []]


def test_schema_refuses_invalid_findings() -> None:
    good = finding("link_down", Component("npu", "n1 NPU 0"), "it is down").as_record(1)
    [sample] = good["samples"]
    for changed in ({"severity": "bad"}, {"component": "n1"}, {"message": ""}, {"cause": "Link Down"}, {"devices": [{"host": "n1"}]}):
        assert schemas.violations("measurement/1", {**good, "samples": [{**sample, **changed}]}) != []
    assert schemas.violations("measurement/1", {**good, "samples": []}) != []
