# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook rank_table under every fault: no host has half a table."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.harness.cells import Seen
from tests.harness.jobs import RANK_TABLE
from tests.harness.matrix import row

WHOLE, WITHOUT_THE_LOST_ONE = "3 servers, 6 ranks", "2 servers, 4 ranks"
ALL_OK = {"node1": "ok", "node2": "ok", "node3": "ok"}
ONE_LOST = {"node1": "ok", "node2": "unreachable", "node3": "ok"}

OTHERS = {"node1": WITHOUT_THE_LOST_ONE, "node3": WITHOUT_THE_LOST_ONE}

EXPECTED: dict[str, tuple[int, dict[str, str], dict[str, str], str]] = {
    "host down before": (4, ONE_LOST, OTHERS, "complete"),
    "host down during": (4, ONE_LOST, OTHERS, "complete"),
    "host down late": (0, ALL_OK, {"node1": WHOLE, "node3": WHOLE}, "complete"),
    "ssh cut": (4, ONE_LOST, {**OTHERS, "node2": "none"}, "complete"),
    "disk full": (2, {"node1": "ok", "node2": "failed", "node3": "ok"}, {**OTHERS, "node2": "none"}, "complete"),
    "controller SIGTERM": (-15, {}, {"node1": "none", "node2": "none", "node3": "none"}, "part"),
    "controller SIGKILL": (-9, {}, {"node1": "none", "node2": "none", "node3": "none"}, "part"),
    "two operators": (0, ALL_OK, {"node1": WHOLE, "node2": WHOLE, "node3": WHOLE}, "complete"),
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Seen]:
    return row(RANK_TABLE, tmp_path_factory.mktemp("rank_table"), again=["controller SIGKILL"])


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault(cells: Mapping[str, Seen], fault: str) -> None:
    seen = cells[fault]
    assert (seen.code, seen.classes, seen.states, seen.history) == EXPECTED[fault], seen.output
    assert (seen.left, seen.conf_problems) == ({}, [])


def test_a_table_without_a_host_says_so(cells: Mapping[str, Seen]) -> None:
    line = "Rank table: 2 servers, 4 ranks, /etc/rank_table.json. Not in it, since they were lost on the way: node2"
    assert [fault for fault, seen in cells.items() if line in seen.output] == ["host down before", "host down during", "ssh cut", "disk full"]


def test_the_next_run_finishes_what_was_cut_short(cells: Mapping[str, Seen]) -> None:
    seen = cells["controller SIGKILL"]
    assert (seen.again, seen.states_again) == (ALL_OK, {"node1": WHOLE, "node2": WHOLE, "node3": WHOLE})
