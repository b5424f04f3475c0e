"""Run a playbook as a job of AWX: through ansible-runner's transmit, worker and process, and end it as AWX does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.integration.awx.job import BIN, Job, Outcome, clone
from tests.lab.fault_matrix.play import HISTORY, PLAY_SECONDS, Play
from tests.lib.playbook import ansible_environment
from tests.lab.testbed import Lab, kernel
from tests.lib.processes import processes

CANCELLED = 254
"""Exit status of ansible-runner for a job that was canceled or timed out."""
_ONE_CLONE = threading.Lock()
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _project() -> Path:
    """Return one clone of the project for all jobs of this process; each job copies it."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="hccn-awx-"))
    return clone(Path(_KEPT[-1].name) / "project")


def _inventory(lab: Lab) -> dict[str, Any]:
    argv = [str(BIN / "ansible-inventory"), "-i", str(lab.inventory), "--list", "--export"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=PLAY_SECONDS, env=ansible_environment())
    return json.loads(done.stdout)


class AwxPlay(Play):
    """A run as a job. The worker takes the role of the container of the execution environment."""

    def __init__(self, lab: Lab, folder: Path, playbook: str, variables: Mapping[str, Any]) -> None:
        self.lab, self.playbook, self.history, self.lines = lab, playbook, folder / HISTORY, list[str]()
        self.folder = folder / "job1"
        folder.mkdir(parents=True, exist_ok=True)
        with _ONE_CLONE:
            project = _project()
        environment = {"HCCN_RESULTS_PATH": str(self.history)}
        job = Job(1, self.folder, f"playbooks/{playbook}.yml", _inventory(lab), dict(variables), environment, forks=16)
        self._received = folder / "job1_received"
        self._outcome: Outcome | None = None
        self._working = threading.Thread(target=self._work, args=(job, project), daemon=True)
        self._working.start()

    def _work(self, job: Job, project: Path) -> None:
        self._outcome = job.run(project)

    @property
    def output(self) -> str:
        """Return the output that AWX shows. Before the job ends, return the raw stream of events."""
        if self._outcome is not None:
            return f"{self._outcome.output}\nAWX: {self._outcome.status}\n"
        return self._received.read_text(errors="replace") if self._received.exists() else ""

    def running(self) -> bool:
        return self._working.is_alive()

    def signal(self, number: signal.Signals) -> None:
        """Send the signal to ansible-runner's worker, as receptor does; the worker kills the process group of ansible-playbook."""
        worker = kernel.oldest_ancestor(pid for pid, words in processes(str(self.folder)).items() if "ansible-runner worker" in words)
        os.kill(worker, number)

    def end(self) -> int:
        self._working.join(PLAY_SECONDS)
        assert self._outcome is not None, "the job did not end"
        return CANCELLED if self._outcome.rc is None else self._outcome.rc

    def processes_on_controller(self) -> dict[int, list[str]]:
        """Return processes of the job. All of them have AWX's folder of the job in their environment."""
        return {pid: [words] for pid, words in processes(str(self.folder)).items() if not words.startswith("ssh: ")}
