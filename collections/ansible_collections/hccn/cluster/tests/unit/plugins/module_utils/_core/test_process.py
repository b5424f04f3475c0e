from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core import guard, process
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.procfs import Stat


def gone(pid, seconds=10.0):
    """Return True if the process has ended, even if it is a zombie."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open("/proc/%d/stat" % pid) as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_result_has_both_streams_and_the_exit_code():
    result = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"], 10)
    assert (result.rc, result.stdout, result.stderr, result.timed_out) == (3, "out\n", "err\n", False)


def test_child_has_the_c_locale_and_no_input():
    assert process.run(["sh", "-c", "echo $LC_ALL; cat"], 10, env={"LANG": "de_DE.UTF-8"}).stdout == "C\n"


def test_child_is_killed_with_its_children_at_the_deadline(tmp_path):
    pids = tmp_path / "pids"
    result = process.run(["sh", "-c", "sleep 60 & echo $! > %s; wait" % pids], 0.5)
    assert (result.rc, result.timed_out) == (-signal.SIGKILL, True)
    assert gone(int(pids.read_text()))


def test_poll_kills_at_the_deadline():
    child = process.Child(["sleep", "60"], 2.0)
    assert child.poll() is False
    time.sleep(2.5)
    assert child.poll() is True
    assert child.wait().timed_out is True


def test_poll_notices_the_end():
    child = process.Child(["true"], 10)
    result = child.wait()
    assert child.poll() is True
    child.kill()
    assert result.rc == 0


def test_listen_returns_if_the_child_ends():
    child = process.Child(["sleep", "0.2"], 60)
    assert child.listen(60) is False
    assert child.poll() is True
    assert child.wait().rc == 0


def test_listen_returns_if_the_descriptor_is_readable():
    reading, writing = os.pipe()
    child = process.Child(["sleep", "60"], 60)
    os.write(writing, b".")
    assert child.listen(60, reading) is True
    assert child.poll() is False
    child.kill()
    os.close(reading)
    os.close(writing)


def test_listen_waits_for_a_child_that_closed_its_pipe():
    child = process.Child([sys.executable, "-c", "import os, time; os.closerange(3, 64); time.sleep(60)"], 60)
    assert child.listen(60) is False
    assert child.poll() is False
    began = time.monotonic()
    assert child.listen(0.3) is False
    assert time.monotonic() - began >= 0.3
    child.kill()


def test_child_that_leaves_a_process_behind_has_ended():
    result = process.run(["sh", "-c", "sleep 60 >/dev/null & echo $!"], 30)
    os.kill(int(result.stdout), signal.SIGKILL)
    assert (result.rc, result.timed_out) == (0, False)


def test_all_descriptors_are_closed():
    def opened():
        return sorted(os.readlink("/proc/self/fd/%s" % name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/%s" % name))

    before = opened()
    process.run(["true"], 10)
    with pytest.raises(HccnError):
        process.run(["/nowhere/hccn_tool"], 10)
    assert opened() == before


def test_interrupt_kills_the_child(monkeypatch):
    started = []

    def interrupted(child):
        started.append(child.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(process.Child, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.run(["sleep", "60"], 60)
    assert gone(started[0])


def test_missing_program_is_an_error():
    with pytest.raises(HccnError) as caught:
        process.run(["/nowhere/hccn_tool"], 10)
    assert (caught.value.code, caught.value.message) == ("tool_missing", "/nowhere/hccn_tool: no such program")


def test_program_that_is_not_executable_is_an_error(tmp_path):
    plain = tmp_path / "hccn_tool"
    plain.write_text("no program")
    with pytest.raises(HccnError) as caught:
        process.run([str(plain)], 10)
    assert caught.value.as_dict() == {
        "code": "tool_not_executable", "message": "%s: Permission denied" % plain, "hint": "check its mode and its interpreter",
    }


def no_more(number):
    def fails(*given, **named):
        raise OSError(number, os.strerror(number))

    return fails


@pytest.mark.parametrize(("module", "name", "number", "reason"), [
    (process.tempfile, "TemporaryFile", errno.ENOENT, "No such file or directory"),
    (process.tempfile, "TemporaryFile", errno.ENOSPC, "No space left on device"),
    (process.os, "pipe", errno.EMFILE, "Too many open files"),
    (process.subprocess, "Popen", errno.EAGAIN, "Resource temporarily unavailable"),
    (process.subprocess, "Popen", errno.ENOMEM, "Cannot allocate memory"),
])
def test_reached_limits_of_the_host_are_a_separate_error(monkeypatch, module, name, number, reason):
    monkeypatch.setattr(module, name, no_more(number))
    with pytest.raises(HccnError) as caught:
        process.run(["hccn_tool"], 10)
    assert (caught.value.code, caught.value.message) == ("cannot_start", "hccn_tool cannot be started: %s" % reason)


def test_unlimited_output_is_cut(monkeypatch):
    monkeypatch.setattr(process, "OUTPUT_LIMIT", 10)
    assert process.run(["sh", "-c", "yes | head -c 1000000"], 10).stdout == "y\ny\ny\ny\ny\n"


def test_guard_kills_remaining_children_on_exit(tmp_path):
    mark = tmp_path / "cleaned"
    with guard.Guard(cleanup=[["touch", str(mark)], ["/nowhere/tool"]]) as watch:
        child = process.Child(["sleep", "60"], 60)
        assert guard.marked_pids(watch.mark) == [child.pid]
    assert gone(child.pid)
    assert mark.exists()
    assert guard.MARK not in os.environ


ALIVE = Stat(state="S", parent=1, group=7, kernel_thread=False, threads=1, start_ticks=9)


def test_environment_is_read_again_during_exec(monkeypatch):
    """During exec the kernel shows an empty environment and command line, although Popen has returned."""
    shown = {"environ": [b"", b"", b"A=b\0%s=ours\0" % guard.MARK.encode()], "cmdline": [b"", b""], "stat": [ALIVE] * 2}
    monkeypatch.setattr(guard.procfs, "pids", lambda: [7])
    monkeypatch.setattr(guard.procfs, "stat_of", lambda pid: shown["stat"].pop(0))
    monkeypatch.setattr(guard, "_read", lambda pid, name: shown[name].pop(0))
    assert guard.marked_pids("ours") == [7]
    assert shown == {"environ": [], "cmdline": [], "stat": []}


@pytest.mark.parametrize(("stat", "cmdline"), [
    (replace(ALIVE, kernel_thread=True), b""), (replace(ALIVE, state="Z"), b""), (ALIVE, b"d\0"),
])
def test_processes_without_environment_are_not_waited_for(monkeypatch, stat, cmdline):
    """Kernel threads, ended processes and daemons that were started with an empty environment."""
    shown = {"environ": b"", "cmdline": cmdline}
    monkeypatch.setattr(guard.procfs, "pids", lambda: [7])
    monkeypatch.setattr(guard.procfs, "stat_of", lambda pid: stat)
    monkeypatch.setattr(guard, "_read", lambda pid, name: shown[name])
    monkeypatch.setattr(guard.time, "sleep", lambda seconds: pytest.fail("it waits"))
    assert guard.marked_pids("ours") == []


def test_guards_nest():
    with guard.Guard() as outer:
        with guard.Guard() as inner:
            assert os.environ[guard.MARK] == inner.mark
        assert os.environ[guard.MARK] == outer.mark


WORKER = """
import sys, time
from ansible_collections.hccn.cluster.plugins.module_utils._core import guard, process
with guard.Guard(cleanup=[["touch", sys.argv[1] + ".cleaned"]], deadline=float(sys.argv[2])):
    child = process.Child(["sh", "-c", "setsid sleep 60 & echo $! > " + sys.argv[1] + "; wait"], 60)
    print(child.pid, flush=True)
    time.sleep(60)
"""


def worker(tmp_path, deadline):
    base = os.path.abspath(__file__.split("ansible_collections", maxsplit=1)[0])
    pids = tmp_path / "grandchild"
    running = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(pids), str(deadline)], stdout=subprocess.PIPE, text=True,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join([base] + sys.path)),
    )
    child = int(running.stdout.readline())
    end = time.monotonic() + 10
    while not pids.exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.05)
    return running, child, int(pids.read_text()), tmp_path / "grandchild.cleaned"


def arrives(path, seconds=15.0):
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return path.exists()


def test_guard_cleans_up_after_sigkill(tmp_path):
    running, child, grandchild, cleaned = worker(tmp_path, 60)
    running.kill()
    running.wait(10)
    assert gone(child) and gone(grandchild)
    assert arrives(cleaned)
    running.stdout.close()


def test_guard_cleans_up_at_its_deadline(tmp_path):
    running, child, grandchild, cleaned = worker(tmp_path, 0.5)
    assert gone(child) and gone(grandchild)
    assert arrives(cleaned)
    running.kill()
    running.wait(10)
    running.stdout.close()
