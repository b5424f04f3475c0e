from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem, as_dicts, fails
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record, utc


def test_error_has_code_message_and_hint():
    error = HccnError("link_down", "the link is down", "look at the cable")
    assert error.as_dict() == {"code": "link_down", "message": "the link is down", "hint": "look at the cable"}
    assert error.sentence() == "the link is down (look at the cable)"
    assert str(error) == "the link is down"


def test_error_without_hint():
    assert InputError("devices is empty").as_dict() == {"code": "invalid_input", "message": "devices is empty"}
    assert ParseError("what is this").sentence() == "what is this"


def test_problem_has_only_keys_that_are_set():
    problem = Problem("final_newline", "error", "no newline", where="line 3", device=0)
    assert as_dicts([problem]) == [{"rule": "final_newline", "severity": "error", "message": "no newline", "where": "line 3", "device": 0}]


@pytest.mark.parametrize("severity, fail_on, expected", [
    ("error", "error", True), ("warning", "error", False), ("warning", "warning", True), ("error", "never", False),
])
def test_problems_fail_by_severity(severity, fail_on, expected):
    assert fails([Problem("rule", severity, "message")], fail_on) is expected


def test_record_has_no_unset_fields():
    assert record("ping", "run/1", source={"device": 0}, error=None) == {
        "schema": "hccn.cluster/measurement/1", "id": "run/1", "kind": "ping", "status": "ok", "source": {"device": 0},
    }


@pytest.mark.parametrize("kind, status", [("song", "ok"), ("rdma", "fine")])
def test_record_of_unknown_kind_or_status_is_refused(kind, status):
    with pytest.raises(ValueError):
        record(kind, "x", status)


def test_times_are_rfc_3339_in_utc():
    assert utc(1795205974.4956) == "2026-11-20T20:19:34.495Z"
    assert utc().endswith("Z")
