# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import signal
import time

from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard


def broken():
    raise ValueError("this one fails, the next is called all the same")


def test_functions_and_commands_clean_up_in_order(tmp_path):
    file = tmp_path / "file"
    with Guard([broken, lambda: file.write_text("here"), ["cp", str(file), str(tmp_path / "copy")]]):
        assert not file.exists()
    assert (tmp_path / "copy").read_text() == "here"


def test_the_guard_calls_them_when_the_worker_is_killed(tmp_path):
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
