"""Records and events that are extracted from task results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import collect
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.redact import Redactor

AT = "2026-11-20T10:15:30.000Z"


def record(**more: Any) -> dict[str, Any]:
    return {"schema": "hccn.cluster/measurement/1", "id": "a", **more}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (record(), record(source={"host": "n1"})),
        (record(source={"device": 3}), record(source={"device": 3, "host": "n1"})),
        (record(source={"host": "", "device": 3}), record(source={"host": "n1", "device": 3})),
        (record(hosts=["n1", "n2"]), record(hosts=["n1", "n2"])),
        ({"schema": "hccn.cluster/other/7"}, {"schema": "hccn.cluster/other/7", "source": {"host": "n1"}}),
    ],
)
def test_record_without_a_host_gets_the_host_of_the_task(given: dict[str, Any], kept: dict[str, Any]) -> None:
    assert collect.records({"measurements": [given]}, "n1") == [kept]


def test_records_about_other_hosts_are_rejected() -> None:
    given = [record(source={"host": "n1"}), record(source={"host": "n9"}), record(kind="verdict", source={"host": "n1"}), record(kind="plan"),
             record(source={"host": "all"}), 7]
    assert collect.records({"measurements": given}, "n1") == [given[0]]
    assert collect.foreign({"measurements": given}, "n1") == {"n9": 1, "all": 1, "the controller": 2}
    assert collect.foreign({"measurements": given, "censored": "x"}, "n1") == {}


def test_controller_actions_may_return_records_of_any_host() -> None:
    given = [record(kind="verdict", source={"host": "n9"}), record(kind="verdict", hosts=["n1", "n2"])]
    assert collect.records({"measurements": given}, "n1", by_controller=True) == given


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"measurements": "none"},
        {"measurements": {"schema": "hccn.cluster/measurement/1"}},
        {"measurements": [7, "x", None, {}, {"schema": None}, {"schema": ["hccn.cluster/"]}, {"schema": "other/measurement/1"}]},
        {"measurements": [record()], "_ansible_no_log": True},
        {"measurements": [record()], "censored": "the output has been hidden"},
    ],
)
def test_results_without_records(result: dict[str, Any]) -> None:
    assert collect.records(result, "n1") == []


def test_result_is_not_modified() -> None:
    result = {"measurements": [record(source={"device": 3})], "_ansible_no_log": False}
    collect.records(result, "n1")
    assert result == {"measurements": [record(source={"device": 3})], "_ansible_no_log": False}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"msg": "no route to host"}, "no route to host"),
        ({"msg": "x" * 400}, "x" * 300),
        ({"msg": ["a", {"b": 1}]}, '["a", {"b": 1}]'),
        ({"msg": {"of": object()}}, '{"of": "object"}'),
        ({}, ""),
        ({"msg": "password x", "censored": "hidden"}, "(hidden: the task has no_log)"),
    ],
)
def test_event_has_the_beginning_of_the_message(result: dict[str, Any], message: str) -> None:
    event = {"event": "failed", "host": "n1", "task": "Measure", "message": message, "at": AT}
    assert collect.event("failed", "n1", "Measure", result, AT, Redactor().value) == event


def nested(depth: int) -> Any:
    value: Any = 1
    for _level in range(depth):
        value = [value]
    return value


SECRET = "correct\"horse\nb\u00e4ttery\\staple1"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("x" * 290 + SECRET + "more", "x" * 290 + "(hidden)mo"),
        ("x" * 299 + SECRET, "x" * 299 + "("),
        (["a", {"b": SECRET}], '["a", {"b": "(hidden)"}]'),
        ([{"cmd": f"login {SECRET} 'x'"}], '[{"cmd": "login (hidden) \'x\'"}]'),
        ({SECRET: [SECRET]}, '{"(hidden)": ["(hidden)"]}'),
        ({"stdout": json.dumps([SECRET])}, '{"stdout": "[\\"(hidden)\\"]"}'),
        (["x" * 400, "password=s3cr3t"], '["' + "x" * 298),
        ({"a": nested(300)}, "(the message is not kept: it is nested deeper than 32 levels)"),
        (["x" * 60_000] * 30, "(the message is not kept: it is too large)"),
    ],
)
def test_secrets_are_hidden_before_a_message_is_cut_or_quoted(message: Any, kept: str) -> None:
    redactor = Redactor()
    redactor.learn([SECRET])
    assert collect.event("failed", "n1", "Measure", {"msg": message}, AT, redactor.value)["message"] == kept


def test_rejected_record_does_not_affect_others() -> None:
    redactor = Redactor()
    redactor.learn([SECRET])
    entries = [
        record(id="first"),
        record(id="deep", x=nested(300)),
        record(id=f"of {SECRET}", x=["x" * 60_000] * 30),
        record(id="key", x={(1, 2): 3}),
        record(id=["no", "text"], x=nested(40)),
        record(id="last"),
    ]
    lines, refused = collect.lines(entries, redactor)
    assert [json.loads(line)["id"] for line in lines] == ["first", "last"]
    assert refused == [
        "'deep': it is nested deeper than 32 levels",
        "'of (hidden)': it is too large",
        "'key': TypeError",
        "without an id: it is nested deeper than 32 levels",
    ]


def test_size_limit_of_all_records_of_a_result() -> None:
    entries = [record(id=str(number), x=["x" * 60_000] * 16) for number in range(40)]
    lines, refused = collect.lines(entries, Redactor())
    assert (len(lines), len(refused)) == (17, 23)
    assert refused[0] == "'17': it is too large"


def test_rejected_records_become_one_short_event() -> None:
    assert collect.dropped("n1", "Measure", ["'a': it is too large"], AT) == {
        "event": "dropped", "host": "n1", "task": "Measure", "message": "A record is not kept: 'a': it is too large", "at": AT}
    several = collect.dropped("n1", "Measure", ["'a': " + "x" * 1000] * 3, AT)
    assert several["message"] == "3 records are not kept, the first of them: 'a': " + "x" * 252


def test_end_line_has_the_counts_of_each_host() -> None:
    counts = {"n1": {"ok": 3, "failures": 1, "unreachable": 0, "changed": 2, "skipped": 9, "rescued": 0, "ignored": 0}}
    assert collect.end(AT, 5, ["n1"], counts) == {
        "end": True,
        "finished_at": AT,
        "records": 5,
        "hosts": {"n1": {"ok": 3, "failed": 1, "unreachable": 0, "changed": 2}},
    }
