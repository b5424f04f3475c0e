"""The event source of extensions/eda: the events of a history and their time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.filter.diagnose import FilterModule
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import measurement_table, unstarted_runs
from tests.lib.module import import_file
from tests.lib.project import COLLECTION

DAY = "2026/11/21"


@pytest.fixture(scope="module")
def source() -> ModuleType:
    return import_file(COLLECTION / "extensions/eda/plugins/event_source/history.py")


def verdict(host: str, state: str, *evidence: str) -> dict[str, Any]:
    return {"kind": "verdict", "source": {"host": host}, "samples": [{"class": state, "message": f"{host} is {state}", "evidence": list(evidence)}]}


def run(*records: dict[str, Any], playbook: str = "check_fabric.yml", run_id: str = "r1") -> str:
    header = {"schema": "hccn.cluster/history/1", "run_id": run_id, "playbook": playbook}
    return "".join(json.dumps(entry) + "\n" for entry in (header, *records, {"end": True}))


def test_each_degraded_link_gives_an_event(source: ModuleType) -> None:
    text = run(verdict("n1", "good", "n1 NPU 0 to n2 NPU 0: fine"),
               verdict("n3", "slow", "n3 NPU 1 to n1 NPU 1: 5 Gbit/s, normal is 195", "n3 NPU 1 to n2 NPU 1: x"),
               verdict("n4", "failed", "n4 NPU 0 to n2 NPU 0: connection_refused: no", "the host did not answer"))
    events = list(source.events_of(text))
    assert [event.pop("references") for event in events] == [[], [], []]  # there is only one good host
    assert events == [
        {"link": "n1/1-n3/1", "host": "n3", "class": "slow", "message": "n3 is slow", "run_id": "r1", "playbook": "check_fabric.yml", "retested": False,
         "pair": {"source": {"host": "n3", "device": 1}, "target": {"host": "n1", "device": 1}}},
        {"link": "n2/1-n3/1", "host": "n3", "class": "slow", "message": "n3 is slow", "run_id": "r1", "playbook": "check_fabric.yml", "retested": False,
         "pair": {"source": {"host": "n3", "device": 1}, "target": {"host": "n2", "device": 1}}},
        {"link": "n2/0-n4/0", "host": "n4", "class": "failed", "message": "n4 is failed", "run_id": "r1", "playbook": "check_fabric.yml", "retested": False,
         "pair": {"source": {"host": "n4", "device": 0}, "target": {"host": "n2", "device": 0}}}]


def test_retest_compares_the_link_to_good_hosts_of_other_links_first(source: ModuleType) -> None:
    good = [verdict(host, "good") for host in ("n1", "n2", "n4", "n5", "n6")]
    event = next(source.events_of(run(*good, verdict("n3", "slow", "n3 NPU 1 to n1 NPU 1: x"))))
    assert [(pair["source"], pair["target"]["host"]) for pair in event["references"]] == [
        ({"host": "n2", "device": 1}, "n4"), ({"host": "n4", "device": 1}, "n5"), ({"host": "n5", "device": 1}, "n6")]
    small = source.references({"source": {"host": "n3", "device": 1}, "target": {"host": "n1", "device": 1}}, ["n1", "n2"])
    assert small == [{"source": {"host": "n2", "device": 1}, "target": {"host": "n1", "device": 1}}]


@pytest.mark.parametrize("playbook", ["retest.yml", "hccn.cluster.retest"])
def test_both_directions_are_one_link_and_a_retest_is_marked(source: ModuleType, playbook: str) -> None:
    text = run(verdict("n1", "slow", "n1 NPU 0 to n2 NPU 0: x"), verdict("n2", "slow", "n2 NPU 0 to n1 NPU 0: x"), playbook=playbook)
    assert [(event["link"], event["host"], event["retested"]) for event in source.events_of(text)] == [("n1/0-n2/0", "n1", True)]


def test_messages_of_the_diagnosis_are_understood(source: ModuleType) -> None:
    values = [("a", "b", 195), ("b", "c", 100), ("c", "d", 101), ("d", "a", 195)]
    records = [{"id": f"r/{one}{other}/forward/1", "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
                "source": {"host": one, "device": 0}, "target": {"host": other, "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]}
               for one, other, value in values]
    found = FilterModule().filters()["diagnose"](records)["verdicts"]
    text = run(*(verdict(entry["host"], entry["class"], *entry["evidence"]) for entry in found))
    assert sorted((event["link"], event["host"]) for event in source.events_of(text)) == [("b/0-c/0", "c"), ("c/0-d/0", "c")]


@pytest.mark.parametrize("state", ["busy", "not_measured", "failed", "slow"])
def test_retest_without_measurement_gives_no_event(source: ModuleType, state: str) -> None:
    """Otherwise, another run or a foreign listener on the control port would take healthy hosts out of service."""
    met = ("n3 NPU 1 to n1 NPU 1: wrong_run: another runner answers at n1: a line of another run: r0",
           "n1 NPU 1 to n3 NPU 1: peer_unreachable: the runner of n3 cannot be reached: connection refused",
           "n3 NPU 1 to n2 NPU 1: host_in_use: run r0 has been at work on this host since 2026-01-04T10:00:00.000Z")
    text = run(verdict("n3", state, *met), verdict("n1", state, *met), playbook="hccn.cluster.retest")
    assert list(source.events_of(text)) == []


def test_measured_values_and_errors_of_the_link_give_events(source: ModuleType) -> None:
    text = run(verdict("n3", "failed", "n3 NPU 1 to n1 NPU 1: peer_lost: gone", "n3 NPU 1 to n2 NPU 1: retry_exceeded: no answer"),
               verdict("n4", "slow", "n4 NPU 0 to n1 NPU 0: 5 Gbit/s, normal is 195"), playbook="hccn.cluster.retest")
    assert [(event["link"], event["retested"]) for event in source.events_of(text)] == [("n2/1-n3/1", True), ("n1/0-n4/0", True)]


def test_errors_of_other_components_give_no_event(source: ModuleType) -> None:
    """The source imports nothing of the collection, so it has a separate list of these errors."""
    assert measurement_table.BUSY_CODES | measurement_table.INFERRED_CODES | unstarted_runs.OTHER_RUN_CODES <= source.NO_LINK_CODES


def test_lines_that_are_not_part_of_a_history_are_skipped(source: ModuleType) -> None:
    assert list(source.events_of('{"kind": "verd\n[1]\nx\n' + run(verdict("n1", "busy", "n1 NPU 0 to n2 NPU 0: x")))) == []


@pytest.mark.parametrize("odd", [{"source": None}, {"source": "n1"}, {"samples": None}, {"samples": ["x"]}, {"samples": [{"class": "slow", "evidence": None}]},
                                 {"samples": [{"class": "slow", "evidence": [7]}]}, {"samples": [{"class": "slow", "evidence": ["a NPU " + 5000 * "9"]}]}])
def test_malformed_verdict_does_not_affect_the_others(source: ModuleType, odd: dict[str, Any]) -> None:
    text = run({**verdict("n2", "good"), **odd}, {**verdict("n9", "good"), "source": {}}, verdict("n3", "slow", "n3 NPU 1 to n1 NPU 1: x"))
    events = list(source.events_of(text + "[" * 100_000 + "\n"))
    assert [(event["link"], event["references"]) for event in events] == [("n1/1-n3/1", [])]


def test_run_is_read_once_it_has_ended(source: ModuleType, tmp_path: Path) -> None:
    day = tmp_path / DAY
    day.mkdir(parents=True)
    bad = verdict("n1", "slow", "n1 NPU 0 to n2 NPU 0: x")
    (day / "20261121T000000Z-old.jsonl").write_text(run(bad, run_id="old"))

    async def watch() -> list[dict[str, Any]]:
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        task = asyncio.create_task(source.main(queue, {"path": str(tmp_path), "interval": 0.01}))
        await asyncio.sleep(0)  # it registers the existing files
        part = day / "20261121T000001Z-new.jsonl.part"
        part.write_text(run(bad, run_id="new")[:-20])
        await asyncio.sleep(0.1)
        assert queue.empty()
        part.write_text(run(bad, run_id="new"))
        part.rename(part.with_suffix(""))
        found = [await asyncio.wait_for(queue.get(), 30)]
        await asyncio.sleep(0.1)
        task.cancel()
        while not queue.empty():
            found.append(queue.get_nowait())
        return found

    assert [event["run_id"] for event in asyncio.run(watch())] == ["new"]


def test_existing_runs_are_read_from_the_start(source: ModuleType, tmp_path: Path) -> None:
    (tmp_path / DAY).mkdir(parents=True)
    seen: set[str] = set()
    for name in ("20261121T000002Z-b.jsonl", "20261121T000001Z-a.jsonl", "20261121T000003Z-c.jsonl.part"):
        (tmp_path / DAY / name).write_text("")
    assert [path.name for path in source.new_runs(tmp_path, seen)] == ["20261121T000001Z-a.jsonl", "20261121T000002Z-b.jsonl"]
    assert source.new_runs(tmp_path, seen) == []
    for name in ("20261121T000004Z-r-1-10.jsonl", "20261121T000004Z-r-1-2.jsonl", "20261121T000004Z-r-1.jsonl"):
        (tmp_path / DAY / name).write_text("")
    assert [path.name[17:] for path in source.new_runs(tmp_path, seen)] == ["r-1.jsonl", "r-1-2.jsonl", "r-1-10.jsonl"]
