"""Check that the table of playbooks and faults is complete and valid, and that its page contains all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.lab.fault_matrix.cases import Observed
from tests.lab.fault_matrix.faults import FAULTS
from tests.lab.fault_matrix.jobs import JOBS
from tests.lab.fault_matrix.page import page
from tests.lab.fault_matrix.table import FaultCase, differences, load, recap
from tests.lib.project import COLLECTION, ROOT

TABLE = load()
CASES = {(playbook, fault): case for playbook, row in TABLE.items() for fault, case in row.items()}
MOST_OPEN, MOST_CHOSEN = 3, 7
NOT_IN_TABLE = {"awx", "begin", "conclude", "conclude_slices"}
"""Playbooks that have no hosts, and plays that other playbooks import; the matrix runs them with those."""


def test_every_playbook_has_every_fault() -> None:
    playbooks = sorted(path.stem for path in (COLLECTION / "playbooks").glob("*.yml") if path.stem not in NOT_IN_TABLE)
    assert (sorted(TABLE), sorted(JOBS)) == (playbooks, playbooks)
    assert {playbook: list(row) for playbook, row in TABLE.items()} == {playbook: list(FAULTS) for playbook in TABLE}


def test_open_limitations_are_acceptable() -> None:
    """No open limitation has exit status 0 or a file that is half written. Remaining processes and torn lines fail every case."""
    found = {name: case for name, case in CASES.items() if case.open}
    assert len(found) <= MOST_OPEN
    assert [name for name, case in found.items() if "0" in case.allowed["exit"] or "torn" in str(case.allowed)] == []


def test_no_case_expects_torn_files() -> None:
    assert [name for name, case in CASES.items() if "torn" in str(case.allowed) or not case.says and case.is_run] == []


def test_chosen_cases_are_few_and_cover_the_main_playbooks() -> None:
    chosen = [name for name, case in CASES.items() if case.chosen]
    assert len(chosen) <= MOST_CHOSEN
    assert {"bring_up", "tls", "rank_table", "check_fabric"} <= {playbook for playbook, _fault in chosen}
    assert len({fault for _playbook, fault in chosen}) == len(chosen)


def test_page_has_a_section_for_each_playbook() -> None:
    text = page(TABLE)
    assert [playbook for playbook in TABLE if f"\n{playbook}\n{'~' * len(playbook)}\n" not in text] == []
    assert [fault for fault in FAULTS if text.count(f"   * - {fault}\n") < 2] == []


def test_soak_runs_the_matrix() -> None:
    recipes = dict(re.findall(r"^(soak|fault-matrix):[^\n]*\n((?:\t[^\n]*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert "$(MAKE) fault-matrix" in recipes["soak"]
    assert "tests/lab/fault_matrix/long_matrix.py" in recipes["fault-matrix"]


@pytest.mark.parametrize(("classes", "expected"), [
    ({"localhost": "ok", "node1": "ok", "node2": "ok"}, "ok"),
    ({"localhost": "failed", "node1": "ok", "node2": "ok"}, "ok, localhost failed"),
    ({"localhost": "failed", "node1": "ok", "node2": "unreachable"}, "ok unreachable, localhost failed"),
    ({"localhost": "failed"}, "localhost failed"),
    ({"node1": "failed", "node2": "failed"}, "failed"),
    ({}, ""),
])
def test_recap_includes_localhost_if_it_failed(classes: dict[str, str], expected: str) -> None:
    assert recap(classes) == expected


OBSERVED = Observed(2, {"node1": "ok", "node2": "failed"}, {"node1": "10.78 tls 0", "node2": "10.78 tls 0"}, {}, {}, "complete", [], 'it "says"\n\n  this', 1.0)
CASE = FaultCase({"exit": ("0", "2"), "recap": ("ok failed",), "state": ("10.78 tls 0",), "history": ("complete",)}, 'it "says" this')


def test_expected_result_has_no_differences() -> None:
    assert differences(CASE, OBSERVED) == []


@pytest.mark.parametrize(("changed", "expected"), [
    ({"exit": 4}, "exit is '4', not '0' or '2'"),
    ({"hosts": {"node1": "ok", "node2": "ok"}}, "recap is 'ok', not 'ok failed'"),
    ({"state": {"node1": "10.78 tls 0", "node2": "gone"}}, "state is '10.78 tls 0 / gone', not '10.78 tls 0'"),
    ({"elsewhere": {"page": "torn"}}, "elsewhere is 'page: torn'"),
    ({"history": "part"}, "history is 'part', not 'complete'"),
    ({"output": "it says nothing"}, "not in the output: 'it \"says\" this'"),
    ({"output": 'it says this [WARNING]: hccn.cluster.results stores nothing\nmore of this run: /x. "says" it "says" this'},
     "the callback warned 1 times, not 0"),
    ({"other": "tls: exit 0, ok, history complete"}, "other is 'tls: exit 0, ok, history complete'"),
    ({"blamed": ["check_fabric: node1"]}, "healthy hosts called failed: check_fabric: node1"),
    ({"left": {7: ["sleep", "1"]}}, "processes left: {7: ['sleep', '1']}"),
    ({"conf_problems": ["node2: a key twice"]}, "node2: a key twice"),
])
def test_differences_are_reported(changed: dict[str, object], expected: str) -> None:
    assert differences(CASE, Observed(**{**vars(OBSERVED), **changed})) == [expected]  # type: ignore[arg-type]


@pytest.mark.parametrize(("entry", "expected"), [
    ({"exit": 0, "recap": "ok", "state": "x", "history": "complete"}, "p / f: missing keys: says"),
    ({"absent": "why", "exit": 0}, "p / f: a case that is not run has no key besides its reason"),
    ({"exits": 0}, "p / f: unknown keys: exits"),
])
def test_invalid_cases_are_refused(tmp_path: Path, entry: dict[str, object], expected: str) -> None:
    path = tmp_path / "expected.yml"
    path.write_text(yaml.safe_dump({"reasons": {"why": "because"}, "playbooks": {"p": {"f": entry}}}))
    with pytest.raises(ValueError, match=expected):
        load(path)
