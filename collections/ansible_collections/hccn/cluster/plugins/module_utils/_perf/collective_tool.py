# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The options of a collective, and the interface of the tools that measure it, with one subclass for each tool."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import HccnError, InputError


@dataclass(frozen=True)
class CollectiveOptions:
    """The options of a measurement. ``begin`` and ``end``: sizes such as ``8K``; ``factor``: above 1; ``data_type`` and ``reduction``: names of the tool."""

    operation: str = "all_reduce"
    ranks_per_host: int = 8
    begin: str = "8K"
    end: str = "64M"
    factor: int = 2
    iterations: int = 20
    warmup: int = 10
    data_type: str = "fp32"
    reduction: str = "sum"
    root: int = 0
    check: bool = True


def check_numbers(options: CollectiveOptions, ranks: int) -> None:
    """Raise InputError for a number that no tool accepts."""
    for name, value, least in (("ranks_per_host", options.ranks_per_host, 1), ("iterations", options.iterations, 1),
                               ("warmup", options.warmup, 0), ("root", options.root, 0), ("sizes.factor", options.factor, 2)):
        if value < least:
            raise InputError("%s is %d, it must be %d or more" % (name, value, least))
    if options.root >= ranks:
        raise InputError("root is %d, but the ranks are 0 to %d" % (options.root, ranks - 1))


def check_reduction(options: CollectiveOptions, reducing: Sequence[str]) -> None:
    """Raise InputError for a reduction that the program would ignore. ``reducing``: the operations that have one."""
    if options.reduction != "sum" and options.operation not in reducing:
        raise InputError("reduction is %s, but %s has no reduction" % (options.reduction, options.operation), "omit reduction")


@dataclass(frozen=True)
class Judged:
    """The judgement of an output. ``error`` is None for a good run. ``samples`` are those of the record.

    ``reported_options``: options that the output contains. ``ranks``: number of ranks that took part. ``hosts`` and ``version`` of the tool are set if the
    output contains them. ``wrong_ranks``: ranks whose result was wrong.
    """

    error: Optional[HccnError]
    samples: List[Dict[str, Any]]
    ranks: int
    warnings: Tuple[str, ...] = ()
    reported_options: Mapping[str, Any] = field(default_factory=dict)
    hosts: Tuple[str, ...] = ()
    version: Optional[str] = None
    wrong_ranks: Tuple[int, ...] = ()


@dataclass(frozen=True)
class FinishedRun:
    """The output of a run. ``rc`` is None for a log, whose status is unknown."""

    stdout: str
    stderr: str = ""
    rc: Optional[int] = None
    timed_out: bool = False


class Tool(ABC):
    """hccl_test or nccl-tests.

    ``name``: for messages. ``missing`` and ``missing_hint``: code and hint of the error if its programs are not found.
    ``variables``: prefixes of its environment variables; ``recorded``: prefix of those that records contain.
    ``device_variable``: the variable that selects devices of a host by their numbers. ``requires_limits``: True if its manual requires the limits that
    ``collective_hosts`` checks.
    """

    name = ""
    missing = ""
    missing_hint = ""
    variables: Tuple[str, ...] = ()
    recorded = ""
    device_variable = ""
    requires_limits = False

    @abstractmethod
    def program(self, operation: str) -> str:
        """Return the name of the program of an operation."""

    @abstractmethod
    def validate(self, options: CollectiveOptions, ranks: int) -> None:
        """Raise InputError for options that the program would reject, crash on or never finish."""

    @abstractmethod
    def arguments(self, options: CollectiveOptions) -> List[str]:
        """Return the arguments of the program."""

    @abstractmethod
    def processes_per_host(self, options: CollectiveOptions) -> int:
        """Return the number of processes on each host."""

    @abstractmethod
    def default_paths(self, operation: str, environment: Mapping[str, str]) -> List[str]:
        """Return the usual paths of the program, in the order of the search."""

    @abstractmethod
    def paths_in(self, folder: str, operation: str) -> List[str]:
        """Return the possible paths of the program in a folder that the user names."""

    @abstractmethod
    def working_directory(self, program: str) -> str:
        """Return the working directory of the ranks."""

    @abstractmethod
    def libraries(self, program: str) -> List[str]:
        """Return the folders that the program needs in LD_LIBRARY_PATH, in addition to those of MPI."""

    @abstractmethod
    def refuse_if_busy(self, smi: str, options: CollectiveOptions) -> None:
        """Raise HccnError if a device of this host that would take part is busy. ``smi``: npu-smi or nvidia-smi."""

    @abstractmethod
    def find_errors(self, stdout: str, stderr: str) -> List[HccnError]:
        """Return every known error once, the likely cause first."""

    @abstractmethod
    def has_reduction(self, operation: str) -> bool:
        """Return True if the operation has a reduction."""

    @abstractmethod
    def judge_run(self, finished: FinishedRun, options: CollectiveOptions, ranks: int) -> Judged:
        """Judge a run of this host, which must contain everything that was requested."""

    @abstractmethod
    def judge_log(self, finished: FinishedRun, options: CollectiveOptions, ranks: Optional[int], sizes_given: bool) -> Judged:
        """Judge a log. If ``ranks`` is None or ``sizes_given`` is False, the number of ranks or the requested sizes are unknown."""
