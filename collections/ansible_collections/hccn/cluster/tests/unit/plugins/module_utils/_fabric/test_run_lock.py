"""A run as it is seen from another PID namespace, where the number of its process says nothing."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal, repair, run_lock
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal

RUNNER = """
import sys
from ansible_collections.hccn.cluster.plugins.module_utils._core import guard, process
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal
made = Journal.create(sys.argv[1], "r1")
with guard.Guard() as watch:
    made.start(mark=watch.mark, devices=[], pairs_total=3)
    child = process.Child(["sleep", "60"], 60)
    print(watch.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


@pytest.fixture
def runner(folder):
    """With a guard, which is stopped, and a child that outlives it."""
    running = subprocess.Popen([sys.executable, "-c", RUNNER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    guard = int(running.stdout.readline())
    end = time.monotonic() + 10
    while len(os.listdir("/proc/%d/fd" % guard)) > 4 and time.monotonic() < end:
        time.sleep(0.01)  # it has not closed yet what it inherited
    os.kill(guard, signal.SIGSTOP)
    yield running
    running.kill()
    running.wait(10)
    os.kill(guard, signal.SIGCONT)
    running.stdin.close()
    running.stdout.close()


@pytest.fixture
def elsewhere(monkeypatch):
    """In another PID namespace no process has the runner's number."""
    monkeypatch.setattr(journal, "namespace", lambda: "pid:[1]")
    monkeypatch.setattr(run_lock, "namespace", lambda: "pid:[1]")


def test_a_run_of_another_namespace_lives_until_its_process_ends(folder, runner, elsewhere):
    seen = journal.read(folder, "r1")
    assert (seen.state, seen.alive, seen.here) == ("running", True, False)
    assert repair.repair_all(folder) == []
    runner.kill()
    runner.wait(10)
    assert journal.read(folder, "r1").state == "failed", "neither its guard nor its child stands for it"
    assert repair.dead_runs(folder) == ["r1"]


def test_a_reporter_of_another_namespace_is_left_alone(folder, elsewhere, monkeypatch):
    made = Journal.create(folder, "r1")
    made.start(devices=[], mark="x")
    made.end("finished", lingers=True)
    open(os.path.join(folder, "r1", journal.FABRIC), "w").close()
    monkeypatch.setattr(journal, "namespace", lambda: "pid:[2]")
    monkeypatch.setattr(repair.os, "kill", lambda pid, number: pytest.fail("a process of this namespace has that number"))
    assert repair.dismiss(folder) == []
    made.close()


def begun(folder, changes):
    """The journal of a process that is gone, as far as its number tells; a change to None leaves the field out."""
    made = Journal.create(folder, "r1")
    made.start(devices=[], mark="x", pairs_total=3)
    made.close()
    path = journal.path_of(folder, "r1")
    with open(path) as stream:
        line = json.loads(stream.read())
    line.update({"identity": line["identity"].split("/")[0] + "/1", **changes})
    with open(path, "w") as stream:
        stream.write(json.dumps({name: value for name, value in line.items() if value is not None}) + "\n")


def no_locks(*given):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


@pytest.mark.parametrize(("changes", "state"), [
    ({}, "failed"),
    ({"pid_namespace": "pid:[1]"}, "running"),
    ({"pid_namespace": "pid:[1]", "identity": "another boot/1"}, "failed"),
])
def test_where_there_are_no_locks_a_run_out_of_sight_is_not_dead(folder, monkeypatch, changes, state):
    monkeypatch.setattr(run_lock.fcntl, "flock", no_locks)
    begun(folder, changes)
    assert journal.read(folder, "r1").state == state


def test_a_lock_that_nobody_can_ask_for_is_held(folder, monkeypatch):
    begun(folder, {"pid_namespace": "pid:[1]"})
    assert journal.read(folder, "r1").state == "failed"
    monkeypatch.setattr(run_lock.fcntl, "flock", no_locks)
    assert journal.read(folder, "r1").state == "running"


def test_a_journal_of_an_older_version_has_only_the_number(folder):
    begun(folder, {"pid_namespace": None, "locked": None})
    assert journal.read(folder, "r1").state == "failed"
    assert repair.repair_all(folder) == ["r1"]
