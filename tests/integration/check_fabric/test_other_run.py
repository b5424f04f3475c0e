"""A check that finds another run, or a foreign listener, on its hosts: the other run is not disturbed, and no host becomes slow or failed."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import run_locks
from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import play, verdicts
from tests.lib.module import import_file
from tests.lib.project import COLLECTION
from tests.lib.waiting import until

SECOND = ("n1", "n2", "n3", "n4")
"""The hosts of the second run in tests with five hosts."""
GATE = """#!/bin/sh
case "$*" in *AnsiballZ_rdma_perf.py*) until [ -e {gate} ]; do sleep 0.1; done;; esac
exec {python} "$@"
"""
LISTENS = """
import os, pwd, socket, sys, time
if os.getuid() == 0:
    os.setuid(pwd.getpwnam("nobody").pw_uid)
listener = socket.socket()
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
print(flush=True)
time.sleep(600)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", 5, 1)
    yield made
    made.close()


@pytest.fixture
def background(tmp_path: Path) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool
        gate(tmp_path).touch()  # however the test ended


def gate(tmp_path: Path) -> Path:
    return tmp_path / "gate"


def folder(tmp_path: Path, name: str) -> Path:
    """Make the folder for the inventory and history of an operator."""
    (tmp_path / name).mkdir()
    return tmp_path / name


def all_but_the_last(cluster: Cluster) -> list[str]:
    """Return the hosts of the second run. The first run also has the last host, where it starts only when the test opens the gate."""
    return list(cluster.ports)[:-1]


class First:
    """A first check, which occupies all hosts but the last until ``go``."""

    def __init__(self, cluster: Cluster, tmp_path: Path, background: ThreadPoolExecutor) -> None:
        self._gate, interpreter = gate(tmp_path), tmp_path / "python"
        interpreter.write_text(GATE.format(gate=self._gate, python=sys.executable))
        interpreter.chmod(0o755)
        *others, last = cluster.ports
        of_hosts: dict[str, dict[str, Any]] = {name: {} for name in others}
        of_hosts[last] = {"ansible_python_interpreter": str(interpreter), "ansible_pipelining": False}
        self._output: Future[str] = background.submit(play, cluster, folder(tmp_path, "first"), of_hosts=of_hosts, check_fabric_plan="full",
                                                      check_fabric_advanced={"server_start_delay_s": 0.3, "meeting_timeout_s": 600})
        until(lambda: self._output.done() or all(holder(cluster, name) for name in others), 120)
        assert not self._output.done(), self._output.result()
        self.run_id = str(holder(cluster, "n1").run_id)

    def go(self) -> None:
        self._gate.touch()

    def output(self) -> str:
        self.go()
        return self._output.result(240)

    def is_over(self) -> bool:
        return self._output.done()


def second(cluster: Cluster, tmp_path: Path, name: str = "second", **variables: Any) -> str:
    return play(cluster, folder(tmp_path, name), of_hosts={host: {} for host in all_but_the_last(cluster)}, **variables)


def holder(cluster: Cluster, name: str) -> Any:
    return run_locks.holder(f"{cluster.root(name)}/runs")


def runs(cluster: Cluster, name: str) -> list[str]:
    return sorted(path.parent.name for path in (Path(cluster.root(name)) / "runs").glob("*/journal.jsonl"))


def test_two_checks_at_once(make: Callable[..., Cluster], tmp_path: Path, background: ThreadPoolExecutor) -> None:
    cluster = make(3, 1)
    first = First(cluster, tmp_path, background)
    output = second(cluster, tmp_path)
    assert verdicts(output) == {"n1": "busy", "n2": "busy"}
    of_n2 = re.search(r"n2: busy\. (.*)", output)
    assert of_n2 and re.match(
        rf"the run did not begin on this host: run {first.run_id} \(pid \d+, user {pwd.getpwuid(os.getuid()).pw_name}[^)]*\) has been at work on this host "
        r"since 2\d{3}-[0-9-]{5}T[0-9:.]+Z, and one run measures on a host at a time", of_n2[1]), output
    assert "cannot report the progress of the run" not in output, "no host is asked for the progress of a run that did not begin"
    assert verdicts(first.output()) == dict.fromkeys(cluster.ports, "good")
    assert [runs(cluster, name) for name in cluster.ports] == [[first.run_id]] * 3


@pytest.mark.long
def test_check_waits_for_another_run(cluster: Cluster, tmp_path: Path, background: ThreadPoolExecutor) -> None:
    first = First(cluster, tmp_path, background)
    waiting = background.submit(second, cluster, tmp_path, check_fabric_wait_for_other_run_s=200)
    time.sleep(8)
    assert not waiting.done()
    assert verdicts(first.output()) == dict.fromkeys(cluster.ports, "good")
    assert verdicts(waiting.result(240)) == dict.fromkeys(SECOND, "good")
    assert [len(runs(cluster, name)) for name in SECOND] == [2] * 4


@pytest.mark.long
def test_wait_for_another_run_is_limited(cluster: Cluster, tmp_path: Path, background: ThreadPoolExecutor) -> None:
    first = First(cluster, tmp_path, background)
    began = time.monotonic()
    output = second(cluster, tmp_path, check_fabric_wait_for_other_run_s=3)
    assert time.monotonic() - began >= 3
    assert verdicts(output) == dict.fromkeys(SECOND, "busy")
    assert verdicts(first.output()) == dict.fromkeys(cluster.ports, "good")


@pytest.mark.long
def test_waiting_runs_do_not_block_each_other(cluster: Cluster, tmp_path: Path, background: ThreadPoolExecutor) -> None:
    """Both wait for the first run and may begin at the same time. Each host takes part in one of them, and neither waits for the hosts of the other."""
    first = First(cluster, tmp_path, background)
    waiting = [background.submit(second, cluster, tmp_path, name, check_fabric_wait_for_other_run_s=200, check_fabric_confirm=False,
                                 check_fabric_advanced={"server_start_delay_s": 0.3, "meeting_timeout_s": 5}) for name in ("second", "third")]
    time.sleep(8)
    assert not any(run.done() for run in waiting)
    assert verdicts(first.output()) == dict.fromkeys(cluster.ports, "good")
    classes = [verdicts(run.result(240)) for run in waiting]
    assert [set(found) for found in classes] == [set(SECOND)] * 2
    assert {state for found in classes for state in found.values()} <= {"good", "busy", "not_measured"}


@pytest.mark.long
def test_retest_during_a_check_drains_no_host(cluster: Cluster, tmp_path: Path, background: ThreadPoolExecutor) -> None:
    """The retest of a rulebook triggers no event, so no host is quarantined."""
    first = First(cluster, tmp_path, background)
    again = folder(tmp_path, "again")
    pairs = [{"source": {"host": "n1", "device": 0}, "target": {"host": "n2", "device": 0}},
             {"source": {"host": "n3", "device": 0}, "target": {"host": "n4", "device": 0}}]
    kept_in = {"ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results", "HCCN_RESULTS_PATH": str(again / "history")}
    output = play(cluster, again, "retest", of_hosts={host: {} for host in SECOND}, environment=kept_in, retest_pairs=pairs)
    assert verdicts(output) == dict.fromkeys(SECOND, "busy")
    source = import_file(COLLECTION / "extensions/eda/plugins/event_source/history.py")
    (path,) = (again / "history").glob("*/*/*/*.jsonl")
    text = path.read_text()
    kept = [json.loads(line) for line in text.splitlines()]
    assert [entry["samples"][0]["class"] for entry in kept if entry.get("kind") == "verdict"] == ["busy"] * 4
    assert list(source.events_of(text)) == []
    assert verdicts(first.output()) == dict.fromkeys(cluster.ports, "good")


@pytest.mark.long
def test_foreign_listener_on_the_control_port(cluster: Cluster, tmp_path: Path) -> None:
    """Any user of a host can listen on this port; this must not take the host out of service."""
    user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    listener = subprocess.Popen([sys.executable, "-c", LISTENS, str(cluster.ports["n3"])], stdout=subprocess.PIPE, text=True)
    assert listener.stdout
    try:
        assert listener.stdout.readline()
        output = play(cluster, tmp_path)
    finally:
        listener.kill()
        listener.wait(30)
        listener.stdout.close()
    assert verdicts(output) == {**dict.fromkeys(cluster.ports, "good"), "n3": "not_measured"}
    assert re.search(rf"n3: not_measured\. the run did not begin on this host: 127\.0\.0\.1 port {cluster.ports['n3']} is in use on this host by "
                     rf"pid {listener.pid} \(\S+\) of the user {user}", output), output
