"""Run hccl_perf on a host of the testbed as Ansible does, with a real mpirun over a real ssh, and observe it from outside."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.integration.check_collective.mpi import mpirun
from tests.lib.project import ROOT
from tests.lab.testbed import Lab, kernel
from tests.lab.testbed.host import SSHD

MODULE = "ansible_collections.hccn.cluster.plugins.modules.hccl_perf"
CALL_SECONDS = 120.0
LEFT_SECONDS = 20.0
QUICK = {"ranks_per_host": 2, "sizes": {"begin": "8K", "end": "16K"}, "iterations": 2, "warmup": 1, "allow_busy": True}

EXPOSED = (str(Path(sys.executable).parent.parent), sys.base_prefix, str(ROOT / "collections"))
"""Folders of this machine that the hosts can read: this Python with Ansible and MPICH, and the collection."""


class Call:
    """A running module on a host. ``faults``: variables for the simulated programs, which mpirun passes to all ranks."""

    def __init__(self, lab: Lab, launcher: str, hosts: list[str], faults: dict[str, str] | None = None, **options: Any) -> None:
        self._lab = lab
        arguments = {"hosts": [lab.host(name).address for name in hosts], "host_names": hosts, "mpirun": mpirun(), "run_id": "t", "timeout": 60, **QUICK,
                     **options}
        words = ["env", f"PYTHONPATH={ROOT / 'collections'}", *[f"{name}={value}" for name, value in (faults or {}).items()], sys.executable, "-m", MODULE]
        self.process = subprocess.Popen([*lab.enter(launcher), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"})
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        self.process.stdin.close()
        self.process.stdin = None

    def result(self) -> dict[str, Any]:
        out, err = self.process.communicate(timeout=CALL_SECONDS)
        assert out.startswith("\n{") or out.startswith("{"), out + err
        return json.loads(out)

    def record(self) -> dict[str, Any]:
        return self.result()["measurements"][0]

    def kill(self) -> None:
        """Kill the module, but not its guard, which has the same command line."""
        module = kernel.oldest_ancestor(pid for name in self._lab.hosts for pid, argv in self._lab.processes(name).items() if argv[-1] == MODULE)
        started = kernel.start_time(module)
        assert started is not None
        kernel.end(module, started)
        self.process.communicate(timeout=CALL_SECONDS)

    def wait_for_ranks(self, name: str, count: int = 2) -> list[int]:
        end = time.monotonic() + CALL_SECONDS
        while len(found := ranks(self._lab, name)) < count:
            assert self.process.poll() is None and time.monotonic() < end, f"no ranks came on {name}"
            time.sleep(0.01)
        return found


def ranks(lab: Lab, name: str) -> list[int]:
    """Return the pids of the program on a host."""
    return [pid for pid, argv in lab.processes(name).items() if any(word.endswith("/bin/all_reduce_test") for word in argv[:3])]


def stop(pid: int) -> None:
    started = kernel.start_time(pid)
    assert started is not None
    kernel.end(pid, started, signal.SIGSTOP)


def left(lab: Lab, *but: str) -> dict[str, list[str]]:
    """Wait until no process but sshd runs on the hosts, for at most LEFT_SECONDS. Return the remaining processes, including stopped ones."""
    end = time.monotonic() + LEFT_SECONDS
    while True:
        found = {f"{name} {pid}": argv for name in lab.hosts if name not in but for pid, argv in lab.processes(name).items()
                 if not argv[0].startswith(("sshd", SSHD))}
        found.update({f"{name} host file": [path.name] for name in lab.hosts if name not in but and lab.alive(name)
                      for path in lab.path(name, "/tmp").glob("hccn-hostfile-*")})
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)
