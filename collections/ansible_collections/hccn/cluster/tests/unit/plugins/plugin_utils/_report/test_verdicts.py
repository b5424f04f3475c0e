"""The class and reason of each host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import verdicts

FILE = RunFile(Path("/h/x.jsonl"), "x", "20261120T101530Z", part=False)


def run(records: list[dict[str, Any]], events: list[dict[str, Any]] | None = None, end: dict[str, Any] | None = None) -> Run:
    return Run(FILE, {}, records, events or [], end)


def verdict(host: str, name: str | None, message: str | None = "m", evidence: Any = None, status: str = "ok") -> dict[str, Any]:
    return {"kind": "verdict", "status": status, "source": {"host": host}, "samples": [{"class": name, "message": message, "evidence": evidence}]}


def lines(given: Run) -> list[tuple[str, str, str]]:
    return [(line.host, line.verdict, line.sentence) for line in verdicts.build(given)]


def test_hosts_are_sorted_worst_first_then_in_natural_order() -> None:
    classes = ["good", "good", "not_measured", "busy", "slow", "unreachable", "failed", "weird"]
    hosts = ["n10", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]
    found = verdicts.build(run([verdict(host, name) for host, name in zip(hosts, classes)]))
    assert [(line.host, line.verdict) for line in found] == [
        ("n8", "weird"),
        ("n7", "failed"),
        ("n6", "unreachable"),
        ("n5", "slow"),
        ("n4", "busy"),
        ("n3", "not_measured"),
        ("n2", "good"),
        ("n10", "good"),
    ]


def test_last_verdict_counts_with_its_evidence() -> None:
    found = verdicts.build(run([verdict("n1", "failed"), verdict("n1", "slow", "NPU 3 is slow", ["3 of 3 good partners", 7])]))
    assert found == [verdicts.HostVerdict("n1", "slow", "NPU 3 is slow", ["3 of 3 good partners", "7"], judged=True)]


@pytest.mark.parametrize(("status", "expected"), [("ok", "good"), ("failed", "failed")])
def test_class_of_a_verdict_without_one_follows_its_status(status: str, expected: str) -> None:
    record = {"kind": "verdict", "status": status, "source": {"host": "n1"}, "error": {"message": "what was wrong"}}
    assert lines(run([record])) == [("n1", expected, "what was wrong")]
    assert lines(run([verdict("n1", None, status=status)])) == [("n1", expected, "m")]


RDMA = {"kind": "rdma", "status": "ok", "source": {"host": "n1"}, "target": {"host": "n1"}}
FAILED = {"kind": "rdma", "status": "failed", "source": {"host": "n1"}, "error": {"code": "refused", "message": "connection refused"}}
BUSY = {"kind": "device", "status": "not_run", "source": {"host": "n1"}, "error": {"code": "device_busy", "message": "pid 7 holds NPU 3"}}
SEEN = {"kind": "device", "status": "ok", "source": {"host": "n1"}}
TASK = {"event": "failed", "host": "n1", "task": "Measure", "message": "it broke"}
DROPPED = {"event": "dropped", "host": "n1", "task": "Measure", "message": "A record is not kept: 'a': it is too large"}
GONE = {"event": "unreachable", "host": "n1", "task": "Measure", "message": "no route to host"}


@pytest.mark.parametrize(
    ("records", "events", "expected"),
    [
        ([FAILED, BUSY], [TASK, GONE], ("unreachable", "no route to host")),
        ([FAILED, BUSY], [TASK], ("busy", "pid 7 holds NPU 3")),
        ([{**FAILED, "error": {"code": "tool_busy", "message": "try again"}}], [], ("failed", "1 of 1 results failed, the last: try again")),
        ([RDMA, FAILED], [TASK], ("failed", "1 of 2 results failed, the last: connection refused")),
        ([{**FAILED, "error": None}], [], ("failed", "1 of 1 results failed, the last: no message")),
        ([RDMA], [TASK], ("failed", "Task Measure: it broke")),
        ([RDMA, SEEN], [], ("not_judged", "1 of 2 results are successful measurements; there is no verdict.")),
        ([RDMA], [{**TASK, "ignored": True}], ("not_judged", "1 of 1 results are successful measurements; there is no verdict.")),
        ([SEEN], [], ("not_measured", "Nothing was measured on this host in this run.")),
        ([SEEN], [DROPPED], ("not_measured", "Task Measure: A record is not kept: 'a': it is too large")),
        ([RDMA], [DROPPED], ("not_judged", "1 of 1 results are successful measurements; there is no verdict.")),
        ([], [TASK, DROPPED], ("failed", "Task Measure: it broke")),
    ],
)
def test_class_and_reason_without_a_verdict(records: list[Any], events: list[Any], expected: tuple[str, str]) -> None:
    assert lines(run(records, events)) == [("n1", *expected)]
    assert [line.judged for line in verdicts.build(run(records, events))] == [False]


def test_hosts_of_the_play_without_a_result_are_listed_except_localhost() -> None:
    end = {"end": True, "hosts": {"n2": {}, "localhost": {}}}
    assert [line[:2] for line in lines(run([RDMA], end=end))] == [("n2", "not_measured"), ("n1", "not_judged")]
    assert lines(run([], end={"end": True, "hosts": None})) == []
