"""A fault case: one playbook under one fault, and everything that is observed of it from outside."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._device import conf_check
from tests.lab.testbed import Lab, lab

from tests.lab.fault_matrix.faults import FAULTS, VICTIM, Fault
from tests.lab.fault_matrix.jobs import JOBS, Job
from tests.lab.fault_matrix.play import HISTORY, Play, remaining_processes
from tests.lab.fault_matrix.stage import Stage
from tests.lab.fault_matrix.table import recap

GONE = "gone"
LAB: dict[str, Any] = {"products": ("A2", "A2", "A2"), "npus": 2, "variables": {"ansible_ssh_timeout": 5}}


@dataclass(frozen=True)
class Observed:
    """The observed result. ``hosts``: classes by the recap. ``state``: of each host, GONE if it is dead. ``again``: both after a second run on the remaining
    hosts without the fault.

    ``other``: the result of a concurrent run of another playbook. ``blamed``: healthy hosts that a verdict of concurrent runs calls failed.
    """

    exit: int
    hosts: dict[str, str]
    state: dict[str, str]
    elsewhere: dict[str, str]
    left: dict[Any, list[str]]
    history: str
    conf_problems: list[str]
    output: str
    seconds: float
    again: tuple[dict[str, str], dict[str, str]] = field(default_factory=lambda: ({}, {}))
    other: str = ""
    blamed: list[str] = field(default_factory=list)


def run(playbook: str, fault: str, folder: Path, again: bool = False) -> Observed:
    """Run the fault case on a new lab."""
    job, what = JOBS[playbook], FAULTS[fault]
    began = time.monotonic()
    with lab(**{**LAB, **job.lab}) as here:
        with job.stage(here, folder) as stage, what.history(folder / "0" / HISTORY):
            plays, second = _met(job, here, stage, folder) if what.other else (_played(job, what, here, stage, folder), None)
            everybody = [*plays, *([second] if second else [])]
            ended = {play: play.end() for play in everybody}
            left = remaining_processes(here, *everybody, seconds=job.left_seconds)
            living = [name for name in here.hosts if here.alive(name)]
            state = {name: stage.state(name) if name in living else GONE for name in here.hosts}
            elsewhere = stage.elsewhere()
            problems = [f"{name}: {problem}" for name in living for problem in conf_problems(here, name)]
            after = _again(job, here, stage, folder, living) if again else ({}, {})
    other = f"{second.playbook}: exit {ended[second]}, {recap(second.classes()) or 'none'}, history {_history(second)}" if second else ""
    blamed = [f"{play.playbook}: {host}" for play in everybody for host in play.blamed()] if what.runs_meet else []
    return Observed(max((ended[play] for play in plays), key=abs), plays[0].classes(), state, elsewhere, left, _history(plays[0]), problems,
                "".join(play.output for play in everybody), time.monotonic() - began, after, other, blamed)


def _played(job: Job, fault: Fault, here: Lab, stage: Stage, folder: Path) -> list[Play]:
    fault.prepare(here)
    if fault.moment == "before":
        fault.strike(here, None)
    plays = [kind(here, folder / str(number), job.playbook, stage.variables) for number, kind in enumerate(fault.plays)]
    play = plays[0]
    if fault.moment == "during":
        play.wait_for(f"the part of {VICTIM}", lambda: stage.during(play))
    if fault.moment == "working":
        play.wait_for("the part of the controller", lambda: (stage.working or stage.during)(play))
    if fault.moment == "late":
        play.wait_for(job.late, lambda: job.late in play.output)
    if fault.moment != "before":
        fault.strike(here, play)
    return plays


def _met(job: Job, here: Lab, stage: Stage, folder: Path) -> tuple[list[Play], Play]:
    """Run the job and its other playbook with the same inventory. The second run starts while the first one is in the middle of its part."""
    other = job.other
    assert other is not None, f"{job.playbook} has no other playbook"
    begin_job = partial(Play, here, folder / "0", job.playbook, stage.variables)
    begin_other = partial(Play, here, folder / "other", other.playbook, {**stage.variables, **other.variables})
    part = f"the part of {VICTIM}"
    other.prepare(here)
    if other.during:
        second = begin_other()
        second.wait_for(part, partial(other.during(here), second))
        return [begin_job()], second
    first = begin_job()
    first.wait_for(part, partial(stage.during, first))
    return [first], begin_other()


def _again(job: Job, here: Lab, stage: Stage, folder: Path, living: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    for name in living:
        here.heal(name)
    here.set_state(VICTIM, "*.garbage=", "*.flood=", "conf_locked=") if VICTIM in living else None
    repaired = Play(here, folder / "again", job.playbook, {**stage.variables, "hccn_hosts": ":".join(living)})
    repaired.end()
    return repaired.classes(), {name: stage.state(name) for name in living}


def _history(play: Play) -> str:
    """Return ``complete``, ``part`` (readable up to the point at which it was cut off) or ``none``, with a note if lines are torn."""
    runs = play.runs()
    if not runs:
        return "none"
    return ("complete" if runs[0].complete else "part") + (f", {runs[0].bad_lines} torn" if runs[0].bad_lines else "")


def conf_problems(here: Lab, name: str) -> list[str]:
    """Return format errors of a host's hccn.conf: truncated lines, duplicate keys, no newline at the end."""
    path = here.path(name, "/etc/hccn.conf")
    text = path.read_text() if path.exists() else ""
    return [problem.message for problem in conf_check.check(text)]
