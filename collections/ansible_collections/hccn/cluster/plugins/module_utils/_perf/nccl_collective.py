# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""nccl-tests as a tool of the collective: where it usually is, what it needs, how its output is judged."""

from __future__ import annotations

import os
from typing import List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from . import nccl_errors, nccl_json, nccl_tests, nccl_text, nvidia_smi
from .nccl_text import Report
from .collective_options import Options
from .sizes import parse_size
from .collective_tool import Ending, Judged, Tool

HOMES = ("/opt/nccl-tests", "/opt/nccl_tests", "/usr/local/nccl-tests")
"""Where images and cloud machines have it built; the project itself names none."""
CUDA_LIBRARIES = ("/usr/local/cuda/lib64",)


class NcclTests(Tool):
    """The programs of nccl-tests, one process for ``gpus_per_process`` GPUs."""

    name = "nccl-tests"
    missing = "nccl_tests_missing"
    missing_hint = "build nccl-tests with MPI=1, or name its folder in nccl_tests_dir"
    variables = ("NCCL_", "CUDA_")
    recorded = "NCCL_"
    device_variable = "CUDA_VISIBLE_DEVICES"

    def program(self, operation: str) -> str:
        return nccl_tests.program(operation)

    def validate(self, options: Options, ranks: int) -> None:
        nccl_tests.validate(options, ranks)

    def arguments(self, options: Options) -> List[str]:
        return nccl_tests.arguments(options)

    def processes_per_host(self, options: Options) -> int:
        return options.ranks_per_host // nccl_tests.gpus_per_process(options)

    def places(self, operation: str, environment: Mapping[str, str]) -> List[str]:
        search = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder]
        return [os.path.join(folder, self.program(operation)) for folder in search] + [path for home in HOMES for path in self.inside(home, operation)]

    def inside(self, folder: str, operation: str) -> List[str]:
        return [os.path.join(folder, "build", self.program(operation)), os.path.join(folder, self.program(operation))]

    def start_folder(self, program: str) -> str:
        return os.path.dirname(program)

    def libraries(self, program: str) -> List[str]:
        return list(CUDA_LIBRARIES)

    def refuse_work(self, smi: str, options: Options) -> None:
        nvidia_smi.refuse_work(smi)

    def find_errors(self, stdout: str, stderr: str) -> List[HccnError]:
        return nccl_errors.find_errors(stdout, stderr)

    def reducing(self, operation: str) -> bool:
        return operation in nccl_tests.REDUCING

    def judge_run(self, ending: Ending, options: Options, ranks: int) -> Judged:
        report = nccl_text.parse(ending.stdout, ending.stderr)
        error = nccl_tests.judge(report, options, ranks, _expected(options), ending.rc, ending.timed_out) or nccl_tests.others(report, ranks)
        return _judged(report, error, options, ranks, options.iterations)

    def judge_log(self, ending: Ending, options: Options, ranks: Optional[int], sizes_given: bool) -> Judged:
        report = nccl_json.parse(ending.stdout) if nccl_json.is_json(ending.stdout) else nccl_text.parse(ending.stdout)
        whole = ranks or report.ranks or options.ranks_per_host
        error = nccl_tests.judge(report, options, whole, _expected(options) if sizes_given else None)
        return _judged(report, error, options, whole, None)


def _expected(options: Options) -> Sequence[int]:
    return nccl_tests.expected_sizes(parse_size(options.begin), parse_size(options.end), options.factor)


def _judged(report: Report, error: Optional[HccnError], options: Options, ranks: int, asked: Optional[int]) -> Judged:
    warnings = []
    if report.reduced_to is not None and error is None:
        warnings.append("the GPU's memory allows %d bytes at most, larger sizes were left out" % report.reduced_to)
    found = nccl_tests.samples(report, options.operation, ranks, report.asked.get("iterations", asked))
    # Whose result was wrong nobody tells; that it is one of this host's is known where there is no other.
    wrong = (0,) if error is not None and error.code == "check_failed" and ranks <= options.ranks_per_host else ()
    return Judged(error, found, ranks, tuple(warnings), report.asked, report.hosts, report.version, wrong)


NCCL_TESTS = NcclTests()
