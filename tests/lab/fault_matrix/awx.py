"""A run as a job of AWX: through ansible-runner's transmit, worker and process, ended by what AWX ends a job with."""

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

from tests.integration.awx.job import BIN, Job, Outcome, clone, processes
from tests.lab.fault_matrix.play import HISTORY, PLAY_SECONDS, Play
from tests.lib.playbook import ansible_environment
from tests.lab.testbed import Lab, kernel

CANCELLED = 254
"""ansible-runner's exit status of a job that was cancelled, or took too long."""
_ONE_CLONE = threading.Lock()
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _project() -> Path:
    """One clone for all jobs of this process: each of them copies it."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="hccn-awx-"))
    return clone(Path(_KEPT[-1].name) / "project")


def _inventory(lab: Lab) -> dict[str, Any]:
    argv = [str(BIN / "ansible-inventory"), "-i", str(lab.inventory), "--list", "--export"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=PLAY_SECONDS, env=ansible_environment())
    return json.loads(done.stdout)


class AwxPlay(Play):
    """The worker stands for the execution environment's container."""

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
        """What AWX shows of the job; before its end, the stream of events as it is."""
        if self._outcome is not None:
            return f"{self._outcome.said}\nAWX: {self._outcome.status}\n"
        return self._received.read_text(errors="replace") if self._received.exists() else ""

    def running(self) -> bool:
        return self._working.is_alive()

    def signal(self, number: signal.Signals) -> None:
        """To ansible-runner's worker, as receptor ends it; it kills the process group of ansible-playbook."""
        worker = kernel.eldest(pid for pid, words in processes(str(self.folder)).items() if "ansible-runner worker" in words)
        os.kill(worker, number)

    def end(self) -> int:
        self._working.join(PLAY_SECONDS)
        assert self._outcome is not None, "the job did not end"
        return CANCELLED if self._outcome.rc is None else self._outcome.rc

    def left_here(self) -> dict[int, list[str]]:
        """By AWX's own folder of the job, which all of its processes have in their environment."""
        return {pid: [words] for pid, words in processes(str(self.folder)).items() if not words.startswith("ssh: ")}
