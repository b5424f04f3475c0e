"""A run that could not start, for instance because of another run, makes neither its host nor its partners slow or failed."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.unstarted_runs import UnstartedRuns
from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._diagnose.test_diagnosis import classes, record, results_of, ring, verdict

IN_USE = "run r0 (pid 7) has been at work on this host since 2026-01-04T10:00:00.000Z, and one run measures on a host at a time"


def refused(code, message=IN_USE):
    """Return the result of rdma_perf for a run that could not start."""
    return {"failed": True, "msg": message, "error": {"code": code, "message": message}, "run_id": "r1", "measurements": []}


@pytest.mark.parametrize("code, verdict_class", [
    ("host_in_use", "busy"), ("device_busy", "busy"), ("roce_test_running", "busy"), ("tool_busy", "busy"),
    ("control_port_in_use", "not_measured"), ("control_address_unusable", "not_measured"), ("invalid_input", "not_measured"),
    ("state_dir_unsafe", "not_measured"), ("state_dir_unusable", "not_measured"), ("journal_unreadable", "not_measured"), ("not_started", "not_measured"),
    ("tool_missing", "not_measured"), ("tool_not_executable", "not_measured"), ("cannot_start", "not_measured"), ("no_device", "not_measured"),
    ("unsupported_dialect", "not_measured"), ("timeout", "not_measured"), ("busy_unknown", "busy"), ("no_rdma_device", "not_measured"),
    ("no_rdma_port", "not_measured"), ("no_gid", "not_measured"), ("gid_ambiguous", "not_measured"), ("tool_failed", "not_measured"),
    ("port_ambiguous", "not_measured"), ("of_another_release", "not_measured"),
])
def test_a_run_that_did_not_start_is_not_a_fault(code, verdict_class):
    found = diagnose("abcd", {**results_of(*ring()[:2]), "d": refused(code)})
    assert classes(found)["d"] == verdict_class
    assert verdict(found, "d").message == "the run did not begin on this host: " + IN_USE
    assert verdict(found, "d").evidence == []


@pytest.mark.parametrize("code", ["peer_unreachable", "peer_lost", "peer_silent", "wrong_run", "wrong_key", "peer_refused", "connection_refused"])
def test_failures_of_partners_of_an_unstarted_run_blame_neither_side(code):
    pairs = [record("a", "b"), record("c", "d", error=code, failed_end="target"), record("b", "c"), record("a", "d", error=code, device=1)]
    found = diagnose("abcd", {**results_of(*pairs), "d": refused("host_in_use")})
    assert classes(found) == {"a": "good", "b": "good", "c": "good", "d": "busy"}
    assert found.components == []
    assert found.coverage["pairs_failed"] == 0


def test_a_host_all_of_whose_partners_were_in_use_was_not_measured():
    pairs = [record("a", "c", error="peer_unreachable", failed_end="target"), record("a", "d", error="wrong_run", failed_end="target", device=1)]
    found = diagnose("abcd", {**results_of(*pairs), "b": {"state": "finished", "measurements": []}, "c": refused("host_in_use"), "d": refused("host_in_use")})
    assert classes(found) == {"a": "not_measured", "b": "not_measured", "c": "busy", "d": "busy"}
    assert verdict(found, "a").message == "the run did not start, or was ended, on its partners: c, d"
    assert verdict(found, "b").message == "no pair contains this host"


def test_rows_lose_only_the_places_of_unstarted_hosts():
    row = {"id": "r1/a/0/matrix", "kind": "matrix", "status": "ok", "operation": "write", "measure": "bandwidth", "source": {"host": "a", "device": 0},
           "target": {"device": 0}, "hosts": ["b", "c", "d"], "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [195, None, None]}],
           "failed": {"peer_unreachable": [2], "retry_exceeded": [1]}}
    results = {"a": {"state": "finished", "measurements": [row]}, "d": refused("host_in_use")}
    found = diagnose("abcd", {**results_of(record("b", "c")), **results})
    assert found.coverage["pairs_failed"] == 1
    assert classes(found)["d"] == "busy"


def test_measurements_with_a_host_whose_run_was_ended_count():
    ended = {"state": "failed", "measurements": [record("d", "a")], "error": {"code": "run_cancelled", "message": "by hand"}}
    lost = record("c", "d", error="peer_lost", failed_end="target")
    found = diagnose("abcd", {**results_of(record("a", "b"), record("b", "c"), lost), "d": ended})
    assert classes(found) == {"a": "good", "b": "good", "c": "good", "d": "not_measured"}
    refused_by_d = [record("a", "d", error="retry_exceeded", failed_end="target", device=1)]
    found = diagnose("abcd", {**results_of(record("a", "b"), record("b", "c"), *refused_by_d), "d": ended})
    assert classes(found)["d"] == "failed", "an error of the link is one, whoever ended the run"


@pytest.mark.parametrize("odd", [7, None, "x", [], {"kind": "rdma", "status": "failed", "source": 7, "target": ["d"], "error": "x"},
                                 {"kind": "matrix", "status": "ok", "hosts": 7, "failed": []},
                                 {"kind": "matrix", "hosts": ["d"], "failed": {"x": ["0", 9, -1]}}])
def test_elements_that_are_not_records_are_passed_on(odd):
    assert list(UnstartedRuns({"d": refused("host_in_use")}).filter([odd])) == [odd]
