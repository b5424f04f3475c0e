# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a collective is asked for, and the interface of the tools that measure it: one subclass for each tool."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.errors import HccnError
from .._core.errors import InputError


@dataclass(frozen=True)
class CollectiveOptions:
    """``begin`` and ``end`` as people write them (``8K``); ``factor`` above 1; ``data_type`` and ``reduction`` in the tool's own words."""

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


@dataclass(frozen=True)
class Judged:
    """The judgement of an output. ``error`` None: a good run. ``samples`` as in the record.

    ``told``: options that the output itself tells. ``ranks``: how many took part. ``hosts``, ``version``: who, and with which release, where it tells.
    ``wrong_ranks``: those whose result was wrong.
    """

    error: Optional[HccnError]
    samples: List[Dict[str, Any]]
    ranks: int
    warnings: Tuple[str, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    hosts: Tuple[str, ...] = ()
    version: Optional[str] = None
    wrong_ranks: Tuple[int, ...] = ()


@dataclass(frozen=True)
class Ending:
    """How a run ended. ``rc`` None: unknown, a log."""

    stdout: str
    stderr: str = ""
    rc: Optional[int] = None
    timed_out: bool = False


class Tool(ABC):
    """hccl_test or nccl-tests.

    ``name``: for people. ``missing``: code of the error when its programs are not found, ``missing_hint`` what to do then.
    ``variables``: what the names of its environment variables begin with; ``recorded``: those of them that records keep.
    ``device_variable``: names the devices of a host that take part, by their numbers. ``wants_limits``: its manual wants those of ``host_limits``.
    """

    name = ""
    missing = ""
    missing_hint = ""
    variables: Tuple[str, ...] = ()
    recorded = ""
    device_variable = ""
    wants_limits = False

    @abstractmethod
    def program(self, operation: str) -> str:
        """Return the name of the program of an operation."""

    @abstractmethod
    def validate(self, options: CollectiveOptions, ranks: int) -> None:
        """Raise InputError for options that the program would refuse, crash on or never finish."""

    @abstractmethod
    def arguments(self, options: CollectiveOptions) -> List[str]:
        """Return the arguments of the program."""

    @abstractmethod
    def processes_per_host(self, options: CollectiveOptions) -> int:
        """Return the number of processes on each host."""

    @abstractmethod
    def places(self, operation: str, environment: Mapping[str, str]) -> List[str]:
        """Return the usual paths of the program, in the order of the search."""

    @abstractmethod
    def inside(self, folder: str, operation: str) -> List[str]:
        """Return the possible paths of the program in a folder that the user names."""

    @abstractmethod
    def start_folder(self, program: str) -> str:
        """Return the working directory of the ranks."""

    @abstractmethod
    def libraries(self, program: str) -> List[str]:
        """Return the folders that it needs in LD_LIBRARY_PATH, in addition to those of MPI."""

    @abstractmethod
    def refuse_work(self, smi: str, options: CollectiveOptions) -> None:
        """Raise HccnError if a device of this host that would take part is at work. ``smi``: the tool that reports it."""

    @abstractmethod
    def find_errors(self, stdout: str, stderr: str) -> List[HccnError]:
        """Return every known error once, the likely cause first."""

    @abstractmethod
    def reducing(self, operation: str) -> bool:
        """Return True if the operation has a reduction."""

    @abstractmethod
    def judge_run(self, ending: Ending, options: CollectiveOptions, ranks: int) -> Judged:
        """Judge a run of this host, which must contain everything that was requested."""

    @abstractmethod
    def judge_log(self, ending: Ending, options: CollectiveOptions, ranks: Optional[int], sizes_given: bool) -> Judged:
        """Judge a log. ``ranks`` None and ``sizes_given`` false: the number of ranks and the requested sizes are unknown."""
