from __future__ import annotations

import os
import subprocess

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core import procfs
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.procfs import Stat

KERNEL_THREAD = "12 (kworker/0:1 (x)) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 9"
HEADLESS = "13 (python3) Z 1 13 13 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 3 0 4711"


@pytest.mark.parametrize("text, stat, ended, main_thread_ended", [
    (KERNEL_THREAD, Stat("I", 2, 0, True, 1, 9), False, False),
    (HEADLESS, Stat("Z", 1, 13, False, 3, 4711), True, True),
    (HEADLESS.replace(" 3 0 ", " 1 0 "), Stat("Z", 1, 13, False, 1, 4711), True, False),
])
def test_stat(text, stat, ended, main_thread_ended):
    found = procfs.parse_stat(text)
    assert (found, found.ended, found.main_thread_ended) == (stat, ended, main_thread_ended)


@pytest.mark.parametrize("text", ["", "13", "13 (a) S 1 2", HEADLESS.replace("4227084", "many")])
def test_unknown_format_is_an_error(text):
    with pytest.raises(ParseError) as caught:
        procfs.parse_stat(text)
    assert caught.value.message == "/proc/PID/stat does not have the format of proc(5): %r" % text


def test_this_process():
    assert procfs.stat_of(os.getpid()).parent == os.getppid()
    assert os.getpid() in procfs.pids()


def test_missing_process():
    child = subprocess.Popen(["true"])
    child.wait()
    with pytest.raises(OSError):
        procfs.stat_of(child.pid)
