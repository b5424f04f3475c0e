from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import parse_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended, pairs_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan

NAMES = "abcdefgh"
HOSTS = [{"host": name, "control_address": "10.0.0.%d" % number, "control_port": 18514, "devices": [{"id": 0, "address": "10.1.0.%d" % number}]}
         for number, name in enumerate(NAMES, 1)]
RING = [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"], ["b", "c"], ["d", "e"], ["f", "g"], ["h", "a"]]
PLAN = make_plan(HOSTS, "pairs", pairs=RING)


def results(plan, slow=(), silent=(), only=None):
    """Return results of 195 Gbit/s, or 50 if an NPU or the pair is slow; ``only``: ids of the measured pairs."""
    found = {name: None if name in silent else {"run_id": "r1", "state": "finished", "measurements": []} for name in NAMES}
    for name, ((source, _device), (target, _other)) in pairs_of(plan):
        if found[source] is None or (only is not None and name not in only):
            continue
        value = 50.0 if {source, target, source + target} & set(slow) else 195.0
        found[source]["measurements"].append({
            "id": "r1/%s/forward/1" % name, "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
            "source": {"host": source, "device": 0}, "target": {"host": target, "device": 0},
            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]})
    return found


def diagnose_and_plan(measured, plan=None):
    plan = plan or PLAN
    found = diagnose(NAMES, measured, plan=plan)
    return found, plan_confirmation_run(plan, found, measured)


def met(further):
    return [sorted((entry["source"]["host"] + entry["target"]["host"]) for entry in one) for one in further.rounds]


def test_without_open_questions_there_is_no_confirmation_run():
    assert diagnose_and_plan(results(PLAN))[1] is None
    assert diagnose_and_plan(results(PLAN, slow=["c"]))[1] is None


def test_a_host_between_two_bad_ones_is_measured_again():
    quick = {**PLAN, "plan": "quick"}
    _found, further = diagnose_and_plan(results(quick, slow=["b", "d"]), quick)
    assert (further.open_npus, further.retested, len(further.rounds)) == (1, 0, 1)
    (only,) = further.rounds[0]
    ends = {only["source"]["host"], only["target"]["host"]}
    assert "c" in ends and not ends & {"b", "d"}
    assert only["id"] == "p0009"
    confirmation = further.as_dict(quick)
    assert (confirmation["rounds"], confirmation["pairs"]) == (1, 1)
    assert confirmation["text"] == "Confirmation run of 1 pair of NPUs over 2 hosts in 1 more round: 1 NPU was not measured with a proven good one."
    assert set(confirmation["plan"]["hosts"]) == set(confirmation["plan"]["topology"]) == ends
    assert [pair.id for pair in parse_plan(confirmation["plan"], "c", "r2").pairs] == ["p0009"]
    whole = extended(quick, confirmation["plan"]["rounds"])
    measured = results(whole, slow=["b", "d"])
    assert {name: verdict.verdict for name, verdict in zip(NAMES, diagnose(NAMES, measured, plan=whole).verdicts)} == {
        **dict.fromkeys(NAMES, "good"), "b": "slow", "d": "slow"}


def test_a_bad_pair_between_good_hosts_is_measured_again_and_with_others():
    found, further = diagnose_and_plan(results(PLAN, slow=["ab"]))
    assert [component["certain"] for component in found.components] == [False]
    assert (further.open_npus, further.retested) == (0, 1)
    assert met(further)[0] == ["ab"]
    assert met(further)[-1] == ["ab"]
    others = [pair for one in met(further)[1:-1] for pair in one]
    assert len(others) == 2 and all(len(set(pair) & {"a", "b"}) == 1 for pair in others)
    assert "1 bad pair is between good NPUs." in further.as_dict(PLAN)["text"]
    whole = extended(PLAN, further.rounds)
    (component,) = diagnose(NAMES, results(whole, slow=["ab"]), plan=whole).components
    assert (component["kind"], component["name"], component["certain"]) == ("pair", "path a NPU 0 to b NPU 0", True)


@pytest.mark.parametrize("options, qps", [({}, 4), ({"qps": 8}, 16), ({"qps": "8"}, 4), ({"qps": True}, 4), (None, 4)])
def test_a_bad_pair_is_measured_again_with_more_queue_pairs_than_the_run_used(options, qps):
    measured = results(PLAN, slow=["ab"])
    for result in measured.values():
        for record in result["measurements"]:
            record["options"] = options
    _found, further = diagnose_and_plan(measured)
    assert [entry["options"] for entry in further.rounds[0]] == [{"qps": qps}]


def test_one_host_does_not_decide_the_queue_pairs_of_a_retest():
    measured = results(PLAN, slow=["ab"])
    measured["c"]["measurements"][0]["options"] = {"qps": 64}
    assert [entry["options"] for entry in diagnose_and_plan(measured)[1].rounds[0]] == [{"qps": 4}]


def test_an_npu_that_is_bad_as_target_only_is_not_a_bad_path():
    plan = make_plan(HOSTS, "pairs", pairs=[["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"], ["f", "g"], ["g", "h"], ["h", "a"]])
    ways = {ends[0][0] + ends[1][0] for _name, ends in pairs_of(plan)}
    assert {"ab", "bc"} <= ways, "b sends once and receives once"
    receives_badly = {name + "b" for name in NAMES}
    _found, further = diagnose_and_plan(results(plan, slow=receives_badly), plan)
    whole = extended(plan, further.rounds)
    found = diagnose(NAMES, results(whole, slow=receives_badly), plan=whole)
    assert [(component["kind"], component["name"], component["direction"]) for component in found.components] == [("npu", "b NPU 0", "target")]


def test_hosts_without_a_result_do_not_take_part():
    quick = {**PLAN, "plan": "quick"}
    measured = results(quick, slow=["b", "d"], silent=["c"])
    assert diagnose_and_plan(measured, quick)[1] is None
    measured = {**results(quick, slow=["b", "d"]), "c": {"failed": True, "measurements": []}}
    further = diagnose_and_plan(measured, quick)[1]
    assert met(further) == [["hd"]], "d, which met e only, but not c"
    assert "1 NPU is bad and measured with a single host only" in further.as_dict(quick)["text"]


def test_rows_leave_no_pair_to_isolate():
    rows = {name: {"run_id": "r1", "measurements": [
        {"id": "r1/%s/row" % name, "kind": "matrix", "status": "ok", "operation": "write", "measure": "bandwidth", "source": {"host": name, "device": 0},
         "hosts": list(NAMES), "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [None if other == name else 195.0 for other in NAMES]}]}]}
        for name in NAMES}
    assert diagnose_and_plan(rows)[1] is None
