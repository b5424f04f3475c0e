"""The output of nccl-tests: the text of all supported releases, and the JSON file."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf import nccl_output
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_output import Device, Measured, NcclRow, parse_text

SUMMARY = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 31.5 \n#\n"
NEW = """# nccl-tests version 2.20.0 (0123abc) nccl-headers=23102 nccl-library=23102
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1001 on      alpha device  0 [0000:0f:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   2001 on       beta device  0 [0000:0f:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    52.43   20.00   20.00       0    50.00   20.97   20.97       0
     2097152        524288     float     sum      -1   104.86   20.00   20.00       0   100.00   20.97   20.97       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 20.485
#
# Collective test concluded: all_reduce_perf
#
"""
HEADING = "#       size         count      type%s     time   algbw   busbw  %s     time   algbw   busbw  %s\n"
WAYS = "   52.43   20.00   20.00%7s    50.00   20.97   20.97%7s\n"


def one(labels: str, values: str, last: str = "#wrong", wrong: "tuple[str, str]" = ("0", "0")) -> NcclRow:
    """Return the only row of an output with these columns."""
    rows = parse_text(HEADING % (labels, last, last) + "     1048576        262144     float" + values + WAYS % wrong + SUMMARY).rows
    assert len(rows) == 1
    return rows[0]


def test_complete_text() -> None:
    report = parse_text(NEW)
    assert report.rows == (
        NcclRow(1048576, "float", Measured(52.43, 20.0, 20.0, 0.0), Measured(50.0, 20.97, 20.97, 0.0)),
        NcclRow(2097152, "float", Measured(104.86, 20.0, 20.0, 0.0), Measured(100.0, 20.97, 20.97, 0.0)),
    )
    assert report.requested == {"begin_bytes": 1048576, "end_bytes": 2097152, "factor": 2, "iterations": 20, "warmup": 5}
    assert report.devices == (Device(0, 0, "alpha"), Device(1, 0, "beta"))
    assert (report.version, report.ranks, report.hosts, report.tables) == ("2.20.0", 2, ("alpha", "beta"), 1)
    assert (report.wrong, report.average, report.average_low, report.finished) == (0, 20.485, False, True)
    assert (report.errors, report.failures, report.reduced_to) == ((), (), None)


@pytest.mark.parametrize(("labels", "values"), [
    ("", ""), ("   redop", "     sum"), ("    root", "       0"), ("   redop    root", "     sum       3"), ("   redop    root", "    none      -1"),
    ("   redop", "        "), ("   redop    root", "              -1"),
])
def test_columns_of_all_releases(labels: str, values: str) -> None:
    assert one(labels, values) == NcclRow(1048576, "float", Measured(52.43, 20.0, 20.0, 0.0), Measured(50.0, 20.97, 20.97, 0.0))


def test_largest_error_of_old_releases_is_not_a_count() -> None:
    row = one("   redop", "     sum", "error", ("4e-07", "N/A"))
    assert (row.out_of_place.wrong, row.in_place.wrong) == (0.0, None)


def test_wrong_elements_are_counted() -> None:
    row = one("   redop    root", "     sum      -1", wrong=("1e+06", "N/A"))
    assert (row.out_of_place.wrong, row.in_place.wrong) == (1000000.0, None)


def test_table_without_a_heading() -> None:
    text = "     1048576        262144     float     sum      -1" + WAYS % ("0", "0")
    assert len(parse_text(text).rows) == 1


def test_rows_with_timestamps_and_iteration_columns() -> None:
    heading = HEADING % ("   redop    root", "#wrong", "#wrong")
    stamped = "     1048576        262144     float     sum      -1" + (WAYS % ("0", "2")).rstrip("\n") + "  2026-01-02 03:04:05\n"
    assert parse_text(heading + stamped).rows[0].in_place == Measured(50.0, 20.97, 20.97, 2.0)
    more = "   i_min    i_max    i_p99    i_cv%"
    heading = "# size count type redop root time algbw busbw #wrong" + more + " time algbw busbw #wrong" + more + "\n"
    row = "1048576 262144 float sum -1  52.43 20.00 20.00 0  50.1 60.2 59.9 1.25  50.00 20.97 20.97 3  49.1 58.2 57.9 1.15\n"
    assert parse_text(heading + row).rows[0] == NcclRow(1048576, "float", Measured(52.43, 20.0, 20.0, 0.0), Measured(50.0, 20.97, 20.97, 3.0))


def test_wide_numbers_have_no_decimals() -> None:
    text = " 17179869184    4294967296     float     sum      -1    68359  251.32  471.22      0  1.2e+08    1000    1875      0\n"
    row = parse_text(text).rows[0]
    assert (row.out_of_place.time_us, row.in_place.time_us, row.in_place.busbw_gbyte_s) == (68359.0, 1.2e8, 1875.0)


def test_truncated_row() -> None:
    report = parse_text("     1048576        262144     float     sum      -1    52.43   20.00   20.00       0\n     2097152        524288     float     sum")
    assert report.rows == (NcclRow(1048576, "float", Measured(52.43, 20.0, 20.0, 0.0), None),)
    assert (report.finished, report.wrong) == (False, None)


def test_log_lines_of_nccl_and_launcher_tags_are_ignored() -> None:
    glued = NEW.replace("float     sum      -1    52.43", "float     sum      -1alpha-7:12:34 [0] NCCL INFO Channel 00 : 0 1\n    52.43")
    noisy = "alpha-7:12:34 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nNCCL version 2.23.4+cuda12.6\n" + glued
    assert parse_text(noisy).rows == parse_text(NEW).rows
    tagged = "".join("[1,0]<stdout>:" + line + "\n" for line in NEW.splitlines())
    assert parse_text(tagged) == parse_text(NEW)
    for ending in ("\r\n", " \n"):
        assert parse_text(NEW.replace("\n", ending)).rows == parse_text(NEW).rows


@pytest.mark.parametrize("stamp", ["", "[2026-01-02 03:04:05] "])
def test_warning_between_labels_and_numbers_of_a_row(stamp: str) -> None:
    warning = f"\n{stamp}alpha:12:34 [0] transport/net_ib.cc:129 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n"
    assert parse_text(NEW.replace("-1    52.43", "-1 " + warning + "    52.43")).rows == parse_text(NEW).rows
    assert parse_text(NEW.replace("20.97       0\n", "20.97       0\n" + warning)).rows == parse_text(NEW).rows


def test_old_banner_and_devices() -> None:
    report = parse_text("# nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 1048576(bytes) warmup iters: 5 iters: 20 validation: 1 \n#\n# Using devices\n"
                        "#   Rank  0 Pid  12345 on     gamma device  0 [0x1a] Tesla V100\n#   Rank 10 Pid  12345 on     gamma device  1 [0x1b] Tesla V100\n")
    assert report.requested == {"begin_bytes": 8, "end_bytes": 128, "iterations": 20, "warmup": 5}
    assert (report.hosts, report.ranks, report.version) == (("gamma",), 11, None)


def test_devices_with_groups() -> None:
    text = "#  Rank  0 Group  1 Pid   1 on a device  0 [0x0f] G\n#  Rank  1 Group  3 Pid   2 on b device  0 [0x0f] G\n"
    assert [device.group for device in parse_text(text).devices] == [1, 3]


def test_failed_summary() -> None:
    report = parse_text("#\n# Reducing maxBytes to 4294967296 due to memory limitation\n# Out of bounds values : 50 FAILED\n"
                        "# Avg bus bandwidth    : 1.5e+02 FAILED\n\n .. node-1 pid 4321: Test failure common.cu:1453\n")
    assert (report.wrong, report.average, report.average_low, report.reduced_to, report.finished) == (50, 150.0, True, 4294967296, True)
    assert report.failures == ("# Out of bounds values : 50 FAILED", "# Avg bus bandwidth    : 1.5e+02 FAILED",
                               ".. node-1 pid 4321: Test failure common.cu:1453")


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


def test_complete_json_file() -> None:
    report = nccl_output.parse_json(json.dumps(document()))
    assert report.rows == (NcclRow(2097152, "float", Measured(104.86, 20.0, 35.0, 0.0), Measured(104.86, 20.0, 35.0, None)),)
    assert report.requested == {"begin_bytes": 2097152, "end_bytes": 2097152, "factor": 2, "iterations": 20, "warmup": 5}
    assert (report.devices, report.ranks) == ((Device(0, 0, "alpha"), Device(4, 0, "beta")), 8)
    assert (report.wrong, report.average, report.average_low, report.finished, report.errors) == (0, 35.0, False, True, ())
    assert "hidden" not in repr(report)


def test_json_with_missing_or_nan_values() -> None:
    result = {"size": 8, "count": 2, "type": "float", "out_of_place": None, "in_place": {"cpu_time": "nan", "alg_bw": 1.0, "bus_bw": 1.0, "nwrong": 2.0}}
    report = nccl_output.parse_json(json.dumps(document(results=[result, {"size": 8, "type": "float", "in_place": {"time": None}}])))
    assert report.rows[0].out_of_place is None
    assert math.isnan(report.rows[0].in_place.time_us) and report.rows[0].in_place.wrong == 2.0
    assert report.rows[1].measurements == []


def test_json_with_errors_or_failed_summary() -> None:
    report = nccl_output.parse_json(json.dumps(document(
        out_of_bounds={"count": 7, "okay": "false"}, average_bus_bandwidth={"bandwidth": 1.0, "okay": "false"},
        errors=["n1: Test NCCL failure common.cu:9 'internal error / '"])))
    assert (report.wrong, report.average_low, [error.code for error in report.errors]) == (7, True, ["nccl_internal_error"])
    unfinished = document()
    del unfinished["out_of_bounds"]
    assert nccl_output.parse_json(json.dumps(unfinished)).finished is False


@pytest.mark.parametrize(("text", "code"), [
    (json.dumps(document())[:200], "json_cut"), ("[" * 100000, "json_cut"), ("{}", "json_unknown"), ("[1]", "json_unknown"),
    (json.dumps(document(results=[{"type": "float"}])), "json_unknown"), (json.dumps({"config": {"devices": ["alpha"]}}), "json_unknown"),
])
def test_truncated_or_foreign_json_is_an_error(text: str, code: str) -> None:
    report = nccl_output.parse_json(text)
    assert ([error.code for error in report.errors], report.rows) == ([code], ())


def test_json_is_recognized() -> None:
    assert nccl_output.is_json('\n {"version":3')
    assert not nccl_output.is_json("# nccl-tests version 2.19.6")
