from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard, belongs_to_run, run_quietly


def broken():
    raise ValueError("this one fails, the next is called all the same")


def test_functions_and_commands_clean_up_in_order(tmp_path):
    file = tmp_path / "file"
    with Guard([broken, lambda: file.write_text("here"), ["cp", str(file), str(tmp_path / "copy")]]):
        assert not file.exists()
    assert (tmp_path / "copy").read_text() == "here"


def test_guard_runs_cleanup_if_the_worker_is_killed(tmp_path):
    file = tmp_path / "file"
    worker = os.fork()
    if worker == 0:
        with Guard([broken, lambda: file.write_text("by %d" % os.getpid())]) as guard:
            (tmp_path / "guard").write_text("%d" % guard.pid)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
    guard = (tmp_path / "guard").read_text()
    end = time.monotonic() + 30
    while not file.exists() or not file.read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    assert file.read_text() == "by %s" % guard


def test_processes_of_the_same_run_are_recognised():
    other = subprocess.Popen(["sleep", "60"])
    try:
        assert not belongs_to_run(other.pid), "without a guard nothing is"
        with Guard():
            mine = subprocess.Popen(["sleep", "60"])
            assert [belongs_to_run(pid) for pid in (mine.pid, other.pid, 2 ** 22 + 1)] == [True, False, False]
        assert mine.wait(30) == -signal.SIGKILL
    finally:
        other.kill()
        other.wait()


def test_failed_cleanup_is_no_error():
    run_quietly(["/nowhere/hccn_tool"])


WRITER = """
import fcntl, sys, time
with open(sys.argv[1], "rb+") as stream:
    fcntl.flock(stream, fcntl.LOCK_EX)
    stream.truncate()
    print("emptied", flush=True)
    time.sleep(0.5)
    stream.write(b"address_0=10.0.0.1\\n")
    stream.flush()
    fcntl.flock(stream, fcntl.LOCK_UN)
    time.sleep(60)
"""


def test_child_is_not_killed_while_it_rewrites_the_file(tmp_path):
    file = tmp_path / "hccn.conf"
    file.write_text("address_0=10.0.0.2\n")
    worker = os.fork()
    if worker == 0:
        with Guard(written=str(file)):
            child = subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE)
            (tmp_path / "output").write_bytes(child.stdout.readline() + b"%d" % child.pid)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
    output, pid = (tmp_path / "output").read_text().splitlines()
    assert output == "emptied"
    end = time.monotonic() + 30
    while os.path.exists("/proc/%s" % pid) and open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[0] != "Z":
        assert time.monotonic() < end, "the child lives"
        time.sleep(0.02)
    assert file.read_text() == "address_0=10.0.0.1\n"


def test_child_that_keeps_the_file_locked_is_killed(tmp_path):
    file = tmp_path / "hccn.conf"
    file.write_text("")
    with Guard(written=str(file)):
        child = subprocess.Popen([sys.executable, "-c", WRITER.replace("time.sleep(0.5)", "time.sleep(60)"), str(file)], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"emptied\n"
    assert child.wait(30) == -signal.SIGKILL
    child.stdout.close()
