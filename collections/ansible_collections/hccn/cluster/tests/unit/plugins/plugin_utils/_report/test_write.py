"""Writing a page without an Ansible task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import finding as made
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import collect
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import FILE_VARIABLE, LOST_VARIABLE, HistoryError
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.writer import RunWriter
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import page as pages

LOST = made.finding("unreachable_host", made.of_host("npu2"), "no route to host", hosts=["npu2"])


def begun(folder: Path, run_id: str = "r1", night: int = 20) -> RunWriter:
    """Write a run with a conclusion that is not over."""
    header = {"schema": "hccn.cluster/history/1", "run_id": run_id, "started_at": f"2026-11-{night}T10:15:30.000Z", "playbook": "site.yml"}
    writer = RunWriter(folder, header)
    writer.write(conclude(["npu1", "npu2"], {}, [LOST]).as_records())
    return writer


def end(writer: RunWriter) -> None:
    writer.finish(collect.end("2026-11-20T10:20:30.000Z", 2, [], {}))


@pytest.fixture(autouse=True)
def no_run_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (FILE_VARIABLE, LOST_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def test_page_of_a_finished_run(tmp_path: Path) -> None:
    end(begun(tmp_path))
    end(begun(tmp_path, "later", 21))
    written = pages.write(tmp_path, "r1")
    assert (written.path, written.changed, written.before, written.current) == (tmp_path / "reports/r1.html", True, None, False)
    assert (written.page.state, written.page.facts.state, written.run.file.run_id) == ("failed", "complete", "r1")
    assert written.path.read_bytes() == written.content and written.path.stat().st_mode & 0o777 == 0o640
    assert "Result: failed. 2 hosts: 1 unreachable, 1 good." in written.path.read_text()
    again = pages.write(tmp_path, "r1")
    assert (again.changed, again.before) == (False, written.content)
    assert pages.write(tmp_path).run.file.run_id == "later"


def test_page_of_the_current_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end(begun(tmp_path, "later", 21))
    monkeypatch.setenv(FILE_VARIABLE, str(begun(tmp_path).path))
    written = pages.write(tmp_path)
    assert (written.run.file.run_id, written.current, written.page.facts.state) == ("r1", True, "running")
    assert (written.changed, written.before) == (False, None), "the page that a run adds to its own history is no change"
    assert pages.write(tmp_path, path=tmp_path / "page.html").changed
    monkeypatch.setenv(LOST_VARIABLE, "the disk is full")
    assert pages.write(tmp_path).page.facts.state == "incomplete"


def test_formats_and_paths(tmp_path: Path) -> None:
    end(begun(tmp_path))
    written = pages.write(tmp_path, path=tmp_path / "there/page.json", page_format="json", title="Cluster A", mode=0o644)
    assert json.loads((tmp_path / "there/page.json").read_text())["title"] == "Cluster A"
    assert written.path.stat().st_mode & 0o777 == 0o644
    assert pages.write(tmp_path, page_format="md", language="zh").path.read_text().startswith("# 网络检测报告\n\n**结论：失败。")
    assert pages.write(tmp_path, page_format="prom").path.read_text().startswith("# HELP hccn_run_timestamp_seconds")
    assert len(pages.write(tmp_path, page_format="jsonl").path.read_text().splitlines()) == 4
    assert not pages.write(tmp_path, path=tmp_path / "dry.html", dry_run=True).path.exists()


@pytest.mark.parametrize(("options", "code"), [
    ({"run_id": "r9"}, "run_not_found"), ({"page_format": "baseline"}, "no_baseline"), ({"path": Path("/proc/none/page.html")}, "page_not_written")])
def test_errors(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    end(begun(tmp_path))
    with pytest.raises(HistoryError) as raised:
        pages.write(tmp_path, **options)
    assert raised.value.code == code
