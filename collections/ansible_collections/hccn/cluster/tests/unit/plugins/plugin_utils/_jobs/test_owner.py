"""Whether the ansible-playbook of a run has ended. Its key is removed only if that is certain."""

from __future__ import annotations

import os
import subprocess

from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import owner


def test_an_owner_that_lives_and_one_that_does_not() -> None:
    mine = owner.of_this_run()
    assert mine == f"{owner.here()}.{os.getppid()}.{owner.started(os.getppid())}"
    assert owner.is_gone(mine) is False
    with subprocess.Popen(["sleep", "60"]) as child:
        other = f"{owner.here()}.{child.pid}.{owner.started(child.pid)}"
        assert owner.is_gone(other) is False
        child.kill()
        child.wait()
    assert owner.is_gone(other) is True


def test_a_pid_that_is_another_process_now() -> None:
    assert owner.is_gone(f"{owner.here()}.{os.getpid()}.1") is True


def test_of_another_machine_nothing_is_known() -> None:
    assert [owner.is_gone(other) for other in ("0badcafe.4026531836.1.77", "unknown", "unknown.1.2", "")] == [False] * 4


def test_without_proc(tmp_path: os.PathLike[str]) -> None:
    assert owner.here(tmp_path) == "unknown"
