"""Compression and deletion of old runs."""

from __future__ import annotations

import datetime
import gzip
import os
from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader, retention
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import HistoryError

HEADER = b'{"schema":"hccn.cluster/history/1","run_id":"r","started_at":"2026-11-20T10:15:30.000Z"}\n'
RECORD = b'{"schema":"hccn.cluster/measurement/1","id":"a","kind":"rdma","status":"ok"}\n'
END = b'{"end":true,"finished_at":"2026-11-20T10:16:30.000Z","records":1,"hosts":{}}\n'
NOW = datetime.datetime(2026, 11, 20, 12, 0, tzinfo=datetime.timezone.utc)


def put(folder: Path, name: str, content: bytes = HEADER + RECORD + END) -> Path:
    path = folder / name[:4] / name[4:6] / name[6:8] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_old_runs_are_compressed_and_older_ones_deleted(tmp_path: Path) -> None:
    put(tmp_path, "20241101T000000Z-ancient.jsonl")
    put(tmp_path, "20241102T000000Z-killed.jsonl.part")
    put(tmp_path, "20261001T000000Z-old.jsonl")
    put(tmp_path, "20261001T000000Z-running.jsonl.part")
    put(tmp_path, "20261119T000000Z-young.jsonl")
    (tmp_path / "reports").mkdir()
    for page in ("ancient.html", "ancient.md", "old.html"):
        (tmp_path / "reports" / page).write_text("")
    done = retention.apply(tmp_path, NOW, compress_days=14, keep_days=365)
    assert done == retention.Outcome(["20261001T000000Z-old.jsonl.gz"], ["20241101T000000Z-ancient.jsonl", "20241102T000000Z-killed.jsonl.part"])
    assert names(tmp_path) == ["20261001T000000Z-old.jsonl.gz", "20261001T000000Z-running.jsonl.part", "20261119T000000Z-young.jsonl", "old.html"]
    assert not (tmp_path / "2024").exists()
    assert retention.apply(tmp_path, NOW, 14, 365) == retention.Outcome([], [])
    assert retention.apply(tmp_path, NOW, 0, 0) == retention.Outcome([], [])
    assert retention.apply(tmp_path / "absent", NOW, 14, 365) == retention.Outcome([], [])


def test_pages_of_other_runs_are_kept(tmp_path: Path) -> None:
    """Runs of a cron job may share an id, and an id may be a prefix of another one."""
    put(tmp_path, "20241101T000000Z-nightly.jsonl")
    put(tmp_path, "20241101T000000Z-a.jsonl")
    put(tmp_path, "20261120T000000Z-nightly.jsonl.part")
    put(tmp_path, "20261119T000000Z-a.b.jsonl")
    (tmp_path / "reports").mkdir()
    for page in ("nightly.html", "nightly.prom", "a.html", "a.md", "a.json", "a.prom", "a.jsonl", "a.yml", "a.b.html", "a.notes"):
        (tmp_path / "reports" / page).write_text("")
    retention.apply(tmp_path, NOW, compress_days=0, keep_days=365)
    assert names(tmp_path) == ["20261119T000000Z-a.b.jsonl", "20261120T000000Z-nightly.jsonl.part", "a.b.html", "a.notes", "nightly.html", "nightly.prom"]


def test_compressed_run_is_readable_and_keeps_mode_and_time(tmp_path: Path) -> None:
    path = put(tmp_path, "20261001T000000Z-r.jsonl")
    path.chmod(0o640)
    os.utime(path, ns=(5_000_000_000, 7_000_000_000))
    before = reader.find(tmp_path, "r")
    packed = retention.compress(path)
    assert (packed.stat().st_mode & 0o777, packed.stat().st_mtime_ns) == (0o640, 7_000_000_000)
    run = reader.read(reader.find(tmp_path, "r"))
    assert (run.complete, len(run.records), run.file.path.name) == (True, 1, "20261001T000000Z-r.jsonl.gz")
    assert reader.read(before).file.path == packed


def test_run_is_listed_once_while_it_is_compressed(tmp_path: Path) -> None:
    path = put(tmp_path, "20261001T000000Z-r.jsonl")
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    (path.with_name(".20261001T000000Z-r.jsonl.abcd.tmp")).write_bytes(b"half")
    assert [entry.path for entry in reader.runs(tmp_path)] == [path]


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: content[:12] + b"\xff\xff" + content[14:], lambda content: b"no gzip"])
def test_damaged_file_raises_history_error(tmp_path: Path, damage: object) -> None:
    path = put(tmp_path, "20261001T000000Z-r.jsonl.gz", damage(gzip.compress(HEADER + RECORD * 50)))  # type: ignore[operator]
    with pytest.raises(HistoryError) as caught:
        reader.read(reader.find(tmp_path, "r"))
    assert caught.value.code == "history_not_readable" and path.name in caught.value.message


def test_run_survives_if_the_folder_is_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "20261001T000000Z-r.jsonl")

    def full(_source: object, _target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert retention.apply(tmp_path, NOW, 14, 0) == retention.Outcome([], [], [f"{path.name}: No space left on device"])
    assert names(tmp_path) == [path.name]
    assert reader.read(reader.find(tmp_path, "r")).complete


def test_unreadable_run_does_not_stop_the_others(tmp_path: Path) -> None:
    linked = put(tmp_path, "20261001T000000Z-linked.jsonl")
    put(tmp_path, "20261002T000000Z-good.jsonl")
    linked.unlink()
    linked.symlink_to(tmp_path / "elsewhere")
    assert retention.apply(tmp_path, NOW, 14, 0) == retention.Outcome(["20261002T000000Z-good.jsonl.gz"], [], [f"{linked.name}: it is a symbolic link"])


def test_files_that_fail_count_towards_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk, not each of ten thousand runs is tried."""
    monkeypatch.setattr(retention, "AT_ONCE", 2)

    def full(_path: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(retention, "compress", full)
    for day in (1, 2, 3):
        put(tmp_path, f"2026100{day}T000000Z-r.jsonl")
    assert len(retention.apply(tmp_path, NOW, 14, 0).errors) == 2


def test_backlog_is_compressed_over_several_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 2)
    for day in (1, 2, 3):
        put(tmp_path, f"2026100{day}T000000Z-r.jsonl")
    assert len(retention.apply(tmp_path, NOW, 14, 0).compressed) == 2
    assert len(retention.apply(tmp_path, NOW, 14, 0).compressed) == 1


def test_runs_of_the_same_second_are_handled_in_order(tmp_path: Path) -> None:
    for name in ("a-10", "a", "a-2"):
        put(tmp_path, f"20241101T000000Z-{name}.jsonl")
    assert retention.apply(tmp_path, NOW, compress_days=0, keep_days=365).deleted == [f"20241101T000000Z-{name}.jsonl" for name in ("a", "a-2", "a-10")]
