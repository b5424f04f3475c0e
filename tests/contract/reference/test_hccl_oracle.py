"""Compare the verdicts on recorded runs of the real hccl_test front end, and on published logs, with literals."""

from __future__ import annotations

import json
import math
import re
import shlex

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import hccl_test_tool
from ansible_collections.hccn.cluster.plugins.module_utils._perf.hccl_errors import find_errors
from tests.lib.project import shared

# run: (error code or None for a good run, rows of the table)
VERDICTS = {
    "002": (None, 4), "004": (None, 1), "006": (None, 11), "008": (None, 5), "010": (None, 3), "012": (None, 3), "014": (None, 3),
    "016": (None, 3), "018": (None, 4), "020": (None, 4), "022": (None, 4), "024": (None, 4), "026": (None, 4), "028": (None, 3),
    "030": (None, 2), "032": ("no_measurement", 2), "034": ("no_table", 0), "036": ("invalid_argument", 0), "038": ("invalid_argument", 0),
    "040": ("invalid_argument", 0), "042": ("invalid_argument", 0), "044": ("invalid_argument", 0), "046": ("invalid_argument", 0),
    "048": ("invalid_argument", 0), "050": ("invalid_argument", 0), "052": ("invalid_argument", 0), "054": ("invalid_argument", 0),
    "056": ("invalid_argument", 0), "058": ("invalid_argument", 0), "060": ("invalid_argument", 0), "062": ("invalid_argument", 0),
    "064": ("invalid_argument", 0), "066": ("acl_507899", 0), "068": (None, 1), "070": ("invalid_environment", 0),
    "072": ("invalid_environment", 0), "074": ("acl_100000", 0), "076": ("acl_507033", 0), "078": ("acl_207001", 2), "080": ("rootinfo_failed", 0),
    "082": ("hccl_4", 0), "084": ("hccl_7", 0), "086": ("hccl_11", 0), "088": ("hccl_19", 0), "090": ("hccl_21", 0), "092": ("acl_507011", 0),
    "094": ("check_failed", 3), "096": ("check_failed", 3), "098": (None, 3), "100": ("check_failed", 1), "102": ("timed_out", 0),
    "104": ("terminated", 0), "106": ("mpi_init_failed", 0), "108": ("hostfile_unreadable", 0), "110": (None, 2), "112": ("check_failed", 1),
    "114": ("check_failed", 1), "116": ("check_failed", 1), "118": ("check_failed", 1), "120": (None, 1), "122": (None, 1), "124": ("timed_out", 2),
}
# run: the last row of its table as size in bytes, time in us (None: not a number) and check result
FIGURES = {
    "002": (65536, 20.33, "success"), "004": (1048576, 25.24, "success"), "006": (10234, 20.05, "success"), "008": (16, 20.0, "success"),
    "010": (4194304, 40.97, "NULL"), "012": (32768, 20.16, "success"), "014": (32768, 20.16, "success"), "016": (32768, 20.16, "success"),
    "018": (65536, 20.33, "success"), "020": (65536, 20.33, "success"), "022": (65536, 20.33, "success"), "024": (65536, 20.33, "success"),
    "026": (65536, 20.33, "success"), "028": (32768, 20.16, "success"), "030": (16384, 20.08, "success"), "032": (16384, None, "failed"),
    "068": (8192, 20.04, "success"), "078": (2097152, 30.49, "success"), "094": (32768, 20.16, "failed"), "096": (32768, 20.16, "failed"),
    "098": (32768, 20.16, "NULL"), "100": (8192, 20.04, "failed"), "110": (16384, 20.08, "success"), "112": (8192, 20.04, "failed"),
    "114": (8192, 20.04, "failed"), "116": (8192, 20.04, "failed"), "118": (8192, 20.04, "failed"), "120": (8192, 20.04, "success"),
    "122": (8192, 20.04, "NULL"), "124": (16384, 20.08, "success"),
}
RUNS = 62
# file: (error code or None, rows)
LOGS = {
    "all_reduce_8dev__doc.txt": (None, 14), "all_reduce_8dev__exact_format.txt": (None, 14), "all_reduce__check_off.txt": ("not_checked", 1),
    "error__args.txt": ("invalid_argument", 0), "error__gethostbyname.txt": ("hostname_unresolved", 0), "error__no_device.txt": ("no_device", 0),
    "error__orted.txt": ("mpi_missing", 0), "error__retcode7.txt": ("hccl_7", 0), "error__rootinfo.txt": ("rootinfo_failed", 0),
}


def _expected(command: list[str]) -> list[int]:
    """Return the sizes that a recorded command line requests, or none if the product's option check refuses the command line too."""
    program = next(index for index, word in enumerate(command) if word.endswith("_test"))
    arguments = dict(zip(command[program + 1::2], command[program + 2::2]))
    ranks = int(command[command.index("-n") + 1])
    factor = arguments.get("-f")
    try:
        return hccl_test_tool.expected_sizes(
            command[program].split("/")[-1][:-len("_test")], ranks, hccl_test_tool.parse_size(arguments.get("-b", "64M")),
            hccl_test_tool.parse_size(arguments.get("-e", "64M")), factor=float(factor) if factor else None)
    except (InputError, ValueError):
        return []


def _verdict(run: dict) -> tuple[str | None, int]:
    command = shlex.split(run["command"])
    stopped = run["exit"].startswith("stopped")
    report = hccl_test_tool.parse(run.get("stdout", ""), run.get("stderr", ""))
    check = "-c 0" not in run["command"]
    error = hccl_test_tool.judge(report, _expected(command), check, None if stopped else int(run["exit"]), stopped)
    return (error.code if error else None, len(report.rows))


def test_recorded_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [json.loads(line) for line in shared("oracle/hccl_test.jsonl").read_text().splitlines()]
    assert len(runs) >= RUNS
    found = {run["id"]: _verdict(run) for run in runs}
    assert {name: found[name] for name in VERDICTS} == VERDICTS
    with capsys.disabled():
        print(f"\nhccl_test: {len(runs)} recorded runs judged, {sum(code is None for code, _ in VERDICTS.values())} of them good")


def test_recorded_figures() -> None:
    found = {}
    for line in shared("oracle/hccl_test.jsonl").read_text().splitlines():
        run = json.loads(line)
        rows = hccl_test_tool.parse(run.get("stdout", ""), run.get("stderr", "")).rows
        if rows and run["id"] in VERDICTS:
            found[run["id"]] = (rows[-1].size_bytes, rows[-1].time_us if math.isfinite(rows[-1].time_us) else None, rows[-1].check)
    assert found == FIGURES


def test_all_recorded_programs_are_known() -> None:
    commands = [json.loads(line)["command"] for line in shared("oracle/hccl_test.jsonl").read_text().splitlines()]
    recorded = {match.group(1) for command in commands for match in re.finditer(r"bin/(\w+)_test", command)}
    assert recorded - set(hccl_test_tool.OPERATIONS) == set()
    assert len(hccl_test_tool.OPERATIONS) == 11


def test_failed_runs_with_exit_status_zero() -> None:
    runs = [json.loads(line) for line in shared("oracle/hccl_test.jsonl").read_text().splitlines()]
    assert sorted(run["id"] for run in runs if run["exit"] == "0" and VERDICTS.get(run["id"], (None,))[0] not in (None, "no_table")) == [
        "032", "070", "072", "078", "080", "082", "084", "086", "088", "090", "092", "094", "096", "100", "112", "114", "116", "118",
    ]


def test_printed_bandwidth_is_size_over_time() -> None:
    """Check every recorded operation. Apart from rounding to whole elements, the size column is the size of the whole buffer."""
    ratios = []
    for line in shared("oracle/hccl_test.jsonl").read_text().splitlines():
        run = json.loads(line)
        report = hccl_test_tool.parse(run.get("stdout", ""))
        ratios += [row.printed_gbyte_s * 1000 * row.time_us / row.size_bytes for row in report.rows if row.size_bytes >= 8192 and row.time_us > 0]
    assert len(ratios) == 68
    assert min(ratios) > 0.999
    assert max(ratios) < 1.001


@pytest.mark.parametrize("name", sorted(LOGS))
def test_published_logs(name: str) -> None:
    report = hccl_test_tool.parse(shared(f"samples/hccl_test/{name}").read_text())
    error = hccl_test_tool.judge(report, hccl_test_tool.sizes_of_log(report), rc=None)
    assert (error.code if error else None, len(report.rows)) == LOGS[name]


def test_every_published_log_is_judged() -> None:
    names = {path.name for path in shared("samples/hccl_test").iterdir()}
    assert names - set(LOGS) == {"usage.txt", "hostfile__mpich.txt", "hostfile__openmpi.txt"}


def test_published_bandwidths() -> None:
    """The manual's table is in GiB/s, the source's in GB/s; the computed bandwidths agree."""
    found = []
    for name in ("all_reduce_8dev__doc.txt", "all_reduce_8dev__exact_format.txt"):
        report = hccl_test_tool.parse(shared(f"samples/hccl_test/{name}").read_text())
        found.append((report.rows[-1].printed_gbyte_s, hccl_test_tool.samples(report, "all_reduce", 8, 20)[-1]))
    sample = {"size_bytes": 67108864, "iterations": 20, "check": "success", "time_us": 2630.2, "algbw_gbyte_s": 25.5147, "busbw_gbyte_s": 44.6508}
    assert found == [(23.76245, sample), (25.51474, sample)]


@pytest.mark.parametrize(("name", "codes"), [
    ("EI0006_link_error_info.txt", ["EI0006"]), ("EI0016_tls_mismatch.txt", ["EI0016"]), ("ip_family_mismatch.txt", ["EI0001"]),
    ("roce_cqe_error.txt", ["roce_cqe_error"]), ("device_log_tls_switch.txt", []),
])
def test_hccl_logs(name: str, codes: list[str]) -> None:
    assert [error.code for error in find_errors(shared(f"samples/hccl_log/{name}").read_text())] == codes


def test_successful_launches_have_no_errors() -> None:
    cases = [json.loads(line) for line in shared("samples/mpi-real.jsonl").read_text().splitlines()]
    good = [case for case in cases if case["exit_status"] == 0]
    assert len(good) == 10
    assert [hccl_test_tool.parse(case["stdout"], case["stderr"]).failures for case in good] == [()] * 10
