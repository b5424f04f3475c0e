"""Runs, trends and comparisons of a history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import query, reader, retention, runs
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import HistoryError
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Endpoint
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.series import TrendQuery
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.summary import RunContext, summarise
from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made

VERDICT = {"schema": made.SCHEMA, "id": "v", "kind": "verdict", "status": "ok", "source": {"host": "n1"}, "samples": [{"class": "good", "message": ""}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write five nights: two with matrix rows, one with records of pairs and a failure, one empty, one interrupted."""
    for day in (1, 2):
        made.write(tmp_path, day, [made.row("n1", lambda _s, target, day=day: 100.0 + day + int(target[1])), VERDICT, made.collective(70.0 + day)])
    made.write(tmp_path, 3, [made.pair("n1", "n2", 110.0), made.pair("n1", "n3", None), made.pair("n2", "n1", 90.0)])
    made.write(tmp_path, 4, [])
    made.write(tmp_path, 5, [made.pair("n1", "n2", 111.0, device=1)], complete=False)
    return tmp_path


def trends(folder: Path, *wanted: TrendQuery) -> list[tuple[str, list[tuple[str, Any, int, int]]]]:
    found = query.History(folder, 30).trends(list(wanted))
    return [(one["pair_class"], [(point["run_id"], point["value"], point["count"], point["failed"]) for point in one["points"]]) for one in found]


def test_trend_of_a_pair(folder: Path) -> None:
    retention.compress(next(folder.rglob("*night-1.jsonl")))
    assert trends(folder, TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0))) == [
        ("same rail", [("night-1", 103.0, 1, 0), ("night-2", 104.0, 1, 0), ("night-3", 110.0, 1, 0)])]
    assert trends(folder, TrendQuery("pair", Endpoint("n1", None), Endpoint("n2", None), size_bytes=65536)) == [
        ("same rail", [("night-1", 103.0, 1, 0), ("night-2", 104.0, 1, 0), ("night-3", 110.0, 1, 0), ("night-5", 111.0, 1, 0)])]
    assert trends(folder, TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0), operation="read")) == []


def test_trend_of_an_endpoint_counts_failures(folder: Path) -> None:
    """A failure has no size, so it counts for every size of other runs."""
    for size in (None, 65536):
        assert trends(folder, TrendQuery("endpoint", Endpoint("n3", 0), size_bytes=size)) == [
            ("same rail", [("night-1", 104.0, 1, 0), ("night-2", 105.0, 1, 0), ("night-3", None, 0, 1)])]
    made.write(folder, 6, [{**made.row("n9", lambda _source, _target: None), "samples": [], "failed": {"timeout": [0, 1]}}])
    assert trends(folder, TrendQuery("endpoint", Endpoint("n9", 0))) == [("same rail", [("night-6", None, 0, 2)])]


def test_trend_of_a_collective(folder: Path) -> None:
    assert trends(folder, TrendQuery("collective", operation="all_reduce", size_bytes=1048576)) == [
        ("4 hosts, 32 ranks", [("night-1", 71.0, 1, 0), ("night-2", 72.0, 1, 0)])]
    assert trends(folder, TrendQuery("collective", operation="broadcast")) == []
    made.write(folder, 6, [{**made.collective(1.0), "status": "failed"}])
    assert trends(folder, TrendQuery("collective", size_bytes=1024)) == [
        ("4 hosts, 32 ranks", [("night-1", 7.1000000000000005, 1, 0), ("night-2", 7.2, 1, 0), ("night-6", None, 0, 1)])]


def test_trend_of_enough_runs_has_a_baseline(tmp_path: Path) -> None:
    for day in range(1, 8):
        made.write(tmp_path, day, [made.pair("n1", "n2", 100.0 + day % 2)])
    (found,) = query.History(tmp_path, 30).trends([TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0))])
    assert found["baseline"] == {"median": 100.5, "spread": 0.7413, "limit": 95.475, "runs": 6}
    assert (found["of"], found["source"], found["target"], found["unit"]) == ("pair", {"host": "n1", "device": 0}, {"host": "n2", "device": 0}, "Gbit/s")
    made.write(tmp_path, 8, [made.pair("n1", "n2", None)])
    (found,) = query.History(tmp_path, 30).trends([TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0))])
    assert (found["points"][-1]["value"], found["baseline"]["median"], found["baseline"]["runs"]) == (None, 101.0, 7)


def test_runs_are_listed_newest_first_without_empty_ones(folder: Path) -> None:
    listed = [known.overview for known in query.History(folder, 30).newest()]
    assert [(one["run_id"], one["complete"], one["good"], one["failed"], one["kinds"]) for one in listed] == [
        ("night-5", False, False, 0, {"rdma": 1}),
        ("night-3", True, False, 1, {"rdma": 3}),
        ("night-2", True, True, 0, {"collective": 1, "matrix": 1, "verdict": 1}),
        ("night-1", True, True, 0, {"collective": 1, "matrix": 1, "verdict": 1}),
    ]
    assert [known.overview["run_id"] for known in query.History(folder, 2).newest()] == ["night-5", "night-3"]


def test_unreadable_files_are_skipped_and_reported(folder: Path) -> None:
    (folder / "2026/11/06").mkdir()
    (folder / "2026/11/06/20261106T021500Z-later.jsonl").write_text('{"schema":"hccn.cluster/history/2"}\n{"n1":"n2"}\n')
    history = query.History(folder, 30)
    assert len(list(history.newest())) == 4
    (message,) = history.unreadable
    assert message.endswith("-later.jsonl has the schema hccn.cluster/history/2; this version of hccn.cluster reads hccn.cluster/history/1.")
    history.trends([TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0))])
    assert history.unreadable[1].endswith("-later.jsonl is not a history file that this version can read.")


def test_words_for_runs_to_compare(folder: Path) -> None:
    for day in (6, 7):
        made.write(folder, day, [made.row("n1", lambda _s, target, day=day: 100.0 - 10 * day), *([VERDICT] if day == 6 else [])])
    history = query.History(folder, 30)
    good = history.changes(query.LAST_GOOD, query.NEWEST, None)
    assert (good.before, good.after, [change.state for change in good.changes]) == ("night-6", "night-7", ["worse"])
    named = history.changes("night-1", "night-6", None)
    assert (named.before, named.after, named.changes[0].before, named.changes[0].after) == ("night-1", "night-6", 104.0, 40.0)
    with pytest.raises(HistoryError) as refused:
        history.changes(query.LAST_GOOD, "night-1", None)
    assert refused.value.message.endswith(" has no good run before night-1.")


def test_options_become_trend_queries() -> None:
    pairs = [{"source": "n1", "target": "n2", "target_device": "mlx5_0", "operation": "read"}]
    assert query.trend_queries([{"host": "n1", "device": "3"}], pairs, [{"size_bytes": 7}]) == [
        TrendQuery("endpoint", Endpoint("n1", 3)), TrendQuery("pair", Endpoint("n1", None), Endpoint("n2", "mlx5_0"), "read"),
        TrendQuery("collective", size_bytes=7)]


def test_class_of_a_pair_by_rail_and_leaf() -> None:
    device = {"kind": "device", "source": {"host": "n1", "device": 0}, "context": {"product": "A3"},
              "samples": [{"lldp": {"system_name": "L1"}, "versions": {"firmware": "7.1"}}]}
    plan = {"kind": "plan", "hosts": ["n2"], "samples": [{"topology": {
        "leaves": ["L1", "L2"], "kinds": [{"0": [0, 1, "lldp"], "1": [1, 0, "label"], "2": [2]}], "of": [0]}}]}
    matrix = {"kind": "matrix", "source": {"host": "n3", "device": 0}, "context": {"leaf": "L1"}}
    context = RunContext([device, plan, matrix, {"kind": "device"}, {"kind": "plan", "samples": 7}])
    ends = [Endpoint("n1", 0), Endpoint("n2", 0), Endpoint("n2", 1), Endpoint("n3", 0), Endpoint("n9", 0), Endpoint("n1", 5)]
    assert [context.pair_class(ends[0], other) for other in ends[1:]] == [
        "same rail, cross leaf", "cross rail, same leaf", "same rail, same leaf", "same rail", "same host"]
    assert (context.products["n1"], context.firmwares["n1"]) == ("A3", "7.1")


def test_runs_of_other_kinds_do_not_count_towards_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine nightly runs, each followed by device readings and a check of another operation, which are not even parsed."""
    look = {"schema": made.SCHEMA, "id": "d", "kind": "device", "status": "ok", "source": {"host": "n1", "device": 0}, "samples": [{"link": "UP"}]}
    for day in range(1, 10):
        night = made.write(tmp_path, day, [made.pair("n1", "n2", 100.0)])
        header = night.read_text().splitlines()[0]
        for hour in range(3, 8):
            other = look if hour < 7 else {**made.pair("n1", "n2", 100.0), "operation": "read"}
            night.with_name(f"202611{day:02}T{hour:02}1500Z-look-{day}-{hour}.jsonl").write_text(f"{header}\n{json.dumps(other)}\n")
    parsed: list[str] = []
    monkeypatch.setattr(query, "summarise", lambda run: parsed.append(run.file.run_id) or summarise(run))
    history = query.History(tmp_path, 6)
    comparison = history.compare(reader.read(reader.find(tmp_path, "night-9")), None)
    assert [summary.run_id for summary in comparison.earlier] == [f"night-{day}" for day in range(8, 2, -1)]
    assert parsed == [f"night-{day}" for day in range(9, 2, -1)]
    (found,) = history.trends([TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0), "write")])
    assert [point["run_id"] for point in found["points"]] == [f"night-{day}" for day in range(4, 10)]
    monkeypatch.setattr(query, "EXAMINED_PER_RUN", 2)
    comparison = query.History(tmp_path, 6).compare(reader.read(reader.find(tmp_path, "night-9")), None)
    assert [summary.run_id for summary in comparison.earlier] == ["night-8", "night-7"]


def test_second_run_with_the_same_id_and_second_is_newer(tmp_path: Path) -> None:
    first = made.write(tmp_path, 1, [made.pair("n1", "n2", 100.0)])
    first.with_name("20261101T021500Z-night-1-2.jsonl").write_text(first.read_text())
    history = query.History(tmp_path, 30)
    assert [[summary.run_id for summary in history.compare(reader.read(entry), None).earlier] for entry in reader.runs(tmp_path)] == [["night-1"], []]


def test_run_with_a_rejected_record_is_not_good() -> None:
    measured = {"schema": "hccn.cluster/measurement/1", "id": "a", "kind": "ping", "status": "ok", "source": {"host": "n1", "device": 0}}
    entry = reader.run_file(Path("20261120T101530Z-r1.jsonl"))
    assert entry is not None
    end = {"end": True, "hosts": {}}
    overviews = [runs.overview(reader.Run(entry, {}, [measured], events, end)) for events in ([], [{"event": "dropped", "host": "n1"}])]
    assert [(one["good"], one["failed_tasks"]) for one in overviews] == [(True, 0), (False, 0)]
