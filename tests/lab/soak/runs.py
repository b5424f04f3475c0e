"""Nightly runs of a cluster in compressed time: the callback, the page, the metrics and the journals of a host, in one process with a settable clock."""

from __future__ import annotations

import datetime
import gc
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.callback import results
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal as journals
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import files, query, reader
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html, model, prometheus

HOSTS, NPUS = 4, 2
FIRST = datetime.datetime(2026, 1, 1, 2, 15, tzinfo=datetime.timezone.utc)
COMPRESS, KEEP = 14, 60
WINDOW = 30
KILL_INTERVAL = 20
"""One run in this many ends without an end line."""
NAMES = [f"n{number}" for number in range(1, HOSTS + 1)]
PLAN = make_plan([{"host": name, "control_address": name, "control_port": 1, "leaf": f"leaf{place // 2}",
                   "devices": [{"id": device, "address": f"10.{device}.0.{place + 1}"} for device in range(NPUS)]} for place, name in enumerate(NAMES)], "full")


class Callback(results.CallbackModule):
    """The callback with options from this test instead of Ansible's configuration."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._given = {"path": str(folder), "run_id": None, "show_path": False, "compress_after": COMPRESS, "keep": KEEP}

    def get_option(self, name: str, hostvars: Any = None) -> Any:
        return self._given[name]


@contextmanager
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[datetime.datetime]]:
    """Yield a list whose only item is the current time by which runs are named and kept."""
    now = [FIRST]

    class SettableDatetime(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return now[0]

    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now[0].timestamp())
        patch.setattr(datetime, "datetime", SettableDatetime)
        yield now


def measured(night: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Return the results of a run's tasks, host by host."""
    noise = random.Random(night)  # noqa: S311
    run = f"night{night}"
    yield NAMES[0], [plan_record(run, PLAN, NAMES, (), ["full: every pair"])]
    for host in NAMES:
        probes = [record("device", f"{run}/device/{host}/{npu}", source={"host": host, "device": npu}, context={"product": "A2"}, samples=[
            {"link": "up", "health": "success", "tls": False, "counters": {"roce_new_pkt_rty_num": night}}]) for npu in range(NPUS)]
        pairs = [record("rdma", f"{run}/{host}-{other}/{npu}", tool={"name": "roce_test"}, operation="write", measure="bandwidth",
                        source={"host": host, "device": npu}, target={"host": other, "device": npu}, context={"product": "A2"},
                        samples=[{"size_bytes": 65536, "bandwidth_gbit_s": round(noise.gauss(195, 0.5), 2)}])
                 for npu in range(NPUS) for other in NAMES if other != host]
        verdict = record("verdict", f"{run}/verdict/{host}", "ok", source={"host": host}, samples=[{"class": "good", "message": "", "evidence": []}])
        yield host, [*probes, *pairs, verdict]


def result(host: str, measurements: list[dict[str, Any]], action: str = "hccn.cluster.rdma_perf") -> Any:
    host_object = SimpleNamespace(get_name=lambda: host)
    task = SimpleNamespace(loop=None, action=action, resolved_action=action, get_name=lambda: "Measure")
    return SimpleNamespace(host=host_object, task=task, _task_fields={}, result={"measurements": measurements})


def make_run(callback: Callback, folder: Path, night: int) -> None:
    """Make a run with its page and its metrics."""
    callback.v2_playbook_on_start(SimpleNamespace(_file_name="check_fabric.yml"))
    for host, measurements in measured(night):
        callback.v2_runner_on_ok(result(host, measurements[:-1]))
        callback.v2_runner_on_ok(result(host, measurements[-1:], "hccn.cluster.fabric_verdict"))
    run = reader.choose(folder, None, Path(os.environ["HCCN_RESULTS_FILE"]))
    history = query.History(folder, WINDOW)
    comparison = history.compare(run, None)
    page = model.build(run, current=True, comparison=comparison, unreadable=history.unreadable)
    files.replace(folder / f"reports/{run.file.run_id}.html", html.render(page).encode())
    files.replace(folder / "metrics.prom", prometheus.render(page, comparison).encode())
    if night % KILL_INTERVAL:
        callback.v2_playbook_on_stats(SimpleNamespace(processed=dict.fromkeys(NAMES, True), failures={}, dark={}, summarize=lambda host: dict.fromkeys(
            ("ok", "failures", "unreachable", "changed"), 0)))


def journal(folder: Path, night: int) -> None:
    """Make the files that a run leaves on a host, as rdma_perf does."""
    journals.prune(str(folder))
    written = journals.Journal.create(str(folder), f"night{night}")
    written.start(devices=[0], mark="m", identity="of a process that is gone")
    for _host, measurements in measured(night):
        for one in measurements[:NPUS]:
            written.record(one)
    written.end("finished")
    written.close()
    path = journals.path_of(str(folder), f"night{night}")
    os.utime(path, (time.time(), time.time()))


def memory() -> int:
    """Return the resident memory of this process in bytes after a garbage collection."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
