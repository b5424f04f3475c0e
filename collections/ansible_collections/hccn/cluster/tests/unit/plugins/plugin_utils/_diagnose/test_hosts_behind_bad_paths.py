"""A host that was measured only over a bad leaf or path is not blamed: three leaves of three hosts, of which one has no partner on its own leaf."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended, pairs_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan

NAMES = ["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]
HOSTS = [{"host": name, "control_address": "192.0.2.%d" % place, "control_port": 18514, "leaf": name[0],
          "devices": [{"id": 0, "address": "198.51.100.%d" % place}]} for place, name in enumerate(NAMES, 1)]
INSIDE = [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]]
BETWEEN = [["a3", "b1"], ["a1", "b2"], ["a2", "b3"], ["c1", "a3"], ["c2", "a1"], ["c3", "a2"], ["b1", "c1"], ["c2", "b2"], ["b3", "c3"]]


def plan_of(pairs):
    return make_plan(HOSTS, "pairs", pairs=pairs)


def measured(plan, is_bad, bad):
    results = {name: {"run_id": "r1", "state": "finished", "measurements": []} for name in NAMES}
    for name, ends in pairs_of(plan):
        (source, _device), (target, _other) = ends
        made = {"id": "r1/%s/forward/1" % name, "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
                "source": {"host": source, "device": 0}, "target": {"host": target, "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.0}]}
        if is_bad(source, target):
            if isinstance(bad, str):
                made.update(status="failed", error={"code": bad, "message": "it broke"}, samples=[])
            else:
                made["samples"] = [{"size_bytes": 65536, "bandwidth_gbit_s": bad}]
        results[source]["measurements"].append(made)
    return results


def uplinks_of_a(source, target):
    return source[0] != target[0] and "a" in (source[0], target[0])


def classes(found):
    return {verdict.host: verdict.verdict for verdict in found.verdicts if verdict.verdict != "good"}


def named(found):
    return [(component["kind"], component["name"], component["certain"]) for component in found.components]


@pytest.mark.parametrize("bad", [100.0, "retry_exceeded"])
def test_a_host_without_partner_on_a_leaf_with_bad_links_is_not_blamed(bad):
    plan = plan_of(INSIDE + BETWEEN)
    found = diagnose(NAMES, measured(plan, uplinks_of_a, bad), plan=plan)
    assert named(found) == [("leaf", "leaf a", True)]
    assert classes(found) == {"a3": "not_measured"}
    assert found.verdicts[2].message == "its pairs are bad because of leaf a"


@pytest.mark.parametrize("bad_itself, verdict", [(False, {}), (True, {"a3": "slow"})])
def test_the_confirmation_run_measures_it_inside_its_leaf(bad_itself, verdict):
    def is_bad(source, target):
        return uplinks_of_a(source, target) or (bad_itself and "a3" in (source, target))

    plan = plan_of(INSIDE + BETWEEN)
    results = measured(plan, is_bad, 100.0)
    further = plan_confirmation_run(plan, diagnose(NAMES, results, plan=plan), results)
    assert [sorted((entry["source"]["host"][0], entry["target"]["host"][0])) for one in further.rounds for entry in one] == [["a", "a"]]
    assert further.as_dict(plan)["text"].endswith("in 1 more round: 1 NPU was measured with proven good ones only over a bad leaf or path.")
    whole = extended(plan, further.rounds)
    assert classes(diagnose(NAMES, measured(whole, is_bad, 100.0), plan=whole)) == verdict


def test_a_host_is_blamed_if_others_are_good_over_the_same_links():
    plan = plan_of(INSIDE + BETWEEN)
    found = diagnose(NAMES, measured(plan, lambda source, target: "a3" in (source, target), 100.0), plan=plan)
    assert (named(found), classes(found)) == ([("npu", "a3 NPU 0", False)], {"a3": "slow"})
    results = measured(plan, lambda source, target: "a3" in (source, target), 100.0)
    whole = extended(plan, plan_confirmation_run(plan, found, results).rounds)
    found = diagnose(NAMES, measured(whole, lambda source, target: "a3" in (source, target), 100.0), plan=whole)
    assert (named(found), classes(found)) == ([("npu", "a3 NPU 0", True)], {"a3": "slow"})


def test_too_few_other_pairs_make_the_component_uncertain():
    plan = plan_of([*INSIDE, ["c3", "c1"], ["b3", "b1"], ["a3", "b1"], ["b2", "a3"], ["b2", "c1"]])
    found = diagnose(NAMES, measured(plan, uplinks_of_a, 100.0), plan=plan)
    assert (named(found), classes(found)) == ([("npu", "a3 NPU 0", False)], {"a3": "slow"})
    assert found.verdicts[2].message.endswith("49 % below normal: the links of its leaf or the path may be the cause instead; too few other pairs show which")
    results = measured(plan, uplinks_of_a, 100.0)
    whole = extended(plan, plan_confirmation_run(plan, found, results).rounds)
    assert classes(diagnose(NAMES, measured(whole, uplinks_of_a, 100.0), plan=whole)) == {}
