from __future__ import annotations

import gzip

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import logs

FAILED = {"id": "b", "status": "failed", "error": {"code": "x", "message": "y"}}


def test_the_first_failure_has_the_output():
    assert logs.failed([{"id": "a", "status": "ok"}, {"id": "c", "status": "failed", "error": "text"}, FAILED]) == FAILED
    assert logs.failed([{"id": "a", "status": "ok"}]) is None


def test_files_of_a_run_are_numbered_and_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "MOST_FILES", 2)
    paths = [logs.write(tmp_path / "logs", "r1", "../n1 x", f"output {number}") for number in (1, 2, 3)]
    assert paths == [tmp_path / "logs/r1/.._n1_x-1.log.gz", tmp_path / "logs/r1/.._n1_x-2.log.gz", None]
    assert gzip.decompress(paths[1].read_bytes()) == b"output 2"
    assert paths[0].stat().st_mode & 0o777 == 0o640


def test_only_logs_of_the_run_are_deleted(tmp_path):
    logs.write(tmp_path / "logs", "r1", "n1", "x")
    other = logs.write(tmp_path / "logs", "r2", "n1", "x")
    logs.delete(tmp_path, "r1")
    logs.delete(tmp_path, "r3")
    assert list((tmp_path / "logs").rglob("*.gz")) == [other]
    assert not (tmp_path / "logs/r1").exists()
