from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.resumed import last_of_most


def answer(run_id: object, started_at: object) -> dict:
    return {"state": "idle", "last_run": {"run_id": run_id, "started_at": started_at}}


def test_repaired_host_does_not_decide() -> None:
    """Its last run is older, or newer if it was tested alone."""
    assert last_of_most([answer("r2", 20.0), answer("r1", 10.0), answer("r2", 21), answer("alone", 30.0)]) == "r2"


def test_latest_of_equally_many() -> None:
    assert last_of_most([answer("r2", 20.0), answer("r1", 10.0)]) == "r2"
    assert last_of_most([answer("r1", 10.0), answer("r2", 20.0)]) == "r2"


@pytest.mark.parametrize("odd", [
    None, {}, {"last_run": "r9"}, {"last_run": {}}, answer("../r9", 99), answer(["r9"], 99), answer("{{ r9 }}", 99), answer("r9", True), answer("r9", "99"),
    answer("r9", float("nan")), answer("r9", float("inf")), answer("r9", 10 ** 400), answer(None, 99)])
def test_odd_answer_is_ignored(odd: object) -> None:
    assert last_of_most([odd]) is None
    assert last_of_most([odd, answer("r1", 1), odd]) == "r1"
