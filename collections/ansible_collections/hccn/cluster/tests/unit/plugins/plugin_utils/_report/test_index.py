"""The index over the reports of a folder, and the links between reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import finding as made
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import line
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import index
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import page as pages

LINK = made.finding("link_down", made.of_npus([("n3", 5)]), "the link is down", devices=[("n3", 5)])


def kept(folder: Path, day: int, *findings: made.Finding, name: str = "") -> str:
    """Add a run to the history and return its id."""
    run_id = name or f"r{day}"
    header = {"schema": "hccn.cluster/history/1", "run_id": run_id, "started_at": f"2026-11-{day:02}T02:15:00.000Z", "playbook": "site.yml"}
    end = {"end": True, "finished_at": f"2026-11-{day:02}T02:25:00.000Z", "records": 0, "hosts": {}}
    path = folder / f"2026/11/{day:02}/202611{day:02}T021500Z-{run_id}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(map(line, [header, *conclude(["n1", "n3"], {}, findings).as_records(), end])))
    return run_id


def links(path: Path) -> list[tuple[str, str]]:
    """Return the addresses and relations of the links between reports."""
    found: Any = re.findall(r'<a href="([^"]*)"(?: rel="(\w+)")?>', path.read_text().partition("<!--nav-->")[2].partition("<!--/nav-->")[0])
    return list(found)


def test_reports_are_linked_to_each_other_and_to_the_index(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    for day, findings in ((18, ()), (19, (LINK,)), (20, ())):
        pages.write(tmp_path, kept(tmp_path, day, *findings))
    assert links(reports / "r18.html") == [("index.html", ""), ("r19.html", "next")]
    assert links(reports / "r19.html") == [("index.html", ""), ("r18.html", "prev"), ("r20.html", "next"), ("#changes", "")]
    assert links(reports / "r20.html") == [("index.html", ""), ("r19.html", "prev"), ("#changes", "")]
    shown = (reports / "index.html").read_text()
    assert re.findall(r"<h2>(.*?)</h2>", shown) == ["2026-11-20", "2026-11-19", "2026-11-18"]
    assert re.findall(r'<span class="label (\w+)">', shown) == ["good", "failed", "good"]
    assert re.findall(r'<a href="([^"]*)">', shown) == ["r20.html", "r20.html#changes", "r19.html", "r19.html#changes", "r18.html"]
    assert "script" not in shown and "default-src 'none'" in shown


def test_report_of_an_earlier_run_is_put_between_its_neighbours(tmp_path: Path) -> None:
    for day in (18, 20):
        pages.write(tmp_path, kept(tmp_path, day))
    before = (tmp_path / "reports/r18.html").read_text()
    written = pages.write(tmp_path, kept(tmp_path, 19))
    assert written.changed and links(written.path) == [("index.html", ""), ("r18.html", "prev"), ("r20.html", "next"), ("#changes", "")]
    assert links(tmp_path / "reports/r18.html")[-1] == ("r19.html", "next")
    assert links(tmp_path / "reports/r20.html")[1] == ("r19.html", "prev")
    after = (tmp_path / "reports/r18.html").read_text()
    assert re.sub("<!--nav-->.*<!--/nav-->", "", after) == re.sub("<!--nav-->.*<!--/nav-->", "", before), "only the links change"
    assert not pages.write(tmp_path, "r19").changed


def test_pages_elsewhere_and_dry_runs_have_no_index(tmp_path: Path) -> None:
    run_id = kept(tmp_path, 18)
    pages.write(tmp_path, run_id, tmp_path / "there/page.html")
    pages.write(tmp_path, run_id, dry_run=True)
    pages.write(tmp_path, run_id, page_format="md")
    assert not list(tmp_path.rglob("index.html")) and links(tmp_path / "there/page.html") == []


def test_foreign_files_and_hostile_names(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    for name, content in (("odd.html", "x"), ("list.html", '<meta name="hccn-report" content="[1]">'), ("bad.html", '<meta name="hccn-report" content="{">')):
        (reports / name).write_text(content)
    evil = "&lt;script&gt;alert(1)&lt;/script&gt;"
    entry = f'{{"run_id":"{evil}","hosts":{{"good":"x"}}}}'.replace('"', "&quot;")
    (reports / "a b#c.html").write_text(f'<meta name="hccn-report" content="{entry}">')
    pages.write(tmp_path, kept(tmp_path, 18))
    assert [(one.name, one.hosts) for one in index.entries(reports)] == [("r18.html", {"good": 2}), ("a b#c.html", {})]
    shown = (reports / "index.html").read_text()
    assert "<script" not in shown and 'href="a%20b%23c.html"' in shown and evil in shown
