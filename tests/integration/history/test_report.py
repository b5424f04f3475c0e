"""The action hccn.cluster.report in real runs: the run that it chooses, the file and the return values."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from .disks import disk, fill
from .plays import files, play

RECORD = "{schema: hccn.cluster/measurement/1, id: a, kind: ping, status: ok}"
MEASURE = f"- measure: {{measurements: [{RECORD}]}}\n"
ODD_NAME = "<script>alert(1)</script>"


def reported(folder: Path, tasks: str, *arguments: str, **more: Any) -> dict[str, Any]:
    """Run the tasks and return the last result registered as ``page``."""
    out = folder / "returned.json"
    written = f'- copy: {{content: "{{{{ page | to_json }}}}", dest: {out}}}\n  check_mode: false\n  run_once: true\n'
    done = play(folder, tasks + written, *arguments, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    returned: dict[str, Any] = json.loads(out.read_text())
    return returned


def failed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stdout
    return " ".join(done.stdout.split())


def test_task_reports_its_own_run(tmp_path: Path) -> None:
    tasks = (
        f"{MEASURE}- measure: {{outcome: failed}}\n  ignore_errors: true\n"
        "- hccn.cluster.report:\n  register: page\n  run_once: true\n"
        "- hccn.cluster.report:\n  register: again\n  run_once: true\n"
        f"- hccn.cluster.report: {{path: {tmp_path}/page.html}}\n  register: named\n  run_once: true\n"
        f"- hccn.cluster.report: {{path: {tmp_path}/page.html}}\n  register: same\n  run_once: true\n"
        "- assert: {that: [not again.changed, named.changed, not same.changed]}\n"
    )
    returned = reported(tmp_path, tasks, hosts="n1,n2,", env={"HCCN_RUN_ID": "r1"})
    page = tmp_path / "history/reports/r1.html"
    assert {key: returned[key] for key in ("changed", "path", "run_id", "incomplete", "counts")} == {
        "changed": False,
        "path": str(page),
        "run_id": "r1",
        "incomplete": True,
        "counts": {"records": 2, "failed": 0, "failed_tasks": 2, "unreachable": 0, "skipped_lines": 0, "hosts": {"not_judged": 2}},
    }
    assert page.stat().st_mode & 0o777 == 0o640
    assert "Written by the run itself, before it ended." in page.read_text()


LONG = f"- measure: {{measurements: [{{schema: hccn.cluster/measurement/1, id: b, kind: ping, status: ok, command: [{'x' * 9000}]}}]}}\n"


def test_report_of_a_run_that_filled_the_disk_is_incomplete(tmp_path: Path) -> None:
    """The file system of the history is full after the first record; the play goes on."""
    tasks = (f"{MEASURE}{LONG}{MEASURE}- hccn.cluster.report: {{path: {tmp_path}/page.html}}\n  register: page\n"
             f"- hccn.cluster.report: {{path: {tmp_path}/run.jsonl, format: jsonl}}\n")
    with disk(tmp_path / "history", 8):
        returned = reported(tmp_path, tasks, env={"HCCN_RUN_ID": "r1"})
        (path,) = files(tmp_path)
        assert path.name.endswith("-r1.jsonl.part")
    assert (returned["state"], returned["incomplete"], returned["counts"]["records"]) == ("incomplete", True, 1)
    assert returned["history_file"].endswith("-r1.jsonl.part")
    page = (tmp_path / "page.html").read_text()
    assert "Incomplete. The run was interrupted" in page and "Written by the run itself, before it ended." not in page
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [line.get("id", line.get("end")) for line in lines] == [None, "a"]


def test_another_run_is_not_reported_if_this_one_has_no_history(tmp_path: Path) -> None:
    with disk(tmp_path / "history", 100):
        play(tmp_path, MEASURE, env={"HCCN_RUN_ID": "earlier"})
        fill(tmp_path / "history")
        done = play(tmp_path, f"{MEASURE}- hccn.cluster.report: {{path: {tmp_path}/page.html}}\n")
        assert "Nothing of this run is in the history: " in failed(done) and "No space left on device" in failed(done)
        assert [path.name.split("-")[1] for path in files(tmp_path) if path.name != "filler"] == ["earlier.jsonl"]
    assert not (tmp_path / "page.html").exists()


@pytest.mark.long
def test_report_of_an_earlier_run(tmp_path: Path) -> None:
    """By default the newest run with results of the folder, which comes from the option or else from the environment."""
    play(tmp_path, MEASURE, hosts=f"{ODD_NAME},", env={"HCCN_RUN_ID": "first"})
    play(tmp_path, MEASURE, env={"HCCN_RUN_ID": "second"})
    newest = reported(tmp_path, "- hccn.cluster.report:\n  register: page\n", env={"HCCN_RUN_ID": "third"})
    assert (newest["run_id"], newest["incomplete"]) == ("second", False)
    page = tmp_path / "deep/pages/first.html"
    named = reported(tmp_path, f"- hccn.cluster.report: {{run_id: first, path: {page}, title: Cluster A}}\n  register: page\n")
    assert (named["run_id"], named["path"]) == ("first", str(page))
    text = page.read_text()
    assert "<title>Cluster A – first</title>" in text
    assert '<td class="c_host">&lt;script&gt;alert(1)&lt;/script&gt;</td>' in text
    assert text.count("<script") == 2  # the page's own and its data

    off = {"ANSIBLE_CALLBACKS_ENABLED": ""}
    assert reported(tmp_path, "- hccn.cluster.report:\n  register: page\n", env=off)["run_id"] == "second"
    relative = f"- hccn.cluster.report: {{history: {tmp_path}/history, path: page.html}}\n  register: page\n"
    assert reported(tmp_path, relative, env={**off, "HCCN_RESULTS_PATH": ""})["run_id"] == "second"
    assert (tmp_path / "page.html").exists(), "a relative path begins in the folder of the command"


def test_check_mode_writes_no_page_and_shows_a_short_diff(tmp_path: Path) -> None:
    tasks = f"{MEASURE}- hccn.cluster.report:\n  register: page\n"
    returned = reported(tmp_path, tasks, "--check", "--diff", env={"HCCN_RUN_ID": "r1"})
    page = tmp_path / "history/reports/r1.html"
    assert (returned["changed"], returned["path"], page.exists()) == (False, str(page), False)
    assert returned["diff"]["before"] == "absent\n"
    assert returned["diff"]["after"].split(", sha256 ")[0].endswith(" bytes")


def test_missing_run_and_unwritable_page_are_errors(tmp_path: Path) -> None:
    text = failed(play(tmp_path, "- hccn.cluster.report:\n", env={"ANSIBLE_CALLBACKS_ENABLED": ""}))
    assert f"{tmp_path}/history has no run with results. Enable the callback hccn.cluster.results" in text
    text = failed(play(tmp_path, f"{MEASURE}- hccn.cluster.report: {{path: {tmp_path}}}\n  ignore_errors: true\n- hccn.cluster.report: {{run_id: nobody}}\n"))
    assert f"The page cannot be written to {tmp_path}: Is a directory." in text
    assert f"{tmp_path}/history has no run nobody." in text


def test_unwritable_history_of_this_run_is_an_error(tmp_path: Path) -> None:
    for number in (0, 1):  # the run may begin after midnight
        day = tmp_path / time.strftime("history/%Y/%m/%d", time.gmtime(time.time() + number * 86_400))
        day.parent.mkdir(parents=True, exist_ok=True)
        day.write_text("a file where the folder of the day should be")
    text = failed(play(tmp_path, f"{MEASURE}- hccn.cluster.report:\n"))
    assert ".jsonl.part: Not a directory" in text
