# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""hccl_test as a tool of the collective: where CANN puts it, what it needs, how its output is judged."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._device import busy
from .._device.smi import NpuSmi
from . import hccl_errors, hccl_test
from .collective_options import Options
from .sizes import parse_size
from .collective_tool import Ending, Judged, Tool

CANN_HOMES = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
"""CANN's install folders of the manual, newer first; $ASCEND_HOME_PATH stands before them."""
DRIVER_LIBRARIES = ("/usr/local/Ascend/driver/lib64/common", "/usr/local/Ascend/driver/lib64/driver")


class HcclTest(Tool):
    """The programs in CANN's tools/hccl_test/bin, one process an NPU."""

    name = "hccl_test"
    missing = "hccl_test_missing"
    missing_hint = "build hccl_test from CANN's tools/hccl_test, or name its folder in hccl_test_dir"
    variables = ("HCCL_", "ASCEND_")
    recorded = "HCCL_"
    device_variable = "HCCL_TEST_USE_DEVS"
    wants_limits = True

    def program(self, operation: str) -> str:
        return hccl_test.program(operation)

    def validate(self, options: Options, ranks: int) -> None:
        hccl_test.validate(options, ranks)

    def arguments(self, options: Options) -> List[str]:
        return hccl_test.arguments(options)

    def processes_per_host(self, options: Options) -> int:
        return options.ranks_per_host

    def places(self, operation: str, environment: Mapping[str, str]) -> List[str]:
        home = environment.get("ASCEND_HOME_PATH")
        homes = ([home] if home else []) + list(CANN_HOMES)
        return [path for one in homes for path in self.inside(os.path.join(one, "tools", "hccl_test"), operation)]

    def inside(self, folder: str, operation: str) -> List[str]:
        return [os.path.join(folder, "bin", hccl_test.program(operation))]

    def start_folder(self, program: str) -> str:
        return os.path.dirname(os.path.dirname(program))

    def libraries(self, program: str) -> List[str]:
        cann = os.path.dirname(os.path.dirname(self.start_folder(program)))
        return [os.path.join(cann, "lib64")] + list(DRIVER_LIBRARIES)

    def refuse_work(self, smi: str, options: Options) -> None:
        busy.refuse_work_here(NpuSmi(smi), options.ranks_per_host)

    def find_errors(self, stdout: str, stderr: str) -> List[HccnError]:
        return hccl_errors.find_errors(stdout, stderr)

    def reducing(self, operation: str) -> bool:
        return operation in hccl_test.REDUCING

    def judge_run(self, ending: Ending, options: Options, ranks: int) -> Judged:
        report = hccl_test.parse(ending.stdout, ending.stderr)
        return _judged(report, ending, options, ranks, _expected(options, ranks), options.iterations)

    def judge_log(self, ending: Ending, options: Options, ranks: Optional[int], sizes_given: bool) -> Judged:
        report = hccl_test.parse(ending.stdout)
        whole = ranks or options.ranks_per_host
        expected = _expected(options, whole) if sizes_given else hccl_test.sizes_of_log(report)
        return _judged(report, ending, options, whole, expected, None)


def _expected(options: Options, ranks: int) -> List[int]:
    return hccl_test.expected_sizes(options.operation, ranks, parse_size(options.begin), parse_size(options.end), factor=options.factor)


def _judged(report: hccl_test.Report, ending: Ending, options: Options, ranks: int, expected: Sequence[int], asked: Optional[int]) -> Judged:
    """``asked``: iterations that were asked for; the banner's are the truth."""
    told: Dict[str, Any] = {}
    iterations = asked
    if report.banner:
        names: Tuple[str, ...] = ("begin_bytes", "end_bytes", "iterations", "warmup")
        told = dict(zip(names, report.banner))
        iterations = report.banner[2]
    error = hccl_test.judge(report, expected, options.check, ending.rc, ending.timed_out)
    wrong = hccl_test.wrong_ranks(report, options.root) if error and error.code == "check_failed" else ()
    return Judged(error, hccl_test.samples(report, options.operation, ranks, iterations), ranks, report.warnings, told, wrong_ranks=wrong)


HCCL_TEST = HcclTest()
