"""Run a few nights of the soak test in every test run, so that a change of the code that nights.py replaces is noticed."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.lab.soak import nights


def test_three_nights_leave_three_runs_with_all_that_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The callback sets these in the process. They are restored whatever their values are.
    monkeypatch.setenv("HCCN_RESULTS_FILE", "")
    monkeypatch.setenv("HCCN_RESULTS_DIR", "")
    with nights.clock(monkeypatch) as now:
        callback = nights.Callback(tmp_path / "history")
        for night in (1, 2, 3):
            now[0] = nights.FIRST + datetime.timedelta(days=night)
            nights.spend(callback, tmp_path / "history", night)
            nights.journal(tmp_path / "state", night)
            assert not callback.disabled
    runs = [reader.read(entry) for entry in reader.runs(tmp_path / "history")]
    wanted = sum(len(measurements) for _host, measurements in nights.measured(1))
    assert [(run.file.part, len(run.records)) for run in runs] == [(False, wanted)] * 3
    assert wanted == 1 + nights.HOSTS * (nights.NPUS + nights.NPUS * (nights.HOSTS - 1) + 1)
