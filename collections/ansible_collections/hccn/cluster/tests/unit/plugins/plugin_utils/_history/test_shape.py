"""Malformed lines are counted and skipped by all readers."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import last_verdicts
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import query, reader, shape
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Endpoint
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.series import TrendQuery
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import export, html, markdown, model, prometheus
from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made

VERDICT = {"schema": made.SCHEMA, "id": "r/verdict/n1", "kind": "verdict", "status": "ok", "source": {"host": "n1"}, "samples": [{"class": "good"}]}
PAIR = made.pair("n1", "n2", 100.0)
ROW = made.row("n1", lambda _source, _target: 100.0)


def sample(record: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**record, "samples": [{**record["samples"][0], **fields}]}


ODD: dict[str, Any] = {
    "nested": "[" * 100_000,
    "nested record": '{"schema":"hccn.cluster/measurement/1","kind":"rdma","samples":' + "[" * 100_000,
    "not a number": json.dumps(sample(PAIR, bandwidth_gbit_s=float("nan"))),
    "without end": json.dumps(sample(PAIR)).replace("100.0", "1e999"),
    "text as source": {**VERDICT, "source": "n1"},
    "list as device": {**PAIR, "source": {"host": "n1", "device": [1]}},
    "list as status": {**VERDICT, "status": [1]},
    "text as sample": {**VERDICT, "samples": ["x"]},
    "text as samples": {**VERDICT, "samples": "x"},
    "text as tool": {**PAIR, "tool": "ib_write_bw"},
    "numbers as hosts": {**ROW, "hosts": [1, 2]},
    "below zero": sample(PAIR, bandwidth_gbit_s=-3.0),
    "below zero in a row": sample(ROW, bandwidth_gbit_s=[None, -1.0, 2.0, 3.0]),
    "text in a row": sample(ROW, bandwidth_gbit_s=[None, "x", 2.0, 3.0]),
    "truth in a row": sample(ROW, bandwidth_gbit_s=[None, True, 2.0, 3.0]),
    "text as latency": sample(PAIR, latency_us="2.5"),
    "text in a latency": sample(PAIR, latency_us={"typical": "2.5"}),
    "a number of 400 digits": sample(PAIR, bandwidth_gbit_s=10**400),
    "text as line rate": {**PAIR, "context": {"line_rate_gbit_s": "200"}},
}


@pytest.mark.parametrize("name", ODD)
def test_readers_skip_malformed_lines(tmp_path: Path, name: str) -> None:
    odd = ODD[name] if isinstance(ODD[name], str) else json.dumps(ODD[name])
    path = made.write(tmp_path, 1, [made.pair("n1", "n2", 100.0), VERDICT])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], odd, lines[-1]]) + "\n")
    history = query.History(tmp_path, 30)
    run = reader.choose(tmp_path, None, None)
    assert (run.bad_lines, len(run.records), run.complete, history.unreadable) == (1, 2, True, [])
    (known,) = history.newest()
    assert (known.overview["skipped_lines"], known.overview["hosts"]) == (1, {"good": 1})
    (series,) = history.trends([TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0))])
    assert [point["value"] for point in series["points"]] == [100.0]
    comparison = history.compare(run, None)
    page = model.build(run, comparison=comparison)
    assert "could not be read: 1;" in html.render(page)
    assert markdown.render(page) and export.render(page) and prometheus.render(page, comparison)
    assert last_verdicts.of(tmp_path, ["n1"], datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc))["clean"] is True


def test_deeply_nested_header_is_rejected(tmp_path: Path) -> None:
    made.write(tmp_path, 1, []).write_text("[" * 100_000 + "\n")
    history = query.History(tmp_path, 30)
    assert (list(history.newest()), len(history.unreadable)) == ([], 1)
    assert history.trends([TrendQuery("pair", Endpoint("n1", 0), Endpoint("n2", 0))]) == []


@pytest.mark.parametrize("record", [
    {}, PAIR, ROW, VERDICT, made.collective(80.0), {**PAIR, "samples": None, "error": None}, sample(ROW, bandwidth_gbit_s=[None, 0, 1.5, None]),
    sample(PAIR, bandwidth_gbit_s=None, latency_us={"typical": [1.0, None], "histogram": "any"}), {**PAIR, "source": {"host": "n1", "device": "mlx5_0"}},
    {"kind": "device", "status": "failed", "source": {"device": 1}, "samples": [{"link": None, "counters": {"a": -1}}]}])
def test_well_formed_records(record: dict[str, Any]) -> None:
    assert shape.is_well_formed(record)
