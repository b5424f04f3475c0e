"""nccl-tests: command lines, the judgement of its output, and the samples of the record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import nccl_tests_tool
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_failure import of_code
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NcclOptions, judge
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_output import Measured, NcclReport, NcclRow

WAY = Measured(100.0, 20.0, 35.0, 0.0)
ROWS = (NcclRow(1048576, "float", WAY, WAY), NcclRow(2097152, "float", WAY, WAY))
GOOD = NcclReport(rows=ROWS, tables=1, wrong=0, average=35.0, finished=True, ranks=8)
SIZES = (1048576, 2097152)


def code(report: NcclReport, rc: "int | None" = 0, expected: "tuple[int, ...] | None" = SIZES, timed_out: bool = False, **options: object) -> "str | None":
    error = judge(report, replace(NcclOptions(), **options), 8, None if expected is None else list(expected), rc, timed_out)
    return error.code if error else None


@pytest.mark.parametrize(("options", "line"), [
    (NcclOptions(), "-b 32M -e 512M -f 2 -g 1 -d float -o sum -n 20 -w 5 -c 1"),
    (NcclOptions("broadcast", root=3, gpus_per_process=8, check=False, factor=4), "-b 32M -e 512M -f 4 -g 8 -d float -r 3 -n 20 -w 5 -c 0"),
    (NcclOptions("reduce", reduction="avg", data_type="bfloat16"), "-b 32M -e 512M -f 2 -g 1 -d bfloat16 -o avg -r 0 -n 20 -w 5 -c 1"),
    (NcclOptions("sendrecv", begin="8", end="1K"), "-b 8 -e 1K -f 2 -g 1 -d float -n 20 -w 5 -c 1"),
])
def test_arguments(options: NcclOptions, line: str) -> None:
    assert nccl_tests_tool.arguments(options) == line.split()
    nccl_tests_tool.validate(options, 8)


@pytest.mark.parametrize(("options", "message"), [
    (NcclOptions(gpus_per_process=3), "gpus_per_process is 3, it must divide ranks_per_host (8)"),
    (NcclOptions(gpus_per_process=0), "gpus_per_process is 0, it must divide ranks_per_host (8)"),
    (NcclOptions(factor=1), "sizes.factor is 1, it must be 2 or more"),
    (NcclOptions(root=6), "root is 6, but the ranks are 0 to 5"),
    (NcclOptions("hypercube"), "hypercube needs a number of ranks that is a power of 2, not 6"),
    (NcclOptions(begin="2M", end="1M"), "sizes: end (1048576 bytes) is smaller than begin (2097152 bytes)"),
])
def test_invalid_options_are_rejected(options: NcclOptions, message: str) -> None:
    with pytest.raises(InputError) as caught:
        nccl_tests_tool.validate(options, 6)
    assert caught.value.message == message


def test_one_gpu_per_process_by_default() -> None:
    assert nccl_tests_tool.gpus_per_process(CollectiveOptions()) == 1


def test_expected_sizes() -> None:
    assert nccl_tests_tool.expected_sizes(8, 100, 3) == [8, 24, 72]


def test_good_run() -> None:
    assert code(GOOD) is None
    assert code(GOOD, rc=None, expected=None) is None


def test_rounded_sizes_match_the_requested_ones() -> None:
    rows = (NcclRow(1048464, "float", WAY, WAY), NcclRow(2097152, "float", WAY, WAY))
    assert code(replace(GOOD, rows=rows), operation="all_gather") is None
    assert code(replace(GOOD, rows=rows)) == "rows_missing"
    far = (NcclRow(1048000, "float", WAY, WAY), NcclRow(2097152, "float", WAY, WAY))
    assert code(replace(GOOD, rows=far), operation="all_gather") == "rows_missing"


@pytest.mark.parametrize(("changes", "rc", "found"), [
    ({"rows": ROWS[:1]}, 0, "rows_missing"),
    ({"rows": ()}, 0, "no_table"),
    ({"rows": (), "finished": False}, 3, "rank_exited"),
    ({"rows": (), "finished": False}, 200, "no_output"),
    ({"rows": (), "finished": False, "silent": False, "words": ("x",)}, 3, "no_table"),
    ({"rows": (), "finished": False, "words": ("x",)}, 200, "no_table"),
    ({"rows": (), "finished": False, "failures": ("n1: Test failure common.cu:9",)}, 3, "rank_exited"),
    ({"rows": ROWS + (NcclRow(4194304, "float", WAY, WAY),)}, 0, "unexpected_rows"),
    ({"finished": False}, 0, "summary_missing"),
    ({"tables": 2}, 0, "ranks_alone"),
    ({"wrong": 3}, 7, "check_failed"),
    ({"average_low": True}, 7, "low_bandwidth"),
    ({"reduced_to": 1500000, "rows": ROWS[:1]}, 0, "memory_limit"),
    ({"reduced_to": 4000000}, 0, None),
    ({"rows": (NcclRow(1048576, "float", replace(WAY, wrong=None), WAY), ROWS[1])}, 0, "not_checked"),
    ({"rows": (NcclRow(1048576, "float", WAY, replace(WAY, wrong=None)), ROWS[1])}, 0, None),
    ({"failures": ("n1: Test failure",)}, 0, "tool_failed"),
    ({}, 7, "rank_exited"),
    ({}, 137, "rank_crashed"),
    ({"errors": (of_code("timed_out", "m"),), "rows": ROWS[:1]}, 255, "timed_out"),
    ({"errors": (of_code("rank_crashed", "m"), HccnError("cuda_error", "m"))}, 255, "cuda_error"),
    ({"errors": (of_code("rank_crashed", "m"),), "wrong": 1}, 7, "check_failed"),
])
def test_failed_runs(changes: "dict[str, object]", rc: int, found: "str | None") -> None:
    assert code(replace(GOOD, **changes), rc) == found


def test_run_that_timed_out() -> None:
    assert code(replace(GOOD, rows=ROWS[:1], finished=False), rc=None, timed_out=True) == "timed_out"


def test_run_without_check_is_good() -> None:
    assert code(replace(GOOD, rows=(NcclRow(1048576, "float", replace(WAY, wrong=None), None), ROWS[1])), check=False) is None


def test_message_about_wrong_values() -> None:
    rows = (NcclRow(1048576, "float", WAY, replace(WAY, wrong=2.0)), NcclRow(2097152, "float", replace(WAY, wrong=48.0), WAY))
    assert judge(replace(GOOD, rows=rows, wrong=None), NcclOptions(), 8, SIZES).message == (
        "50 value(s) were wrong for 1048576, 2097152 bytes, out of place and in place")
    assert judge(replace(GOOD, wrong=4), NcclOptions(), 8, SIZES).message == "4 value(s) were wrong"


def test_different_number_of_ranks() -> None:
    assert nccl_tests_tool.rank_mismatch(GOOD, 8) is None
    assert nccl_tests_tool.rank_mismatch(replace(GOOD, ranks=None), 8) is None
    assert nccl_tests_tool.rank_mismatch(GOOD, 16).message == "8 ranks took part, but 16 were requested"


@pytest.mark.parametrize(("operation", "ranks", "factor"), [
    ("all_reduce", 16, 1.875), ("all_reduce", 1, 0.0), ("broadcast", 16, 1.0), ("reduce", 16, 1.0), ("sendrecv", 2, 1.0), ("hypercube", 8, 1.0),
    ("all_gather", 16, 0.9375), ("reduce_scatter", 4, 0.75), ("alltoall", 4, 0.75), ("alltoallv", 4, 0.75), ("gather", 4, 0.75), ("scatter", 4, 0.75),
])
def test_bus_factor(operation: str, ranks: int, factor: float) -> None:
    assert nccl_tests_tool.bus_factor(operation, ranks) == factor


def test_samples() -> None:
    rows = (NcclRow(8192, "float", Measured(40.0, 0.2, 0.36, 0.0), Measured(41.0, 0.2, 0.35, 3.0)), NcclRow(2097152, "float", WAY, None),
            NcclRow(64, "float", Measured(float("nan"), 0.0, 0.0, None), None),
            NcclRow(32, "float", None, Measured(1.0, 50.0, 60.0, 0.0)), NcclRow(16, "float", None, None))
    assert nccl_tests_tool.samples(replace(GOOD, rows=rows), "all_reduce", 8, 20) == [
        {"size_bytes": 8192, "iterations": 20, "time_us": 40.0, "algbw_gbyte_s": 0.2048, "busbw_gbyte_s": 0.3584, "check": "success", "in_place": {
            "time_us": 41.0, "algbw_gbyte_s": 0.199805, "busbw_gbyte_s": 0.349659, "check": "failed", "wrong": 3}},
        {"size_bytes": 2097152, "iterations": 20, "time_us": 100.0, "algbw_gbyte_s": 20.0, "busbw_gbyte_s": 35.0, "check": "success"},
        {"size_bytes": 64, "iterations": 20, "check": "NULL"},
        {"size_bytes": 32, "iterations": 20, "time_us": 1.0, "algbw_gbyte_s": 50.0, "busbw_gbyte_s": 60.0, "check": "success"},
    ]


def test_bandwidth_of_hypercube_counts_sent_data() -> None:
    sample = nccl_tests_tool.samples(replace(GOOD, rows=(NcclRow(8192, "float", Measured(40.0, 0.18, 0.18, 0.0), None),)), "hypercube", 8, None)[0]
    assert (sample["algbw_gbyte_s"], sample["busbw_gbyte_s"]) == (0.1792, 0.1792)
