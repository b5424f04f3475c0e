"""Measure the cost of the history: reading a million pair results, the callback in a play with 64 hosts, killed writers at full size, and a large page in a
browser.

`make bench` prints the table. CPU seconds depend on the machine, so the time to parse the same bytes as JSON is printed for comparison.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.history.plays import command, environment
from tests.integration.history.test_store import killed_writers
from tests.integration.report import browser as chromium
from tests.integration.report import pages
from tests.lib.project import ROOT

MOST_SCAN_SECONDS, MOST_SCAN_MEBIBYTES = 1.5, 300
MOST_SHARE_OF_CALLBACK = 0.05
MOST_SECONDS_TO_SHOW = 2.0
HOSTS, RUNS = 64, 248
"""248 runs of 64 x 63 pairs: 999,936 results."""

SCAN = """
import sys, time
from pathlib import Path
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import query
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Endpoint
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.series import TrendQuery
from tests.lib.processes import peak_mib
start = time.process_time()
(found,) = query.History(Path(sys.argv[1]), 10**6).trends([TrendQuery("pair", Endpoint("n17", 0), Endpoint("n42", 0))])
print(len(found["points"]), time.process_time() - start, peak_mib())
"""


def history(folder: Path, rows: bool) -> None:
    """Write a million results as rows of matrices, or as single records."""
    noise = random.Random(1)  # noqa: S311
    names = [f"n{number}" for number in range(HOSTS)]
    for run in range(RUNS):
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(1_750_000_000 + run * 86_400))
        path = folder / stamp[:4] / stamp[4:6] / stamp[6:8] / f"{stamp}-r{run}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [{"schema": "hccn.cluster/history/1", "run_id": f"r{run}", "started_at": "2026-11-20T10:15:30.000Z"}]
        for source in names:
            values = [None if target == source else round(noise.gauss(195, 1), 1) for target in names]
            common = {"schema": "hccn.cluster/measurement/1", "status": "ok", "operation": "write", "measure": "bandwidth",
                      "tool": {"name": "ib_write_bw", "version": "6.29"}, "source": {"host": source, "device": 0}}
            if rows:
                lines.append({**common, "id": f"r/{source}/0", "kind": "matrix", "hosts": names,
                              "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": values}]})
                continue
            lines += [{**common, "id": f"r/{source}-{target}/forward/0", "kind": "rdma", "target": {"host": target, "device": 0},
                       "context": {"round": 1, "rail": 0}, "samples": [{"size_bytes": 65536, "iterations": 5000, "bandwidth_gbit_s": value}]}
                      for target, value in zip(names, values) if value]
        lines.append({"end": True, "finished_at": "2026-11-20T10:15:30.000Z", "records": 1, "hosts": {}})
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


@pytest.mark.parametrize("rows", [True, False])
def test_trend_of_a_pair_in_a_million_results(tmp_path: Path, rows: bool, capsys: pytest.CaptureFixture[str]) -> None:
    history(tmp_path, rows)
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'collections'}:{ROOT}"}
    done = subprocess.run([sys.executable, "-c", SCAN, str(tmp_path)], env=env, check=True, capture_output=True, text=True, timeout=300)
    points, seconds, mebibytes = map(float, done.stdout.split())
    sample = next(tmp_path.rglob("*.jsonl")).read_bytes()
    reference = least(lambda: [json.loads(line) for line in sample.splitlines()]) * RUNS
    with capsys.disabled():
        kind = "rows" if rows else "single records"
        print(f"\ntrend of a pair over 1,000,000 results as {kind}, {len(sample) * RUNS / 1e6:.0f} MB: {seconds:.2f} CPU-s, {mebibytes:.0f} MiB "
              f"(reference {MOST_SCAN_SECONDS} CPU-s, {MOST_SCAN_MEBIBYTES} MiB; parsing all of it {reference:.2f} CPU-s, ratio {seconds / reference:.2f})")
    assert points == RUNS
    assert seconds <= MOST_SCAN_SECONDS and mebibytes <= MOST_SCAN_MEBIBYTES


def least(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


TIMED = textwrap.dedent('''
    # The product's callback, each call of it with its CPU time.
    import json, os, time
    from ansible_collections.hccn.cluster.plugins.callback import results
    DOCUMENTATION = results.DOCUMENTATION.replace("name: results", "name: timed")

    class CallbackModule(results.CallbackModule):
        CALLBACK_NAME = "timed"
        spent = 0.0

    def timed(name):
        inner = getattr(results.CallbackModule, name)
        def call(self, *args, **kwargs):
            start = time.thread_time()
            try:
                return inner(self, *args, **kwargs)
            finally:
                CallbackModule.spent += time.thread_time() - start
                if name == "v2_playbook_on_stats":
                    with open(os.environ["BENCH_SPENT"], "w") as stream:
                        json.dump(CallbackModule.spent, stream)
        setattr(CallbackModule, name, call)

    for name in [name for name in dir(results.CallbackModule) if name.startswith("v2_") and name in vars(results.CallbackModule)]:
        timed(name)
''')
SCHEMA = "hccn.cluster/measurement/1"
DEVICES = json.dumps([{"schema": SCHEMA, "id": f"d{number}", "kind": "device", "status": "ok", "source": {"device": number},
                       "samples": [{"link": "up", "tls": False, "address": f"10.0.0.{number}", "health": "success"}]} for number in range(8)])
PAIRS = json.dumps([{"schema": SCHEMA, "id": f"p{number}", "kind": "rdma", "status": "ok", "operation": "write", "source": {"device": 0},
                     "target": {"host": f"n{number}", "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.5}]} for number in range(16)])
TASKS = f"""
- measured: {{measurements: {DEVICES}}}
- ansible.builtin.ping:
- ansible.builtin.ping:
- ansible.builtin.ping:
- measured: {{measurements: {PAIRS}}}
- ansible.builtin.ping:
"""


def test_callback_cost_in_a_play_of_64_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks/timed.py").write_text(TIMED)
    argv = command(tmp_path, TASKS, hosts=",".join(f"n{number}" for number in range(HOSTS)))
    argv[argv.index("--forks") + 1] = "4"
    env = environment(tmp_path, ANSIBLE_CALLBACK_PLUGINS=str(tmp_path / "callbacks"), ANSIBLE_CALLBACKS_ENABLED="timed", BENCH_SPENT=str(tmp_path / "spent"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    spent = json.loads((tmp_path / "spent").read_text())
    # With the connection local, modules run on this machine, too. Their CPU time is measured separately and subtracted.
    everything = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    controller = everything - modules(tmp_path) * HOSTS * 6
    with capsys.disabled():
        print(f"\ncallback in a play of {HOSTS} hosts, 6 tasks, 24 records per host: {spent:.2f} of about {controller:.1f} CPU-s of the controller "
              f"({spent / controller:.1%}, reference {MOST_SHARE_OF_CALLBACK:.0%}; with the modules {everything:.1f})")
    kept = next((tmp_path / "history").rglob("*.jsonl")).read_bytes().count(b"\n")
    assert kept == HOSTS * 24 + 2
    assert spent / controller <= MOST_SHARE_OF_CALLBACK


def modules(folder: Path) -> float:
    """Return the CPU seconds of a minimal module: start of Python and imports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(5):
        subprocess.run([sys.executable, "-c", "import ansible.module_utils.basic"], cwd=folder, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 5


def test_kills_at_full_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = time.perf_counter()
    acknowledged, runs = killed_writers(tmp_path, 16, 1000, seed=int(time.time()))
    kept = {record["id"] for run in runs for record in run.records}
    with capsys.disabled():
        print(f"\n16 writers of 1,000 records, {sum(run.file.part for run in runs)} of them killed: {len(acknowledged)} acknowledged, "
              f"{len(acknowledged - kept)} of these lost, {len(kept - acknowledged)} others read back, {sum(run.bad_lines for run in runs)} torn lines, "
              f"{time.perf_counter() - start:.1f} s")
    assert acknowledged - kept == set()


def test_time_to_show_a_large_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chromium.install()
    shown = {count: pages.write(tmp_path / f"{count}.html", pages.page(count, with_history=True)) for count in (64, 512)}
    with chromium.browser(tmp_path) as browser, capsys.disabled():
        browser.screen(1280, 800)
        for count, path in shown.items():
            browser.open(path)
            seconds = min(browser.open(path) for _ in range(3))
            print(f"\npage of {count} x {count} pairs: {path.stat().st_size / 1000:.0f} kB, shown in {seconds:.2f} s (reference {MOST_SECONDS_TO_SHOW} s)")
            assert seconds <= MOST_SECONDS_TO_SHOW
