"""The verdicts of the last check of the fabric, from the history."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import last_verdicts

OLDEST = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def history(folder: Path, name: str, *records: dict[str, Any]) -> None:
    day = folder / name[:4] / name[4:6] / name[6:8]
    day.mkdir(parents=True, exist_ok=True)
    lines = [{"schema": "hccn.cluster/history/1", "run_id": name[17:]}, *records]
    (day / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def host(name: str, verdict: str = "good") -> dict[str, Any]:
    return record("verdict", f"r/verdict/{name}", "ok" if verdict == "good" else "failed", source={"host": name}, started_at="2026-01-04T10:00:00.000Z",
                  samples=[{"class": verdict, "message": "m"}])


def asked(folder: Path, *hosts: str) -> tuple[bool, str]:
    found = last_verdicts.of(folder, hosts, OLDEST)
    return found["clean"], found["message"]


def test_good_verdicts_are_clean(tmp_path: Path) -> None:
    history(tmp_path, "20260104T100000Z-a", host("n1"), host("n2"), host("n3", "slow"))
    assert asked(tmp_path, "n1", "n2") == (True, "the fabric was found clean at 2026-01-04T10:00:00.000Z")
    assert last_verdicts.of(tmp_path, ["n1"], OLDEST)["run_id"] == "a"


def test_slow_and_missing_hosts_are_named(tmp_path: Path) -> None:
    history(tmp_path, "20260104T100000Z-a", host("n1", "slow"), host("n2"))
    assert asked(tmp_path, "n1", "n2", "n9") == (
        False, "the fabric was not found clean at 2026-01-04T10:00:00.000Z: n1 is slow; n9 was not judged")


def test_a_bad_component_concerns_all_hosts(tmp_path: Path) -> None:
    component = record("verdict", "r/verdict/fabric/1", "failed", samples=[{"class": "slow", "message": "leaf l1 is slow"}])
    history(tmp_path, "20260104T100000Z-a", host("n1"), component)
    assert asked(tmp_path, "n1") == (False, "the fabric was not found clean at 2026-01-04T10:00:00.000Z: leaf l1 is slow")


def test_the_newest_run_with_a_check_counts(tmp_path: Path) -> None:
    history(tmp_path, "20260103T100000Z-a", host("n1", "failed"))
    history(tmp_path, "20260104T100000Z-b", host("n1"))
    history(tmp_path, "20260105T100000Z-c", record("collective", "c/collective/all_reduce/1"),
            record("verdict", "c/verdict/collective/1", "failed", source={"host": "n1"}, samples=[{"class": "slow"}]))
    (tmp_path / "2026/01/05/20260105T110000Z-d.jsonl.part").write_text("torn")
    assert asked(tmp_path, "n1")[0] is True


def test_a_check_that_measured_none_of_the_hosts_is_skipped(tmp_path: Path) -> None:
    history(tmp_path, "20260103T100000Z-a", host("n1"), host("n2"))
    history(tmp_path, "20260104T100000Z-b", host("n1", "busy"), host("n2", "not_measured"), host("n3"))
    found = last_verdicts.of(tmp_path, ["n1", "n2"], OLDEST)
    assert (found["clean"], found["run_id"], found["hosts"]) == (True, "a", {"n1": "good", "n2": "good"})
    assert asked(tmp_path, "n1", "n3") == (False, "the fabric was not found clean at 2026-01-04T10:00:00.000Z: n1 is busy")


def test_a_verdict_without_a_class_is_skipped(tmp_path: Path) -> None:
    history(tmp_path, "20260103T100000Z-a", record("verdict", "r/verdict/n1", "failed", source={"host": "n1"}, samples=[{"message": "m"}]))
    assert last_verdicts.of(tmp_path, ["n1"], OLDEST)["hosts"] == {}


def test_old_or_missing_checks_are_not_clean(tmp_path: Path) -> None:
    history(tmp_path, "20251231T100000Z-a", host("n1"))
    assert asked(tmp_path, "n1") == (False, f"no check of the fabric that measured these hosts since 2026-01-01 is in {tmp_path}")
    assert asked(tmp_path / "nowhere", "n1")[0] is False
