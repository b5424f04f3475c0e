"""The lock of the state file of switch_upgrade."""

from __future__ import annotations

import json
import os
import threading

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.plugin_utils._clusterd import state_lock
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import owner


def run_of(pid: int) -> str:
    return f"{owner.here()}.{pid}.{owner.started(pid) or 1}"


ME, PARENT, ENDED = run_of(os.getpid()), run_of(os.getppid()), run_of(4194304)
ELSEWHERE = "0123abcd.1.4711.1"


@pytest.fixture
def state(tmp_path):
    return str(tmp_path / "state.json")


def holder(state):
    with open(state_lock.path_of(state), encoding="utf-8") as stream:
        return json.load(stream)["owner"]


def test_lock_of_a_running_run_is_refused(state):
    state_lock.acquire(state, ME, host="controller-1", pid="4711", since="2026-11-25T10:00:00Z")
    with pytest.raises(HccnError) as caught:
        state_lock.acquire(state, PARENT)
    assert caught.value.code == "locked"
    assert caught.value.message == (f"{state}.lock is held by another run of switch_upgrade (pid 4711 on controller-1 since 2026-11-25T10:00:00Z), "
                                    "which may be switching the same jobs")
    state_lock.release(state, PARENT)
    assert holder(state) == ME
    state_lock.acquire(state, ME)  # again by the same run
    state_lock.release(state, ME)
    assert not os.path.exists(state_lock.path_of(state))
    state_lock.release(state, ME)
    state_lock.acquire(state, PARENT)
    assert holder(state) == PARENT


def test_lock_of_an_ended_run_is_replaced(state):
    state_lock.acquire(state, ENDED)
    state_lock.acquire(state, ME)
    assert holder(state) == ME


@pytest.mark.parametrize("content", [json.dumps({"owner": ELSEWHERE}), "{", "[]", "no JSON"])
def test_run_whose_end_is_not_visible_keeps_its_lock(state, content):
    with open(state_lock.path_of(state), "w", encoding="utf-8") as stream:
        stream.write(content)
    with pytest.raises(HccnError, match="is held by another run of switch_upgrade"):
        state_lock.acquire(state, ME)


def test_empty_file_is_no_lock(state):
    """A run ended between the creation and the writing of the file."""
    with open(state_lock.path_of(state), "w", encoding="utf-8"):
        pass
    state_lock.acquire(state, ME)
    assert holder(state) == ME


def test_symbolic_link_is_not_followed(state, tmp_path):
    (tmp_path / "state.json.lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links|loop"):
        state_lock.acquire(state, ME)
    assert not (tmp_path / "other").exists()


def test_one_of_many_runs_at_once_gets_the_lock(state):
    """All of them run, since they are threads of this process with different ids."""
    runs = [f"0123abcd.{number}.4711.1" for number in range(20)]
    got = []

    def acquire(run):
        try:
            state_lock.acquire(state, run)
            got.append(run)
        except HccnError:
            pass

    threads = [threading.Thread(target=acquire, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1 and holder(state) == got[0]
