# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell of the fault matrix: one playbook, one fault, and everything that is seen of it from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._device import conf_check
from tests.testbed import Lab, lab

from tests.harness.faults import FAULTS, TWO_OPERATORS, VICTIM
from tests.harness.play import Play, until_nothing_is_left


@dataclass(frozen=True)
class Job:
    """A playbook of the matrix. ``during``: words of a command that VICTIM runs in the middle; ``late``: a line that the run prints after VICTIM's part.

    ``state`` tells what a living host has become, by files and devices alone.
    """

    playbook: str
    variables: Mapping[str, Any]
    during: frozenset[str]
    late: str
    state: Callable[[Lab, str], str]
    products: tuple[str, ...] = ("A2", "A2", "A2")
    prepare: Callable[[Lab], None] = lambda lab: None


@dataclass(frozen=True)
class Seen:
    """``classes`` by the recap; ``states`` of the hosts that live; ``again``: classes of a second run on these once the fault is healed."""

    code: int
    classes: dict[str, str]
    states: dict[str, str]
    left: dict[Any, list[str]]
    history: str
    conf_problems: list[str]
    output: str
    again: dict[str, str] = field(default_factory=dict)
    states_again: dict[str, str] = field(default_factory=dict)


def run(job: Job, fault: str, folder: Path, again: bool = False) -> Seen:
    """The cell, on a lab of its own. VICTIM is slow, so that there is a middle to strike at."""
    with lab(products=job.products, npus=2, variables={"ansible_ssh_timeout": 5}) as here:
        job.prepare(here)
        here.set_state(VICTIM, "*.latency=0.4")
        plays = _two(job, here, folder) if fault == TWO_OPERATORS else [_struck(job, fault, here, folder)]
        codes = [play.end() for play in plays]
        left = until_nothing_is_left(here, *plays)
        living = [name for name in here.hosts if here.alive(name)]
        second, states_again = {}, {}
        states = {name: job.state(here, name) for name in living}
        problems = [f"{name}: {problem}" for name in living for problem in conf_problems(here, name)]
        if again:
            for name in living:
                here.heal(name)
            repaired = Play(here, folder / "again", job.playbook, {**job.variables, "hccn_hosts": ":".join(living)})
            repaired.end()
            second = repaired.classes()
            states_again = {name: job.state(here, name) for name in living}
    output = "".join(play.output for play in plays)
    return Seen(max(codes, key=abs), plays[0].classes(), states, left, _history(plays[0]), problems, output, second, states_again)


def _struck(job: Job, fault: str, here: Lab, folder: Path) -> Play:
    what = FAULTS[fault]
    if what.moment == "before":
        what.strike(here, None)
    play = Play(here, folder, job.playbook, job.variables)
    if what.moment == "during":
        play.wait_for(f"{' '.join(sorted(job.during))} on {VICTIM}", lambda: any(job.during <= set(argv) for argv in here.processes(VICTIM).values()))
    if what.moment == "late":
        play.wait_for(job.late, lambda: job.late in play.output)
    if what.moment != "before":
        what.strike(here, play)
    return play


def _two(job: Job, here: Lab, folder: Path) -> list[Play]:
    return [Play(here, folder / name, job.playbook, job.variables) for name in ("first", "second")]


def _history(play: Play) -> str:
    """``complete``, ``part`` (readable up to where it was cut off) or ``none``; a run with lines that are torn says so."""
    runs = play.runs()
    if not runs:
        return "none"
    return ("complete" if runs[0].complete else "part") + (f", {runs[0].bad_lines} torn" if runs[0].bad_lines else "")


def conf_problems(here: Lab, name: str) -> list[str]:
    """What is wrong with the form of a host's hccn.conf: lines that are cut, keys twice, no newline at its end."""
    path = here.path(name, "/etc/hccn.conf")
    text = path.read_text() if path.exists() else ""
    return [problem.message for problem in conf_check.check(text)]
