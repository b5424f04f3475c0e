"""Malformed lines of a journal that are valid JSON: none of them breaks a later call, and the other lines count."""

from __future__ import annotations

import copy
import json
import os
import random

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal, progress, repair, results, session
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Endpoint, Pair

SEED = 20260104
CASES = 600

START = {
    "type": "start", "pid": 4711, "identity": "another boot/1", "pid_namespace": None, "locked": False, "started_at": 1767520800.0, "run_id": "r1",
    "host": "n1", "mark": "00112233445566778899aabbccddeeff", "guard": 4712, "guard_identity": "another boot/2", "devices": [0, 1], "pairs_total": 3,
    "control": "127.0.0.1 port 18514", "tool": "roce_test", "conditions_hash": "abc", "resumed": 0, "hccn_tool": "/usr/bin/hccn_tool"}
OK = {
    "schema": "hccn.cluster/measurement/1", "id": "r1/p0001/forward/1", "kind": "rdma", "status": "ok", "tool": {"name": "ib_write_bw"}, "operation": "write",
    "measure": "bandwidth", "source": {"host": "n1", "device": 0, "address": "10.0.0.1"}, "target": {"host": "n2", "device": 0, "address": "10.0.0.2"},
    "options": {"size_bytes": 65536}, "context": {"round": 1, "rail": 0, "line_rate_gbit_s": 200.0}, "duration_s": 1.0,
    "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.0}], "started_at": "2026-01-04T10:00:00.000Z"}
BAD = {**OK, "id": "r1/p0002/forward/1", "status": "failed", "samples": [], "source": {"host": "n1", "device": 1, "address": "10.0.1.1"},
       "error": {"code": "retry_exceeded", "message": "no answer", "hint": "see the link"}}
END = {"type": "end", "state": "failed", "ended_at": 1767520860.0, "error": {"code": "x", "message": "y"}, "lingers": True}
LINES = [START, {"type": "record", "record": OK}, {"type": "record", "record": BAD}, END]

KINDS_OF_LINES = [[1, 2], "text", 5, None, {}, {"type": "record"}, {"type": ["record"]}]
ODD = [None, True, False, -1, 0, 10 ** 400, 1.5, float("nan"), float("inf"), "", "x", "\x1b[2J", "\ud800", "a\0b", "7", [], [None], [[]], {}, {"x": {}},
       ["x"] * 3, [{"bandwidth_gbit_s": "fast"}], {"typical": "slow"}]


def places(value, path=()):
    """Return the path of every value in a line."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


def mutated(line, path, odd, gone):
    line = copy.deepcopy(line)
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    if gone:
        del inner[path[-1]]
    else:
        inner[path[-1]] = odd
    return line


def written(folder, lines, run_id="r1"):
    os.makedirs(os.path.join(folder, run_id), exist_ok=True)
    path = journal.path_of(folder, run_id)
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)
    return path


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


@pytest.fixture
def acted(monkeypatch):
    """Record the actions of a repair instead of executing them."""
    done = []
    monkeypatch.setattr(repair, "kill_marked", lambda mark: done.append(("ended", mark)))
    monkeypatch.setattr(repair, "_reset", lambda start, device: done.append(("reset", device)))
    monkeypatch.setattr(repair.os, "kill", lambda pid, number: done.append(("killed", pid)))
    return done


def everything(folder):
    """Do everything that later calls on the host do with a journal."""
    looked = results.run_result(folder, "r1")
    json.dumps(looked)
    snapshot = journal.read(folder, "r1")
    for fail_on in ("any", "all", "none"):
        results.judged(looked, snapshot.records, fail_on)
    results.wait_for_all_hosts(folder, "r1", 0.0, False)
    progress.Counts("n1", 3, snapshot.records).as_body()
    conditions_hash = snapshot.start.get("conditions_hash")
    try:
        earlier = session.earlier_records(folder, session.LAST, "r9", conditions_hash if isinstance(conditions_hash, str) else "")
        session.taken_over(earlier, [Pair("p0001", 1, 0, Endpoint("n1", 0, ""), Endpoint("n2", 0, ""))])
    except journal.HccnError:
        pass
    journal.prune(folder)
    repair.dismiss(folder)
    repair.repair_all(folder)
    over = journal.read(folder, "r1")
    assert over.state != journal.RUNNING
    repair.repair_all(folder)
    return over


@pytest.mark.parametrize("odd", KINDS_OF_LINES)
@pytest.mark.parametrize("place", range(4))
def test_malformed_lines_are_skipped_and_counted(folder, acted, odd, place):
    lines = copy.deepcopy(LINES[:3])
    lines.insert(place, odd)
    written(folder, lines)
    found = journal.read(folder, "r1")
    assert (found.state, found.records, found.odd_lines) == ("failed", [OK, BAD], 1)
    assert results.run_result(folder, "r1")["odd_lines"] == 1
    over = everything(folder)
    assert [act for act in acted if act[0] != "killed"] == [("ended", START["mark"]), ("reset", 0), ("reset", 1)]
    assert over.end["error"]["message"] == "the runner died during the run: 2 of 3 pairs are in the journal (1 line is malformed)"


def test_no_mutated_line_breaks_a_later_call(tmp_path, acted):
    drawn = random.Random(SEED)
    candidates = [(number, path) for number, line in enumerate(LINES) for path in places(line)]
    kept = 0
    for case in range(CASES):
        number, path = drawn.choice(candidates)
        lines = [*LINES[:number], mutated(LINES[number], path, drawn.choice(ODD), drawn.random() < 0.2), *LINES[number + 1:]]
        folder = str(tmp_path / ("state%d" % case))
        written(folder, lines if drawn.random() < 0.5 else lines[:3])
        found = journal.read(folder, "r1")
        kept += len(found.records)
        everything(folder)
    assert kept > CASES, "valid records are kept"


def test_repair_uses_the_valid_fields_of_a_start(folder, acted):
    written(folder, [{**START, "pid": "4711", "devices": [0, "1", None, 1, True], "mark": 7}])
    assert repair.repair_all(folder) == ["r1"]
    assert acted == [("reset", 0), ("reset", 1)]


def test_lines_that_are_not_json_are_skipped(folder, acted):
    path = written(folder, LINES[:3])
    with open(path, "rb") as stream:
        text = stream.read()
    with open(path, "wb") as stream:
        stream.write(text.replace(b"\n", b"\n\0\0\0\n", 1) + b"[" * 100000 + b"\n" + b"9" * 5000 + b"\n")
    assert (journal.read(folder, "r1").records, journal.read(folder, "r1").odd_lines) == ([OK, BAD], 3)
    assert repair.repair_all(folder) == ["r1"]


def test_valid_lines_are_kept_unchanged():
    for line in LINES:
        assert journal.parse_journal(json.dumps(line).encode() + b"\n") == journal.Lines([line], 0)
