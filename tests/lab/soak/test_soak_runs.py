"""Make a few runs of the soak test in every test run, so that changes of the code that runs.py replaces are noticed."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.lab.soak import runs as soak_runs


def test_runs_keep_all_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The callback sets these in the process. They are restored whatever their values are.
    monkeypatch.setenv("HCCN_RESULTS_FILE", "")
    monkeypatch.setenv("HCCN_RESULTS_DIR", "")
    with soak_runs.clock(monkeypatch) as now:
        callback = soak_runs.Callback(tmp_path / "history")
        for number in (1, 2, 3):
            now[0] = soak_runs.FIRST + datetime.timedelta(days=number)
            soak_runs.make_run(callback, tmp_path / "history", number)
            soak_runs.journal(tmp_path / "state", number)
            assert not callback.disabled
    runs = [reader.read(entry) for entry in reader.runs(tmp_path / "history")]
    wanted = sum(len(measurements) for _host, measurements in soak_runs.measured(1))
    assert [(run.file.part, len(run.records)) for run in runs] == [(False, wanted)] * 3
    assert wanted == 1 + soak_runs.HOSTS * (soak_runs.NPUS + soak_runs.NPUS * (soak_runs.HOSTS - 1) + 1)
