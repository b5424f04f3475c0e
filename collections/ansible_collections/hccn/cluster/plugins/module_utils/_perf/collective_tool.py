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
    """Raises InputError for a number that no tool takes."""
    for name, value, least in (("ranks_per_host", options.ranks_per_host, 1), ("iterations", options.iterations, 1),
                               ("warmup", options.warmup, 0), ("root", options.root, 0), ("sizes.factor", options.factor, 2)):
        if value < least:
            raise InputError("%s is %d, it must be %d or more" % (name, value, least))
    if options.root >= ranks:
        raise InputError("root is %d, but the ranks are 0 to %d" % (options.root, ranks - 1))


@dataclass(frozen=True)
class Judged:
    """What an output proves. ``error`` None: a good run. ``samples`` as the record has them.

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
        """Name of the program of an operation."""

    @abstractmethod
    def validate(self, options: CollectiveOptions, ranks: int) -> None:
        """Raises InputError for what the program would refuse, crash on or never end with."""

    @abstractmethod
    def arguments(self, options: CollectiveOptions) -> List[str]:
        """The program's own arguments."""

    @abstractmethod
    def processes_per_host(self, options: CollectiveOptions) -> int:
        """How many of its processes are started on each host."""

    @abstractmethod
    def places(self, operation: str, environment: Mapping[str, str]) -> List[str]:
        """Where the program usually is, in the order to look."""

    @abstractmethod
    def inside(self, folder: str, operation: str) -> List[str]:
        """Where it may be in a folder that the user names."""

    @abstractmethod
    def start_folder(self, program: str) -> str:
        """Where the ranks are started."""

    @abstractmethod
    def libraries(self, program: str) -> List[str]:
        """Folders that it needs in LD_LIBRARY_PATH, beside MPI's."""

    @abstractmethod
    def refuse_work(self, smi: str, options: CollectiveOptions) -> None:
        """Raises HccnError where a device of this host that would take part is at work. ``smi``: the tool to ask."""

    @abstractmethod
    def find_errors(self, stdout: str, stderr: str) -> List[HccnError]:
        """Every known error once, the likely cause first."""

    @abstractmethod
    def reducing(self, operation: str) -> bool:
        """Does the reduction matter to this operation?"""

    @abstractmethod
    def judge_run(self, ending: Ending, options: CollectiveOptions, ranks: int) -> Judged:
        """Judges a run of this side: all that was asked for must be there."""

    @abstractmethod
    def judge_log(self, ending: Ending, options: CollectiveOptions, ranks: Optional[int], sizes_given: bool) -> Judged:
        """Judges a log. ``ranks`` None, ``sizes_given`` false: nobody says how many took part, and which sizes were asked for."""
