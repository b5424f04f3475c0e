"""Soak test: 500 nightly runs in compressed time. Memory must not grow, and no file, process or open file may be left. Part of ``make soak``."""

from __future__ import annotations

import datetime
import math
import os
import re
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.lib import schemas
from tests.integration.history.plays import command, environment, wait_until_alone
from tests.lab.soak import runs as soak_runs

RUNS = int(os.environ.get("HCCN_SOAK_RUNS", "500"))
MOST_GROWTH = 1.05
STEADY = 90
"""Number of runs after which the history has its full size."""
PLAYS, KEPT_DAYS = 6, 100
TASKS = """
- measure: {measurements: [{schema: hccn.cluster/measurement/1, id: a, kind: ping, status: ok}]}
- hccn.cluster.report: {format: html}
- hccn.cluster.history_info: {endpoints: [{host: n1}]}
"""


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(scope="module")
def history() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Return the folder after all runs, and what was observed during them."""
    # Use a file system in memory: a run waits for the disk twenty times, which is not measured here.
    with tempfile.TemporaryDirectory(prefix="hccn-soak-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as place:
        yield Path(place), make_runs(Path(place))


def make_runs(folder: Path) -> dict[str, Any]:
    """Make all runs and return the observations."""
    seen: dict[str, Any] = {"memory": [], "files": [], "journals": []}
    with pytest.MonkeyPatch.context() as patch, soak_runs.clock(patch) as now:
        callback = soak_runs.Callback(folder / "history")
        for night in range(1, RUNS + 1):
            now[0] = soak_runs.FIRST + datetime.timedelta(days=night)
            soak_runs.make_run(callback, folder / "history", night)
            soak_runs.journal(folder / "state", night)
            seen["memory"].append(soak_runs.memory())
            seen["files"].append((open_files(), threading.active_count()))
            seen["journals"].append(len(list((folder / "state").iterdir())))
            assert not callback.disabled
    return seen


def test_memory_does_not_grow(history: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    used = history[1]["memory"]
    early, late = statistics.median(used[STEADY:STEADY + 50]), statistics.median(used[-50:])
    with capsys.disabled():
        print(f"\n{RUNS} runs in one process: {used[0] / 2**20:.1f} MiB after the first, {early / 2**20:.1f} MiB after {STEADY}, "
              f"{late / 2**20:.1f} MiB at the end, growth {100 * (late / early - 1):.1f} % (reference {100 * (MOST_GROWTH - 1):.0f} %)")
    assert late <= MOST_GROWTH * early


def test_no_open_file_thread_or_child_is_left(history: tuple[Path, dict[str, Any]]) -> None:
    # A killed run keeps its file open until the next one starts, because all runs share one process.
    assert len({counted for night, counted in enumerate(history[1]["files"], 1) if night % soak_runs.KILL_INTERVAL}) == 1
    assert Path(f"/proc/self/task/{os.getpid()}/children").read_text() == ""


def test_only_kept_files_are_left(history: tuple[Path, dict[str, Any]]) -> None:
    folder, seen = history[0] / "history", history[1]
    today = soak_runs.FIRST + datetime.timedelta(days=RUNS)
    kept = sorted(reader.runs(folder), key=lambda run: run.started)
    ages = [(today - datetime.datetime.strptime(run.started, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)).days for run in kept]
    # The last run was killed, so it removed nothing.
    tidied = 0 if RUNS % soak_runs.KILL_INTERVAL else 1
    assert ages == list(range(soak_runs.KEEP + tidied, -1, -1))
    for run, age in zip(kept, ages):
        killed = (RUNS - age) % soak_runs.KILL_INTERVAL == 0
        assert run.part is killed
        assert killed or (run.path.suffix == ".gz") is (age > soak_runs.COMPRESS + tidied), (run.path, age)
    pages = {path.stem for path in (folder / "reports").iterdir()}
    assert pages == {run.run_id for run in kept}
    assert [path for path in files_below(folder) if path.name.startswith(".") or path.suffix == ".tmp"] == []
    assert len(files_below(folder)) == 2 * len(kept) + 1
    assert [path for path in folder.rglob("*") if path.is_dir() and not any(path.iterdir())] == []
    assert [text for run in kept[::7] for text in schemas.history_violations(run.path)] == []
    assert max(seen["journals"]) <= 9


def play(folder: Path, number: int) -> tuple[int, str]:
    """Run ansible-playbook with its clock ahead in proportion to ``number``, and return the peak memory of its processes in KiB and its output."""
    clock = Path(soak_runs.__file__).with_name("clock")
    env = environment(folder, PYTHONPATH=str(clock), SOAK_DAYS=str(number * RUNS / PLAYS), HCCN_RESULTS_KEEP=str(KEPT_DAYS),
                      HCCN_RESULTS_COMPRESS_AFTER="10")
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(command(folder, TASKS, hosts="n1,n2,"), env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        output = log.read()
    assert process.returncode == 0, output
    return used.ru_maxrss, output


def test_playbook_runs_over_500_days_leave_nothing_and_need_no_more_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    used = [play(tmp_path, number)[0] for number in range(PLAYS)]
    wait_until_alone(tmp_path)
    with capsys.disabled():
        print(f"\n{PLAYS} playbook runs over {RUNS} days: {used[1] / 1024:.1f} MiB in the second, {used[-1] / 1024:.1f} MiB in the last, "
              f"growth {100 * (used[-1] / used[1] - 1):.1f} % (reference {100 * (MOST_GROWTH - 1):.0f} %)")
    assert used[-1] <= MOST_GROWTH * used[1]
    runs = sorted(path.relative_to(tmp_path / "history").as_posix() for path in files_below(tmp_path / "history"))
    # Only the runs of the last 100 days are kept, with their pages.
    days = math.ceil(KEPT_DAYS * PLAYS / RUNS)
    assert len([name for name in runs if re.fullmatch(r"\d{4}/\d\d/\d\d/.+\.jsonl(\.gz)?", name)]) == days
    assert len([name for name in runs if name.startswith("reports/")]) == days
    assert len(runs) == 2 * days
    assert [path for path in files_below(tmp_path) if "ansible-local" in str(path) or path.is_relative_to(tmp_path / "remote")] == []
