from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Component, finding, of_host, of_npus

HOSTS = ["npu1", "npu2", "npu3", "npu10"]
RUN = Component("run", "run")
LINK = finding("link_down", of_npus([("npu3", 5)]), "the link is down", devices=[("npu3", 5)])
BUSY = finding("busy_npu", of_npus([("npu2", 0)]), "it is at work", devices=[("npu2", 0)])
PATH = finding("slow_fabric", Component("path", "path L1-L2"), "32 of its pairs are slow", hosts=["npu1", "npu2"])
LOST = finding("unreachable_host", of_host("npu2"), "no route to host", hosts=["npu2"])
MTU = finding("mtu_differs", of_host("npu1"), "the MTU is 1500, that of the others 9000", hosts=["npu1"])
NOTE = finding("no_report", RUN, "the callback is off")


def test_hosts_without_findings_are_good() -> None:
    found = conclude(HOSTS, {}, [])
    assert (found.result, found.fails, found.counts, found.hosts) == ("good", False, {"good": 4}, {"good": ["npu1", "npu2", "npu3", "npu10"]})
    assert found.headline() == "Result: good. 4 hosts: 4 good."
    assert conclude(["n1"], {}, [NOTE], "any").headline() == "Result: good. 1 host: 1 good."


def test_a_finding_worse_than_the_verdict_decides_the_class() -> None:
    found = conclude(HOSTS, {"npu3": "not_measured", "npu2": "busy"}, [LINK])
    assert found.hosts == {"failed": ["npu3"], "busy": ["npu2"], "good": ["npu1", "npu10"]}
    assert (found.result, found.fails) == ("failed", True)
    assert found.headline() == "Result: failed. 4 hosts: 1 failed, 1 busy, 2 good."


def test_a_verdict_without_finding_decides_the_class() -> None:
    found = conclude(HOSTS, {"npu1": "slow", "npu2": "not_measured", "npu3": "of_a_newer_release"}, [])
    assert (found.result, found.counts) == ("slow", {"slow": 1, "not_measured": 2, "good": 1})
    assert found.headline() == "Result: slow. 4 hosts: 1 slow, 2 not measured, 1 good."


def test_a_lost_host_is_unreachable_and_counts_as_failed() -> None:
    found = conclude(HOSTS, {"npu2": "failed"}, [LOST])
    assert (found.result, found.counts) == ("failed", {"unreachable": 1, "good": 3})
    assert [conclude(HOSTS, {}, [LOST], fail_on).fails for fail_on in ("never", "failed", "slow", "any")] == [False, True, True, True]


@pytest.mark.parametrize(("one", "result", "fails"), [
    (LINK, "failed", [False, True, True, True]),
    (PATH, "slow", [False, False, True, True]),
    (MTU, "degraded", [False, False, True, True]),
    (BUSY, "busy", [False, False, False, True]),
    (finding("not_measured", of_host("npu1"), "cut off", hosts=["npu1"]), "not_measured", [False, False, False, True]),
    (finding("failed_task", RUN, "the plan is refused"), "failed", [False, True, True, True]),
    (NOTE, "good", [False, False, False, False]),
])
def test_the_worst_finding_decides_result_and_failure(one: object, result: str, fails: list) -> None:
    assert conclude(HOSTS, {}, [one]).result == result
    assert [conclude(HOSTS, {}, [one], fail_on).fails for fail_on in ("never", "failed", "slow", "any")] == fails


def test_a_bad_path_makes_no_host_bad() -> None:
    found = conclude(HOSTS, {}, [PATH])
    assert found.counts == {"good": 4}
    assert found.headline() == "Result: slow. 4 hosts: 4 good."


def test_failed_counts_more_than_busy_on_a_host() -> None:
    assert conclude(["npu2"], {"npu2": "busy"}, [BUSY]).counts == {"busy": 1}
    broken = finding("link_down", of_npus([("npu2", 1)]), "the link is down", devices=[("npu2", 1)])
    assert conclude(["npu2"], {"npu2": "busy"}, [BUSY, broken]).counts == {"failed": 1}


def test_a_run_without_hosts_is_not_measured() -> None:
    assert conclude([], {}, []).headline() == "Result: not measured."
    none = finding("no_hosts", RUN, "hccn_hosts is npus, which matches no host")
    assert (conclude([], {}, [none]).headline(), conclude([], {}, [none]).fails) == ("Result: failed.", True)


def test_an_unknown_fail_on_is_refused() -> None:
    with pytest.raises(InputError, match="fail_on is 'sometimes', it must be one of never, failed, slow, any"):
        conclude(HOSTS, {}, [], "sometimes")


def test_content_of_artifact_and_records() -> None:
    found = conclude(HOSTS, {}, [NOTE, LINK])
    whole = found.as_dict()
    assert [sample["cause"] for sample in whole.pop("findings")] == ["link_down", "no_report"]
    assert whole == {"result": "failed", "fail_on": "slow", "fails": True, "counts": {"failed": 1, "good": 3}, "findings_count": 2,
                     "hosts": {"failed": ["npu3"], "good": ["npu1", "npu2", "npu10"]}, "message": "Result: failed. 4 hosts: 1 failed, 3 good."}
    records = found.as_records()
    assert [(one["kind"], one["id"], one["status"]) for one in records] == [
        ("finding", "conclusion/finding/1", "failed"), ("finding", "conclusion/finding/2", "ok"), ("conclusion", "conclusion/run", "failed")]
    assert records[-1]["samples"] == [{
        "result": "failed", "fail_on": "slow", "counts": {"failed": 1, "good": 3}, "hosts": {"failed": ["npu3"], "good": ["npu1", "npu2", "npu10"]},
        "message": "Result: failed. 4 hosts: 1 failed, 3 good."}]
    assert conclude(HOSTS, {}, [LINK], "never").as_record()["status"] == "ok"


def test_the_artifact_is_bounded() -> None:
    many = [finding("link_down", of_npus([(f"n{number}", 5)]), "the link is down", devices=[(f"n{number}", 5)]) for number in range(300)]
    whole = conclude([f"n{number}" for number in range(300)], {}, many).as_dict()
    assert (len(whole["findings"]), whole["findings_count"], whole["counts"]) == (100, 300, {"failed": 300})
