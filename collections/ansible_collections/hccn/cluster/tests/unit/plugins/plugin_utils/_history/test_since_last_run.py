# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes about hosts that changed since the last run that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.since_last_run import changes
from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made

NAMES = [("bring_up", "npus"), ("check_fabric", "later")]


def device(number: int = 0, host: str | None = None, **sample: Any) -> dict[str, Any]:
    source = {"device": number, **({"host": host} if host else {})}
    return {"schema": made.SCHEMA, "id": f"{host}/{number}", "kind": "device", "status": "ok", "source": source, "context": {"cann": "8.2"},
            "samples": [sample]}


def found(folder: Path, results: dict[str, Any], current: Path = Path("this.jsonl.part")) -> list[Finding]:
    def registered(host: str, name: str) -> Any:
        return results.get(host, {}).get(name)

    return changes(["n1", "n2", "n3"], registered, NAMES, lambda host: [registered(host, "set")], folder, current)


def test_the_newest_run_that_read_a_host_counts(tmp_path: Path) -> None:
    made.write(tmp_path, 1, [device(0, "n1", mtu=1500), device(0, "n2", mtu=4096, versions={"driver": "24.1"})])
    made.write(tmp_path, 2, [device(0, "n1", mtu=4096)])
    made.write(tmp_path, 3, [made.pair("n1", "n2", 195.0)])
    now = {name: {"npus": {"measurements": [device(mtu=4096, versions={"driver": "25.0"})]}} for name in ("n1", "n2", "n3")}
    (one,) = found(tmp_path, now)
    assert (one.cause, one.severity, one.stage, one.component.name) == ("changed_since", "note", "bring_up", "n2")
    assert one.message == "since the last run at 2026-11-01 02:15 UTC, driver changed from 24.1 to 25.0"
    assert [dict(piece.values) for piece in one.evidence] == [{"setting": "driver", "before": "24.1", "after": "25.0", "time": "2026-11-01 02:15 UTC"}]


def test_this_run_and_an_unreadable_one_are_skipped(tmp_path: Path) -> None:
    made.write(tmp_path, 1, [device(0, "n1", mtu=1500)])
    (tmp_path / "2026/11/02").mkdir()
    (tmp_path / "2026/11/02/20261102T021500Z-later.jsonl").write_text('{"schema":"hccn.cluster/history/2"}\n')
    this = made.write(tmp_path, 3, [device(0, "n1", mtu=4096)], complete=False)
    now = {"n1": {"later": {"measurements": [device(mtu=4096)]}}}
    assert [(one.stage, one.evidence[0].values["before"]) for one in found(tmp_path, now, this)] == [("check_fabric", "1500")]


def test_settings_that_this_run_changed_are_not_noted(tmp_path: Path) -> None:
    made.write(tmp_path, 1, [device(0, "n1", mtu=1500, versions={"driver": "24.1"})])
    now = {"npus": {"measurements": [device(mtu=4096, versions={"driver": "25.0"})]}}
    for changed, settings in ((True, ["driver"]), (False, ["mtu", "driver"])):
        (one,) = found(tmp_path, {"n1": {**now, "set": {"changed": changed}}})
        assert [piece.values["setting"] for piece in one.evidence] == settings


def test_without_an_earlier_run_or_a_reading_there_is_no_note(tmp_path: Path) -> None:
    assert found(tmp_path / "missing", {"n1": {"npus": {"measurements": [device(mtu=4096)]}}}) == []
    made.write(tmp_path, 1, [device(0, "n1", mtu=1500)])
    for odd in (None, "x", {"measurements": "x"}, {"measurements": [7, {"kind": "device", "source": "x"}]}):
        assert found(tmp_path, {"n1": {"npus": odd}}) == []
