"""Ranks of a run are found by its mark, their states identify the hosts that block it, and no other process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from typing import Iterator

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core import process
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import ranks
from ansible_collections.hccn.cluster.plugins.module_utils._perf.ranks import RankStates
from ansible_collections.hccn.cluster.plugins.module_utils._perf.ssh_login import Login

NOBODY = Login(("/nowhere/ssh",))
NAMES = {"10.0.0.1": "n1", "10.0.0.2": "n2"}


class Run:
    """Processes with a mark, like the ranks of mpirun."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.children = []

    def start(self, mark: str, **more: str) -> "subprocess.Popen[bytes]":
        self.children.append(subprocess.Popen(["sleep", "60"], env=dict(os.environ, **{process.MARK: mark}, **more)))
        return self.children[-1]


@pytest.fixture
def run() -> Iterator[Run]:
    made = Run()
    yield made
    for child in made.children:
        child.kill()
        child.wait()


def test_states_of_local_ranks(run: Run) -> None:
    run.start(run.mark, PMI_RANK="0")
    stopped = run.start(run.mark, PMI_RANK="1")
    run.start(run.mark, OMPI_COMM_WORLD_RANK="12")
    run.start(run.mark)
    other = run.start(uuid.uuid4().hex, PMI_RANK="3")
    stopped.send_signal(signal.SIGSTOP)
    end = time.monotonic() + 10
    while ranks.probe(NOBODY, ["localhost"], run.mark).states.get(1) != {"T"} and time.monotonic() < end:
        time.sleep(0.02)
    assert ranks.probe(NOBODY, ["localhost"], run.mark).states == {0: {"S"}, 1: {"T"}, 12: {"S"}}
    ranks.end(NOBODY, ["localhost"], run.mark)
    assert [child.wait(10) for child in run.children if child is not other] == [-signal.SIGKILL] * 4
    assert other.poll() is None


def test_silent_host_is_reported(run: Run) -> None:
    seen = ranks.probe(NOBODY, ["192.0.2.1"], run.mark)
    assert {host: error.code for host, error in seen.silent.items()} == {"192.0.2.1": "tool_missing"}


def suspects_of(seen: RankStates) -> "tuple[tuple[str, ...], str]":
    found = ranks.suspects(seen, 4, list(NAMES), lambda rank: ("n1", "n2")[rank // 2], NAMES)
    return found.hosts, found.sentence


def test_suspects() -> None:
    running = {0: {"S"}, 1: {"R"}}
    assert suspects_of(RankStates({**running, 2: {"S"}, 3: {"S"}})) == ((), "")
    assert suspects_of(RankStates({**running, 2: {"T"}, 3: {"S", "D"}})) == (("n2",), "n2: rank 2 is stopped by a signal, rank 3 is stuck in the kernel")
    assert suspects_of(RankStates({**running, 2: {"S"}})) == (("n2",), "n2: rank 3 has ended")
    assert suspects_of(RankStates(running, {"10.0.0.2": HccnError("host_silent", "no answer within 10 s")})) == (
        ("n2",), "n2: does not answer (no answer within 10 s)")
    assert suspects_of(RankStates()) == ((), "")
