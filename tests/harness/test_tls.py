# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook tls under every fault: all hosts or none, and what cannot be reached is named."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.harness.cells import Seen
from tests.harness.jobs import TLS
from tests.harness.matrix import row

ON, OFF = "10.78 tls 1", "10.78 tls 0"
ALL_OK = {"node1": "ok", "node2": "ok", "node3": "ok"}
OTHERS_OFF = {"node1": OFF, "node3": OFF}
ALL_ON = {"node1": ON, "node2": ON, "node3": ON}

EXPECTED = {
    "host down before": (4, {"node1": "ok", "node2": "unreachable", "node3": "ok"}, OTHERS_OFF, "complete"),
    "host down during": (4, {"node1": "failed", "node2": "unreachable", "node3": "failed"}, OTHERS_OFF, "complete"),
    "host down late": (0, ALL_OK, {"node1": ON, "node3": ON}, "complete"),
    # The host goes on alone, nobody can put it back: it is named, and the next run makes all equal.
    "ssh cut": (4, {"node1": "failed", "node2": "unreachable", "node3": "failed"}, {**OTHERS_OFF, "node2": ON}, "complete"),
    "disk full": (2, {"node1": "ok", "node2": "failed", "node3": "ok"}, {**OTHERS_OFF, "node2": OFF}, "complete"),
    "controller SIGTERM": (-15, {}, ALL_ON, "part"),
    "controller SIGKILL": (-9, {}, ALL_ON, "part"),
    "two operators": (0, ALL_OK, ALL_ON, "complete"),
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Seen]:
    return row(TLS, tmp_path_factory.mktemp("tls"), again=["ssh cut"])


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault(cells: Mapping[str, Seen], fault: str) -> None:
    seen = cells[fault]
    assert (seen.code, seen.classes, seen.states, seen.history) == EXPECTED[fault], seen.output
    assert (seen.left, seen.conf_problems) == ({}, [])


def test_what_was_cut_off_is_named_and_mended_by_the_next_run(cells: Mapping[str, Seen]) -> None:
    seen = cells["ssh cut"]
    assert "node1: TLS put back as it was on 2 NPUs. Failed: node2" in seen.output
    assert (seen.again, seen.states_again) == (ALL_OK, ALL_ON)
