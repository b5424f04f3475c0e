from __future__ import annotations

from typing import Any

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.pair_plan import pair_plan
from ansible_collections.hccn.cluster.plugins.filter.plan_review import FilterModule

plan_review = FilterModule().filters()["plan_review"]

HOSTS = [{"host": f"n{place}", "control_address": f"192.0.2.{place}", "control_port": 18514,
          "devices": [{"id": npu, "address": f"10.{npu}.0.{place}"} for npu in (0, 1)]} for place in range(1, 5)]
SETTINGS = {"operation": "write", "measure": "bandwidth", "size": "64K", "relative_floor": 0.97, "line_rate_floor": 0.9, "timeout_s": None}
SUMMARY = {
    "pairs": 8, "hosts": 4, "rounds": 2, "coverage": 2 / 3, "minutes": 0.3, "seconds_per_pair": 8.0,
    "sees": {"classes": ["node", "device"], "not": {"leaf": "no leaf is known"}, "smallest_drop_percent": {"npu": 4.1}, "spread_percent": 1.0},
}


def of(summary: dict[str, Any] | None = None, **settings: Any) -> dict[str, list[str]]:
    return plan_review({"plan": "quick", "rounds": [], "hosts": {}, "summary": {**SUMMARY, **(summary or {})}}, **{**SETTINGS, **settings})


COST = ("quick: 8 pairs of NPUs over 4 hosts in 2 rounds, 66.7 % of all pairs, write bandwidth, 64K bytes, about 16 s of measuring, 44 s in all without a "
        "confirmation run")
DETECTS = "Can detect slow components: node, device. An NPU that is 4.1 % slower is detected if measurements vary by 1.0 %. "


@pytest.mark.parametrize("summary, lines", [
    ({}, [COST, DETECTS + "Cannot detect a slow leaf: no leaf is known."]),
    ({"left_out": {"rounds": 3}}, [COST, DETECTS + "Cannot detect a slow leaf: no leaf is known. The budget leaves out 3 rounds."]),
    ({"rounds": 12}, [COST.replace("2 rounds", "12 rounds").replace("16 s", "1.6 minutes").replace("44 s", "2.1 minutes"),
                      DETECTS + "Cannot detect a slow leaf: no leaf is known."]),
    ({"unmeasured": ["n1 NPU 0 - n2 NPU 0"]}, [COST, DETECTS + "Cannot detect a slow leaf: no leaf is known.", "Not measured: n1 NPU 0 - n2 NPU 0"]),
    ({"pairs": 1, "hosts": 2, "rounds": 1}, [
        COST.replace("8 pairs", "1 pair").replace("4 hosts in 2 rounds", "2 hosts in 1 round").replace("16 s", "8 s").replace("44 s", "36 s"),
        DETECTS + "Cannot detect a slow leaf: no leaf is known."]),
    ({"pairs": 0}, [COST.replace("8 pairs", "0 pairs")]),
    ({"sees": {**SUMMARY["sees"], "classes": [], "not": {}}}, [COST, DETECTS.replace("node, device", "none")]),
])
def test_lines_describe_cost_and_detectable_faults(summary: dict[str, Any], lines: list[str]) -> None:
    assert of(summary) == {"lines": lines, "refusals": []}


@pytest.mark.parametrize("settings, refusals", [
    ({"relative_floor": "0.5", "line_rate_floor": 0, "timeout_s": "16"}, []),
    ({"relative_floor": 97}, ["check_fabric_relative_floor is 97, not a number between 0 and 1 such as 0.97"]),
    ({"relative_floor": "much"}, ["check_fabric_relative_floor is much, not a number between 0 and 1 such as 0.97"]),
    ({"line_rate_floor": 90}, ["check_fabric_line_rate_floor is 90, neither 0 nor a number below 1 such as 0.9"]),
    ({"timeout_s": 15}, ["check_fabric_timeout_s is 15 s but the plan needs about 16.0 s: raise it, or limit the plan with check_fabric_budget_minutes"]),
])
def test_settings_that_the_plan_cannot_run_with_are_refused(settings: dict[str, Any], refusals: list[str]) -> None:
    assert of(**settings)["refusals"] == refusals


def test_time_of_the_whole_depends_on_the_forks() -> None:
    lines = [of({"hosts": 1000}, forks=forks)["lines"][0].rpartition(", ")[2] for forks in (50, 5)]
    assert lines == ["3.3 minutes in all without a confirmation run", "27.3 minutes in all without a confirmation run"]


def test_review_of_a_real_plan() -> None:
    found = plan_review(pair_plan(HOSTS, plan="full"), **SETTINGS)
    assert (found["lines"][0][:64], found["refusals"]) == ("full: 12 pairs of NPUs over 4 hosts in 3 rounds, 100.0 % of all ", [])


@pytest.mark.parametrize("wrong", [{}, "plan", None, {"rounds": [], "hosts": {}}])
def test_input_that_is_not_a_plan_is_refused(wrong: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="plan_review: the input is not a pair plan"):
        plan_review(wrong, **SETTINGS)
