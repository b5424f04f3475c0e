"""The callback records all conclusions of the controller and none of a host."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.callback import results
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import finding as made
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import page

from tests.lib import schemas

LOST = made.finding("unreachable_host", made.of_host("npu2"), "no route to host", hosts=["npu2"])
DOWN = made.finding("link_down", made.of_npus([("npu1", 0)]), "the link is down", devices=[("npu1", 0)])
CONCLUDE = "hccn.cluster.conclude"


class Callback(results.CallbackModule):
    """The callback without the settings of Ansible."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._given = {"path": str(folder), "run_id": "r1", "show_path": False, "compress_after": 0, "keep": 0}

    def get_option(self, name: str, hostvars: Any = None) -> Any:
        return self._given[name]


def result(host: str, action: str, *findings: made.Finding) -> Any:
    task = SimpleNamespace(loop=None, action=action, resolved_action=action, get_name=lambda: "Conclude")
    records = conclude(["npu1", "npu2"], {}, findings).as_records()
    return SimpleNamespace(host=SimpleNamespace(get_name=lambda: host), task=task, _task_fields={}, result={"measurements": records})


@pytest.fixture
def callback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("FILE", "DIR", "PATH"):  # the callback sets these variables; monkeypatch restores them
        monkeypatch.setenv(f"HCCN_RESULTS_{name}", "")
    begun = Callback(tmp_path)
    begun.v2_playbook_on_start(SimpleNamespace(_file_name="site.yml"))
    yield begun
    begun.v2_playbook_on_stats(SimpleNamespace(processed={}))


def kept() -> list[dict[str, Any]]:
    return schemas.lines(Path(os.environ["HCCN_RESULTS_FILE"]))[1:]


def test_last_of_two_conclusions_is_shown(callback: Callback, tmp_path: Path) -> None:
    callback.v2_runner_on_ok(result("localhost", CONCLUDE, LOST, DOWN))
    callback.v2_runner_on_ok(result("localhost", CONCLUDE, LOST))
    assert [record["id"] for record in kept()] == [
        "conclusion/finding/1", "conclusion/finding/2", "conclusion/run", "conclusion/finding/1", "conclusion/run"]
    assert schemas.history_violations(Path(os.environ["HCCN_RESULTS_FILE"])) == []
    written = page.write(tmp_path, page_format="json")
    assert (written.page.classes, written.page.severities, written.current) == ({"unreachable": 1, "good": 1}, {"failed": 1}, True)
    assert schemas.violations("report/1", json.loads(written.content)) == []


@pytest.mark.parametrize(("sample", "violations"), [
    (LOST.as_sample(), []),
    ({"component": {"kind": "host", "name": "npu1"}, "cause": "failed_task", "message": "m"}, ["$.samples[0]: 'severity' is a required property"]),
    ({"component": {"kind": "host", "name": "npu1"}, "cause": "failed_task", "severity": "bad", "message": "m"},
     ["$.samples[0].severity: 'bad' is not one of ['failed', 'slow', 'degraded', 'unknown', 'note']"])])
def test_findings_are_checked_by_the_schema(sample: dict[str, Any], violations: list[str]) -> None:
    kept_one = {"schema": "hccn.cluster/measurement/1", "id": "f", "kind": "finding", "status": "failed", "hosts": ["npu1"], "samples": [sample]}
    assert schemas.violations("measurement/1", kept_one) == violations


def test_conclusion_of_a_host_is_not_recorded(callback: Callback, capsys: pytest.CaptureFixture[str]) -> None:
    callback.v2_runner_on_ok(result("npu1", "hccn.cluster.rdma_perf", LOST))
    assert kept() == []
    assert "npu1 returned 2 records in the name of the controller." in " ".join(capsys.readouterr().err.split())
