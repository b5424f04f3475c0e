"""Baselines, regressions, and pinned baselines."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import baseline, pinned, query, reader
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.baseline import Baseline
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Endpoint
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import HistoryError
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.summary import Group, GroupStatistics, Summary
from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made

WRITE = Group("rdma", "hccn_tool", "write", "bandwidth", 65536, "same rail", "A2", "", "Gbit/s")
REDUCE = Group("collective", "all_reduce_test", "all_reduce", "bandwidth", 1048576, "4 hosts, 32 ranks", "", "", "GB/s")


def history(folder: Path, nights: int = 10, **last: Any) -> query.BaselineComparison:
    for day in range(1, nights + 1):
        made.write(folder, day, made.night(day, **(last if day == nights else {})))
    known = query.History(folder, 30)
    return known.compare(reader.read(reader.find(folder, f"night-{nights}")), None)


def test_groups_and_baselines_of_a_run(tmp_path: Path) -> None:
    comparison = history(tmp_path)
    assert set(comparison.current.groups) == {WRITE, REDUCE, REDUCE._replace(size_bytes=1024)}
    stand = comparison.current.groups[WRITE]
    assert (stand.count, sorted(map(str, stand.endpoints))) == (24, [f"{host} NPU {device}" for host in made.HOSTS for device in (0, 1)])
    assert [summary.run_id for summary in comparison.earlier] == [f"night-{day}" for day in range(9, 0, -1)]
    known = comparison.baselines[WRITE]
    assert (known.runs, round(known.median, 1), round(known.spread, 3), known.pinned) == (9, 195.0, 0.975, False)
    assert comparison.regressions == []


def test_fabric_that_is_slower_everywhere_is_one_regression(tmp_path: Path) -> None:
    comparison = history(tmp_path, level=180.0)
    (found,) = comparison.regressions
    assert (found.group, found.endpoint, found.reason, found.runs) == (WRITE, None, "level", 9)
    assert 7.0 < found.drop_percent < 8.5
    assert found.sentence().startswith("the fabric is worse than its baseline: 179.8 Gbit/s, normal is 195 over 9 runs (7.8 % worse; rdma write")
    assert found.as_dict()["unit"] == "Gbit/s" and "host" not in found.as_dict()


def test_slower_npu_is_a_regression_of_its_endpoint(tmp_path: Path) -> None:
    comparison = history(tmp_path, slow=0.8)
    (found,) = comparison.regressions
    assert (str(found.endpoint), found.as_dict()["host"], found.as_dict()["device"]) == ("n3 NPU 1", "n3", 1)
    assert found.now < found.limit < found.before


def test_too_few_runs_give_no_baseline(tmp_path: Path) -> None:
    comparison = history(tmp_path, nights=5, level=100.0)
    assert (comparison.baselines, comparison.regressions) == ({}, [])
    assert {entry["state"] for entry in query.verdicts(comparison)} == {"no_baseline"}


def test_incomplete_and_bad_runs_do_not_change_the_baseline(tmp_path: Path) -> None:
    for day in range(1, 12):
        bad = day in (4, 7)
        made.write(tmp_path, day, made.night(day, level=90.0 if bad else 195.0), complete=not (12 > day > 9))
    known = query.History(tmp_path, 30)
    made.write(tmp_path, 12, made.night(12))
    comparison = known.compare(reader.read(reader.find(tmp_path, "night-12")), None)
    assert comparison.baselines[WRITE].runs == 9
    assert comparison.regressions == []


def summaries(values: list[float], group: Group = WRITE) -> list[Summary]:
    """Newest first."""
    return [Summary(f"r{number}", f"202611{number:02}", "", True, {group: GroupStatistics(value, value, value, 1)})
            for number, value in enumerate(values, 1)][::-1]


def found_in(values: list[float], unit: str = "Gbit/s") -> list[str]:
    group = WRITE._replace(unit=unit, measure="latency" if unit == "us" else "bandwidth")
    now, *earlier = summaries(values, group)
    return [regression.reason for regression in baseline.find_regressions(now, earlier, baseline.compute_baselines(earlier))]


def test_gradual_drift_is_a_regression() -> None:
    noise = random.Random(7)  # noqa: S311
    slowly = [195 + noise.gauss(0, 0.3) - 0.35 * max(0, number - 10) for number in range(22)]
    assert found_in(slowly) == ["drift"]
    assert slowly[-1] > Baseline(195, 0.98, 20).limit("Gbit/s")
    assert found_in([2 * 195 - value for value in slowly]) == []
    assert found_in([10 + 0.02 * max(0, number - 10) for number in range(22)], "us") == ["drift"]


def test_higher_latency_is_worse() -> None:
    assert found_in([2.0] * 9 + [2.5], "us") == ["level"]
    assert found_in([2.0] * 9 + [1.5], "us") == []


def test_stable_series_raise_no_alarm() -> None:
    """600 series of 7 to 30 runs with normal noise of 0.8 %."""
    noise = random.Random(11)  # noqa: S311
    alarms = sum(bool(found_in([noise.gauss(195, 1.6) for night in range(7 + number % 24)])) for number in range(600))
    assert alarms <= 6


def test_pinned_baselines_survive_a_round_trip(tmp_path: Path) -> None:
    comparison = history(tmp_path)
    path = tmp_path / "pinned.yml"
    path.write_text(pinned.dump(comparison.baselines))
    known = pinned.load(path)
    assert set(known) == set(comparison.baselines)
    assert known[WRITE].pinned and known[WRITE].runs == 9
    assert known[WRITE].median == pytest.approx(comparison.baselines[WRITE].median, rel=1e-4)
    assert known[WRITE].endpoints[Endpoint("n3", 1)] == pytest.approx(comparison.baselines[WRITE].endpoints[Endpoint("n3", 1)], rel=1e-4)
    assert pinned.dump(known) == path.read_text()
    slower = query.History(tmp_path, 30)
    made.write(tmp_path, 20, made.night(20, level=170.0))
    held = slower.compare(reader.read(reader.find(tmp_path, "night-20")), path)
    assert [(found.reason, found.group) for found in held.regressions][:1] == [("level", WRITE)]


def test_pinned_baselines_are_readable_yaml(tmp_path: Path) -> None:
    text = pinned.dump({WRITE: Baseline(195.04567, 0.4, 12, {Endpoint("n1", 0): 195.1, Endpoint("n10", 0): 195.2, Endpoint("n1", 1): 194.9})})
    assert text == (
        "# Baselines, written by hccn.cluster.report (format: baseline). Edit this file or write it again, and review the difference.\n---\n"
        "schema: hccn.cluster/baseline/1\ngroups:\n- kind: rdma\n  tool: hccn_tool\n  operation: write\n"
        "  measure: bandwidth\n  size_bytes: 65536\n"
        "  pair_class: same rail\n  product: A2\n  unit: Gbit/s\n  median: 195.05\n  spread: 0.4\n  runs: 12\n"
        "  ends:\n    n1:\n      0: 195.1\n      1: 194.9\n"
        "    n10:\n      0: 195.2\n"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("a: [", "while parsing"),
        ("schema: hccn.cluster/baseline/2\ngroups: []\n", "it is not a mapping with schema hccn.cluster/baseline/1"),
        ("schema: hccn.cluster/baseline/1\ngroups: 7\n", "it is not a mapping"),
        ("schema: hccn.cluster/baseline/1\ngroups:\n- {kind: rdma}\n", "groups[0] is incomplete: KeyError 'median'"),
        ("schema: hccn.cluster/baseline/1\ngroups:\n- 7\n", "groups[0] is incomplete"),
    ],
)
def test_invalid_baseline_file_is_rejected(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "pinned.yml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(HistoryError) as caught:
        pinned.load(path)
    assert caught.value.code == "baseline_not_readable"
    assert str(path) in caught.value.message and why in caught.value.message


def test_run_in_which_everything_failed_is_a_regression(tmp_path: Path) -> None:
    """As records of pairs, as matrix rows without values, and as collectives; the product of the hosts is unknown."""
    for day in range(1, 7):
        made.write(tmp_path, day, made.night(day))
    alone = [{**made.pair("n1", "n2", None), "context": {}}, {**made.row("n3", lambda _source, _target: None), "samples": [], "failed": {"timeout": [0, 1]}}]
    made.write(tmp_path, 7, [*alone, {**made.collective(1.0), "status": "failed", "samples": []}])
    comparison = query.History(tmp_path, 30).compare(reader.read(reader.find(tmp_path, "night-7")), None)
    small = REDUCE._replace(size_bytes=1024)
    assert [(found.group, found.reason, found.now, found.drop_percent, found.runs) for found in comparison.regressions] == [
        (small, "failed", None, 100.0, 6), (REDUCE, "failed", None, 100.0, 6), (WRITE, "failed", None, 100.0, 6)]
    assert comparison.regressions[2].sentence() == (
        "the fabric has no value because every measurement failed: normal is 194.9 Gbit/s over 6 runs (rdma write bandwidth at 65536 bytes, same rail, A2)")
    assert comparison.regressions[2].as_dict()["now"] is None
    assert [(entry["size_bytes"], entry["now"], entry["count"], entry["failed"], entry["state"]) for entry in query.verdicts(comparison)] == [
        (1024, None, 0, 1, "regression"), (1048576, None, 0, 1, "regression"), (65536, None, 0, 3, "regression")]


def test_failed_group_without_a_baseline_has_no_size(tmp_path: Path) -> None:
    ping = {"schema": made.SCHEMA, "id": "p", "kind": "ping", "status": "failed", "source": {"host": "n1", "device": 0}, "target": {"address": "192.0.2.2"}}
    made.write(tmp_path, 1, [made.pair("n1", "n2", None), made.pair("n2", "n1", None), ping])
    comparison = query.History(tmp_path, 30).compare(reader.read(reader.find(tmp_path, "night-1")), None)
    assert comparison.regressions == []
    assert [(entry["kind"], entry["unit"], "size_bytes" in entry, entry["now"], entry["failed"], entry["state"]) for entry in query.verdicts(comparison)] == [
        ("ping", "us", False, None, 1, "no_baseline"), ("rdma", "Gbit/s", False, None, 2, "no_baseline")]


def test_failures_beside_values_count_for_every_size_without_a_regression(tmp_path: Path) -> None:
    sizes = {"samples": [{"size_bytes": size, "bandwidth_gbit_s": [None, 195.0, 195.0, None]} for size in (65536, 1024)], "failed": {"timeout": [3]}}
    for day in range(1, 7):
        made.write(tmp_path, day, [made.row("n1", lambda _source, _target: None, **sizes), made.pair("n2", "n1", None)])
    comparison = query.History(tmp_path, 30).compare(reader.read(reader.find(tmp_path, "night-6")), None)
    assert [(entry["size_bytes"], entry["count"], entry["failed"], entry["state"]) for entry in query.verdicts(comparison)] == [
        (1024, 2, 2, "ok"), (65536, 2, 2, "ok")]
