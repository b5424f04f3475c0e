from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import host_classes
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose

FAST, LOW = 195.0, 50.0


def record(source, target, value=FAST, device=0, error=None, failed_end=None, unit="bandwidth"):
    """Return the record of a pair; with ``error``, a failed one."""
    made = {
        "id": "r1/%s-%s-%d/forward/1" % (source, target, device), "kind": "rdma", "status": "failed" if error else "ok", "operation": "write", "measure": unit,
        "source": {"host": source, "device": device}, "target": {"host": target, "device": device}, "context": {"round": 1}, "samples": [],
    }
    if failed_end:
        made["context"]["failed_end"] = failed_end
    if error:
        made["error"] = {"code": error, "message": "it broke"}
    elif unit == "bandwidth":
        made["samples"] = [{"size_bytes": 64, "bandwidth_gbit_s": 1.0}, {"size_bytes": 65536, "bandwidth_gbit_s": value}]
    else:
        made["samples"] = [{"size_bytes": 2, "latency_us": {"typical": value, "avg": 99.0}}, {"size_bytes": 4096, "latency_us": {"typical": 99.0}}]
    return made


def results_of(*records, hosts="abcd"):
    """Return the result of each host, with the records of which it is the source."""
    return {host: {"run_id": "r1", "state": "finished", "measurements": [entry for entry in records if entry["source"]["host"] == host]}
            for host in hosts}


def classes(found):
    return {verdict.host: verdict.verdict for verdict in found.verdicts}


def verdict(found, host):
    return next(entry for entry in found.verdicts if entry.host == host)


RING = (("a", "b"), ("c", "d"), ("b", "c"), ("d", "a"))


def ring(**changed):
    """Return records of four hosts in two rounds; ``ab=...`` changes the arguments of one pair."""
    return [record(source, target, **changed.get(source + target, {})) for source, target in RING]


def test_good_pairs_make_all_hosts_good():
    found = diagnose("abcd", results_of(*ring()))
    assert classes(found) == {"a": "good", "b": "good", "c": "good", "d": "good"}
    assert verdict(found, "a").message == "2 good pairs with 2 other hosts, 195 to 195 Gbit/s"
    assert verdict(found, "a").evidence == []
    assert found.coverage == {"hosts": 4, "hosts_measured": 4, "pairs": 4, "pairs_good": 4, "pairs_slow": 0, "pairs_failed": 0, "pairs_busy": 0,
                              "host_pairs_measured": 4, "host_pairs_possible": 6}


def test_a_slow_host_among_four_is_named():
    rails = [record(source, target, device=rail) for rail in range(1, 8) for source, target in RING]
    found = diagnose("abcd", results_of(*ring(bc={"value": LOW}, ab={"value": LOW + 1}), *rails))
    assert classes(found) == {"a": "good", "b": "slow", "c": "good", "d": "good"}
    assert verdict(found, "b").message == "NPU 0 is slow with 2 of 2 proven-good partners: a, c, 74 % below normal"
    assert verdict(found, "b").evidence == ["b NPU 0 to c NPU 0: 50 Gbit/s, normal is 195", "a NPU 0 to b NPU 0: 51 Gbit/s, normal is 195"]
    assert verdict(found, "a").message == "15 good pairs with 2 other hosts, 195 to 195 Gbit/s; bad pairs attributed to the partner: 1"


def test_a_host_outside_the_plan_has_the_reason():
    left_out = [host_classes.LeftOut("a", 0, "link_down", "its link is down")]
    alone = diagnose(["a", "b"], {"a": None, "b": {"skipped": True}}, left_out=left_out, plan={"hosts": {}, "rounds": []})
    assert [(one.host, one.verdict, one.message) for one in alone.verdicts] == [
        ("a", "failed", "NPU 0 was left out: its link is down"),
        ("b", "not_measured", "it had no partner: no other host has an NPU that can be measured with one of its own")]
    others = diagnose(["a"], {"a": {"skipped": True}}, plan={"hosts": {"b": {}, "c": {}}, "rounds": []})
    assert (others.verdicts[0].verdict, others.verdicts[0].message) == ("not_measured", "the plan has no pair with this host")


def test_two_hosts_are_both_suspects():
    pairs = [record("a", "b", device=rail, value=LOW if rail == 3 else FAST) for rail in range(8)]
    found = diagnose("ab", results_of(*pairs, hosts="ab"))
    assert classes(found) == {"a": "slow", "b": "slow"}
    assert verdict(found, "a").message == (
        "NPU 3 is slow with b, 74 % below normal: the cause is this NPU, its partner or the path between them; no other pair shows which")
    assert verdict(found, "b").message == (
        "NPU 3 is slow with a, 74 % below normal: the cause is this NPU, its partner or the path between them; no other pair shows which")


def test_two_hosts_with_a_failed_pair_are_both_failed():
    found = diagnose("ab", results_of(record("a", "b", error="retry_exceeded"), hosts="ab"))
    assert classes(found) == {"a": "failed", "b": "failed"}
    assert verdict(found, "a").message == (
        "NPU 0 fails with b (retry_exceeded): the cause is this NPU, its partner or the path between them; no other pair shows which")
    assert verdict(found, "b").evidence == ["a NPU 0 to b NPU 0: retry_exceeded: it broke"]


def test_a_bad_pair_of_good_hosts_is_a_path():
    rails = [record(source, target, device=rail) for rail in range(1, 8) for source, target in RING]
    found = diagnose("abcd", results_of(*ring(ab={"error": "retry_exceeded"}), *rails))
    assert classes(found) == {"a": "good", "b": "good", "c": "good", "d": "good"}
    assert [(entry["kind"], entry["name"], entry["class"], entry["certain"], entry["hosts"]) for entry in found.components] == [
        ("pair", "path a NPU 0 to b NPU 0", "failed", False, ["a", "b"])]
    assert found.components[0]["message"] == (
        "path a NPU 0 to b NPU 0 fails (retry_exceeded): both NPUs are good with others: the path between them is bad, or the fault is intermittent; "
        "measure the pair again with another source port")
    assert verdict(found, "a").message.endswith("; bad pairs attributed to the partner, path a NPU 0 to b NPU 0: 1")
    assert found.failing("failed") == ([], [found.components[0]["message"]])


def test_the_npu_with_more_bad_partners_is_blamed():
    pairs = [record("a", "b", error="retry_exceeded"), record("c", "a", error="retry_exceeded")]
    found = diagnose("abc", results_of(*pairs))
    assert classes(found) == {"a": "failed", "b": "not_measured", "c": "not_measured"}
    assert verdict(found, "a").message == "NPU 0 fails with b, c (retry_exceeded) (probable)"
    assert verdict(found, "b").message == "its pairs failed because of their partners"


def test_a_certain_component_explains_the_other_bad_pairs():
    # a is proven bad by c, which is good with d; the pair of a and b is then attributed to a, since b has no other pair
    pairs = [record("a", "b", error="retry_exceeded"), record("c", "a", error="retry_exceeded"), record("c", "d")]
    found = diagnose("abcd", results_of(*pairs))
    assert classes(found) == {"a": "failed", "b": "not_measured", "c": "good", "d": "good"}


def test_an_error_that_an_npu_reports_is_attributed_to_it():
    found = diagnose("ab", results_of(record("a", "b", error="start_refused", failed_end="target"), hosts="ab"))
    assert classes(found) == {"a": "not_measured", "b": "failed"}


def test_a_busy_npu_makes_its_host_busy():
    found = diagnose("abcd", results_of(*ring(ab={"error": "roce_test_running", "failed_end": "source"})))
    assert classes(found) == {"a": "busy", "b": "good", "c": "good", "d": "good"}
    assert verdict(found, "a").message == "NPU 0 does other work with b"


def test_failed_counts_more_than_busy_and_slow():
    pairs = [record("a", "b", error="roce_test_running", failed_end="source"), record("a", "c", error="no_report", failed_end="source", device=1)]
    assert classes(diagnose("a", results_of(*pairs)))["a"] == "failed"


def test_a_dead_host_is_unreachable():
    pairs = [record("a", "b"), record("a", "c", error="peer_unreachable", failed_end="target", device=1), record("b", "a", device=1)]
    found = diagnose("abc", {**results_of(*pairs), "c": None})
    assert classes(found) == {"a": "good", "b": "good", "c": "unreachable"}
    assert verdict(found, "c").message == "the host returned no result, and its runner did not answer its partners"


def test_a_host_that_reaches_no_partner_is_blamed_itself():
    pairs = [record("a", "b", error="peer_unreachable", failed_end="target"), record("a", "c", error="peer_unreachable", failed_end="target"),
             record("b", "c"), record("c", "d"), record("d", "b")]
    found = diagnose("abcd", results_of(*pairs))
    assert classes(found) == {"a": "failed", "b": "good", "c": "good", "d": "good"}


@pytest.mark.parametrize("result, verdict_class, message", [
    (None, "not_measured", "the host returned no result"),
    ({"unreachable": True, "msg": "no route\nmore"}, "unreachable", "Ansible did not reach the host: no route"),
    ({"unreachable": True}, "unreachable", "Ansible did not reach the host: no reason given"),
    ({"failed": True, "msg": "Task failed: Timed out after 9 second(s).", "timedout": {"period": 9}}, "unreachable",
     "Ansible did not reach the host: Task failed: Timed out after 9 second(s)."),
    ({"failed": True, "msg": "The copy action failed to execute in the expected time frame (9) and was terminated"}, "unreachable",
     "Ansible did not reach the host: The copy action failed to execute in the expected time frame (9) and was terminated"),
    ({"skipped": True}, "not_measured", "the measurement was skipped on this host"),
    ({"state": "unknown", "measurements": []}, "not_measured", "the host has no such run: rdma_perf did not start there"),
    ({"state": "running", "measurements": []}, "failed",
     "the run on this host had not ended when its results were read: wait longer, or end it with state: absent"),
    ({"state": "failed", "measurements": [], "error": {"message": "the runner ended"}}, "failed", "the run on this host failed: the runner ended"),
    ({"state": "failed", "measurements": [], "error": {"code": "run_cancelled", "message": "by hand"}}, "not_measured",
     "the run on this host was ended: by hand"),
    ({"failed": True, "msg": "MODULE FAILURE: no room"}, "not_measured", "the run did not begin on this host: MODULE FAILURE: no room"),
    ({"failed": True, "msg": "it is (wait)", "measurements": [], "error": {"code": "host_in_use", "message": "run r1 is at work"}}, "busy",
     "the run did not begin on this host: run r1 is at work"),
    ({"state": "finished", "measurements": []}, "not_measured", "no pair contains this host"),
])
def test_hosts_without_pairs_are_not_measured(result, verdict_class, message):
    found = diagnose(["x"], {"x": result})
    assert (verdict(found, "x").verdict, verdict(found, "x").message) == (verdict_class, message)


def test_most_runs_unfinished_is_not_a_fault_of_the_hosts():
    """A single unfinished run is a failure of its host. If most are unfinished, none is, and their measurements count."""
    over = results_of(*ring())
    assert classes(diagnose("abcd", {**over, "c": {**over["c"], "state": "running"}}))["c"] == "failed"
    late = {host: {**result, "state": "finished" if host == "a" else "running"} for host, result in results_of(*ring(ab={"value": 100.0})).items()}
    found = diagnose("abcd", late)
    assert classes(found) == {"a": "good", "b": "not_measured", "c": "not_measured", "d": "not_measured"}
    assert verdict(found, "c").message == (
        "the run had not ended when its results were read, on this host and on most of the others: wait longer, or end it with state: absent")


def test_a_host_without_result_is_classified_by_records_of_its_partners():
    found = diagnose("abcd", {**results_of(*ring()), "c": None})
    assert classes(found)["c"] == "good"


def test_a_failed_module_with_measurements_is_classified_by_them():
    found = diagnose("ab", {"a": {"failed": True, "msg": "x", "state": "finished", "measurements": [record("a", "b")]}, "b": {"skipped": True}})
    assert classes(found) == {"a": "good", "b": "good"}


def test_values_below_the_absolute_floor_are_slow():
    found = diagnose("ab", results_of(record("a", "b", value=170.0), hosts="ab"), floor_gbit_s=180.0)
    assert classes(found) == {"a": "slow", "b": "slow"}
    assert verdict(found, "a").evidence == ["a NPU 0 to b NPU 0: 170 Gbit/s, the floor is 180"]
    assert "below normal" not in verdict(found, "a").message
    assert classes(diagnose("ab", results_of(record("a", "b", value=180.0), hosts="ab"), floor_gbit_s=180.0)) == {"a": "good", "b": "good"}


@pytest.mark.parametrize("value, verdict_class", [(146.2, "slow"), (146.3, "good")])
def test_values_above_the_relative_floor_are_not_slow(value, verdict_class):
    pairs = [record("a", "b", value=value, device=0)] + [record("a", "b", device=rail) for rail in range(1, 8)]
    assert classes(diagnose("ab", results_of(*pairs, hosts="ab"), relative_floor=0.75))["a"] == verdict_class


def test_a_rail_that_is_slow_as_a_whole_is_named():
    names = "abcdefgh"
    slow_rail = [record(one, other, value=100.0, device=5) for one, other in zip(names, names[1:] + names[:1])]
    others = [record(one, other, device=rail) for rail in range(4) for one, other in zip(names, names[1:] + names[:1])]
    found = diagnose(names, results_of(*slow_rail, *others, hosts=names))
    assert set(classes(found).values()) == {"good"}
    assert [entry["message"] for entry in found.components] == ["rail 5: 8 of its pairs are slow, 49 % below normal"]
    assert found.failing("slow") == ([], ["rail 5: 8 of its pairs are slow, 49 % below normal"])


def test_latency_is_slow_when_it_is_long():
    pairs = [record("a", "b", value=46.0, device=rail, unit="latency") for rail in range(7)] + [record("a", "b", value=62.0, device=7, unit="latency")]
    found = diagnose("ab", results_of(*pairs, hosts="ab"), floor_gbit_s=180.0, relative_floor=0.75)
    assert classes(found) == {"a": "slow", "b": "slow"}
    assert verdict(found, "a").evidence == ["a NPU 7 to b NPU 7: 62 us, normal is 46"]
    pairs[-1] = record("a", "b", value=61.0, device=7, unit="latency")
    assert classes(diagnose("ab", results_of(*pairs, hosts="ab"), relative_floor=0.75)) == {"a": "good", "b": "good"}


def test_average_latency_replaces_a_missing_typical_latency():
    made = record("a", "b", value=46.0, unit="latency")
    made["samples"] = [{"size_bytes": 2, "latency_us": {"avg": 47.0}}]
    assert verdict(diagnose("ab", results_of(made, hosts="ab")), "a").message == "1 good pair with 1 other host, 47 to 47 us"


def test_kinds_are_not_compared_with_each_other():
    other = record("a", "b", value=LOW, device=1)
    other["operation"] = "read"
    assert classes(diagnose("ab", results_of(record("a", "b"), other, hosts="ab"))) == {"a": "good", "b": "good"}


@pytest.mark.parametrize("samples", [[], [{"size_bytes": 2, "latency_us": {"min": 1.0}}], [{"size_bytes": 2, "bandwidth_gbit_s": 0.0}]])
def test_a_record_without_a_value_is_a_failure(samples):
    made = record("a", "b")
    made["samples"] = samples
    found = diagnose("ab", results_of(made, hosts="ab"))
    assert classes(found) == {"a": "failed", "b": "failed"}
    assert verdict(found, "a").evidence == ["a NPU 0 to b NPU 0: no_result: no sample in the record"]


def test_duplicate_records_count_once():
    once = record("a", "b")
    found = diagnose("ab", {"a": {"measurements": [once]}, "b": {"measurements": [once, {"kind": "device", "id": "x"}]}})
    assert found.coverage["pairs"] == 1


def test_many_partners_are_counted():
    names = "abcdefgh"
    pairs = [record("a", other, error="retry_exceeded", device=0) for other in names[1:]] + [
        record(one, other) for one, other in zip(names[1:], names[2:] + names[1])]
    found = diagnose(names, results_of(*pairs, hosts=names))
    assert verdict(found, "a").message == "NPU 0 fails with 7 of 7 proven-good partners: b, c, d, e and 3 more (retry_exceeded)"
    assert len(verdict(found, "a").evidence) == 7


def test_evidence_is_bounded_and_worst_first():
    pairs = [record("a", "b", device=rail, error="retry_exceeded") for rail in range(20)] + [record("a", "b", device=20, value=LOW)]
    found = diagnose("ab", results_of(*pairs, hosts="ab"), floor_gbit_s=100.0)
    assert len(verdict(found, "a").evidence) == host_classes.EVIDENCE_LINES
    assert all("retry_exceeded" in line for line in verdict(found, "a").evidence)


def test_every_requested_host_has_one_verdict_in_order():
    found = diagnose(["d", "zzz", "a"], results_of(*ring()))
    assert [entry.host for entry in found.verdicts] == ["d", "zzz", "a"]
    assert {entry.verdict for entry in found.verdicts} <= set(host_classes.CLASSES)
    assert verdict(found, "d").as_dict() == {
        "host": "d", "class": "good", "certainty": "certain", "message": "2 good pairs with 2 other hosts, 195 to 195 Gbit/s", "evidence": []}


BUSY_NPU = host_classes.LeftOut("b", 5, "device_busy", "it is at work, pid 4711")
MUTE_NPU = host_classes.LeftOut("b", 6, "address_not_set", "it has no address")


@pytest.mark.parametrize("left_out, state, beginning", [
    ([BUSY_NPU], "busy", "NPU 5 was left out: it is at work, pid 4711; 2 good pairs "),
    ([BUSY_NPU, MUTE_NPU], "failed", "NPU 5 was left out: it is at work, pid 4711; NPU 6 was left out: it has no address; 2 good pairs "),
])
def test_a_host_with_an_npu_left_out_is_not_good(left_out, state, beginning):
    found = diagnose("abcd", results_of(*ring()), left_out=left_out)
    assert classes(found) == {"a": "good", "b": state, "c": "good", "d": "good"}
    assert verdict(found, "b").message.startswith(beginning)


def test_a_host_without_the_tool_is_not_measured():
    missing = [host_classes.LeftOut("b", number, "tool_missing", "iperf3 is not installed (dnf install --assumeyes iperf3)") for number in (0, 1)]
    alone = verdict(diagnose("ab", {"a": None, "b": None}, left_out=missing), "b")
    assert (alone.verdict, alone.message) == ("not_measured", "NPU 0, 1 were left out: iperf3 is not installed (dnf install --assumeyes iperf3)")
    assert verdict(diagnose("ab", {"a": None, "b": None}, left_out=[*missing, MUTE_NPU]), "b").verdict == "failed"


def test_texts_of_hosts_and_tools_are_one_printable_line():
    hostile = {**record("a", "b", error="tool_failed", failed_end="source"), "error": {"code": "tool\x1b[2J", "message": "bad\u202e\n\x9b31m" + " more" * 1000}}
    left_out = [host_classes.LeftOut("b", 5, "tool_failed", "\x1b]0;owned\x07")]
    found = diagnose("abcd", results_of(hostile, *ring()[1:]), left_out=left_out, plan={"topology": {}})
    texts = json.dumps([found.as_dict(), found.failing("slow")], ensure_ascii=False)
    assert all(character.isprintable() for character in texts)
    assert "NPU 5 was left out: ?]0;owned?" in verdict(found, "b").message
    (line,) = verdict(found, "a").evidence
    assert line.startswith("a NPU 0 to b NPU 0: tool?[2J: bad???31m more more") and len(line) <= 2000
    gone = {"failed": True, "msg": "\x1b[2Jgone\u202e"}
    assert verdict(diagnose("a", {"a": gone}), "a").message.endswith(": ?[2Jgone?")


def test_class_of_a_host_with_all_npus_left_out():
    found = diagnose("ab", {"a": None, "b": None}, left_out=[BUSY_NPU])
    assert (verdict(found, "b").verdict, verdict(found, "b").message) == ("busy", "NPU 5 was left out: it is at work, pid 4711")
