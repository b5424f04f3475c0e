"""Studies of groups of hosts with a simulated collective whose bandwidth is set by the test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective_study
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective import Outcome
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_plan import Request
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_study import Study, StudyOptions
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS, NcclOptions

EIGHT = tuple("10.0.0.%d" % number for number in range(1, 9))
NAMES = tuple("n%d" % number for number in range(1, 9))


class Hall:
    """A simulated cluster. ``speed`` returns the GB/s of a request, None for one that fails."""

    def __init__(self, speed: "Callable[[Request], float | None]") -> None:
        self.speed = speed
        self.asked: List[Request] = []

    def run(self, request: Request) -> Outcome:
        self.asked.append(request)
        speed = self.speed(request)
        samples = [{"size_bytes": size, "busbw_gbyte_s": (speed or 0) * share} for size, share in ((8192, 0.1), (16384, 1.0))]
        fields: Dict[str, Any] = {"hosts": list(request.names), "samples": samples[-1:] if request.options.begin == "16384" else samples}
        return Outcome(record("collective", "%s/%d" % (request.run_id, request.attempt), "ok" if speed else "failed", **fields))

    def study(self, request: "Request | None" = None, **wanted: Any) -> Study:
        return collective_study.run(request or REQUEST, StudyOptions(**wanted), self.run)


REQUEST = Request(CollectiveOptions(ranks_per_host=2, end="16K", root=15), EIGHT, NAMES, run_id="r")


def slow_with(*bad: str) -> "Callable[[Request], float]":
    return lambda request: 50.0 if set(bad) <= set(request.names) else 100.0


def test_scaling_measures_powers_of_two() -> None:
    hall = Hall(lambda request: 100.0)
    study = hall.study(groups=("all", "scaling"))
    assert [request.names for request in hall.asked] == [NAMES, NAMES[:2], NAMES[:4]]
    assert [request.attempt for request in hall.asked] == [1, 2, 3]
    assert [request.context for request in hall.asked] == [{"group": "all"}, {"group": "2 hosts"}, {"group": "4 hosts"}]
    assert [(request.check_hosts, request.allow_busy, request.options.root) for request in hall.asked] == [
        (True, False, 15), (False, True, 0), (False, True, 0)]
    assert (study.slow, study.limit_gbyte_s, study.findings, study.failed) == (False, 70.0, [], None)


@pytest.mark.parametrize(("request_", "variable"), [
    (REQUEST, "HCCL_TEST_USE_DEVS"),
    (replace(REQUEST, options=NcclOptions(ranks_per_host=2, end="64M", gpus_per_process=2), tool=NCCL_TESTS), "CUDA_VISIBLE_DEVICES")])
def test_rails_measure_one_device_per_host(request_: Request, variable: str) -> None:
    hall = Hall(lambda request: 30.0 if request.environment.get(variable) == "1" else 100.0)
    study = hall.study(request_, groups=("rails",))
    assert [(request.options.ranks_per_host, dict(request.environment), len(request.hosts)) for request in hall.asked] == [
        (2, {}, 8), (1, {variable: "0"}, 8), (1, {variable: "1"}, 8)]
    assert [getattr(request.options, "gpus_per_process", 1) for request in hall.asked[1:]] == [1, 1]
    assert [found["message"] for found in study.findings] == ["device 1 of all hosts: 30 GB/s, the other devices: 100 GB/s"]
    assert [(kept["samples"][0]["component"], "evidence" in kept["samples"][0]) for kept in collective_study.finding_records(study, "r")] == [
        ({"kind": "rail", "name": "rail 1"}, False)]


def test_slow_rail_is_searched_for_its_slow_host() -> None:
    def speed(request: Request) -> float:
        return 30.0 if request.environment.get("HCCL_TEST_USE_DEVS") == "3" and "n6" in request.names else 100.0

    request = replace(REQUEST, options=replace(REQUEST.options, ranks_per_host=4, root=0))
    study = Hall(speed).study(request, groups=("rails",))
    assert [(found["kind"], found["device"], found["message"]) for found in study.findings] == [
        ("rail", 3, "device 3 of all hosts: 30 GB/s, the other devices: 100 GB/s")]
    hall = Hall(speed)
    found = hall.study(request, groups=("rails",), isolate=True).findings
    assert [(one["kind"], one["device"], one["hosts"]) for one in found] == [("group", 3, ["n6"])]
    assert found[0]["message"] == "device 3: n6: groups with it are slow, other groups are good"
    sample = collective_study.finding_records(collective_study.Study(findings=found), "r")[0]["samples"][0]
    assert (sample["component"], sample["message"]) == (
        {"kind": "host", "name": "n6"}, "device 3: groups with it are slow, other groups are good")
    assert {one.environment.get("HCCL_TEST_USE_DEVS") for one in hall.asked if one.context["group"].startswith("bisection")} == {"3"}


def test_slow_host_is_named() -> None:
    hall = Hall(slow_with("n3"))
    study = hall.study(groups=("all", "scaling"), isolate=True)
    assert (study.slow, study.limit_gbyte_s) == (True, 70.0)
    finding = study.findings[0]
    assert (finding["kind"], finding["hosts"]) == ("group", ["n3"])
    assert finding["message"] == "n3: groups with it are slow, other groups are good"
    assert finding["evidence"][0].startswith("slow over n3, ") and finding["evidence"][0].endswith(": 50 GB/s")
    assert len(hall.asked) <= 16
    search = [request for request in hall.asked if request.context["group"] == "bisection"]
    assert {(request.options.begin, request.options.end) for request in search} == {("16384", "16384")}
    assert all(list(request.hosts) == ["10.0.0." + name[1:] for name in request.names] for request in search)
    kept = collective_study.finding_records(study, "r")[0]
    assert (kept["kind"], kept["id"], kept["status"], kept["hosts"]) == ("finding", "r/finding/collective/1", "failed", ["n3"])
    sample = dict(kept["samples"][0])
    assert sample.pop("evidence") == finding["evidence"]
    assert sample == {"component": {"kind": "host", "name": "n3"}, "cause": "collective_slow", "severity": "slow", "hosts": ["n3"],
                      "message": "groups with it are slow, other groups are good", "stage": "check_collective"}
    assert "source" not in kept


def test_slow_pair_is_named() -> None:
    study = Hall(slow_with("n2", "n7")).study(isolate=True)
    assert study.findings[0]["hosts"] == ["n2", "n7"]
    assert study.findings[0]["message"] == "n2, n7: groups with all of them are slow, other groups are good"
    assert [(kept["hosts"], kept["samples"][0]["component"]["name"]) for kept in collective_study.finding_records(study, "r")] == [
        (["n2", "n7"], "n2, n7")]


def test_without_isolate_no_hosts_are_named() -> None:
    study = Hall(slow_with("n8")).study(groups=("scaling",))
    assert (study.slow, study.findings) == (True, [])


def test_floor_needs_no_other_group() -> None:
    hall = Hall(lambda request: 100.0)
    assert hall.study(floor_gbyte_s=120.0).slow is True
    assert len(hall.asked) == 1
    study = Hall(lambda request: 100.0).study(floor_gbyte_s=120.0, isolate=True)
    assert [found["kind"] for found in study.findings] == ["everywhere"]
    assert [kept["samples"][0]["component"] for kept in collective_study.finding_records(study, "r")] == [{"kind": "cluster", "name": "cluster"}]


def test_failed_group_ends_the_study() -> None:
    hall = Hall(lambda request: None if len(request.names) == 4 else 100.0)
    study = hall.study(groups=("scaling", "rails"))
    assert [len(request.names) for request in hall.asked] == [8, 2, 4]
    assert study.failed is study.outcomes[-1] and study.limit_gbyte_s is None


def test_failed_group_in_the_search_is_reported() -> None:
    hall = Hall(lambda request: None if request.names == NAMES[:4] else slow_with("n3")(request))
    study = hall.study(isolate=True)
    assert study.failed is not None
    assert study.findings[0]["stopped"] == "the collective failed over n1, n2, n3, n4"


@pytest.mark.parametrize(("hosts", "wanted", "message"), [
    (EIGHT, {"relative_floor": 1.0}, "relative_floor is 1, it must be between 0 and 1"),
    (EIGHT, {"floor_gbyte_s": 0.0}, "floor_gbyte_s is 0, it must be above 0"),
    (EIGHT, {"budget": 0}, "isolate_budget is 0, it must be 1 or more"),
    ((), {"groups": ("scaling",)}, "groups and isolate need 2 or more hosts, but hosts has 0"),
    (EIGHT[:1], {"isolate": True}, "groups and isolate need 2 or more hosts, but hosts has 1"),
])
def test_invalid_options_are_rejected(hosts: "tuple[str, ...]", wanted: "dict[str, Any]", message: str) -> None:
    with pytest.raises(InputError) as caught:
        Hall(lambda request: 1.0).study(replace(REQUEST, hosts=hosts, names=hosts), **wanted)
    assert caught.value.message == message


@pytest.mark.parametrize("floor, slow", [(99.9, False), (100.0, False), (100.1, True)])
def test_log_is_compared_with_the_floor_at_its_largest_size(floor: float, slow: bool) -> None:
    study = collective_study.of_log(Hall(lambda request: 100.0).run(REQUEST), floor)
    assert (study.slow, study.limit_gbyte_s, study.findings, study.failed) == (slow, floor, [], None)


def test_failed_log_is_not_slow() -> None:
    failed = Hall(lambda request: None).run(REQUEST)
    study = collective_study.of_log(failed, 5.0)
    assert (study.slow, study.limit_gbyte_s, study.failed) == (False, None, failed)
