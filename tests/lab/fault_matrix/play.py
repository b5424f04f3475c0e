"""One run of a playbook on a lab, observed from outside: its output, its exit status and its remaining processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.processes import processes
from tests.lib.project import ROOT
from tests.lab.testbed import Lab
from tests.lab.testbed import kernel

PLAY_SECONDS = 300.0
HISTORY = "history"
"""The folder of the history, below the folder of the run."""
LEFT_SECONDS = 30.0
"""How long after the end of a run a process may still exist: a call of hccn_tool exits by itself, later on a busy machine."""

POLL_SECONDS = 0.03
LOCK_HOLDER = "hccn_sim.host_faults import hold"
"""Part of the command line of the process that holds a lock on a host's hccn.conf."""

RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


class Play:
    """ansible-playbook as a process in a new session."""

    def __init__(self, lab: Lab, folder: Path, playbook: str, variables: Mapping[str, Any]) -> None:
        self.lab, self.playbook, self.history, self.lines = lab, playbook, folder / HISTORY, list[str]()
        argv = [ANSIBLE_PLAYBOOK, "-i", str(lab.inventory), f"hccn.cluster.{playbook}", "-e", json.dumps(variables)]
        environment = ansible_environment(ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results", HCCN_RESULTS_PATH=str(self.history), ANSIBLE_FORKS="16",
                                          ANSIBLE_DISPLAY_SKIPPED_HOSTS="false")
        self.process = subprocess.Popen(argv, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines += iter(self.process.stdout.readline, "")

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def wait_for(self, what: str, seen: Callable[[], bool]) -> None:
        """Wait until ``seen`` returns True. A run that ends before did not have the fault, which fails the test."""
        end = time.monotonic() + PLAY_SECONDS
        while not seen():
            assert self.running(), f"the run ended before {what}:\n{self.output}"
            assert time.monotonic() < end, f"{what} did not happen within {PLAY_SECONDS:.0f} s:\n{self.output}"
            time.sleep(POLL_SECONDS)

    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send the signal to the process only, as an operator or AWX does."""
        os.kill(self.process.pid, number)

    def end(self) -> int:
        """Wait for the end of the run and return the exit status."""
        code = self.process.wait(PLAY_SECONDS)
        self._reading.join(LEFT_SECONDS)
        return code

    def classes(self) -> dict[str, str]:
        """Return each host of the recap as ``ok``, ``failed`` or ``unreachable``; nothing if the run was killed before its recap."""
        return {host: "unreachable" if int(unreachable) else "failed" if int(failed) else "ok"
                for host, _changed, unreachable, failed in RECAP.findall(self.output)}

    def changed(self) -> dict[str, int]:
        return {host: int(changed) for host, changed, _unreachable, _failed in RECAP.findall(self.output)}

    def runs(self) -> list[reader.Run]:
        return [reader.read(entry) for entry in reader.runs(self.history)]

    def blamed(self) -> list[str]:
        """Return the hosts that a verdict of this run calls failed."""
        verdicts = [record for run in self.runs() for record in run.records if record.get("kind") == "verdict" and record.get("source", {}).get("host")]
        return sorted({str(record["source"]["host"]) for record in verdicts if record["samples"][0]["class"] == "failed"})

    def processes_on_controller(self) -> dict[int, list[str]]:
        """Return processes of this run on the controller, found by its session or its folder in their environment. ssh's masters are excluded: they exit after
        a minute, or the lab ends them."""
        of_it = {*processes(str(self.history)), *(pid for pid in kernel.processes() if _session(pid) == self.process.pid)}
        return {pid: argv for pid in of_it if pid != self.process.pid and (argv := kernel.arguments(pid)) and argv[0] and not argv[0].startswith("ssh: ")}


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def processes_on_hosts(lab: Lab) -> dict[str, list[str]]:
    """Return the processes of the hosts except sshd and those of a fault: host and pid to command line."""
    return {f"{name} {pid}": argv for name in lab.hosts for pid, argv in lab.processes(name).items()
            if not argv[0].startswith(("sshd", "/usr/sbin/sshd")) and not any(LOCK_HOLDER in word for word in argv)}


def remaining_processes(lab: Lab, *plays: Play, seconds: float = LEFT_SECONDS) -> dict[Any, list[str]]:
    """Wait up to ``seconds`` for all processes to exit, and return the remaining ones as seen in /proc."""
    end = time.monotonic() + seconds
    while True:
        left: dict[Any, list[str]] = {**processes_on_hosts(lab), **{pid: argv for play in plays for pid, argv in play.processes_on_controller().items()}}
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)
