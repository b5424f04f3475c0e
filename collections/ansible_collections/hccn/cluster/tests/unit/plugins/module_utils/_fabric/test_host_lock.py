"""One run on a host at a time: who holds the lock, how it is freed, and what a run that meets it does."""

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
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import host_lock
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.host_lock import Holder, HostLock

HOLDS = """
import os, sys
from ansible_collections.hccn.cluster.plugins.module_utils._core import guard, process
from ansible_collections.hccn.cluster.plugins.module_utils._core.detach import detach
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.host_lock import HostLock
lock = HostLock.take(sys.argv[1], "r1")
def work(ready):
    lock.sign("r1")
    with guard.Guard() as watch:
        child = process.Child(["sleep", "60"], 60)
        with open(sys.argv[2], "w") as told:
            told.write("%d %d\\n" % (os.getpid(), watch.pid))
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
    monkeypatch.setattr(host_lock, "TRY_SECONDS", 0.1)


def refused(folder):
    with pytest.raises(HccnError) as raised:
        HostLock.take(folder, "r2")
    return raised.value


def path_of(folder):
    return os.path.join(folder, host_lock.NAME)


def test_the_second_is_told_who_is_first(folder, monkeypatch):
    monkeypatch.setattr(host_lock, "_user", lambda: "ops")
    monkeypatch.setattr(host_lock, "_controller", lambda: "192.0.2.7")
    monkeypatch.setattr(host_lock, "utc", lambda: "2026-01-04T10:00:00.000Z")
    assert host_lock.holder(folder) is None
    lock = HostLock.take(folder, "r1")
    assert host_lock.holder(folder) == Holder("r1", os.getpid(), "ops", "192.0.2.7", "2026-01-04T10:00:00.000Z")
    error = refused(folder)
    assert (error.code, error.message) == ("host_in_use", "run r1 (pid %d, user ops, from 192.0.2.7) has been at work on this host since "
                                           "2026-01-04T10:00:00.000Z, and one run measures on a host at a time" % os.getpid())
    assert error.hint == ("wait for its end (check_fabric_wait_for_other_run_s); if nobody needs it any more, it ends by rdma_perf with state: absent and "
                          "run_id: r1")
    assert host_lock.taken_or_none(folder, "r2") is None
    lock.close()
    assert host_lock.holder(folder) is None
    HostLock.take(folder, "r2").close()


def test_no_other_user_can_hold_it(folder):
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


def test_it_goes_with_its_process_and_neither_guard_nor_child_keep_it(folder, tmp_path):
    told = tmp_path / "told"
    subprocess.run([sys.executable, "-c", HOLDS, folder, str(told)], check=True, timeout=60, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    runner, guard = map(int, told.read_text().split())
    holder = host_lock.holder(folder)
    assert holder is not None and (holder.run_id, holder.pid) == ("r1", runner), "it is the detached process that holds it"
    end = time.monotonic() + 10
    while len(os.listdir("/proc/%d/fd" % guard)) > 4 and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(guard, signal.SIGSTOP)
    try:
        os.kill(runner, signal.SIGKILL)
        while host_lock.holder(folder) and time.monotonic() < end:
            time.sleep(0.01)
        assert host_lock.holder(folder) is None
        HostLock.take(folder, "r2").close()
    finally:
        os.kill(guard, signal.SIGCONT)


def test_whoever_only_asks_keeps_no_run_from_beginning(folder, monkeypatch):
    monkeypatch.setattr(host_lock, "TRY_SECONDS", 5.0)
    HostLock.take(folder, "r1").close()
    asked = os.open(path_of(folder), os.O_RDONLY)
    fcntl.flock(asked, fcntl.LOCK_SH)
    real, naps = time.sleep, []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            os.close(asked)
        real(0)

    monkeypatch.setattr(host_lock.time, "sleep", sleep)
    HostLock.take(folder, "r2").close()
    assert len(naps) == 2


@pytest.mark.parametrize("text, shown", [
    ("", "another run"), ("nonsense", "another run"), ("[1]", "another run"), ("null", "another run"), ("[" * 5000, "another run"),
    (json.dumps({"run_id": "r1"}), "run r1"),
    (json.dumps({"run_id": "../x", "pid": "7", "user": "\x1b[2J", "controller": "evil", "since": "now\n"}), "another run"),
    (json.dumps({"run_id": 7, "pid": True, "user": None, "controller": 7, "since": []}), "another run"),
    (json.dumps({"run_id": "r1", "pid": 7, "user": "ops", "controller": "2001:db8::1", "since": "2026"}), "run r1 (pid 7, user ops, from 2001:db8::1)"),
])
def test_what_the_file_says_is_checked(folder, text, shown):
    lock = HostLock.take(folder, "r1")
    with open(path_of(folder), "w", encoding="utf-8") as stream:
        stream.write(text)
    assert refused(folder).message.startswith(shown + (" has been" if '"2026"' in text else " is at work"))
    lock.close()


def test_a_file_system_without_locks_holds_up_nobody(folder, monkeypatch):
    def unsupported(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(host_lock.fcntl, "flock", unsupported)
    HostLock.take(folder, "r1").close()
    assert host_lock.holder(folder) is None


def test_a_full_disk_holds_up_nobody(folder, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(host_lock.os, "pwrite", full)
    lock = HostLock.take(folder, "r1")
    assert refused(folder).message.startswith("another run is at work on this host, and")
    lock.close()


def test_who_began_it(monkeypatch):
    monkeypatch.setenv("SUDO_USER", "ops")
    assert Holder.myself("r1").user == "ops"
    monkeypatch.setenv("SUDO_USER", "\x1b[2J")
    assert Holder.myself("r1").user is None
    code = "from ansible_collections.hccn.cluster.plugins.module_utils._fabric.host_lock import Holder; print(Holder.myself('r1').controller)"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), SSH_CONNECTION="192.0.2.7 50000 192.0.2.1 22")
    argv = ["sh", "-c", "env -u SSH_CONNECTION \"$@\"; true", "sh", sys.executable, "-c", code]
    assert subprocess.run(argv, env=environment, stdout=subprocess.PIPE, timeout=60, check=True, text=True).stdout == "192.0.2.7\n", "as by sudo"
