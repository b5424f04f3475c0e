"""A host that reports wrong values does not change the verdict of another host."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan

HOSTS = "abcdef"


def answers(claimed, rate=200.0, unit="bandwidth", **rates):
    """Six hosts in a ring of two NPUs; ``a`` reports ``claimed`` for what is 195 Gbit/s or 2 us, ``rates`` are the line rates by pair."""
    found = {host: {"run_id": "r1", "state": "finished", "measurements": []} for host in HOSTS}
    for place, one in enumerate(HOSTS):
        for device in (0, 1):
            source, target = (one, HOSTS[(place + 1) % 6]) if device else (HOSTS[(place + 1) % 6], one)
            value = claimed if source == "a" else 195.0 if unit == "bandwidth" else 2.0
            sample = {"size_bytes": 65536, "bandwidth_gbit_s": value} if unit == "bandwidth" else {"size_bytes": 2, "latency_us": {"typical": value}}
            line = rates.get(source + target, rate)
            found[source]["measurements"].append({
                "id": "r1/%s%s%d/forward/1" % (source, target, device), "kind": "rdma", "status": "ok", "operation": "write", "measure": unit,
                "source": {"host": source, "device": device}, "target": {"host": target, "device": device}, "samples": [sample],
                **({"context": {"line_rate_gbit_s": line}} if line else {})})
    return found


def classes(found):
    return {verdict.host: verdict.verdict for verdict in found.verdicts}


def all_but_a(verdict):
    return {**dict.fromkeys(HOSTS, "good"), "a": verdict}


def test_values_above_the_line_rate_are_dropped():
    found = diagnose(HOSTS, answers(234.0))
    assert classes(found) == all_but_a("not_measured")
    assert [problem.as_dict() for problem in found.problems] == [{
        "rule": "above_line_rate", "severity": "error", "host": "a",
        "message": "it reported 234 Gbit/s from a NPU 1 to b NPU 1, whose line rate is 200 Gbit/s (2 such values): a measurement cannot be above it, so these "
                   "are dropped",
        "hint": "compare the clock, the tool and its version with those of the other hosts, then check again"}]
    assert found.verdicts[0].message.startswith("it reported 234 Gbit/s from a NPU 1 to b NPU 1")
    assert found.coverage["pairs"] == 10


@pytest.mark.parametrize("value, verdict", [(203.9, "good"), (204.1, "not_measured")])
def test_values_within_the_tolerance_of_the_line_rate_count(value, verdict):
    assert classes(diagnose(HOSTS, answers(value))) == all_but_a(verdict)


def test_both_directions_may_reach_twice_the_line_rate():
    found = answers(390.0)
    for answer in found.values():
        for record in answer["measurements"]:
            record["options"] = {"bidirectional": True}
            record["samples"][0]["bandwidth_gbit_s"] = 390.0
    assert classes(diagnose(HOSTS, found)) == all_but_a("good")


def test_a_wrong_line_rate_of_a_host_does_not_affect_its_partners():
    """f measures 195 Gbit/s with a, and a reports a line rate of 100: f has 200 with e, so f is not wrong."""
    found = diagnose(HOSTS, answers(195.0, fa=100.0, ba=100.0, ab=100.0, af=100.0))
    assert {host: verdict for host, verdict in classes(found).items() if host != "a"} == dict.fromkeys("bcdef", "good")
    assert classes(found)["a"] == "not_measured"
    assert sorted((problem.rule, problem.host) for problem in found.problems) == [
        ("above_line_rate", "a"), ("line_rates_differ", "b"), ("line_rates_differ", "f")]


def test_a_false_line_rate_affects_only_its_host():
    found = diagnose(HOSTS, answers(195.0, ab=400.0, af=400.0))
    assert {host for host, verdict in classes(found).items() if verdict != "good"} <= {"a"}


@pytest.mark.parametrize("claimed, unit", [(390.0, "bandwidth"), (1950.0, "bandwidth"), (0.2, "latency"), (0.4, "latency")])
def test_without_line_rates_the_majority_decides(claimed, unit):
    found = diagnose(HOSTS, answers(claimed, rate=None, unit=unit))
    assert classes(found) == all_but_a("not_measured")
    assert [(problem.rule, problem.host) for problem in found.problems] == [("contradicted_by_others", "a")]


def test_message_of_contradicted_values():
    assert diagnose(HOSTS, answers(390.0, rate=None)).problems[0].message == (
        "it reported 390 Gbit/s to its partners, where the other hosts measure 195 Gbit/s, also with this host: none of them confirms it, so its values are "
        "dropped")


def test_pairs_that_only_one_host_reports_are_confirmed_by_others():
    """Either d is slow, or b reports too much: four hosts with one NPU do not show which. The pair of a and c does."""
    hosts = [{"host": name, "control_address": "10.0.0.%d" % number, "control_port": 18514, "devices": [{"id": 0, "address": "10.1.0.%d" % number}]}
             for number, name in enumerate("abcd", 1)]
    rounds = [["b", "a"], ["c", "d"]], [["b", "c"], ["a", "d"]]
    plan = make_plan(hosts, "pairs", pairs=[pair for one in rounds for pair in one])

    def results(plan, slow):
        found = {name: {"state": "finished", "measurements": []} for name in "abcd"}
        for entry in (entry for one in plan["rounds"] for entry in one):
            ends = entry["source"]["host"], entry["target"]["host"]
            low = "d" in ends if slow else ends[0] != "b"
            found[ends[0]]["measurements"].append({
                "id": "r1/%s/forward/1" % entry["id"], "kind": "rdma", "status": "ok", "source": {"host": ends[0], "device": 0},
                "target": {"host": ends[1], "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 140.0 if low else 195.0}]})
        return found

    for slow, wanted in ((True, {"d": "slow"}), (False, {"b": "not_measured"})):
        first = diagnose("abcd", results(plan, slow), plan=plan)
        assert (classes(first), first.contested) == ({"a": "good", "b": "not_measured", "c": "good", "d": "good"}, ["b"])
        further = plan_confirmation_run(plan, first, results(plan, slow))
        assert [{entry[side]["host"] for side in ("source", "target")} for one in further.rounds for entry in one] == [{"a", "c"}]
        assert "only b reports higher values than the others" in further.as_dict(plan)["text"]
        whole = extended(plan, further.rounds)
        found = diagnose("abcd", results(whole, slow), plan=whole)
        assert {host: verdict for host, verdict in classes(found).items() if verdict != "good"} == wanted
