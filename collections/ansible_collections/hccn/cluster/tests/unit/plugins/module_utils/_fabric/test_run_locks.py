"""The host lock: one run on a host at a time; and the run lock: whether a run is alive, also seen from another PID namespace."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal, repair, run_locks
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.run_locks import Holder, HostLock

HOLDS = """
import os, sys
from ansible_collections.hccn.cluster.plugins.module_utils._core import guard, process
from ansible_collections.hccn.cluster.plugins.module_utils._core.detach import detach
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.run_locks import HostLock
lock = HostLock.take(sys.argv[1], "r1")
def work(ready):
    lock.write_holder("r1")
    with guard.Guard() as watch:
        child = process.Child(["sleep", "60"], 60)
        with open(sys.argv[2], "w") as ready_file:
            ready_file.write("%d %d\\n" % (os.getpid(), watch.pid))
        ready()
        child.wait()
detach(work, (lock.fileno(),))
lock.close()
"""


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(run_locks, "TRY_SECONDS", 0.1)


def refused(folder):
    with pytest.raises(HccnError) as raised:
        HostLock.take(folder, "r2")
    return raised.value


def path_of(folder):
    return os.path.join(folder, run_locks.NAME)


def test_a_second_run_is_refused_and_named_the_holder(folder, monkeypatch):
    monkeypatch.setattr(run_locks, "_user", lambda: "ops")
    monkeypatch.setattr(run_locks, "_controller", lambda: "192.0.2.7")
    monkeypatch.setattr(run_locks, "utc", lambda: "2026-01-04T10:00:00.000Z")
    assert run_locks.holder(folder) is None
    lock = HostLock.take(folder, "r1")
    assert run_locks.holder(folder) == Holder("r1", os.getpid(), "ops", "192.0.2.7", "2026-01-04T10:00:00.000Z")
    error = refused(folder)
    assert (error.code, error.message) == ("host_in_use", "run r1 (pid %d, user ops, from 192.0.2.7) has been at work on this host since "
                                           "2026-01-04T10:00:00.000Z, and one run measures on a host at a time" % os.getpid())
    assert error.hint == "wait for its end (check_fabric_wait_for_other_run_s), or end it with rdma_perf, state: absent and run_id: r1"
    assert run_locks.taken_or_none(folder, "r2") is None
    lock.close()
    assert run_locks.holder(folder) is None
    HostLock.take(folder, "r2").close()


def test_no_other_user_can_hold_the_lock(folder):
    HostLock.take(folder, "r1").close()
    assert [stat.S_IMODE(os.stat(name).st_mode) for name in (folder, path_of(folder))] == [0o700, 0o600]
    os.chmod(path_of(folder), 0o666)
    assert refused(folder).code == "state_dir_unsafe"
    os.unlink(path_of(folder))
    os.symlink("/etc/passwd", path_of(folder))
    assert refused(folder).code == "state_dir_unusable"
    os.unlink(path_of(folder))
    os.mkfifo(path_of(folder), 0o600)
    assert refused(folder).code == "state_dir_unsafe"


def test_the_lock_is_released_with_its_process_despite_guard_and_child(folder, tmp_path):
    pids = tmp_path / "pids"
    subprocess.run([sys.executable, "-c", HOLDS, folder, str(pids)], check=True, timeout=60, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    runner, guard = map(int, pids.read_text().split())
    holder = run_locks.holder(folder)
    assert holder is not None and (holder.run_id, holder.pid) == ("r1", runner), "the detached process holds the lock"
    end = time.monotonic() + 10
    while len(os.listdir("/proc/%d/fd" % guard)) > 4 and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(guard, signal.SIGSTOP)
    try:
        os.kill(runner, signal.SIGKILL)
        while run_locks.holder(folder) and time.monotonic() < end:
            time.sleep(0.01)
        assert run_locks.holder(folder) is None
        HostLock.take(folder, "r2").close()
    finally:
        os.kill(guard, signal.SIGCONT)


def test_a_process_that_checks_the_lock_does_not_prevent_a_run(folder, monkeypatch):
    monkeypatch.setattr(run_locks, "TRY_SECONDS", 5.0)
    HostLock.take(folder, "r1").close()
    asked = os.open(path_of(folder), os.O_RDONLY)
    fcntl.flock(asked, fcntl.LOCK_SH)
    real, naps = time.sleep, []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            os.close(asked)
        real(0)

    monkeypatch.setattr(time, "sleep", sleep)
    HostLock.take(folder, "r2").close()
    assert len(naps) == 2


@pytest.mark.parametrize("text, shown", [
    ("", "another run"), ("nonsense", "another run"), ("[1]", "another run"), ("null", "another run"), ("[" * 5000, "another run"),
    (json.dumps({"run_id": "r1"}), "run r1"),
    (json.dumps({"run_id": "../x", "pid": "7", "user": "\x1b[2J", "controller": "evil", "since": "now\n"}), "another run"),
    (json.dumps({"run_id": 7, "pid": True, "user": None, "controller": 7, "since": []}), "another run"),
    (json.dumps({"run_id": "r1", "pid": 7, "user": "ops", "controller": "2001:db8::1", "since": "2026"}), "run r1 (pid 7, user ops, from 2001:db8::1)"),
])
def test_malformed_fields_of_the_lock_file_are_ignored(folder, text, shown):
    lock = HostLock.take(folder, "r1")
    with open(path_of(folder), "w", encoding="utf-8") as stream:
        stream.write(text)
    assert refused(folder).message.startswith(shown + (" has been" if '"2026"' in text else " is at work"))
    lock.close()


def test_a_file_system_without_locks_does_not_block_runs(folder, monkeypatch):
    def unsupported(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(run_locks.fcntl, "flock", unsupported)
    HostLock.take(folder, "r1").close()
    assert run_locks.holder(folder) is None


def test_a_full_disk_does_not_block_runs(folder, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_locks.os, "pwrite", full)
    lock = HostLock.take(folder, "r1")
    assert refused(folder).message.startswith("another run is at work on this host, and")
    lock.close()


def test_the_holder_has_the_user_and_the_controller(monkeypatch):
    monkeypatch.setenv("SUDO_USER", "ops")
    assert Holder.this_process("r1").user == "ops"
    monkeypatch.setenv("SUDO_USER", "\x1b[2J")
    assert Holder.this_process("r1").user is None
    code = "from ansible_collections.hccn.cluster.plugins.module_utils._fabric.run_locks import Holder; print(Holder.this_process('r1').controller)"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), SSH_CONNECTION="192.0.2.7 50000 192.0.2.1 22")
    argv = ["sh", "-c", "env -u SSH_CONNECTION \"$@\"; true", "sh", sys.executable, "-c", code]
    assert subprocess.run(argv, env=environment, stdout=subprocess.PIPE, timeout=60, check=True, text=True).stdout == "192.0.2.7\n", "as by sudo"


# -- the run lock, also seen from another PID namespace


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
def runner(folder):
    """A runner with a stopped guard, and a child that outlives it."""
    running = subprocess.Popen([sys.executable, "-c", RUNNER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    guard = int(running.stdout.readline())
    end = time.monotonic() + 10
    while len(os.listdir("/proc/%d/fd" % guard)) > 4 and time.monotonic() < end:
        time.sleep(0.01)  # it has not closed the inherited descriptors yet
    os.kill(guard, signal.SIGSTOP)
    yield running
    running.kill()
    running.wait(10)
    os.kill(guard, signal.SIGCONT)
    running.stdin.close()
    running.stdout.close()


@pytest.fixture
def elsewhere(monkeypatch):
    """See the runner from another PID namespace, where no process has its id."""
    monkeypatch.setattr(journal, "namespace", lambda: "pid:[1]")
    monkeypatch.setattr(run_locks, "namespace", lambda: "pid:[1]")


def test_a_run_of_another_namespace_is_alive_until_its_process_ends(folder, runner, elsewhere):
    seen = journal.read(folder, "r1")
    assert (seen.state, seen.alive, seen.here) == ("running", True, False)
    assert repair.repair_all(folder) == []
    runner.kill()
    runner.wait(10)
    assert journal.read(folder, "r1").state == "failed", "neither its guard nor its child holds the lock"
    assert repair.dead_runs(folder) == ["r1"]


def test_a_reporter_of_another_namespace_is_not_killed(folder, elsewhere, monkeypatch):
    made = Journal.create(folder, "r1")
    made.start(devices=[], mark="x")
    made.end("finished", lingers=True)
    open(os.path.join(folder, "r1", journal.FABRIC), "w").close()
    monkeypatch.setattr(journal, "namespace", lambda: "pid:[2]")
    monkeypatch.setattr(repair.os, "kill", lambda pid, number: pytest.fail("a process of this namespace has that id"))
    assert repair.dismiss(folder) == []
    made.close()


def begun(folder, changes):
    """Write the journal of a process whose id is no longer in use. A change to None removes the field."""
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
def test_without_locks_a_run_of_another_namespace_is_not_proven_dead(folder, monkeypatch, changes, state):
    monkeypatch.setattr(run_locks.fcntl, "flock", no_locks)
    begun(folder, changes)
    assert journal.read(folder, "r1").state == state


def test_a_lock_that_cannot_be_checked_counts_as_held(folder, monkeypatch):
    begun(folder, {"pid_namespace": "pid:[1]"})
    assert journal.read(folder, "r1").state == "failed"
    monkeypatch.setattr(run_locks.fcntl, "flock", no_locks)
    assert journal.read(folder, "r1").state == "running"


def test_a_journal_of_an_older_version_is_judged_by_its_process_id(folder):
    begun(folder, {"pid_namespace": None, "locked": None})
    assert journal.read(folder, "r1").state == "failed"
    assert repair.repair_all(folder) == ["r1"]
