# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook bring_up under every fault: the other hosts are done, TLS is on all of them or on none, no file is half-written."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.harness.cells import Seen
from tests.harness.jobs import BRING_UP
from tests.harness.matrix import row

DONE, DONE_BUT_TLS, UNTOUCHED = "10.79 tls 1", "10.79 tls 0", "10.78 tls 0"
ALL_OK = {"node1": "ok", "node2": "ok", "node3": "ok"}
ONE_LOST = {"node1": "failed", "node2": "unreachable", "node3": "failed"}
OTHERS = {"node1": DONE_BUT_TLS, "node3": DONE_BUT_TLS}
ALL_DONE = {"node1": DONE, "node2": DONE, "node3": DONE}

EXPECTED = {
    "host down before": (4, ONE_LOST, OTHERS, "complete"),
    "host down during": (4, ONE_LOST, OTHERS, "complete"),
    "host down late": (4, {"node1": "ok", "node2": "unreachable", "node3": "ok"}, {"node1": DONE, "node3": DONE}, "complete"),
    # What was begun on the host goes on there by itself.
    "ssh cut": (4, ONE_LOST, {**OTHERS, "node2": DONE_BUT_TLS}, "complete"),
    "disk full": (2, {"node1": "failed", "node2": "failed", "node3": "failed"}, {**OTHERS, "node2": UNTOUCHED}, "complete"),
    "controller SIGTERM": (-15, {}, {**OTHERS, "node2": DONE_BUT_TLS}, "part"),
    "controller SIGKILL": (-9, {}, {**OTHERS, "node2": DONE_BUT_TLS}, "part"),
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Seen]:
    return row(BRING_UP, tmp_path_factory.mktemp("bring_up"), again=["controller SIGKILL", "disk full"])


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault(cells: Mapping[str, Seen], fault: str) -> None:
    seen = cells[fault]
    assert (seen.code, seen.classes, seen.states, seen.history) == EXPECTED[fault], seen.output
    assert (seen.left, seen.conf_problems) == ({}, [])


def test_two_operators_end_with_all_done(cells: Mapping[str, Seen]) -> None:
    """One of them may see the other's switches half set, and says so."""
    seen = cells["two operators"]
    assert seen.code in (0, 2), seen.output
    assert (seen.states, seen.history, seen.left, seen.conf_problems) == (ALL_DONE, "complete", {}, []), seen.output


@pytest.mark.parametrize("fault", ["controller SIGKILL", "disk full"])
def test_the_next_run_finishes_what_was_cut_short(cells: Mapping[str, Seen], fault: str) -> None:
    assert (cells[fault].again, cells[fault].states_again) == (ALL_OK, ALL_DONE)
