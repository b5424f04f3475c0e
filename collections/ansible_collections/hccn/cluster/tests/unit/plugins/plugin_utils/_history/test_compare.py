# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of two runs, and what it does not list because it is noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Finding, finding, of_npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.compare import Comparison, compare, snapshot
from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made

LINK = finding("link_down", of_npus([("n2", 0)]), "the link is down", devices=[("n2", 0)])
SLOW = finding("slow_npu", of_npus([("n3", 1)]), "it is slow", devices=[("n3", 1)])


def device(host: str, number: int, **sample: Any) -> dict[str, Any]:
    return {"schema": made.SCHEMA, "id": f"{host}/{number}", "kind": "device", "status": "ok", "source": {"host": host, "device": number}, "samples": [sample]}


def concluded(*found: Finding) -> list[dict[str, Any]]:
    return conclude(made.HOSTS, {}, found).as_records()


def compared(folder: Path, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Comparison:
    made.write(folder, 1, before)
    made.write(folder, 2, after)
    first, second = (snapshot(reader.read(reader.find(folder, f"night-{day}"))) for day in (1, 2))
    return compare(first, second)


def test_noise_is_no_change(tmp_path: Path) -> None:
    for day in range(3, 23):
        found = compared(tmp_path, made.night(1, spread=2.0), made.night(day, spread=2.0))
        assert (found.changes, found.compared, found.headline()) == ((), 3, "night-2 against night-1: no change beyond the noise")


def test_one_slower_npu_is_listed_and_its_partners_are_not(tmp_path: Path) -> None:
    found = compared(tmp_path, made.night(1), made.night(2, slow=0.5))
    assert [(change.state, change.kind, change.name, change.host, change.device) for change in found.changes] == [("worse", "value", "n3 NPU 1", "n3", 1)]
    assert found.changes[0].sentence().startswith("n3 NPU 1: write 64 KiB (same rail, A2) was 195") and found.changes[0].sentence().endswith("% worse)")
    assert found.headline() == "night-2 against night-1: 1 worse"
    back = compared(tmp_path, made.night(1, slow=0.5), made.night(2))
    assert [(change.state, change.name) for change in back.changes] == [("better", "n3 NPU 1")]


def test_a_change_of_all_npus_is_listed_once(tmp_path: Path) -> None:
    found = compared(tmp_path, made.night(1), made.night(2, level=175.0))
    assert [(change.state, change.name, change.change_percent) for change in found.changes] == [("worse", "fabric", -10.4)]


def test_the_collective_is_compared_at_each_size(tmp_path: Path) -> None:
    found = compared(tmp_path, [made.collective(80.0)], [made.collective(60.0)])
    assert [change.sentence() for change in found.changes] == [
        "collective: all_reduce 1 KiB (4 hosts, 32 ranks) was 8 GB/s, it is 6 GB/s (25 % worse)",
        "collective: all_reduce 1 MiB (4 hosts, 32 ranks) was 80 GB/s, it is 60 GB/s (25 % worse)"]


def test_values_of_another_firmware_are_compared(tmp_path: Path) -> None:
    """An upgrade is a frequent reason to compare two runs."""
    old, new = (made.row("n1", lambda _source, _target, value=value: value, context={"product": "A2", "firmware": firmware})
                for firmware, value in (("1.0", 195.0), ("2.0", 150.0)))
    found = compared(tmp_path, [old], [new])
    assert [(change.state, change.name, change.change_percent) for change in found.changes] == [("worse", "fabric", -23.1)]


def test_findings_and_hosts_appear_and_vanish(tmp_path: Path) -> None:
    found = compared(tmp_path, concluded(LINK), concluded(SLOW))
    assert [change.as_dict() for change in found.changes] == [
        {"state": "worse", "kind": "host", "name": "n3", "what": "class", "before": "good", "after": "slow", "host": "n3", "message":
         "n3: class was good, it is slow"},
        {"state": "appeared", "kind": "finding", "name": "n3 NPU 1", "what": "slow_npu", "before": None, "after": "slow", "host": "n3", "message":
         "n3 NPU 1: slow_npu appeared (slow)"},
        {"state": "vanished", "kind": "finding", "name": "n2 NPU 0", "what": "link_down", "before": "failed", "after": None, "host": "n2", "message":
         "n2 NPU 0: link_down vanished (failed)"},
        {"state": "better", "kind": "host", "name": "n2", "what": "class", "before": "failed", "after": "good", "host": "n2", "message":
         "n2: class was failed, it is good"}]
    assert found.counts() == {"worse": 1, "appeared": 1, "vanished": 1, "better": 1}


def test_settings_of_an_exchanged_host_are_listed_once(tmp_path: Path) -> None:
    before = [device("n1", number, versions={"driver": "24.1", "firmware": "7.3"}, mtu=4096) for number in (0, 1)]
    after = [device("n1", number, versions={"driver": "25.0", "firmware": "7.3"}, mtu=1500 if number else 4096, lldp={"system_name": "leaf-1"})
             for number in (0, 1)]
    assert [change.sentence() for change in compared(tmp_path, before, after).changes] == [
        "n1: driver was 24.1, it is 25.0", "n1 NPU 1: mtu was 4096, it is 1500"]


def test_odd_records_are_skipped(tmp_path: Path) -> None:
    odd = [device("n1", 0, versions="x", mtu=None), {**device("n1", 0), "samples": "x"}, {**device("n1", 0), "source": "n1"},
           {"schema": made.SCHEMA, "id": "f", "kind": "finding", "status": "ok", "samples": ["x", {"component": 5}]},
           {"schema": made.SCHEMA, "id": "c", "kind": "conclusion", "status": "ok", "samples": [{"hosts": {"good": "n1"}}, {"hosts": []}, 7]}]
    assert compared(tmp_path, odd, odd).changes == ()
