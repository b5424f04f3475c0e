from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import causes
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import (
    KINDS,
    Component,
    Finding,
    finding,
    of_host,
    of_npus,
    worst_first,
)
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import line

LINK = finding("link_down", of_npus([("npu3", 5)]), "the link is down.", devices=[("npu3", 5)], evidence=["hccn_tool: link down"], stage="bring_up")
SAMPLE = {
    "component": {"kind": "npu", "name": "npu3 NPU 5"},
    "cause": "link_down",
    "severity": "failed",
    "message": "the link is down",
    "hosts": ["npu3"],
    "devices": [{"host": "npu3", "device": 5}],
    "evidence": [{"code": "text", "message": "hccn_tool: link down"}],
    "next_step": "On npu3: hccn_tool -i 5 -optical -g",
    "stage": "bring_up",
}


def test_a_finding_survives_conversion_to_a_sample() -> None:
    assert LINK.as_sample() == SAMPLE
    assert Finding.of_sample(SAMPLE) == LINK
    assert finding("no_report", Component("run", "run"), "the callback is off", next_step="").as_sample() == {
        "component": {"kind": "run", "name": "run"}, "cause": "no_report", "severity": "note", "message": "the callback is off"}


def test_a_finding_is_one_line() -> None:
    assert line(LINK) == "failed npu3 NPU 5: the link is down -> On npu3: hccn_tool -i 5 -optical -g"
    assert line(finding("collective_skipped", Component("run", "run"), "the fabric is not clean")) == "note run: the fabric is not clean"


def test_the_record_has_the_status_of_its_severity() -> None:
    kept = LINK.as_record(3)
    assert (kept["kind"], kept["id"], kept["status"], kept["hosts"], kept["samples"]) == ("finding", "conclusion/finding/3", "failed", ["npu3"], [SAMPLE])
    statuses = [finding("not_measured", of_host("n1"), "cut off", severity=severity).as_record(1)["status"] for severity in causes.SEVERITIES]
    assert statuses == ["failed", "failed", "failed", "not_run", "ok"]


@pytest.mark.parametrize("sample", [
    None, 3, "text", [], {}, {"component": "npu3"}, {**SAMPLE, "component": {"kind": "npu"}}, {**SAMPLE, "component": {"kind": "galaxy", "name": "x"}},
    {**SAMPLE, "component": {"kind": ["npu"], "name": "x"}}, {**SAMPLE, "cause": None}, {**SAMPLE, "message": "  "}, {**SAMPLE, "message": 4},
])
def test_invalid_samples_are_not_findings(sample: object) -> None:
    assert Finding.of_sample(sample) is None


def test_malformed_parts_of_a_sample_are_dropped() -> None:
    odd = {**SAMPLE, "severity": ["x"], "hosts": "npu3", "devices": [{"host": "npu3", "device": True}, 5, {"host": 1}], "evidence": {"a": 1}, "stage": 7,
           "next_step": None, "message": "down\x1b[31m\nnow"}
    found = Finding.of_sample(odd)
    assert found == Finding("link_down", "failed", Component("npu", "npu3 NPU 5"), "down?[31m?now")


def test_a_cause_of_a_newer_release_is_kept() -> None:
    found = Finding.of_sample({**SAMPLE, "cause": "cosmic_ray", "severity": "degraded"})
    assert (found.cause, found.severity, found.next_step) == ("cosmic_ray", "degraded", "On npu3: hccn_tool -i 5 -optical -g")


def test_lengths_are_bounded() -> None:
    found = finding("device_error", Component("npu", "n" * 300), "x " * 3000, devices=[(f"h{number}", 0) for number in range(5000)],
                    evidence=[f"line {number}" for number in range(40)])
    assert (len(found.component.name), len(found.message) <= 2000, len(found.hosts), len(found.devices), len(found.evidence)) == (200, True, 4096, 4096, 16)
    assert found.hosts[:3] == ("h0", "h1", "h2")


def test_component_names_of_npus() -> None:
    assert npus([5]) == "NPU 5"
    assert npus([7, 0, 1, 2, 3, 2]) == "NPUs 0-3, 7"
    assert of_npus([("npu10", 2), ("npu9", 0)]).name == "npu9 NPU 0, npu10 NPU 2"
    assert of_npus([("npu3", number) for number in range(8)]) == ("npu", "npu3 NPUs 0-7")
    assert of_host("a", "b", "c", "d", "e", "f") == ("host", "a, b, c, d and 2 more")


def test_the_worst_comes_first_in_natural_order() -> None:
    found = [finding("no_report", Component("run", "run"), "a"), finding("slow_npu", of_host("n10"), "b"), finding("slow_npu", of_host("n2"), "c"),
             finding("not_measured", of_host("n1"), "d"), finding("tls_differs", of_host("n3"), "e"), finding("mtu_differs", of_host("n4"), "f")]
    assert [one.message for one in worst_first(found)] == ["e", "c", "b", "f", "d", "a"]


def test_every_kind_has_a_sample() -> None:
    for kind in KINDS:
        assert Finding.of_sample({"component": {"kind": kind, "name": "x"}, "cause": "slow_fabric", "message": "y"}).component == (kind, "x")
