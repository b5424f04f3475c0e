# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What perftest needs of this host, looked at once before a run: the program, a device and GID for each address, drivers, memory."""

from __future__ import annotations

import shutil
from typing import Callable, Dict, List, Mapping, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError
from .._core.problems import Problem
from .._device.rdma_checks import read_memlock
from .._device.rdma_sysfs import read_ports
from . import packages, perftest_report
from .perftest import BASE_PORT, Perftest, validate
from .perftest_options import Options
from .rdma_end import End, blockers, find_end

VERSION_SECONDS = 15.0

Runner = Callable[[Sequence[str], float], process.Result]


def prepare(options: Options, addresses: Mapping[int, str], names: Mapping[int, str], root: str = "/", base_port: int = BASE_PORT,
            run: Runner = process.run) -> Tuple[Perftest, List[Problem]]:
    """The tool for this host's devices, and why a test with it cannot but fail (empty where it may go well).

    ``addresses``: by the number that the plan gives a device; ``names``: of the RDMA devices, by the same, where the address does not say enough.
    Starts ``PROGRAM --version``. Raises HccnError for a missing program, device or GID, InputError for the options.
    """
    validate(options)
    version = _version(options.program, run)
    ports, memlock = read_ports(root), read_memlock(root)
    ends: Dict[int, End] = {}
    found: List[Problem] = []
    for device, address in sorted(addresses.items()):
        ends[device] = find_end(ports, address, names.get(device), gid_index=options.gid_index)
        found += [problem for problem in blockers(ends[device], memlock, options) if problem not in found]
    return Perftest(options, ends, version, base_port), found


def _version(program: str, run: Runner) -> str:
    if shutil.which(program) is None:
        raise HccnError("tool_missing", "%s is not in PATH" % program, packages.hint(packages.PERFTEST))
    result = run((program, "--version"), VERSION_SECONDS)
    if result.timed_out:
        raise HccnError("timeout", "%s --version did not end within %.0f s" % (program, VERSION_SECONDS), "is the host overloaded, or its RDMA driver hung?")
    return perftest_report.parse_version(result.stdout)
