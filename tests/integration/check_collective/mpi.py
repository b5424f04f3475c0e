"""A real mpirun, simulated programs, hosts that are all this machine, and the processes that a run leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.lib.processes import processes
from tests.lib.project import SIMULATOR, skip

OPERATIONS = (
    "all_reduce", "all_gather", "all_gatherv", "broadcast", "reduce", "reduce_scatter", "reduce_scatterv",
    "scatter", "alltoall", "alltoallv", "alltoallvc",
)
NCCL_OPERATIONS = ("all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter", "scatter", "alltoall", "alltoallv")
TOKEN = "HCCN_TEST_TOKEN"
CALL_SECONDS = 90


@cache
def _find() -> str | None:
    for path in (str(Path(sys.executable).parent / "mpirun"), shutil.which("mpirun"), shutil.which("mpirun.mpich")):
        if path and os.access(path, os.X_OK):
            version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
            if "HYDRA" in version:
                return path
    return None


def mpirun() -> str:
    """Return the path of an mpirun of MPICH, or skip the test."""
    path = _find()
    return path if path is not None else skip("mpirun")


def programs(folder: Path) -> Path:
    """Make a folder like tools/hccl_test of CANN, with the simulated programs in bin/."""
    target = folder / "hccl_test"
    (target / "bin").mkdir(parents=True)
    for operation in OPERATIONS:
        (target / "bin" / f"{operation}_test").symlink_to(SIMULATOR / "bin" / "hccl_test_program")
    return target


def nccl_programs(folder: Path) -> Path:
    """Make a folder like nccl-tests, with the simulated programs in build/."""
    target = folder / "nccl-tests"
    (target / "build").mkdir(parents=True)
    for operation in NCCL_OPERATIONS:
        (target / "build" / f"{operation}_perf").symlink_to(SIMULATOR / "bin" / "nccl_tests_program")
    return target


def hosts_on_this_machine() -> dict[str, str]:
    """Return an environment in which mpirun reaches 127.77.0.1 and so on through a simulated ssh."""
    return {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(SIMULATOR / "bin" / "sim-ssh")}


def carrying(token: str) -> dict[int, str]:
    """Return the command lines, by pid, of processes that inherited this token, without zombies."""
    return processes(f"{TOKEN}={token}")
