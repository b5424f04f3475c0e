"""Whether the ansible-playbook of a run has ended. Its key is removed only if that is certain."""

from __future__ import annotations

import os
import subprocess

from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import owner


def test_an_ended_owner_is_gone() -> None:
    mine = owner.of_this_run()
    assert mine == f"{owner.here()}.{os.getppid()}.{owner.started(os.getppid())}"
    assert owner.is_gone(mine) is False
    with subprocess.Popen(["sleep", "60"]) as child:
        other = f"{owner.here()}.{child.pid}.{owner.started(child.pid)}"
        assert owner.is_gone(other) is False
        child.kill()
        child.wait()
    assert owner.is_gone(other) is True


def test_a_reused_pid_is_not_the_owner() -> None:
    assert owner.is_gone(f"{owner.here()}.{os.getpid()}.1") is True


def test_owners_on_other_machines_are_never_gone() -> None:
    assert [owner.is_gone(other) for other in ("0badcafe.4026531836.1.77", "unknown", "unknown.1.2", "")] == [False] * 4


def test_the_place_is_unknown_without_proc(tmp_path: os.PathLike[str]) -> None:
    assert owner.here(tmp_path) == "unknown"
