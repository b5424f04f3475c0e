from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.filter.pair_plan import pair_plan
from ansible_collections.hccn.cluster.plugins.filter.plan_review import plan_review

HOSTS = [{"host": f"n{place}", "control_address": f"192.0.2.{place}", "control_port": 18514, "leaf": f"leaf{place // 2}",
          "devices": [{"id": npu, "address": f"10.{npu}.0.{place}"} for npu in (0, 1)]} for place in range(12)]
PODS = {"pod1": [f"n{place}" for place in range(6)], "pod2": [f"n{place}" for place in range(6, 10)]}
SETTINGS: dict[str, Any] = {"operation": "write", "measure": "bandwidth", "size": "64K", "relative_floor": 0.97, "line_rate_floor": 0.9}


def leaf_pairs(plan: dict[str, Any], hosts: list[str]) -> set[frozenset[str]]:
    """Return the pairs of leaves that a listed plan measures between these hosts."""
    leaf = {host["host"]: host["leaf"] for host in HOSTS}
    return {frozenset((leaf[pair["source"]["host"]], leaf[pair["target"]["host"]])) for one in plan["rounds"] for pair in one
            if {pair["source"]["host"], pair["target"]["host"]} <= set(hosts)}


def test_whole_has_the_time_and_the_pairs_of_leaves_of_all_jobs() -> None:
    whole = pair_plan(HOSTS, "quick", seed=3, seconds_per_pair=10, parts=PODS)
    alone = [pair_plan([host for host in HOSTS if host["host"] in names], "leaves", compact=False) for names in PODS.values()]
    names = [host["host"] for host in HOSTS]
    covered = set().union(leaf_pairs(pair_plan(HOSTS, "quick", seed=3, compact=False), names), *(leaf_pairs(plan, names) for plan in alone))
    found = whole["summary"].pop("parts")
    assert whole == pair_plan(HOSTS, "quick", seed=3, seconds_per_pair=10)
    assert found == {
        "plan": "leaves", "parts": 2, "longest": "pod1", "rounds": 3, "seconds": 50.0, "empty": [], "outside": {"hosts": 2, "names": ["n10", "n11"]},
        "leaf_pairs": {"planned": len(covered), "possible": 21, "share": round(len(covered) / 21, 4)}}
    assert 9 <= len(covered) < 21


def test_lines() -> None:
    plan = pair_plan(HOSTS, "quick", seed=3, parts={**PODS, "pod3": ["n10", "absent"]})
    planned = plan["summary"]["parts"]["leaf_pairs"]["planned"]
    assert plan_review(plan, **SETTINGS)["lines"][2:] == [
        "In parts: leaves in each of 3 parts at the same time, at most 3 rounds (pod1), then quick over all hosts: about 40 s of measuring, "
        f"{planned} of 21 pairs of leaves",
        "The part pod3 has no two hosts to measure: only quick over all hosts measures it",
        "1 host in no part, measured only by quick over all hosts: n11"]


def test_host_in_two_parts_is_refused() -> None:
    with pytest.raises(InputError, match="^the host n5 is in the parts pod1 and pod2, which are measured at the same time: let it be in one of them$"):
        pair_plan(HOSTS, parts={**PODS, "pod2": ["n5", "n6"]})
