# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a task result is kept."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import collect

AT = "2026-11-20T10:15:30.000Z"


def record(**more: Any) -> dict[str, Any]:
    return {"schema": "hccn.cluster/measurement/1", "id": "a", **more}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (record(), record(source={"host": "n1"})),
        (record(source={"device": 3}), record(source={"device": 3, "host": "n1"})),
        (record(source={"host": "", "device": 3}), record(source={"host": "n1", "device": 3})),
        (record(source={"host": "n9"}), record(source={"host": "n9"})),
        (record(hosts=["n1", "n2"]), record(hosts=["n1", "n2"])),
        ({"schema": "hccn.cluster/other/7"}, {"schema": "hccn.cluster/other/7", "source": {"host": "n1"}}),
    ],
)
def test_a_record_names_its_host(given: dict[str, Any], kept: dict[str, Any]) -> None:
    assert collect.records({"measurements": [given]}, "n1") == [kept]


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"measurements": "none"},
        {"measurements": {"schema": "hccn.cluster/measurement/1"}},
        {"measurements": [7, "x", None, {}, {"schema": None}, {"schema": "other/measurement/1"}]},
        {"measurements": [record()], "_ansible_no_log": True},
        {"measurements": [record()], "censored": "the output has been hidden"},
    ],
)
def test_what_is_not_kept(result: dict[str, Any]) -> None:
    assert collect.records(result, "n1") == []


def test_the_result_itself_stays_as_it_is() -> None:
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
def test_an_event_has_the_beginning_of_the_message(result: dict[str, Any], message: str) -> None:
    assert collect.event("failed", "n1", "Measure", result, AT) == {"event": "failed", "host": "n1", "task": "Measure", "message": message, "at": AT}


def test_the_end_has_the_counts_of_each_host() -> None:
    counts = {"n1": {"ok": 3, "failures": 1, "unreachable": 0, "changed": 2, "skipped": 9, "rescued": 0, "ignored": 0}}
    assert collect.end(AT, 5, ["n1"], counts) == {
        "end": True,
        "finished_at": AT,
        "records": 5,
        "hosts": {"n1": {"ok": 3, "failed": 1, "unreachable": 0, "changed": 2}},
    }
