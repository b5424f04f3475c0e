from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal

_ENDS = {"source": {"host": "a", "device": 0}, "target": {"host": "b", "device": 0}, "context": {"round": 1}, "samples": []}
OK = {"id": "r1/p0001/forward/1", "status": "ok", **_ENDS}
BAD = {"id": "r1/p0002/forward/1", "status": "failed", "error": {"code": "x", "message": "y"}, **_ENDS}


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


def started(folder, run_id="r1", **fields):
    made = Journal.create(folder, run_id)
    made.start(pairs_total=3, **fields)
    return made


def test_a_run_from_start_to_end(folder):
    made = started(folder)
    made.record(OK)
    made.record(BAD)
    running = journal.read(folder, "r1")
    assert (running.state, running.records, running.alive, running.error()) == ("running", [OK, BAD], True, None)
    progress = running.progress()
    assert (progress["pairs_total"], progress["pairs_done"], progress["pairs_failed"]) == (3, 2, 1)
    made.end("finished")
    made.close()
    finished = journal.read(folder, "r1")
    assert (finished.state, finished.records, finished.error()) == ("finished", [OK, BAD], None)


def test_seconds_do_not_grow_after_the_end(folder):
    made = started(folder)
    made.end("finished")
    made.close()
    lines = [json.loads(line) for line in open(journal.path_of(folder, "r1"))]
    lines[0]["started_at"], lines[1]["ended_at"] = 1000.0, 1012.34
    with open(journal.path_of(folder, "r1"), "w") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)
    assert journal.read(folder, "r1").progress() == {"pairs_total": 3, "pairs_done": 0, "pairs_failed": 0, "seconds": 12.3}


def test_seconds_are_not_negative_after_the_clock_was_set_back(folder, monkeypatch):
    made = journal.Journal.create(folder, "r1")
    made.start(pairs_total=3)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86400)
    assert journal.read(folder, "r1").progress()["seconds"] == 0.0
    made.close()


def test_only_the_owner_can_read_a_journal(folder):
    started(folder).close()
    path = journal.path_of(folder, "r1")
    assert [stat.S_IMODE(os.stat(name).st_mode) for name in (folder, os.path.dirname(path), path)] == [0o700, 0o700, 0o600]


def test_an_unknown_run_has_the_state_unknown(folder):
    unknown = journal.read(folder, "r1")
    assert (unknown.state, unknown.records, unknown.progress()) == (
        "unknown", [], {"pairs_total": 0, "pairs_done": 0, "pairs_failed": 0, "seconds": 0.0})


def test_an_empty_journal_has_the_state_unknown(folder):
    Journal.create(folder, "r1").close()
    assert journal.read(folder, "r1").state == "unknown"


def test_a_run_whose_process_died_has_failed(folder):
    code = ("import sys; sys.path.insert(0, %r)\n"
            "from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal\n"
            "made = Journal.create(%r, 'r1'); made.start(pairs_total=3); made.record(%r)" % (sys.path[0], folder, OK))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30, env=environment)
    dead = journal.read(folder, "r1")
    assert (dead.state, dead.records, dead.alive) == ("failed", [OK], False)
    assert dead.error()["code"] == "runner_died"
    assert dead.error()["message"] == "the runner died during the run: 1 of 3 pairs are in the journal"


def test_a_runner_that_ends_while_its_journal_is_read_has_not_died(folder, monkeypatch):
    made = started(folder)

    def ends_now(pid):
        monkeypatch.setattr(journal, "identity", lambda pid: None)
        made.record(OK)
        made.end("finished")
        made.close()

    monkeypatch.setattr(journal, "identity", ends_now)
    over = journal.read(folder, "r1")
    assert (over.state, over.records, over.error()) == ("finished", [OK], None)


def test_the_error_of_a_failed_run_is_returned(folder):
    made = started(folder)
    made.end("failed", error={"code": "x", "message": "y"})
    made.close()
    assert journal.read(folder, "r1").error() == {"code": "x", "message": "y"}


def test_an_incomplete_last_line_is_ignored(folder):
    made = started(folder)
    os.write(made.fileno(), b'{"type": "rec')
    assert journal.read(folder, "r1").records == []
    made.close()


def test_a_directory_in_place_of_the_journal_is_an_error(folder):
    os.makedirs(journal.path_of(folder, "r1"))
    with pytest.raises(HccnError) as raised:
        journal.read(folder, "r1")
    assert raised.value.code == "journal_unreadable"


def test_a_run_id_cannot_be_used_twice(folder):
    made = started(folder)
    with pytest.raises(InputError) as raised:
        Journal.create(folder, "r1")
    assert raised.value.message == "run r1 is in %s already (running)" % folder
    made.close()


@pytest.mark.parametrize("run_id", ["../r1", "", "a/b"])
def test_run_ids_cannot_leave_the_state_directory(folder, run_id):
    with pytest.raises(InputError):
        Journal.create(folder, run_id)
    with pytest.raises(InputError):
        journal.read(folder, run_id)


def test_a_file_as_state_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HccnError) as raised:
        Journal.create(str(tmp_path / "file" / "state"), "r1")
    assert raised.value.code == "state_dir_unusable"


def test_a_line_can_be_appended_later(folder):
    started(folder).close()
    again = Journal.append_to(folder, "r1")
    again.end("failed", error={"code": "run_cancelled", "message": "x"})
    again.close()
    assert journal.read(folder, "r1").state == "failed"


@pytest.mark.parametrize("torn", [b'{"type": "record", "record": {"id": "r1/p2/for', b"\0" * 512, b'{"type": "record"}\0'])
def test_an_incomplete_line_does_not_spoil_an_appended_one(folder, torn):
    made = started(folder)
    made.record(OK)
    os.write(made.fileno(), torn)
    made.close()
    again = Journal.append_to(folder, "r1")
    again.end("failed", error={"code": "runner_died", "message": "x"})
    again.close()
    over = journal.read(folder, "r1")
    assert (over.state, over.records, over.end["error"]["code"]) == ("failed", [OK], "runner_died")


def test_a_full_disk_at_the_end_of_a_dead_run_is_reported(folder, monkeypatch):
    started(folder).close()
    monkeypatch.setattr(os, "write", lambda descriptor, line: len(line) // 2)
    with pytest.raises(HccnError) as raised:
        journal.end_dead(folder, "r1", HccnError("runner_died", "x"))
    assert (raised.value.code, raised.value.message) == ("state_dir_unusable", "%s: No space left on device" % journal.path_of(folder, "r1"))
    monkeypatch.undo()
    journal.end_dead(folder, "r1", HccnError("runner_died", "x"))
    assert journal.read(folder, "r1").end["error"] == {"code": "runner_died", "message": "x"}


def test_a_run_is_removed_with_its_directory(folder):
    started(folder).close()
    assert journal.remove(folder, "r1")
    assert not os.path.exists(os.path.join(folder, "r1"))
    assert not journal.remove(folder, "r1")


def test_a_directory_with_other_files_is_not_removed(folder):
    started(folder).close()
    with open(os.path.join(folder, "r1", "notes"), "w"):
        pass
    with pytest.raises(HccnError) as raised:
        journal.remove(folder, "r1")
    assert raised.value.code == "state_dir_unusable"


def age(path, days):
    moment = time.time() - days * 24 * 3600
    os.utime(path, (moment, moment))


def test_only_old_runs_of_this_user_are_pruned(folder):
    for run_id in ("old", "young", "working"):
        made = started(folder, run_id)
        if run_id != "working":
            made.end("finished")
        made.close()
    # "old" and "young" are of a runner that is gone, "working" of this process
    for run_id in ("old", "young"):
        path = journal.path_of(folder, run_id)
        lines = [json.loads(line) for line in open(path)]
        lines[0]["identity"] = "another boot/1"
        with open(path, "w") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in lines)
    for run_id, days in (("old", 7.1), ("young", 6.9), ("working", 8)):
        age(journal.path_of(folder, run_id), days)
    os.mkdir(os.path.join(folder, "something"))
    with open(os.path.join(folder, "file"), "w"):
        pass
    os.symlink(os.path.join(folder, "old"), os.path.join(folder, "not a run"))
    assert journal.prune(folder) == ["old"]
    assert sorted(os.listdir(folder)) == ["file", "not a run", "something", "working", "young"]


def test_pruning_a_missing_directory_does_nothing(folder):
    assert journal.prune(folder) == []


@pytest.mark.parametrize("mode, error", [(0o777, "every user can write to %s"), (0o1777, "every user can write to %s"), (0o770, None), (0o700, None)])
def test_a_directory_that_every_user_can_write_to_is_refused(folder, mode, error):
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, mode)
    if error is None:
        journal.check_folder(folder)
        return
    with pytest.raises(HccnError) as caught:
        journal.check_folder(folder)
    assert (caught.value.code, caught.value.message) == ("state_dir_unsafe", error % folder)


def test_a_directory_of_another_user_is_refused(folder, monkeypatch):
    os.makedirs(folder, exist_ok=True)
    monkeypatch.setattr(journal.os, "stat", lambda path, **_more: os.stat_result((0o40700, 0, 0, 2, 4711, 0, 0, 0, 0, 0)))
    monkeypatch.setattr(journal.os, "getuid", lambda: 1000)
    with pytest.raises(HccnError) as caught:
        journal.check_folder(folder)
    assert caught.value.message == "%s belongs to user 4711, not to the user who measures (1000)" % folder


def test_a_missing_directory_is_accepted(folder):
    journal.check_folder(os.path.join(folder, "none"))


def test_the_identity_of_a_process_ends_with_it():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    known = journal.identity(child.pid)
    assert known is not None
    assert known.split("/")[0] == open("/proc/sys/kernel/random/boot_id").read().strip()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert journal.identity(child.pid) is None  # a zombie
    child.wait(10)
    child.stdin.close()
    assert journal.identity(child.pid) is None


def test_a_partially_written_line_is_removed(folder, monkeypatch):
    made = started(folder, "full")
    before = open(journal.path_of(folder, "full")).read()
    whole = os.write
    monkeypatch.setattr(journal.os, "write", lambda descriptor, data: whole(descriptor, data[:10]))
    with pytest.raises(OSError, match="No space left on device"):
        made.record({"id": "full/p1/forward/1", "status": "ok"})
    monkeypatch.undo()
    assert open(journal.path_of(folder, "full")).read() == before
    made.record({**OK, "id": "full/p2/forward/1"})
    made.close()
    assert [record["id"] for record in journal.read(folder, "full").records] == ["full/p2/forward/1"]
