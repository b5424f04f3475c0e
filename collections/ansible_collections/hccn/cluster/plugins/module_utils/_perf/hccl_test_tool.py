# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the programs of hccl_test, build their command lines, and judge their output.

Source of every text and rule: the public source of hccl_test (oam-tools, src/hccl_test). The exit status is useless: a failed communicator,
a failed collective and a wrong result all exit with 0, and a row contains ``success`` if the result was wrong on another rank only.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import HccnError, InputError
from .._core.numbers import count_of, parse_size
from .._core.words import beginning
from .._device import busy
from .._device.npu_smi import NpuSmi
from .._device.software import CANN_HOMES
from .collective_tool import CollectiveOptions, FinishedRun, Judged, Tool, check_numbers, check_reduction
from .collective_verdict import by_status, cause_of, ending, explained, relevant
from .hccl_errors import find_errors
from .launch_failure import first_words, is_silent
from .tool_output import incomplete, rounded

REDUCING = ("all_reduce", "reduce_scatter", "reduce_scatterv", "reduce")
"""The operations that use ``-o``; the others print a warning for it."""

OPERATIONS = (
    "all_reduce", "all_gather", "all_gatherv", "broadcast", "reduce", "reduce_scatter", "reduce_scatterv",
    "scatter", "alltoall", "alltoallv", "alltoallvc",
)
ALIGNED = tuple(name for name in OPERATIONS if name not in ("all_reduce", "broadcast", "reduce"))
"""The operations whose sizes hccl_test rounds down to a multiple of the number of ranks."""

REDUCTIONS = ("sum", "prod", "max", "min")
DATA_TYPES = (
    "int8", "int16", "int32", "fp16", "fp32", "int64", "uint64", "uint8", "uint16", "uint32", "fp64", "bfp16",
    "int128", "hif8", "fp8e4m3", "fp8e5m2", "fp8e8m0",
)

MAX_ROWS = 10000
"""Options with more sizes than this are rejected, since measuring them takes hours."""
ALIGN_BYTES = 512
"""BUF_ALGIN_SIZE: above ALIGN_ABOVE, the part of a rank is a multiple of this number of bytes."""
ALIGN_ABOVE = 16 * 1024 * 1024
"""BUF_ALGIN_LINE: up to this number of bytes, a size is only made divisible by the number of ranks."""
DEFAULT_STEPS = 10
"""Without ``-i`` and ``-f``, the step is the range divided by this."""

_NUMBER = r"(-?nan|-?inf|[0-9]+(?:\.[0-9]+)?)"
_COLUMNS = r"([0-9]+)[ \t]*\|[ \t]*" + _NUMBER + r"[ \t]*\|[ \t]*" + _NUMBER + r"[ \t]*\|[ \t]*"
# Lines of different ranks may be printed without a line break in between, so no pattern is anchored.
_ROW = re.compile(r"(?<![0-9.])" + _COLUMNS + "(success|failed|NULL)")
_RANK_FAILED = re.compile(r"rank[_ ]id ([0-9]+), check result failed(?:,?[ \t]*" + _COLUMNS + "failed)?")
_BANNER = re.compile(r"the minbytes is ([0-9]+), maxbytes is ([0-9]+), iters is ([0-9]+), warmup_iters is ([0-9]+)")
_UNVERIFIED = re.compile(r"Warning: The (?:calculation result|initdata) overflows, No verification is performed\.")
_WARNING = re.compile(r"Warning: [^\n]*")
_FAILED = re.compile(r"failed", re.IGNORECASE)
# Printed by launchers in successful runs: ssh with X11Forwarding, the rsh launcher of Open MPI.
_HARMLESS = re.compile(r"X11 forwarding request failed|Warning: setpgid\([0-9,]+\) failed")


@dataclass(frozen=True)
class HcclRow:
    """One row of the table. ``time_us`` is the mean of the iterations; ``printed_gbyte_s`` is in 10^9 bytes/s, in old builds in GiB/s."""

    size_bytes: int
    time_us: float
    printed_gbyte_s: float
    check: str


@dataclass(frozen=True)
class RankFailure:
    """The line of a rank with a wrong result; ``size_bytes`` is None for a truncated line."""

    rank: int
    size_bytes: Optional[int]


@dataclass(frozen=True)
class HcclReport:
    """The parsed output. ``banner``: (minbytes, maxbytes, iterations, warm-up); ``unverified``: the program could not check the results;
    ``errors``: known errors, the likely cause first; ``failures``: every line that contains ``failed``. ``words``: the first lines that may explain a failure.
    ``silent``: the launcher prints nothing."""

    banner: Optional[Tuple[int, int, int, int]]
    rows: Tuple[HcclRow, ...]
    rank_failures: Tuple[RankFailure, ...]
    errors: Tuple[HccnError, ...]
    failures: Tuple[str, ...]
    unverified: bool
    warnings: Tuple[str, ...]
    words: Tuple[str, ...] = ()
    silent: bool = True


def program(operation: str) -> str:
    """Return the name of the program of an operation."""
    return operation + "_test"


def validate(options: CollectiveOptions, ranks: int) -> None:
    """Raise InputError for options that hccl_test would reject, crash on or never finish."""
    check_numbers(options, ranks)
    check_reduction(options, REDUCING)
    expected_sizes(options.operation, ranks, parse_size(options.begin), parse_size(options.end), factor=options.factor)


def arguments(options: CollectiveOptions) -> List[str]:
    """Return the arguments of the program. ``-i`` is never passed, since the program never ends with ``-i 0``."""
    argv = ["-p", str(options.ranks_per_host), "-b", options.begin, "-e", options.end, "-f", str(options.factor),
            "-d", options.data_type]
    if options.operation in REDUCING:
        argv += ["-o", options.reduction]
    argv += ["-n", str(options.iterations), "-w", str(options.warmup)]
    if options.root:
        argv += ["-r", str(options.root)]
    return argv + ["-c", "1" if options.check else "0"]


def _align(size: int, ranks: int) -> int:
    unit = ranks * ALIGN_BYTES if size > ALIGN_ABOVE else ranks
    return max(size, ranks) // unit * unit


def expected_sizes(operation: str, ranks: int, begin: int, end: int, factor: Optional[float] = None, step: Optional[int] = None) -> List[int]:
    """Return the sizes of the rows in bytes as hccl_test computes them: with ``-f``, else with ``-i``, else in steps of a tenth of the range.

    The last size may be smaller than ``end``. Raises InputError for sizes that the program would reject or never finish.
    """
    if end < begin:
        raise InputError("sizes: end (%d bytes) is smaller than begin (%d bytes)" % (end, begin))
    if step is None:
        step = 1 if begin == end else (end - begin) // DEFAULT_STEPS
    if operation in ALIGNED:
        begin, end = _align(begin, ranks), _align(end, ranks)
        step = -(-step // ranks) * ranks
    sizes = []
    size = begin
    while size <= end:
        sizes.append(size)
        following = int(size * factor) if factor is not None else size + step
        if following <= size or len(sizes) > MAX_ROWS:
            raise InputError("sizes: hccl_test would not finish the sizes from %d to %d bytes in reasonable time" % (begin, end),
                             "use a larger factor or step")
        size = following
    return sizes


def sizes_of_log(report: HcclReport) -> List[int]:
    """Return the sizes that a log must contain according to its banner and the step between its first rows, for runs with unknown options.

    The list is empty if there is no banner, or only one row of a range: then it is unknown whether the table is complete.
    """
    if report.banner is None:
        return []
    begin, end = report.banner[:2]
    found = [row.size_bytes for row in report.rows[:3]]
    if begin == end:
        return [begin]
    if len(found) < 2 or found[0] != begin or found[1] <= begin:
        return []
    # Sizes in a banner are already aligned, so the operation does not matter.
    by_step = expected_sizes("", 1, begin, end, step=found[1] - begin)
    by_factor = expected_sizes("", 1, begin, end, factor=found[1] / begin)
    if len(found) == 2 and len(by_step) > len(by_factor) == 2:
        return []
    return by_step if by_step[:3] == found else by_factor


def parse(stdout: str, stderr: str = "") -> HcclReport:
    """Parse the output of a run, or a log (then all of it is ``stdout``)."""
    banner = _BANNER.search(stdout)
    ranks = [RankFailure(count_of(match.group(1)), count_of(match.group(2)) if match.group(2) else None) for match in _RANK_FAILED.finditer(stdout)]
    table = _RANK_FAILED.sub("", stdout)
    rows = [HcclRow(count_of(size), float(time), float(bandwidth), check) for size, time, bandwidth, check in _ROW.findall(table)]
    failures = [line.strip() for text in (stdout, stderr) for line in text.splitlines() if _FAILED.search(line) and not _HARMLESS.search(line)]
    return HcclReport(
        banner=(count_of(banner.group(1)), count_of(banner.group(2)), count_of(banner.group(3)), count_of(banner.group(4))) if banner else None,
        rows=tuple(rows), rank_failures=tuple(ranks), errors=tuple(find_errors(stdout, stderr)), failures=tuple(failures),
        unverified=_UNVERIFIED.search(stdout) is not None, warnings=tuple(dict.fromkeys(_WARNING.findall(stdout))),
        words=first_words(stdout, stderr), silent=is_silent(stdout, stderr),
    )


def judge(report: HcclReport, expected: Sequence[int], check: bool = True, rc: Optional[int] = 0, timed_out: bool = False) -> Optional[HccnError]:
    """Return None for a good run, else the error. Causes take precedence over their consequences.

    A run is good if there is exactly one row for every expected size, every result was checked (not with ``check`` false), there is no known error
    and no line with ``failed``, and the status is 0 (``rc`` is None for a log, whose status is unknown).
    """
    missing = incomplete([row.size_bytes for row in report.rows], expected)
    errors = relevant(report.errors, missing is None, rc)
    error = cause_of(errors) or _no_measurement(report) or _wrong_result(report)
    error = error or ending(errors, rc, timed_out, "%d of %d sizes were measured" % (len(report.rows), len(expected)))
    error = error or by_status(rc, missing is None, report.silent, report.words)
    error = error or missing or _unchecked(report, check) or _tool_failed(report)
    return explained(error, report.words) if error else None


def _no_measurement(report: HcclReport) -> Optional[HccnError]:
    odd = [row for row in report.rows if not math.isfinite(row.time_us) or row.time_us <= 0]
    if not odd:
        return None
    return HccnError("no_measurement", "no time was measured for %d bytes (time %s)" % (odd[0].size_bytes, odd[0].time_us),
                     "the number of iterations must be 1 or more")


def _wrong_result(report: HcclReport) -> Optional[HccnError]:
    wrong = [row.size_bytes for row in report.rows if row.check == "failed"]
    if not wrong and not report.rank_failures:
        return None
    ranks = sorted({failure.rank for failure in report.rank_failures})
    wrong += [failure.size_bytes for failure in report.rank_failures if failure.size_bytes is not None]
    where = "on rank %s" % ", ".join(map(str, ranks)) if ranks else "on the root rank"
    sizes = " for %s bytes" % ", ".join(map(str, sorted(set(wrong)))) if wrong else ""
    return HccnError("check_failed", "check result failed %s%s" % (where, sizes),
                     "the received data was wrong: repeat the run with these ranks, then check the health and ECC counters of their NPUs")


def wrong_ranks(report: HcclReport, root: int) -> Tuple[int, ...]:
    """Return the ranks with wrong results. Each of them prints a line, except for the root, which marks the row of the table."""
    reported = {failure.rank for failure in report.rank_failures}
    return tuple(sorted(reported)) or ((root,) if any(row.check == "failed" for row in report.rows) else ())


def _unchecked(report: HcclReport, check: bool) -> Optional[HccnError]:
    if not check or report.unverified or all(row.check == "success" for row in report.rows):
        return None
    return HccnError("not_checked", "the results were not checked, although a check was requested", "hccl_test was run with -c 0")


def _tool_failed(report: HcclReport) -> Optional[HccnError]:
    known = " ".join(error.message for error in report.errors)
    line = next((failure for failure in report.failures if failure not in known), None)
    return HccnError("tool_failed", beginning(line, 300)) if line else None


def bus_factor(operation: str, ranks: int) -> float:
    """Return the factor from algorithm bandwidth to bus bandwidth: the share of the data that crosses the busiest link.

    These are the factors of nccl-tests (doc/PERFORMANCE.md), so that the values of both tools are comparable: all_reduce 2(n-1)/n; broadcast and
    reduce 1; all others (n-1)/n.
    """
    if operation in ("broadcast", "reduce"):
        return 1.0
    return (2.0 if operation == "all_reduce" else 1.0) * (ranks - 1) / ranks


def samples(report: HcclReport, operation: str, ranks: int, iterations: Optional[int]) -> List[Dict[str, Any]]:
    """Return the samples of the record: ``{size_bytes, iterations, time_us, algbw_gbyte_s, busbw_gbyte_s, check}`` of every row with a time.

    algbw is size / time in 10^9 bytes/s. It is computed here, since old builds print GiB/s under the same heading. The size column is the whole
    buffer (for all_gather, reduce_scatter and scatter, the parts of all ranks together), so the formula is the same for all operations.
    """
    found = []
    for row in report.rows:
        sample: Dict[str, Any] = {"size_bytes": row.size_bytes, "iterations": iterations, "check": row.check}
        if math.isfinite(row.time_us) and row.time_us > 0:
            algbw = row.size_bytes / row.time_us / 1000.0
            sample.update(time_us=row.time_us, algbw_gbyte_s=rounded(algbw), busbw_gbyte_s=rounded(algbw * bus_factor(operation, ranks)))
        found.append({key: value for key, value in sample.items() if value is not None})
    return found


DRIVER_LIBRARIES = ("/usr/local/Ascend/driver/lib64/common", "/usr/local/Ascend/driver/lib64/driver")


class HcclTest(Tool):
    """The programs in tools/hccl_test/bin of CANN, with one process per NPU."""

    name = "hccl_test"
    missing = "hccl_test_missing"
    missing_hint = "build hccl_test from CANN's tools/hccl_test, or name its folder in hccl_test_dir"
    variables = ("HCCL_", "ASCEND_")
    recorded = "HCCL_"
    device_variable = "HCCL_TEST_USE_DEVS"
    requires_limits = True

    def program(self, operation: str) -> str:
        return program(operation)

    def validate(self, options: CollectiveOptions, ranks: int) -> None:
        validate(options, ranks)

    def arguments(self, options: CollectiveOptions) -> List[str]:
        return arguments(options)

    def processes_per_host(self, options: CollectiveOptions) -> int:
        return options.ranks_per_host

    def default_paths(self, operation: str, environment: Mapping[str, str]) -> List[str]:
        home = environment.get("ASCEND_HOME_PATH")
        homes = ([home] if home else []) + list(CANN_HOMES)
        return [path for one in homes for path in self.paths_in(os.path.join(one, "tools", "hccl_test"), operation)]

    def paths_in(self, folder: str, operation: str) -> List[str]:
        return [os.path.join(folder, "bin", program(operation))]

    def working_directory(self, program: str) -> str:
        return os.path.dirname(os.path.dirname(program))

    def libraries(self, program: str) -> List[str]:
        cann = os.path.dirname(os.path.dirname(self.working_directory(program)))
        return [os.path.join(cann, "lib64")] + list(DRIVER_LIBRARIES)

    def refuse_if_busy(self, smi: str, options: CollectiveOptions) -> None:
        busy.require_idle_host(NpuSmi(smi), options.ranks_per_host)

    def find_errors(self, stdout: str, stderr: str) -> List[HccnError]:
        return find_errors(stdout, stderr)

    def has_reduction(self, operation: str) -> bool:
        return operation in REDUCING

    def judge_run(self, finished: FinishedRun, options: CollectiveOptions, ranks: int) -> Judged:
        report = parse(finished.stdout, finished.stderr)
        return _judged(report, finished, options, ranks, _expected(options, ranks), options.iterations)

    def judge_log(self, finished: FinishedRun, options: CollectiveOptions, ranks: Optional[int], sizes_given: bool) -> Judged:
        report = parse(finished.stdout)
        whole = ranks or options.ranks_per_host
        expected = _expected(options, whole) if sizes_given else sizes_of_log(report)
        return _judged(report, finished, options, whole, expected, None)


def _expected(options: CollectiveOptions, ranks: int) -> List[int]:
    return expected_sizes(options.operation, ranks, parse_size(options.begin), parse_size(options.end), factor=options.factor)


def _judged(report: HcclReport, finished: FinishedRun, options: CollectiveOptions, ranks: int, expected: Sequence[int], requested: Optional[int]) -> Judged:
    """Return the judgement of a report. ``requested``: the requested iterations; those of the banner take precedence."""
    options_in_banner: Dict[str, Any] = {}
    iterations = requested
    if report.banner:
        names: Tuple[str, ...] = ("begin_bytes", "end_bytes", "iterations", "warmup")
        options_in_banner = dict(zip(names, report.banner))
        iterations = report.banner[2]
    error = judge(report, expected, options.check, finished.rc, finished.timed_out)
    wrong = wrong_ranks(report, options.root) if error and error.code == "check_failed" else ()
    return Judged(error=error, samples=samples(report, options.operation, ranks, iterations), ranks=ranks, warnings=report.warnings,
                  reported_options=options_in_banner, wrong_ranks=wrong)


HCCL_TEST = HcclTest()
