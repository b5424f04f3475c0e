"""Writing a run: order, modes, and the file after a full disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import files
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import HistoryError
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.writer import RunWriter

HEADER = {"schema": "hccn.cluster/history/1", "run_id": "r1", "started_at": "2026-11-20T10:15:30.000Z"}
HEADER_LINE = b'{"schema":"hccn.cluster/history/1","run_id":"r1","started_at":"2026-11-20T10:15:30.000Z"}\n'


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.fixture
def strict_umask() -> Any:
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_complete_run_is_written(tmp_path: Path, strict_umask: None) -> None:
    folder = tmp_path / "deep" / "history"
    writer = RunWriter(folder, HEADER)
    assert writer.path == folder / "2026/11/20/20261120T101530Z-r1.jsonl.part"
    assert writer.path.read_bytes() == HEADER_LINE
    writer.write([{"a": 1}, {"b": 2}])
    assert writer.path.read_bytes() == HEADER_LINE + b'{"a":1}\n{"b":2}\n'
    final = writer.finish({"end": True})
    assert final == folder / "2026/11/20/20261120T101530Z-r1.jsonl"
    assert final.read_bytes() == HEADER_LINE + b'{"a":1}\n{"b":2}\n{"end":true}\n'
    assert [entry.name for entry in final.parent.iterdir()] == ["20261120T101530Z-r1.jsonl"]
    assert mode(final) == 0o640
    assert [mode(path) for path in (folder.parent, folder, folder / "2026", folder / "2026/11", folder / "2026/11/20")] == [0o750] * 5


def test_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o2775)
    RunWriter(tmp_path, HEADER).close()
    assert mode(tmp_path) == 0o2775


def test_same_run_id_in_the_same_second_gets_a_number(tmp_path: Path) -> None:
    RunWriter(tmp_path, HEADER).finish({"end": True})
    second = RunWriter(tmp_path, HEADER)
    third = RunWriter(tmp_path, HEADER)
    assert (second.run_id, third.run_id) == ("r1-2", "r1-3")
    assert third.path.read_bytes() == HEADER_LINE.replace(b'"r1"', b'"r1-3"')
    second.close()
    third.close()


def test_run_that_ends_concurrently_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = RunWriter(tmp_path, HEADER)
    real = os.open

    def late(path: Any, *more: Any, **others: Any) -> int:
        if first._file >= 0 and path == first.path:
            first.finish({"end": True})  # after the check of its final name and before the file is created
        return real(path, *more, **others)

    monkeypatch.setattr(os, "open", late)
    second = RunWriter(tmp_path, HEADER)
    assert (first.run_id, second.run_id) == (HEADER["run_id"], HEADER["run_id"] + "-2")
    second.finish({"end": True})
    assert len({first.path, second.path}) == 2
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted([first.path, second.path])


def test_too_many_runs_in_the_same_second_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansible_collections.hccn.cluster.plugins.plugin_utils._history.writer._SAME_SECOND", 2)
    RunWriter(tmp_path, HEADER).close()
    RunWriter(tmp_path, HEADER).close()
    with pytest.raises(HistoryError, match="2 runs with this id have already started in this second"):
        RunWriter(tmp_path, HEADER)


def test_each_call_is_one_write_and_one_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(tmp_path, HEADER)
    calls = []
    real_write, real_fsync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda fd, data: calls.append(f"write {len(data)}") or real_write(fd, data))
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append("fsync") or real_fsync(fd))
    writer.write([{"a": n} for n in range(3)])
    writer.close()
    assert calls == ["write 24", "fsync"]


def test_error_names_the_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError) as caught:
        RunWriter(tmp_path / "file" / "history", HEADER)
    assert caught.value.code == "history_not_writable"
    assert caught.value.message == f"{tmp_path}/file/history/2026/11/20/20261120T101530Z-r1.jsonl.part: Not a directory"


class Disk:
    """os.write for a disk with ``room`` bytes left. As on Linux, it writes partially first and fails the next time."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.write = os.write

    def __call__(self, fd: int, data: Any) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.write(fd, bytes(data)[: self.room])
        self.room -= written
        return written


def test_full_disk_leaves_complete_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(tmp_path, HEADER)
    writer.write([{"a": 1}])
    monkeypatch.setattr(os, "write", Disk(room=5))
    with pytest.raises(HistoryError, match="No space left on device"):
        writer.write([{"b": 2}, {"c": 3}])
    assert writer.path.read_bytes() == HEADER_LINE + b'{"a":1}\n'
    writer.close()
    writer.close()


def test_partial_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(tmp_path, HEADER)
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    writer.write([{"b": 2}])
    writer.close()
    assert writer.path.read_bytes() == HEADER_LINE + b'{"b":2}\n'


def test_write_of_no_bytes_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(tmp_path, HEADER)
    monkeypatch.setattr(os, "write", lambda fd, data: 0)
    with pytest.raises(HistoryError, match="No space left on device"):
        writer.write([{"b": 2}])
    writer.close()


def test_disk_that_is_full_at_the_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", Disk(room=0))
    with pytest.raises(HistoryError, match="No space left on device"):
        RunWriter(tmp_path, HEADER)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_page_is_replaced_atomically(tmp_path: Path, strict_umask: None) -> None:
    path = tmp_path / "reports" / "r1.html"
    files.replace(path, b"old")
    files.replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o640
    assert [entry.name for entry in path.parent.iterdir()] == ["r1.html"]


def test_failed_replacement_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r1.html"
    files.replace(path, b"old")

    def full(_source: object, _target: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="full"):
        files.replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r1.html"]
