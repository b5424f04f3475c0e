# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON file of nccl-tests."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf import nccl_json
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_text import Device, Measured, Row


def document(**changes: object) -> "dict[str, Any]":
    way = {"time": 104.86, "alg_bw": 20.0, "bus_bw": 35.0, "nwrong": 0.0}
    whole: "dict[str, Any]" = {
        "version": 1, "args": ["all_reduce_perf", "-J", "f"], "env": ["PATH=/usr/bin", "TOKEN=hidden"], "nccl_version": 22809,
        "config": {"nthreads": 1, "ngpus": 4, "minimum_bytes": 2097152, "maximum_bytes": 2097152, "step_factor": 2, "warmup_iters": 5, "iterations": 20,
                   "devices": [{"rank": 4, "group": 0, "hostname": "beta"}, {"rank": 0, "group": 0, "hostname": "alpha"}]},
        "results": [{"size": 2097152, "count": 524288, "type": "float", "redop": "sum", "root": "    -1", "out_of_place": way,
                     "in_place": dict(way, cpu_time=1.0, nwrong=None), "actual_iterations": 20}],
        "out_of_bounds": {"count": 0, "okay": "true"}, "average_bus_bandwidth": {"bandwidth": 35.0, "okay": "unchecked"}, "errors": [""],
    }
    whole.update(changes)
    return whole


def test_everything() -> None:
    report = nccl_json.parse(json.dumps(document()))
    assert report.rows == (Row(2097152, "float", Measured(104.86, 20.0, 35.0, 0.0), Measured(104.86, 20.0, 35.0, None)),)
    assert report.asked == {"begin_bytes": 2097152, "end_bytes": 2097152, "factor": 2, "iterations": 20, "warmup": 5}
    assert (report.devices, report.ranks) == ((Device(0, 0, "alpha"), Device(4, 0, "beta")), 8)
    assert (report.wrong, report.average, report.average_low, report.finished, report.errors) == (0, 35.0, False, True, ())
    assert "hidden" not in repr(report)


def test_other_values() -> None:
    result = {"size": 8, "count": 2, "type": "float", "out_of_place": None, "in_place": {"cpu_time": "nan", "alg_bw": 1.0, "bus_bw": 1.0, "nwrong": 2.0}}
    report = nccl_json.parse(json.dumps(document(results=[result, {"size": 8, "type": "float", "in_place": {"time": None}}])))
    assert report.rows[0].out_of_place is None
    assert math.isnan(report.rows[0].in_place.time_us) and report.rows[0].in_place.wrong == 2.0
    assert report.rows[1].ways == []


def test_bad_endings() -> None:
    report = nccl_json.parse(json.dumps(document(
        out_of_bounds={"count": 7, "okay": "false"}, average_bus_bandwidth={"bandwidth": 1.0, "okay": "false"},
        errors=["n1: Test NCCL failure common.cu:9 'internal error / '"])))
    assert (report.wrong, report.average_low, [error.code for error in report.errors]) == (7, True, ["nccl_internal_error"])
    unfinished = document()
    del unfinished["out_of_bounds"]
    assert nccl_json.parse(json.dumps(unfinished)).finished is False


@pytest.mark.parametrize(("text", "code"), [
    (json.dumps(document())[:200], "json_cut"), ("{}", "json_unknown"), ("[1]", "json_unknown"),
])
def test_no_report(text: str, code: str) -> None:
    report = nccl_json.parse(text)
    assert ([error.code for error in report.errors], report.rows) == ([code], ())


def test_which_is_json() -> None:
    assert nccl_json.is_json('\n {"version":3')
    assert not nccl_json.is_json("# nccl-tests version 2.19.6")
