"""The action hccn.cluster.history_info and pinned baselines in real plays, with a generated history of ten nights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made
from tests.lib import schemas
from tests.integration.history.plays import play

QUERY = {
    "limit": 20, "endpoints": [{"host": "n3", "device": 1}], "pairs": [{"source": "n3", "source_device": "1", "target": "n1", "target_device": "1"}],
    "collectives": [{"operation": "all_reduce", "size_bytes": 1048576}], "compare": ["night-9", "night-10"],
}


def tasks(folder: Path) -> str:
    info = "hccn.cluster.history_info"
    listed: list[dict[str, Any]] = [
        {info: QUERY, "register": "queried"},
        {info: {"fail_on": "regression"}, "register": "failed", "ignore_errors": True},
        {"hccn.cluster.report": {"format": "baseline", "path": f"{folder}/baseline.yml", "run_id": "night-9"}, "register": "pinned"},
        {info: {"fail_on": "regression", "run_id": "night-9", "baseline": f"{folder}/baseline.yml"}, "register": "held"},
        {info: {"compare": ["night-9"]}, "register": "refused", "ignore_errors": True},
        {info: {"run_id": "nobody"}, "register": "unknown", "ignore_errors": True},
        {info: {"history": f"{folder}/empty"}, "register": "empty"},
        {"hccn.cluster.report": {"format": "baseline", "limit": 2}, "register": "too_few", "ignore_errors": True},
        {"ansible.builtin.copy": {"dest": f"{folder}/returned.json", "content": (
            "{{ {'queried': queried, 'failed': failed, 'pinned': pinned, 'held': held, 'refused': refused, 'unknown': unknown, 'empty': empty, "
            "'too_few': too_few} | to_json }}")}, "check_mode": False},
    ]
    return yaml.safe_dump(listed, width=10_000)


@pytest.fixture(scope="module")
def returned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("info")
    for day in range(1, 11):
        made.write(folder / "history", day, made.night(day, slow=0.8 if day == 10 else 1.0))
    done = play(folder, tasks(folder), env={"HCCN_RUN_ID": "asking"})
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "returned.json").read_text())
    found["folder"] = folder
    return found


def test_runs_and_last_good_run(returned: dict[str, Any]) -> None:
    queried = returned["queried"]
    assert [run["run_id"] for run in queried["runs"]] == [f"night-{day}" for day in range(10, 0, -1)]
    assert (queried["last_good"]["run_id"], queried["changed"], queried["unreadable"]) == ("night-10", False, [])


def test_trends(returned: dict[str, Any]) -> None:
    endpoint, pair, collective = returned["queried"]["series"]
    assert (endpoint["of"], endpoint["source"], len(endpoint["points"]), endpoint["points"][0]["count"]) == ("endpoint", {"host": "n3", "device": 1}, 10, 6)
    assert pair["points"][-1]["run_id"] == "night-10" and pair["points"][-1]["value"] < pair["baseline"]["limit"] < pair["points"][-2]["value"]
    assert (collective["of"], collective["unit"], collective["pair_class"]) == ("collective", "GB/s", "4 hosts, 32 ranks")


def test_regressions(returned: dict[str, Any]) -> None:
    (found,) = returned["queried"]["regressions"]
    assert (found["host"], found["device"], found["reason"], found["unit"]) == ("n3", 1, "level", "Gbit/s")
    assert {entry["kind"]: entry["state"] for entry in returned["queried"]["verdicts"]} == {"collective": "ok", "rdma": "regression"}
    assert returned["failed"]["failed"] is True and returned["failed"]["msg"] == found["message"]
    compared = returned["queried"]["comparison"]
    assert [(one["state"], one["host"], one["device"]) for one in compared["changes"]] == [("worse", "n3", 1)]


def test_pinned_baseline_is_used(returned: dict[str, Any]) -> None:
    pinned = yaml.safe_load((returned["folder"] / "baseline.yml").read_text())
    assert schemas.violations("baseline/1", json.loads(json.dumps(pinned))) == []
    assert [(group["kind"], group["runs"]) for group in pinned["groups"]] == [("collective", 9), ("collective", 9), ("rdma", 9)]
    assert (returned["pinned"]["changed"], returned["held"]["regressions"]) == (True, [])
    assert {entry["baseline"]["pinned"] for entry in returned["held"]["verdicts"]} == {True}


def test_queries_without_an_answer(returned: dict[str, Any]) -> None:
    assert returned["refused"]["msg"].endswith("compare has 1 run ids. Give two, the earlier one first.")
    assert f"{returned['folder']}/history has no run nobody." in returned["unknown"]["msg"]
    assert "among the newest 2 runs, no group of comparable values has 5 complete runs" in returned["too_few"]["msg"]
    assert {key: returned["empty"][key] for key in ("runs", "series", "last_good", "judged_run", "verdicts", "regressions")} == {
        "runs": [], "series": [], "last_good": None, "judged_run": None, "verdicts": [], "regressions": []}
