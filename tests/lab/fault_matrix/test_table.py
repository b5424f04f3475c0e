"""Check that the table of playbooks and faults is complete and valid, and that its page contains all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.lab.fault_matrix.cells import Seen
from tests.lab.fault_matrix.faults import FAULTS
from tests.lab.fault_matrix.jobs import JOBS
from tests.lab.fault_matrix.page import page
from tests.lab.fault_matrix.table import Cell, differences, load, recap
from tests.lib.project import COLLECTION, ROOT

TABLE = load()
CELLS = {(playbook, fault): cell for playbook, row in TABLE.items() for fault, cell in row.items()}
MOST_OPEN, MOST_CHOSEN = 3, 7
PARTS = {"begin", "conclude"}
"""Plays that other playbooks import; the matrix runs them with those."""


def test_every_playbook_has_every_fault() -> None:
    playbooks = sorted(path.stem for path in (COLLECTION / "playbooks").glob("*.yml") if path.stem not in PARTS)
    assert (sorted(TABLE), sorted(JOBS)) == (playbooks, playbooks)
    assert {playbook: list(row) for playbook, row in TABLE.items()} == {playbook: list(FAULTS) for playbook in TABLE}


def test_an_open_limitation_is_one_that_may_be() -> None:
    """No open limitation has exit status 0 or a file that is half written. Remaining processes and torn lines fail every case."""
    found = {name: cell for name, cell in CELLS.items() if cell.open}
    assert len(found) <= MOST_OPEN
    assert [name for name, cell in found.items() if "0" in cell.allowed["exit"] or "torn" in str(cell.allowed)] == []


def test_no_cell_expects_what_is_half_written() -> None:
    assert [name for name, cell in CELLS.items() if "torn" in str(cell.allowed) or not cell.says and cell.is_run] == []


def test_a_choice_is_part_of_every_test_run() -> None:
    chosen = [name for name, cell in CELLS.items() if cell.chosen]
    assert len(chosen) <= MOST_CHOSEN
    assert {"bring_up", "tls", "rank_table", "check_fabric"} <= {playbook for playbook, _fault in chosen}
    assert len({fault for _playbook, fault in chosen}) == len(chosen)


def test_the_page_has_a_section_for_each_playbook() -> None:
    text = page(TABLE)
    assert [playbook for playbook in TABLE if f"\n{playbook}\n{'~' * len(playbook)}\n" not in text] == []
    assert [fault for fault in FAULTS if text.count(f"   * - {fault}\n") < 2] == []


def test_the_matrix_is_part_of_the_soak() -> None:
    recipes = dict(re.findall(r"^(soak|fault-matrix):[^\n]*\n((?:\t[^\n]*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert "$(MAKE) fault-matrix" in recipes["soak"]
    assert "tests/lab/fault_matrix/long_matrix.py" in recipes["fault-matrix"]


@pytest.mark.parametrize(("classes", "told"), [
    ({"localhost": "ok", "node1": "ok", "node2": "ok"}, "ok"),
    ({"localhost": "failed", "node1": "ok", "node2": "ok"}, "ok, localhost failed"),
    ({"localhost": "failed", "node1": "ok", "node2": "unreachable"}, "ok unreachable, localhost failed"),
    ({"localhost": "failed"}, "localhost failed"),
    ({"node1": "failed", "node2": "failed"}, "failed"),
    ({}, ""),
])
def test_a_recap_names_localhost_where_it_failed(classes: dict[str, str], told: str) -> None:
    assert recap(classes) == told


SEEN = Seen(2, {"node1": "ok", "node2": "failed"}, {"node1": "10.78 tls 0", "node2": "10.78 tls 0"}, {}, {}, "complete", [], 'it "says"\n\n  this', 1.0)
CELL = Cell({"exit": ("0", "2"), "recap": ("ok failed",), "state": ("10.78 tls 0",), "history": ("complete",)}, 'it "says" this')


def test_a_cell_as_it_should_be() -> None:
    assert differences(CELL, SEEN) == []


@pytest.mark.parametrize(("changed", "told"), [
    ({"exit": 4}, "exit is '4', not '0' or '2'"),
    ({"hosts": {"node1": "ok", "node2": "ok"}}, "recap is 'ok', not 'ok failed'"),
    ({"state": {"node1": "10.78 tls 0", "node2": "gone"}}, "state is '10.78 tls 0 / gone', not '10.78 tls 0'"),
    ({"elsewhere": {"page": "torn"}}, "elsewhere is 'page: torn'"),
    ({"history": "part"}, "history is 'part', not 'complete'"),
    ({"output": "it says nothing"}, "not said: 'it \"says\" this'"),
    ({"output": 'it says this [WARNING]: hccn.cluster.results keeps nothing\nmore of this run: /x. "says" it "says" this'},
     "the callback warned 1 times, not 0"),
    ({"other": "tls: exit 0, ok, history complete"}, "other is 'tls: exit 0, ok, history complete'"),
    ({"blamed": ["check_fabric: node1"]}, "sound, but called failed: check_fabric: node1"),
    ({"left": {7: ["sleep", "1"]}}, "left running: {7: ['sleep', '1']}"),
    ({"conf_problems": ["node2: a key twice"]}, "node2: a key twice"),
])
def test_a_cell_that_differs(changed: dict[str, object], told: str) -> None:
    assert differences(CELL, Seen(**{**vars(SEEN), **changed})) == [told]  # type: ignore[arg-type]


@pytest.mark.parametrize(("entry", "told"), [
    ({"exit": 0, "recap": "ok", "state": "x", "history": "complete"}, "p / f: without says"),
    ({"absent": "why", "exit": 0}, "p / f: what is not run has a reason and nothing else"),
    ({"exits": 0}, "p / f: not known: exits"),
])
def test_a_table_that_says_too_little_or_too_much(tmp_path: Path, entry: dict[str, object], told: str) -> None:
    path = tmp_path / "expected.yml"
    path.write_text(yaml.safe_dump({"reasons": {"why": "because"}, "playbooks": {"p": {"f": entry}}}))
    with pytest.raises(ValueError, match=told):
        load(path)
