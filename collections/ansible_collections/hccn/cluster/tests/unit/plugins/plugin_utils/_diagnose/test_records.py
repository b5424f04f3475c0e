"""A record that cannot be understood is dropped, is a problem of the host that returned it, and does not affect other hosts."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose, diagnose_records

RECORD = {"id": "r1/p1/forward/1", "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth", "source": {"host": "a", "device": 0},
          "target": {"host": "b", "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.0}]}
RING = ["ab", "bc", "cd", "da"]


def answers(**changed):
    """Return the results of four hosts in two rounds; ``changed`` replaces values in the record of a host."""
    return {pair[0]: {"run_id": "r1", "state": "finished", "measurements": [
        {**RECORD, "id": "r1/%s/forward/1" % pair, "source": {"host": pair[0], "device": 0}, "target": {"host": pair[1], "device": 0},
         **changed.get(pair[0], {})}]} for pair in RING}


def classes(found):
    return {verdict.host: verdict.verdict for verdict in found.verdicts}


@pytest.mark.parametrize("changed, why", [
    ({"source": {"host": "a"}}, "KeyError: 'device'"),
    ({"source": {"host": "c", "device": 0}}, "its source is c, but a host may report only what it measured itself"),
    ({"target": {"host": "b", "device": "x"}}, "'x' is not the id of an NPU, 0 to 63"),
    ({"target": {"host": "b", "device": True}}, "'True' is not the id of an NPU, 0 to 63"),
    ({"target": {"host": {"b": 1}, "device": 0}}, "the name of a host is not text, or is too long"),
    ({"samples": [{"size_bytes": 65536, "bandwidth_gbit_s": float("nan")}]}, "nan Gbit/s is not a plausible measurement"),
    ({"samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 1e308}]}, "1e+308 Gbit/s is not a plausible measurement"),
    ({"samples": [{"size_bytes": 65536, "bandwidth_gbit_s": -1}]}, "-1.0 Gbit/s is not a plausible measurement"),
    ({"samples": "fast"}, "AttributeError: 'str' object has no attribute 'get'"),
    ({"operation": ["write"]}, "TypeError: unhashable type: 'list'"),
    ({"context": {"line_rate_gbit_s": "fast"}}, "ValueError: could not convert string to float: 'fast'"),
    ({"kind": "matrix", "hosts": ["b"], "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [float("inf")]}]}, "inf Gbit/s is not a plausible measurement"),
    ({"kind": "matrix", "hosts": ["b"], "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [195.0, 195.0]}]}, "it has more values than hosts"),
    ({"kind": "matrix", "hosts": ["b"], "samples": [], "failed": {"x": [-1]}}, "'-1' is not an index of its hosts"),
])
def test_a_malformed_record_is_dropped(changed, why):
    found = diagnose("abcd", answers(a=changed))
    assert [problem.as_dict() for problem in found.problems] == [{
        "rule": "record_not_understood", "severity": "error", "host": "a", "message": "the record 'r1/ab/forward/1' is dropped: " + why,
        "hint": "compare it with docs/schemas/measurement-1.schema.json; another release, or another program, may have written it"}]
    assert classes(found) == {"a": "not_measured", "b": "good", "c": "good", "d": "good"}
    assert found.verdicts[0].message.startswith("the record 'r1/ab/forward/1' is dropped: " + why)


@pytest.mark.parametrize("changed", [{"id": 5}, {"id": ""}, {"id": "x" * 300}])
def test_a_record_without_a_valid_id_is_dropped(changed):
    found = diagnose("abcd", answers(a=changed))
    assert classes(found) == {"a": "not_measured", "b": "good", "c": "good", "d": "good"}
    assert len(found.problems) == 1


@pytest.mark.parametrize("answer, why", [
    ("no dictionary", "its answer is 'no dictionary', not a dictionary"), ([1], "its answer is '[1]', not a dictionary"),
    ({"measurements": 5}, "its measurements are '5', not a list"), ({"measurements": "ab"}, "its measurements are 'ab', not a list"),
])
def test_a_malformed_answer_is_a_problem_of_its_host(answer, why):
    found = diagnose("abcd", {**answers(), "a": answer})
    assert [(problem.rule, problem.host, problem.message) for problem in found.problems] == [("answer_not_understood", "a", why)]
    assert classes(found) == {"a": "not_measured", "b": "good", "c": "good", "d": "good"}


def test_elements_that_are_not_records_are_dropped():
    found = diagnose("abcd", {**answers(), "a": {"state": "finished", "measurements": [5, None, ["x"]]}})
    assert [problem.message for problem in found.problems] == ["a record without an id is dropped: it is not a dictionary"] * 3
    assert classes(found) == {"a": "not_measured", "b": "good", "c": "good", "d": "good"}


@pytest.mark.parametrize("changed", [{"state": ["running"]}, {"state": 3}, {"error": "text", "state": "finished"}, {"msg": {"a": 1}}, {"unreachable": "yes"}])
def test_answer_fields_of_the_wrong_type_are_ignored(changed):
    found = diagnose("abcd", {**answers(), "a": {**answers()["a"], **changed}})
    assert set(classes(found).values()) == {"good"}


def test_a_foreign_record_does_not_hide_one_with_the_same_id():
    forged = {"id": "r1/bc/forward/1", "target": {"host": "c", "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 10.0}]}
    found = diagnose("abcd", answers(a=forged))
    assert found.coverage["pairs"] == 4


def test_records_outside_the_plan_are_dropped():
    plan = {"hosts": dict.fromkeys("abcd", {}), "rounds": [[{"id": pair, "source": {"host": pair[0], "device": 0}, "target": {"host": pair[1], "device": 0}}]
                                                           for pair in RING]}
    forged = {"id": "r1/bc/forward/1", "target": {"host": "c", "device": 7}}
    found = diagnose("abcd", answers(a=forged), plan=plan)
    assert [problem.message for problem in found.problems] == [
        "the record 'r1/bc/forward/1' is dropped: the plan does not contain the pair bc of a NPU 0 and c NPU 7"]
    assert (classes(found), found.states) == ({"a": "not_measured", "b": "good", "c": "good", "d": "good"}, {"bc": "good", "cd": "good", "da": "good"})


def test_texts_of_hosts_are_bounded_and_printable():
    hostile = {"status": "failed", "samples": [], "error": {"code": "x" * 999, "message": "\x1b[2J\u202e" + "y" * 99999}}
    found = diagnose("abcd", answers(a=hostile))
    message = found.components[0]["evidence"][0]
    assert len(message) < 600 and message.isprintable()


@pytest.mark.parametrize("hosts, values", [([], []), (["b"], []), (["b"], [None]), (["b"], [0])])
@pytest.mark.parametrize("measure", ["bandwidth", "latency"])
def test_a_row_without_values_is_ignored(hosts, values, measure):
    empty = {"id": "r1/a/0/matrix", "kind": "matrix", "measure": measure, "hosts": hosts, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": values}]}
    found = answers()
    found["a"]["measurements"].append({**RECORD, **empty})
    alone = diagnose("ab", {"a": {"state": "finished", "measurements": [{**RECORD, **empty}]}, "b": None})
    assert classes(alone) == {"a": "not_measured", "b": "not_measured"}
    if values != [0]:
        assert classes(diagnose("abcd", found)) == dict.fromkeys("abcd", "good")


def test_a_row_may_have_fewer_values_than_hosts():
    row = {"id": "r1/a/0/matrix", "kind": "matrix", "hosts": ["b", "c", "d"], "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [195.0]}]}
    found = diagnose("abcd", {"a": {"state": "finished", "measurements": [{**RECORD, **row}]}})
    assert (found.problems, classes(found)["b"], found.coverage["pairs_good"]) == ([], "good", 1)


def test_a_list_of_records_is_read_by_their_sources():
    found = diagnose_records([*(entry for answer in answers().values() for entry in answer["measurements"]), {**RECORD, "source": "a"}])
    assert [(problem.host, problem.rule) for problem in found.problems] == [("unknown", "record_not_understood")]
    assert {host: verdict for host, verdict in classes(found).items() if host in "abcd"} == dict.fromkeys("abcd", "good")


def test_a_host_that_cannot_measure_its_clock_is_not_bad():
    busy = {"status": "failed", "samples": [], "error": {"code": "clock_not_measured", "message": "the host was too busy"}, "context": {"failed_end": "source"}}
    found = diagnose("abcd", answers(a=busy))
    assert classes(found) == dict.fromkeys("abcd", "good")
    assert found.verdicts[0].message == (
        "1 good pair with 1 other host, 195 to 195 Gbit/s; without a result, since the host was too busy to measure its clock: 1")
    alone = diagnose("ab", {"a": {"state": "finished", "measurements": [{**RECORD, **busy}]}, "b": None})
    assert [(verdict.verdict, verdict.message) for verdict in alone.verdicts] == [
        ("not_measured", "the host was too busy to measure its clock: run the test again on idle cores"),
        ("not_measured", "its pairs failed because of their partners")]
    row = {**RECORD, "id": "r1/a/0/matrix", "kind": "matrix", "hosts": ["b", "c"], "failed": {"clock_not_measured": [1]},
           "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [195.0, None]}]}
    assert (classes(diagnose("abc", {"a": {"state": "finished", "measurements": [row]}}))) == {"a": "good", "b": "good", "c": "not_measured"}


@pytest.mark.parametrize("routers", ["10.0.0.1", [7], ["10.0.0.1", "<b>"], ["fe80::1%<b>"], ["10.0.0.1"] * 9, {"10.0.0.1": 1}])
def test_routers_are_at_most_8_addresses(routers):
    found = diagnose("abcd", answers(a={"context": {"routers": routers}}))
    assert [problem.message for problem in found.problems] == ["the record 'r1/ab/forward/1' is dropped: its routers are not at most 8 IP addresses"]
    assert diagnose("abcd", answers(a={"context": {"routers": ["10.0.0.1"] * 8}})).problems == []


def test_an_error_reported_by_one_partner_does_not_fail_a_good_npu():
    """b is good with c; only a reports that b failed. It counts if two partners report it, or if b has no good pair."""
    reported = {"status": "failed", "samples": [], "error": {"code": "start_refused", "message": "no"}, "context": {"failed_end": "target"}}
    assert classes(diagnose("abcd", answers(a=reported))) == dict.fromkeys("abcd", "good")
    assert classes(diagnose("abcd", answers(a=reported, b={**reported, "context": {"failed_end": "source"}})))["b"] == "failed"
    third = {**RECORD, "id": "r1/db/forward/1", "source": {"host": "d", "device": 0}, "target": {"host": "b", "device": 0}, **reported}
    both = answers(a=reported)
    both["d"]["measurements"].append(third)
    assert classes(diagnose("abcd", both))["b"] == "failed"
