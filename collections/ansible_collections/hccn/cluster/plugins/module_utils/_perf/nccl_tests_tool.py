# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the programs of nccl-tests, build their command lines, and judge their reports.

Source of every rule: the source of nccl-tests (common.cu, util.cu, the getBw functions of each operation). The summary is printed
after the last size, so a log with a summary is complete.
"""

from __future__ import annotations

import math
import os
import re
import signal
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError, InputError
from .._core.numbers import parse_size
from .._core.words import beginning
from . import nccl_output, nvidia_smi
from .collective_tool import CollectiveOptions, FinishedRun, Judged, Tool, check_numbers, check_reduction
from .collective_verdict import by_status, cause_of, ending, explained, rank_failed, relevant
from .launch_failure import of_code
from .nccl_errors import EXITS, find_errors
from .nccl_output import Measured, NcclReport, NcclRow
from .tool_output import incomplete, rounded

OPERATIONS = ("all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter", "sendrecv", "hypercube")
REDUCING = ("all_reduce", "reduce", "reduce_scatter")
WHOLE = ("all_reduce", "broadcast", "reduce", "sendrecv")
"""Operations whose size is the size of one buffer. Sizes of the others are rounded down to a multiple of the number of ranks."""
ROOTED = ("broadcast", "reduce", "gather", "scatter")
REDUCTIONS = ("sum", "prod", "max", "min", "avg")
DATA_TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2")
WIDTHS = {"int8": 1, "uint8": 1, "f8e4m3": 1, "f8e5m2": 1, "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8}

ALIGN_ELEMENTS = 4
"""In 2.9, the part of a rank is a multiple of this number of elements; later releases align to at most 16 bytes, which is never more."""
PRECISE_GBYTE_S = 10.0
"""From this bandwidth on, the printed values have four or more digits. Below, bandwidth is computed from size and time."""


@dataclass(frozen=True)
class NcclOptions(CollectiveOptions):
    """``gpus_per_process``: ``-g``. A host has ``ranks_per_host / gpus_per_process`` processes."""

    begin: str = "32M"
    end: str = "512M"
    warmup: int = 5
    data_type: str = "float"
    gpus_per_process: int = 1


def gpus_per_process(options: CollectiveOptions) -> int:
    return options.gpus_per_process if isinstance(options, NcclOptions) else 1


def program(operation: str) -> str:
    """Return the name of the program of an operation."""
    return operation + "_perf"


def validate(options: CollectiveOptions, ranks: int) -> None:
    """Raise InputError for options that nccl-tests would reject or ignore."""
    check_numbers(options, ranks)
    check_reduction(options, REDUCING)
    if options.root and options.operation not in ROOTED:
        raise InputError("root is %d, but %s has no root rank" % (options.root, options.operation), "omit root")
    gpus = gpus_per_process(options)
    if gpus < 1 or options.ranks_per_host % gpus:
        raise InputError("gpus_per_process is %d, it must divide ranks_per_host (%d)" % (gpus, options.ranks_per_host))
    if options.operation == "hypercube" and ranks & (ranks - 1):
        raise InputError("hypercube needs a number of ranks that is a power of 2, not %d" % ranks)
    expected_sizes(parse_size(options.begin), parse_size(options.end), options.factor)


def arguments(options: CollectiveOptions) -> List[str]:
    """Return the arguments of the program."""
    argv = ["-b", options.begin, "-e", options.end, "-f", str(options.factor), "-g", str(gpus_per_process(options)), "-d", options.data_type]
    if options.operation in REDUCING:
        argv += ["-o", options.reduction]
    if options.operation in ROOTED:
        argv += ["-r", str(options.root)]
    return argv + ["-n", str(options.iterations), "-w", str(options.warmup), "-c", "1" if options.check else "0"]


def expected_sizes(begin: int, end: int, factor: int) -> List[int]:
    """Return the requested sizes in bytes; printed sizes may be rounded down. The last size may be smaller than ``end``. Raises InputError."""
    if end < begin:
        raise InputError("sizes: end (%d bytes) is smaller than begin (%d bytes)" % (end, begin))
    sizes = [begin]
    while sizes[-1] * factor <= end:
        sizes.append(sizes[-1] * factor)
    return sizes


def _unrounded(found: Sequence[int], expected: Sequence[int], options: CollectiveOptions, ranks: int) -> List[int]:
    """Return the sizes found, each replaced by the requested size of which it is the rounded value."""
    width = WIDTHS.get(options.data_type, 8)
    room = width if options.operation in WHOLE else ranks * ALIGN_ELEMENTS * max(width, 4)
    wanted: List[Optional[int]] = list(expected) + [None] * len(found)
    return [requested if requested is not None and requested - room < size <= requested else size for size, requested in zip(found, wanted)]


def judge(report: NcclReport, options: CollectiveOptions, ranks: int, expected: Optional[Sequence[int]], rc: Optional[int] = None,
          timed_out: bool = False) -> Optional[HccnError]:
    """Return None for a good run, else the error. Causes take precedence over their consequences.

    A run is good if there are a row for every expected size (``expected`` None: the sizes are unknown) and the summary, no wrong element, no known error,
    and the status is 0 (``rc`` None: a log, whose status is unknown).
    """
    found = [row.size_bytes for row in report.rows]
    wanted = found if expected is None else expected
    missing = incomplete(_unrounded(found, wanted, options, ranks), wanted) or _no_summary(report)
    errors = relevant(report.errors, missing is None, rc)
    error = cause_of(errors) or _unconnected(report) or _wrong_result(report) or _memory_limited(report, expected)
    error = error or _failed_rank(report, errors, rc) or ending(errors, rc, timed_out, "%d size(s) were measured" % len(report.rows))
    error = error or by_status(rc, missing is None, report.silent, report.words)
    error = error or missing or _unchecked(report, options) or _tool_failed(report)
    return explained(error, report.words) if error else None


def _unconnected(report: NcclReport) -> Optional[HccnError]:
    if report.tables < 2:
        return None
    return HccnError("ranks_alone", "the output has %d tables: the processes are not connected with each other" % report.tables,
                     "build nccl-tests with MPI=1 and the MPI of this mpirun; a log must contain one run only")


def _wrong_result(report: NcclReport) -> Optional[HccnError]:
    rows = [row for row in report.rows if any(measured.wrong for measured in row.measurements)]
    if not rows and not report.wrong:
        return _low_bandwidth(report)
    variants = [name for name in ("out_of_place", "in_place") if any(getattr(row, name) is not None and getattr(row, name).wrong for row in rows)]
    message = "%d value(s) were wrong" % (report.wrong or sum(measured.wrong or 0 for row in rows for measured in row.measurements))
    if rows:
        message += " for %s bytes, %s" % (", ".join(str(row.size_bytes) for row in rows), " and ".join(variants).replace("_", " "))
    return HccnError("check_failed", message, "nccl-tests prints the sum of all ranks: repeat the run with fewer hosts to find the host with wrong values; "
                     "then check the ECC counters and Xid errors of its GPUs")


def _low_bandwidth(report: NcclReport) -> Optional[HccnError]:
    if not report.average_low:
        return None
    return HccnError("low_bandwidth", "the average bus bandwidth, %g GB/s, is below 90 %% of NCCL_TESTS_MIN_BW" % (report.average or 0.0),
                     "find the slow host by runs over fewer hosts, or with isolate")


_MEMORY_LIMIT = "the memory of the GPU allows at most %d bytes, so larger sizes were not measured"


def _memory_limited(report: NcclReport, expected: Optional[Sequence[int]]) -> Optional[HccnError]:
    if report.reduced_to is None or expected is None or not [size for size in expected if size > report.reduced_to]:
        return None
    return HccnError("memory_limit", _MEMORY_LIMIT % report.reduced_to, "use a smaller end size")


_TEST_FAILURE = re.compile(r"(?:\.\. )?(?P<host>[\w.-]+)(?: pid [0-9]+)?: (?P<what>Test failure \S+:[0-9]+)")
_WEAKER = ("rank_exited", "timed_out", "hosts_not_started", "launch_failed", "mpi_error", "host_lost")
"""Errors of launchers that follow from a rank that ended, as does the kill of other ranks."""


def _failed_rank(report: NcclReport, errors: Sequence[HccnError], rc: Optional[int]) -> Optional[HccnError]:
    """Return the error of a program that names its host when it fails, unless the launcher knows more."""
    match = next((found for found in map(_TEST_FAILURE.search, report.failures) if found), None)
    if match is None or (errors and errors[0].code not in _WEAKER and getattr(errors[0], "signal", None) != signal.SIGKILL):
        return None
    status = next((error.message for error in errors if error.code == "rank_exited"), "")
    meaning = "; nccl-tests uses this status for %s" % EXITS[rc] if rc in EXITS and status else ""
    return rank_failed(match.group().strip(), match.group("host"), " (%s%s)" % (status, meaning) if status else "")


def _no_summary(report: NcclReport) -> Optional[HccnError]:
    if report.finished:
        return None
    return of_code("summary_missing", "the output ends without the summary, after %d size(s)" % len(report.rows))


def rank_mismatch(report: NcclReport, ranks: int) -> Optional[HccnError]:
    """Return an error if another number of ranks took part than requested."""
    if report.ranks is None or report.ranks == ranks:
        return None
    return HccnError("ranks_differ", "%d ranks took part, but %d were requested" % (report.ranks, ranks), "see the list of devices in the output")


def _misplaced(report: NcclReport, hosts: int) -> Optional[HccnError]:
    """Return an error if ranks ran on fewer hosts than requested. nccl-tests prints the host of each rank, which a launcher without a host file ignores."""
    if not report.devices or len(report.hosts) >= hosts:
        return None
    return of_code("placement_mismatch", "%d hosts were requested, but all ranks ran on %s" % (hosts, ", ".join(report.hosts)))


def _unchecked(report: NcclReport, options: CollectiveOptions) -> Optional[HccnError]:
    """Return an error if a requested check was not made. Some operations are never checked in place."""
    if not options.check or all(row.out_of_place is None or row.out_of_place.wrong is not None for row in report.rows):
        return None
    return HccnError("not_checked", "the results were not checked, although a check was requested", "nccl-tests was run with -c 0")


def _tool_failed(report: NcclReport) -> Optional[HccnError]:
    return HccnError("tool_failed", beginning(report.failures[0], 300)) if report.failures else None


def bus_factor(operation: str, ranks: int) -> float:
    """Return the factor from algorithm bandwidth to bus bandwidth (doc/PERFORMANCE.md and getBw of each operation)."""
    if operation in ("broadcast", "reduce", "sendrecv", "hypercube"):
        return 1.0
    return (2.0 if operation == "all_reduce" else 1.0) * (ranks - 1) / ranks


def samples(report: NcclReport, operation: str, ranks: int, iterations: Optional[int]) -> List[Dict[str, Any]]:
    """Return the samples of the record: the values out of place of each size, and ``in_place`` with the same keys if it was measured."""
    found = []
    for row in report.rows:
        measurements = row.measurements
        if not measurements:
            continue
        sample: Dict[str, Any] = {"size_bytes": row.size_bytes, "iterations": iterations}
        sample.update(_values(row, measurements[0], operation, ranks))
        if row.out_of_place is not None and row.in_place is not None:
            sample["in_place"] = _values(row, row.in_place, operation, ranks)
        found.append({key: value for key, value in sample.items() if value is not None})
    return found


def _values(row: NcclRow, measured: Measured, operation: str, ranks: int) -> Dict[str, Any]:
    values: Dict[str, Any] = {"check": "NULL" if measured.wrong is None else "failed" if measured.wrong else "success"}
    if measured.wrong:
        values["wrong"] = int(measured.wrong)
    if not math.isfinite(measured.time_us) or measured.time_us <= 0:
        return values
    # The bandwidth of hypercube counts only the data that leaves a rank.
    share = (ranks - 1) / float(ranks) if operation == "hypercube" else 1.0
    computed = row.size_bytes * share / measured.time_us / 1000.0
    algbw = measured.algbw_gbyte_s if measured.algbw_gbyte_s >= PRECISE_GBYTE_S else rounded(computed)
    busbw = measured.busbw_gbyte_s if measured.busbw_gbyte_s >= PRECISE_GBYTE_S else rounded(computed * bus_factor(operation, ranks))
    values.update(time_us=measured.time_us, algbw_gbyte_s=algbw, busbw_gbyte_s=busbw)
    return values


HOMES = ("/opt/nccl-tests", "/opt/nccl_tests", "/usr/local/nccl-tests")
"""Folders that container images and cloud providers use; nccl-tests itself has no installation folder."""
CUDA_LIBRARIES = ("/usr/local/cuda/lib64",)


class NcclTests(Tool):
    """The programs of nccl-tests, with one process per ``gpus_per_process`` GPUs."""

    name = "nccl-tests"
    missing = "nccl_tests_missing"
    missing_hint = "build nccl-tests with MPI=1, or name its folder in nccl_tests_dir"
    variables = ("NCCL_", "CUDA_")
    recorded = "NCCL_"
    device_variable = "CUDA_VISIBLE_DEVICES"

    def program(self, operation: str) -> str:
        return program(operation)

    def validate(self, options: CollectiveOptions, ranks: int) -> None:
        validate(options, ranks)

    def arguments(self, options: CollectiveOptions) -> List[str]:
        return arguments(options)

    def processes_per_host(self, options: CollectiveOptions) -> int:
        return options.ranks_per_host // gpus_per_process(options)

    def default_paths(self, operation: str, environment: Mapping[str, str]) -> List[str]:
        search = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder]
        return [os.path.join(folder, self.program(operation)) for folder in search] + [path for home in HOMES for path in self.paths_in(home, operation)]

    def paths_in(self, folder: str, operation: str) -> List[str]:
        return [os.path.join(folder, "build", self.program(operation)), os.path.join(folder, self.program(operation))]

    def working_directory(self, program: str) -> str:
        return os.path.dirname(program)

    def libraries(self, program: str) -> List[str]:
        return list(CUDA_LIBRARIES)

    def refuse_if_busy(self, smi: str, options: CollectiveOptions) -> None:
        nvidia_smi.refuse_if_busy(smi)

    def find_errors(self, stdout: str, stderr: str) -> List[HccnError]:
        return find_errors(stdout, stderr)

    def has_reduction(self, operation: str) -> bool:
        return operation in REDUCING

    def judge_run(self, finished: FinishedRun, options: CollectiveOptions, ranks: int) -> Judged:
        report = nccl_output.parse_text(finished.stdout, finished.stderr)
        error = judge(report, options, ranks, _expected(options), finished.rc, finished.timed_out) or rank_mismatch(report, ranks)
        error = error or _misplaced(report, ranks // max(1, options.ranks_per_host))
        return _judged(report, error, options, ranks, options.iterations)

    def judge_log(self, finished: FinishedRun, options: CollectiveOptions, ranks: Optional[int], sizes_given: bool) -> Judged:
        report = nccl_output.parse_json(finished.stdout) if nccl_output.is_json(finished.stdout) else nccl_output.parse_text(finished.stdout)
        whole = ranks or report.ranks or options.ranks_per_host
        error = judge(report, options, whole, _expected(options) if sizes_given else None)
        error = error or _misplaced(report, (ranks or 0) // max(1, options.ranks_per_host))
        return _judged(report, error, options, whole, None)


def _expected(options: CollectiveOptions) -> Sequence[int]:
    return expected_sizes(parse_size(options.begin), parse_size(options.end), options.factor)


def _judged(report: NcclReport, error: Optional[HccnError], options: CollectiveOptions, ranks: int, requested: Optional[int]) -> Judged:
    warnings = []
    if report.reduced_to is not None and error is None:
        warnings.append(_MEMORY_LIMIT % report.reduced_to)
    found = samples(report, options.operation, ranks, report.requested.get("iterations", requested))
    # The output does not name the rank with the wrong result. If there is only one host, it is a rank of that host.
    wrong = (0,) if error is not None and error.code == "check_failed" and ranks <= options.ranks_per_host else ()
    return Judged(error=error, samples=found, ranks=ranks, warnings=tuple(warnings), reported_options=report.requested, hosts=report.hosts,
                  version=report.version, wrong_ranks=wrong)


NCCL_TESTS = NcclTests()
