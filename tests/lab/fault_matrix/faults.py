"""Faults of the matrix: each has a name, a description, a moment and an action.

The moment is before the run; while (``during``) or after (``late``) the host VICTIM does its part, which each playbook defines; or while the controller does
its part (``working``), which for most playbooks is waiting for VICTIM.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.integration.history import disks
from tests.lab.testbed import Lab

from tests.lab.fault_matrix import clock
from tests.lab.fault_matrix.awx import AwxPlay
from tests.lab.fault_matrix.play import Play

VICTIM = "node2"
AHEAD = "node1"
DAY = 24 * 3600
WORKING = f"{VICTIM} does its part, or while ClusterD executes a request"


def _nothing(_lab: Lab) -> None:
    pass


@dataclass(frozen=True)
class Fault:
    """A fault. ``strike`` is called with the lab and the run (None before it), ``prepare`` before the run. ``plays``: the class of each operator's run.
    ``history``: provides the file system of the first run's history. ``other``: the fault is a concurrent run of the job's other playbook."""

    what: str
    moment: str
    strike: Callable[[Lab, Play | None], None] = lambda _lab, _play: None
    prepare: Callable[[Lab], None] = _nothing
    plays: tuple[type[Play], ...] = (Play,)
    history: Callable[[Path], AbstractContextManager[None]] = nullcontext
    other: bool = False

    @property
    def runs_meet(self) -> bool:
        """Return True if all hosts are healthy and only the runs conflict with each other."""
        return self.other or len(self.plays) > 1


def _on_host(what: str) -> Callable[[Lab, Play | None], None]:
    return lambda lab, _play: lab.fault(VICTIM, what)


def _in_devices(words: str) -> Callable[[Lab, Play | None], None]:
    return lambda lab, _play: lab.set_state(VICTIM, words)


def _on_controller(number: signal.Signals) -> Callable[[Lab, Play | None], None]:
    def strike(_lab: Lab, play: Play | None) -> None:
        assert play is not None
        play.signal(number)

    return strike


def _clocks(lab: Lab, _play: Play | None) -> None:
    clock.step(lab, AHEAD, DAY)
    clock.step(lab, VICTIM, -DAY)


def _with_clocks(lab: Lab) -> None:
    for name in (AHEAD, VICTIM):
        clock.prepare(lab, name)


FAULTS = {
    "host down before": Fault(f"{VICTIM} is dead before the run", "before", _on_host("kill")),
    "host down during": Fault(f"{VICTIM} dies while it does its part", "during", _on_host("kill")),
    "host down late": Fault(f"{VICTIM} dies after it has done its part", "late", _on_host("kill")),
    "ssh cut": Fault(f"The management link of {VICTIM} is cut while it does its part", "during", _on_host("ssh-cut")),
    "disk full": Fault(f"The file system of {VICTIM} is full", "before", _on_host("disk-full")),
    "controller SIGTERM": Fault(f"ansible-playbook gets SIGTERM while {WORKING}", "working", _on_controller(signal.SIGTERM)),
    "controller SIGKILL": Fault(f"ansible-playbook gets SIGKILL while {WORKING}", "working", _on_controller(signal.SIGKILL)),
    "AWX cancel": Fault(f"A job of AWX is canceled, so that ansible-runner kills the process group of ansible-playbook, while {WORKING}", "working",
                        _on_controller(signal.SIGTERM), plays=(AwxPlay,)),
    "two operators": Fault("Two operators run the same playbook at the same time", "before", plays=(Play, Play)),
    "other playbook": Fault("A second operator runs another playbook on the same hosts at the same time", "during", other=True),
    "garbage": Fault(f"Every call of hccn_tool on {VICTIM} prints garbage and exits with status 0", "before", _in_devices("*.garbage=1")),
    "10 MB of output": Fault(f"Every call of hccn_tool on {VICTIM} prints 10 MB and exits with status 0", "before", _in_devices("*.flood=10")),
    "hccn.conf locked": Fault(f"Another process on {VICTIM} holds a lock (flock) on hccn.conf for ten minutes", "before", _in_devices("conf_locked=600")),
    "clock jump": Fault(f"While {VICTIM} does its part, the wall clock of {AHEAD} steps one day forward and that of {VICTIM} one day back, for their Python "
                        "processes only (all of these hosts share the kernel's clock)", "during", _clocks, _with_clocks),
    "history full": Fault("The controller's file system with the history is full", "before", history=disks.full),
}
