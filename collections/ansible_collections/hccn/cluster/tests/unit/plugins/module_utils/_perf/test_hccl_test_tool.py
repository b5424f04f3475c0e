"""hccl_test: arguments, sizes, and the judgement of its output."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import hccl_test_tool
from ansible_collections.hccn.cluster.plugins.module_utils._perf.hccl_test_tool import RankFailure, HcclRow
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions

BANNER = "the minbytes is 4096, maxbytes is 16384, iters is 5, warmup_iters is 2\n"
HEADER = "data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:\n"
SIZES = (4096, 8192, 16384)
GOOD = BANNER + HEADER + """\
4096              | 30.50          | 0.13430              | success
8192              | 31.00          | 0.26426              | success
16384             | 32.25          | 0.50803              | success
"""


def verdict(text: str, check: bool = True, rc: "int | None" = 0, expected: "tuple[int, ...]" = SIZES,
            timed_out: bool = False, stderr: str = "") -> str:
    error = hccl_test_tool.judge(hccl_test_tool.parse(text, stderr), expected, check, rc, timed_out)
    return "ok" if error is None else "%s: %s" % (error.code, error.message)


@pytest.mark.parametrize(("text", "size"), [
    ("1", 1), ("8K", 8192), ("8k", 8192), ("64M", 67108864), ("2g", 2147483648), (" 512 ", 512), ("1000", 1000),
])
def test_parse_size(text: str, size: int) -> None:
    assert hccl_test_tool.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "0K", "010", "0x10", "8KB", "8 K", "-1", "1.5M", "K", "1T"])
def test_invalid_sizes_are_rejected(text: str) -> None:
    with pytest.raises(InputError, match="not a positive number of bytes"):
        hccl_test_tool.parse_size(text)


def test_default_arguments() -> None:
    assert hccl_test_tool.arguments(CollectiveOptions()) == [
        "-p", "8", "-b", "8K", "-e", "64M", "-f", "2", "-d", "fp32", "-o", "sum", "-n", "20", "-w", "10", "-c", "1",
    ]


def test_arguments_without_reduction() -> None:
    options = CollectiveOptions("broadcast", 4, "1M", "1M", 4, 3, 0, "int8", "max", root=2, check=False)
    assert hccl_test_tool.arguments(options) == [
        "-p", "4", "-b", "1M", "-e", "1M", "-f", "4", "-d", "int8", "-n", "3", "-w", "0", "-r", "2", "-c", "0",
    ]


def test_program() -> None:
    assert hccl_test_tool.program("reduce_scatterv") == "reduce_scatterv_test"


@pytest.mark.parametrize(("options", "message"), [
    (CollectiveOptions(ranks_per_host=0), "ranks_per_host is 0, it must be 1 or more"),
    (CollectiveOptions(iterations=0), "iterations is 0, it must be 1 or more"),
    (CollectiveOptions(warmup=-1), "warmup is -1, it must be 0 or more"),
    (CollectiveOptions(root=-1), "root is -1, it must be 0 or more"),
    (CollectiveOptions(root=16), "root is 16, but the ranks are 0 to 15"),
    (CollectiveOptions(factor=1), "sizes.factor is 1, it must be 2 or more"),
    (CollectiveOptions(begin="1M", end="8K"), "sizes: end (8192 bytes) is smaller than begin (1048576 bytes)"),
    (CollectiveOptions(end="64MB"), "size '64MB' is not a positive number of bytes with an optional K, M or G"),
])
def test_invalid_options_are_rejected(options: CollectiveOptions, message: str) -> None:
    with pytest.raises(InputError) as caught:
        hccl_test_tool.validate(options, 16)
    assert caught.value.message == message


def test_valid_options() -> None:
    hccl_test_tool.validate(CollectiveOptions(root=15), 16)


@pytest.mark.parametrize(("operation", "ranks", "begin", "end", "factor", "step", "sizes"), [
    ("all_reduce", 8, 8192, 65536, 2, None, [8192, 16384, 32768, 65536]),
    ("all_reduce", 8, 1000, 5000, 2, None, [1000, 2000, 4000]),
    ("all_reduce", 8, 10, 40, 1.5, None, [10, 15, 22, 33]),
    ("all_reduce", 8, 4096, 4096, None, None, [4096]),
    ("all_reduce", 8, 100, 205, None, None, [100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200]),
    ("all_reduce", 8, 100, 400, None, 150, [100, 250, 400]),
    ("all_reduce", 8, 100, 400, 2, 150, [100, 200, 400]),
    ("broadcast", 3, 100, 400, 2, None, [100, 200, 400]),
    ("all_gather", 3, 100, 400, 2, None, [99, 198, 396]),
    ("scatter", 8, 3, 20, 2, None, [8, 16]),
    ("alltoall", 8, 100, 200, None, 30, [96, 128, 160, 192]),
    # Above 16 MiB every part is a multiple of 512 bytes.
    ("reduce_scatter", 24, 20000000, 40000000, 2, None, [19992576, 39985152]),
])
def test_expected_sizes(operation: str, ranks: int, begin: int, end: int, factor: "float | None", step: "int | None", sizes: "list[int]") -> None:
    assert hccl_test_tool.expected_sizes(operation, ranks, begin, end, factor=factor, step=step) == sizes


@pytest.mark.parametrize(("begin", "end", "factor", "step"), [
    (100, 200, None, 0), (1, 5, None, None), (1, 1000000, None, 1), (1, 10, 1.2, None),
])
def test_sizes_that_take_too_long_are_rejected(begin: int, end: int, factor: "float | None", step: "int | None") -> None:
    with pytest.raises(InputError, match="would not finish the sizes from .* in reasonable time"):
        hccl_test_tool.expected_sizes("all_reduce", 2, begin, end, factor=factor, step=step)


def test_parse_good_output() -> None:
    report = hccl_test_tool.parse(GOOD)
    assert report.banner == (4096, 16384, 5, 2)
    assert report.rows == (
        HcclRow(4096, 30.5, 0.1343, "success"), HcclRow(8192, 31.0, 0.26426, "success"), HcclRow(16384, 32.25, 0.50803, "success"),
    )
    assert (report.rank_failures, report.errors, report.failures, report.warnings, report.unverified) == ((), (), (), (), False)


def test_parse_layout_of_the_manual() -> None:
    text = "data_size(Bytes): |   avg_time(us): | alg_bandwidth(GB/s): | check_result:\n"
    text += "4096              |      30.50    |       0.12508        | success\n"
    assert hccl_test_tool.parse(text).rows == (HcclRow(4096, 30.5, 0.12508, "success"),)


def test_parse_empty_output() -> None:
    report = hccl_test_tool.parse("")
    assert (report.banner, report.rows) == (None, ())


def test_parse_lines_without_line_breaks() -> None:
    text = ("total err is 1total err is 1\nlocal rank_id 1, check result failed, 4096              | 30.50          | 0.13430              | failed"
            "4096              | 30.50          | 0.13430              | success8192 | 31.00 | 0.26426 | NULL\n")
    report = hccl_test_tool.parse(text)
    assert report.rows == (HcclRow(4096, 30.5, 0.1343, "success"), HcclRow(8192, 31.0, 0.26426, "NULL"))
    assert report.rank_failures == (RankFailure(1, 4096),)


def test_parse_old_and_truncated_rank_lines() -> None:
    report = hccl_test_tool.parse("rank id 3, check result failed\nlocal rank_id 2, check result failed, 81\n")
    assert report.rank_failures == (RankFailure(3, None), RankFailure(2, None))
    assert report.rows == ()


def test_warnings_are_reported_once() -> None:
    line = "Warning: The -o,--op <sum/prod/min/max> option does not take effect. Check the cmd parameter.\n"
    assert hccl_test_tool.parse(line * 3 + GOOD).warnings == (line.strip(),)


@pytest.mark.parametrize(("text", "expected"), [
    (GOOD, "ok"),
    (GOOD.replace("| success", "| failed", 1), "check_failed: check result failed on the root rank for 4096 bytes"),
    (GOOD + "local rank_id 5, check result failed, 8192 | 31.00 | 0.26426 | failed\n", "check_failed: check result failed on rank 5 for 8192 bytes"),
    (GOOD + "rank id 5, check result failed\n", "check_failed: check result failed on rank 5"),
    (GOOD.replace("30.50 ", "-nan  "), "no_measurement: no time was measured for 4096 bytes (time nan)"),
    (GOOD.replace("30.50", "0.00 "), "no_measurement: no time was measured for 4096 bytes (time 0.0)"),
    (GOOD.replace("30.50", "inf  "), "no_measurement: no time was measured for 4096 bytes (time inf)"),
    ("", "no_table: the output contains no row of the result table"),
    (GOOD.rsplit("16384 ", 1)[0], "rows_missing: 1 of 3 sizes have no row, the first is 16384 bytes"),
    (GOOD + "32768 | 33.00 | 0.99297 | success\n", "unexpected_rows: the rows for 32768 bytes do not belong to the requested sizes"),
    (GOOD + "16384 | 33.00 | 0.99297 | success\n", "unexpected_rows: the rows for [4096, 8192, 16384, 16384] bytes do not belong to the requested sizes"),
    (GOOD.replace("success", "NULL"), "not_checked: the results were not checked, although a check was requested"),
    ("Warning: The calculation result overflows, No verification is performed.\n" + GOOD.replace("success", "NULL"), "ok"),
    ("Warning: The initdata overflows, No verification is performed.\n" + GOOD.replace("success", "NULL"), "ok"),
    (GOOD + "Get ddr memory info failed.", "tool_failed: Get ddr memory info failed."),
    (GOOD + "[mpiexec@node1] APPLICATION TIMED OUT, TIMEOUT = 9s\n", "timed_out: [mpiexec@node1] APPLICATION TIMED OUT, TIMEOUT = 9s"),
    # A wrong result explains more than the time-out that came with it; what HCCL returned explains more than both.
    (GOOD.replace("| success", "| failed", 1) + "APPLICATION TIMED OUT\n", "check_failed: check result failed on the root rank for 4096 bytes"),
    (GOOD.replace("| success", "| failed", 1) + "hccl interface return err ./a.cc:1, retcode: 9 \n",
     "hccl_9: hccl interface returned 9 (timeout) at ./a.cc:1"),
])
def test_judge(text: str, expected: str) -> None:
    assert verdict(text) == expected


def test_judge_without_check() -> None:
    assert verdict(GOOD.replace("success", "NULL"), check=False) == "ok"


def test_judge_exit_status() -> None:
    assert verdict(GOOD, rc=5) == (
        "rank_exited: the table is complete, but mpirun ended with status 5, which is that of a rank that failed afterwards")
    assert verdict(GOOD, rc=None) == "ok"


def test_judge_run_that_timed_out() -> None:
    assert verdict(GOOD.rsplit("16384 ", 1)[0], rc=-9, timed_out=True) == "timed_out: 2 of 3 sizes were measured when the run was stopped"


def test_judge_log_of_unknown_sizes() -> None:
    assert verdict(GOOD, expected=()) == "rows_missing: the log has 3 row(s), but does not contain the requested sizes"


def test_failed_line_on_standard_error() -> None:
    assert verdict(GOOD, stderr="something failed\n") == "tool_failed: something failed"
    harmless = "X11 forwarding request failed on channel 0\n[h1:187] plm:rsh: Warning: setpgid(191,191) failed in parent with errno=13\n"
    assert verdict(GOOD, stderr=harmless) == "ok"


@pytest.mark.parametrize(("text", "sizes"), [
    (GOOD, [4096, 8192, 16384]),
    (GOOD.rsplit("16384 ", 1)[0], [4096, 8192, 16384]),
    (GOOD.replace("8192 ", "6000 ").replace("16384  ", "7904   "), [4096, 6000, 7904, 9808, 11712, 13616, 15520]),
    (GOOD.replace("maxbytes is 16384", "maxbytes is 4096"), [4096]),
    (GOOD.split(HEADER)[1], []),
    (BANNER + HEADER, []),
    (BANNER + "8192 | 1.00 | 1.00 | success\n16384 | 1.00 | 1.00 | success\n", []),
    (BANNER + "4096 | 1.00 | 1.00 | success\n4096 | 1.00 | 1.00 | success\n", []),
    # Ambiguous: with the factor 1.4 these are all rows, with the step 40 one is missing.
    ("the minbytes is 100, maxbytes is 190, iters is 1, warmup_iters is 0\n100 | 1.00 | 0.1 | success\n140 | 1.00 | 0.14 | success\n", []),
])
def test_sizes_of_log(text: str, sizes: "list[int]") -> None:
    assert hccl_test_tool.sizes_of_log(hccl_test_tool.parse(text)) == sizes


@pytest.mark.parametrize(("operation", "ranks", "factor"), [
    ("all_reduce", 8, 1.75), ("all_reduce", 1, 0.0), ("broadcast", 8, 1.0), ("reduce", 16, 1.0), ("all_gather", 8, 0.875),
    ("reduce_scatterv", 4, 0.75), ("scatter", 2, 0.5), ("alltoallvc", 16, 0.9375),
])
def test_bus_factor(operation: str, ranks: int, factor: float) -> None:
    assert hccl_test_tool.bus_factor(operation, ranks) == factor


def test_samples() -> None:
    assert hccl_test_tool.samples(hccl_test_tool.parse(GOOD), "all_reduce", 8, 5)[:2] == [
        {"size_bytes": 4096, "iterations": 5, "check": "success", "time_us": 30.5, "algbw_gbyte_s": 0.134295, "busbw_gbyte_s": 0.235016},
        {"size_bytes": 8192, "iterations": 5, "check": "success", "time_us": 31.0, "algbw_gbyte_s": 0.264258, "busbw_gbyte_s": 0.462452},
    ]


def test_samples_ignore_the_printed_bandwidth() -> None:
    gib = hccl_test_tool.parse("67108864 | 2630.20 | 23.76245 | success\n")
    assert hccl_test_tool.samples(gib, "all_gather", 8, None) == [
        {"size_bytes": 67108864, "check": "success", "time_us": 2630.2, "algbw_gbyte_s": 25.5147, "busbw_gbyte_s": 22.3254},
    ]


def test_samples_without_a_time() -> None:
    assert hccl_test_tool.samples(hccl_test_tool.parse("4096 | -nan | -nan | failed\n"), "all_reduce", 8, 0) == [
        {"size_bytes": 4096, "iterations": 0, "check": "failed"},
    ]
