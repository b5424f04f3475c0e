from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.host_classes import LeftOut
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.fabric import of_verdict, with_output
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import finding, of_host, of_npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import line

HOSTS = ["n1", "n2", "n3", "n4"]


def pair(source: str, target: str, device: int, value: object = 195.0) -> dict:
    made = {"id": f"r1/{source}-{target}-{device}", "kind": "rdma", "status": "ok" if value else "failed", "operation": "write", "measure": "bandwidth",
            "source": {"host": source, "device": device}, "target": {"host": target, "device": device},
            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}] if value else []}
    return made if value else {**made, "error": {"code": "retry_exceeded", "message": "it broke"}}


def diagnosed(bad=(), value: object = 50.0, without=(), left_out=(), **options) -> tuple:
    """Return the verdict on a ring of four hosts with two NPUs each; all pairs of the NPUs ``bad`` have ``value``."""
    results: dict = {host: {"run_id": "r1", "state": "finished", "measurements": []} for host in HOSTS}
    for place, source in enumerate(HOSTS):
        for device in (0, 1):
            for target in (HOSTS[(place + 1) % 4], HOSTS[(place + 2) % 4]):
                of = value if {(source, device), (target, device)} & set(bad) else 195.0
                if not {source, target} & set(without):
                    results[source]["measurements"].append(pair(source, target, device, of))
    results.update({host: options.pop(host, None) for host in without})
    found = diagnose(HOSTS, results, left_out=[LeftOut(**entry) for entry in left_out], **options)
    return of_verdict({**found.as_dict(), "changed": False}, left_out)


def summaries(found: list) -> list:
    return [f"{one.cause} {one.severity} {one.component.kind} {one.component.name}: {one.message}" for one in found]


def test_a_good_verdict_has_no_findings() -> None:
    assert diagnosed() == ([], {"n1": "good", "n2": "good", "n3": "good", "n4": "good"})


def test_a_slow_npu_is_a_finding_with_its_evidence() -> None:
    found, classes = diagnosed([("n3", 1)])
    assert classes == {"n1": "good", "n2": "good", "n3": "slow", "n4": "good"}
    assert summaries(found) == ["slow_npu slow npu n3 NPU 1: it is slow with 4 of 4 proven-good partners: n1, n2, n4, 74 % below normal"]
    assert (found[0].hosts, found[0].devices, found[0].stage) == (("n3",), (("n3", 1),), "check_fabric")
    assert found[0].evidence[0] == "n1 NPU 1 to n3 NPU 1: 50 Gbit/s, normal is 195"
    assert found[0].next_step == "On n3: hccn_tool -i 1 -optical -g"


def test_a_failed_host_is_one_finding() -> None:
    found, classes = diagnosed([("n3", 0), ("n3", 1)], None)
    assert classes["n3"] == "failed"
    assert summaries(found) == ["failed_host failed host n3: all 2 NPUs fail with 8 of 8 proven-good partners: n1, n2, n4 (retry_exceeded)"]
    assert found[0].devices == (("n3", 0), ("n3", 1))


def test_an_unreachable_host_is_one_finding() -> None:
    found, classes = diagnosed(without=["n2"], n2={"unreachable": True, "msg": "No route to host"})
    assert classes["n2"] == "unreachable"
    assert summaries(found) == ["unreachable_host failed host n2: Ansible did not reach it: No route to host"]


def test_a_host_without_a_result_is_not_measured() -> None:
    found, classes = diagnosed(without=["n2"])
    assert classes["n2"] == "not_measured"
    assert summaries(found) == ["not_measured unknown host n2: the host returned no result"]


def test_a_run_that_did_not_start_is_a_finding_of_its_host() -> None:
    busy = {"failed": True, "msg": "another run measures here", "error": {"code": "host_in_use", "message": "another run measures here"}}
    found, classes = diagnosed(without=["n2"], n2=busy)
    assert classes["n2"] == "busy"
    assert summaries(found) == ["busy_host unknown host n2: the run did not begin on this host: another run measures here"]


def test_refused_resume_is_a_finding_about_the_run() -> None:
    message = "run r0 cannot be resumed: its options are not those of this run"
    refused = {"failed": True, "msg": f"{message}: omit resume to measure all pairs", "error": {"code": "resume_refused", "message": message}}
    results = dict.fromkeys(HOSTS, refused)
    found, classes = of_verdict({**diagnose(HOSTS, results).as_dict(), "changed": False}, starts=results)
    assert classes == {"n1": "not_measured", "n2": "not_measured", "n3": "not_measured", "n4": "not_measured"}
    assert [line(one) for one in found] == [f"failed run: {message} -> Run again without check_fabric_resume to measure all pairs"]
    assert (found[0].hosts, found[0].evidence) == (("n1", "n2", "n3", "n4"), ("On n1, n2, n3, n4",))


def test_left_out_npus_explain_the_class_of_their_host() -> None:
    left_out = [{"host": "n3", "device": number, "code": "device_failed", "message": "Command execute failed!"} for number in (4, 5)]
    left_out += [{"host": "n2", "device": 7, "code": "device_busy", "message": "it is at work, pid 12"},
                 {"host": "n1", "device": None, "code": "tool_missing", "message": "roce_test is missing"},
                 {"host": "n4", "device": 3, "code": "address_duplicate", "message": "its address 10.0.0.1 is also that of n9 NPU 3"}]
    found, classes = diagnosed(left_out=left_out)
    assert classes == {"n1": "not_measured", "n2": "busy", "n3": "failed", "n4": "failed"}
    assert summaries(found) == [
        "device_error failed npu n3 NPUs 4-5: Command execute failed!",
        "busy_npu unknown npu n2 NPU 7: it is at work, pid 12",
        "tool_missing failed host n1: roce_test is missing",
        "address_conflict failed npu n4 NPU 3: its address 10.0.0.1 is also that of n9 NPU 3"]


def test_left_out_npus_do_not_explain_a_worse_class() -> None:
    left_out = [{"host": "n2", "device": 7, "code": "device_busy", "message": "it is at work, pid 12"}]
    found, classes = diagnosed(without=["n2"], left_out=left_out, n2={"state": "running", "measurements": []})
    assert classes["n2"] == "failed"
    assert [one.cause for one in found] == ["busy_npu", "failed_host"]


COMPONENT = {"kind": "path", "name": "path L3-L5", "class": "slow", "certain": True, "hosts": ["n9", "n10"], "evidence": ["n9 NPU 0 to n10 NPU 0: 155.9"],
             "message": "path L3-L5: 32 of its pairs are slow, 20 % below normal"}


def test_a_bad_path_is_a_finding_of_the_fabric() -> None:
    found, classes = of_verdict({"verdicts": [{"host": "n9", "class": "good", "message": "m"}], "components": [COMPONENT]})
    assert classes == {"n9": "good"}
    assert [line(one) for one in found] == ["slow path L3-L5: 32 of its pairs are slow, 20 % below normal -> "
                                            "Compare the ports, PFC, ECN and MTU of the switches on it with those of another one"]
    assert (found[0].component.kind, found[0].hosts, found[0].evidence) == ("path", ("n9", "n10"), ("n9 NPU 0 to n10 NPU 0: 155.9",))


@pytest.mark.parametrize(("kind", "state", "cause"), [("rail", "failed", "failed_fabric"), ("leaf", "slow", "slow_fabric"), ("pair", "busy", "busy_npu"),
                                                      ("super_pod", "failed", "failed_fabric"), ("of_a_newer_release", "slow", "slow_fabric")])
def test_components_keep_their_kind(kind: str, state: str, cause: str) -> None:
    [found], _classes = of_verdict({"components": [{**COMPONENT, "kind": kind, "class": state}]})
    assert (found.cause, found.component.kind) == (cause, kind if kind != "of_a_newer_release" else "fabric")


def test_the_whole_fabric_is_one_finding() -> None:
    whole = {"kind": "fabric", "name": "the whole fabric", "class": "slow", "hosts": ["n1", "n2"],
             "message": "the whole fabric, 32 NPUs of 2 hosts, is slow: hardly a pair is good"}
    found, classes = of_verdict({"verdicts": [{"host": host, "class": "slow", "message": "m"} for host in ("n1", "n2")], "components": [whole]})
    assert summaries(found) == ["slow_fabric slow fabric the whole fabric: 32 NPUs of 2 hosts are slow: hardly a pair is good"]
    assert classes == {"n1": "slow", "n2": "slow"}


def test_regressions_and_problems_are_findings() -> None:
    result = {
        "verdicts": [{"host": "n3", "class": "not_measured", "message": "it reported 234 Gbit/s; no pair"}, {"host": "n5", "class": "good", "message": "m"}],
        "regressions": [{"host": "n5", "device": 5, "before": 196.1, "now": 181.4, "unit": "Gbit/s", "drop_percent": 7.5}, {"host": "n5"}],
        "problems": [{"rule": "above_line_rate", "severity": "error", "host": "n3", "message": "it reported 234 Gbit/s", "hint": "compare the clock"},
                     {"rule": "line_rates_differ", "severity": "warning", "host": "n5", "message": "it reported 150 Gbit/s"}]}
    found, classes = of_verdict(result)
    assert summaries(found) == ["answer_not_understood unknown host n3: it reported 234 Gbit/s",
                                "answer_not_understood note host n5: it reported 150 Gbit/s",
                                "regression slow npu n5 NPU 5: 181.4 Gbit/s, 7.5 % below the baseline of 196.1"]
    assert (found[0].evidence, classes) == (("compare the clock",), {"n3": "not_measured", "n5": "good"})


def test_a_failed_verdict_is_a_finding_of_the_run() -> None:
    found, classes = of_verdict({"failed": True, "msg": "relative_floor is 2, it must lie between 0 and 1"})
    assert (summaries(found), classes) == (["failed_task failed run run: Diagnose the fabric: relative_floor is 2, it must lie between 0 and 1"], {})


@pytest.mark.parametrize("result", [None, 3, "text", [], {}, {"skipped": True}, {"verdicts": "x", "components": {"a": 1}, "problems": 7, "regressions": [3]},
                                    {"components": [{}, {"class": "slow"}, {"class": ["x"], "name": "y"}], "verdicts": [{"host": ["n1"]}, None]}])
def test_malformed_results_have_no_findings(result: object) -> None:
    assert of_verdict(result, result) == ([], {})


def test_an_unknown_class_counts_as_not_measured() -> None:
    found, classes = of_verdict({"verdicts": [{"host": "n1", "class": "superb", "message": "m"}]})
    assert (summaries(found), classes) == (["not_measured unknown host n1: m"], {"n1": "not_measured"})


def test_a_missing_perf_tool_has_the_playbook_as_next_step() -> None:
    left_out = [{"host": "n1", "device": number, "code": "tool_missing", "message": "iperf3 is not installed"} for number in (0, 1)]
    found, _classes = of_verdict({"verdicts": [{"host": "n1", "class": "not_measured", "message": "NPU 0, 1 were left out"}]}, left_out, perf_tool=True)
    assert summaries(found) == ["perf_tool_missing failed npu n1 NPUs 0-1: iperf3 is not installed"]
    assert found[0].next_step == "ansible-playbook hccn.cluster.perf_tools -e hccn_hosts=n1"


def test_next_step_on_a_host_without_npus() -> None:
    component = {"kind": "npu", "name": "n3 NPU 1", "class": "slow", "message": "n3: NPU 1 is slow", "hosts": ["n3"], "devices": [{"host": "n3", "device": 1}]}
    verdict = {"verdicts": [{"host": "n3", "class": "slow", "message": "NPU 1 is slow"}], "components": [component]}
    steps = {perf_tool: [one.next_step for one in of_verdict(verdict, perf_tool=perf_tool)[0]] for perf_tool in (False, True)}
    assert steps == {False: ["On n3: hccn_tool -i 1 -optical -g"], True: ["On n3: ip -s link"]}


def test_failures_have_the_output_of_a_failed_pair():
    npus = [("n1", 0), ("n2", 1), ("n3", 2)]
    found = [finding("failed_npu", of_npus([npu]), "it fails", devices=[npu]) for npu in npus]
    found += [finding("slow_npu", of_npus([npus[0]]), "it is slow", devices=[npus[0]]), finding("failed_host", of_host("n2"), "it fails", ["n2"])]
    record = {"source": {"host": "n1", "device": 0}, "target": {"host": "n2", "device": 1}, "error": {"code": "x", "output": "Failed to connect\x1b[2J\nend"}}
    outputs = [one.output for one in with_output(found, [{"status": "ok"}, record])]
    assert outputs == ["Failed to connect?[2J\nend", "Failed to connect?[2J\nend", "", "", "Failed to connect?[2J\nend"]
