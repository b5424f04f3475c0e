"""Measure the cost of a fabric check, as ratios of two values from one run, and compare them with the references in this file.

``make bench-fabric`` prints the table. 64 testbed hosts (HCCN_BENCH_HOSTS) measure every pair for one second with the real iperf3, a tool with almost no cost
of its own.

All hosts and the controller share the cores of this machine. Starting a runner and collecting its results are Ansible tasks of about 1.1 CPU seconds per host,
most of it on the host: with few cores, these tasks alone exceed the reference. On such machines, the references for tests of one second apply only to the time
between the tasks. The references for the whole run apply to longer tests, whose duration is scaled with the missing cores, so that a round has the CPU time
that it would have with enough cores.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from tests.lab import testbed
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lab.testbed import Lab, packages
from tests.lib.project import ROOT
from tests.lib.waiting import happens

HOSTS = int(os.environ.get("HCCN_BENCH_HOSTS", "64"))
FEW_HOSTS, FEW_ROUNDS = 16, 3
TEST_SECONDS = 1
ROUNDS = HOSTS - 1
CORES = len(os.sched_getaffinity(0))
PLAY_SECONDS = 900

MOST_WALL = 1.25
"""Time from the start of the start task to the last collected result, as a ratio to one round per second, the lower bound of every schedule."""
MOST_WALL_WITH_A_HUNG_HOST = 1.4
ENOUGH_CORES = 8
LONGER = max(1, -(-ENOUGH_CORES // CORES))
"""Seconds of a test that leave a round as much CPU time as TEST_SECONDS on enough cores."""
MOST_BETWEEN = 1.4
MOST_BETWEEN_WITH_A_HUNG_HOST = 1.7
"""Time from the last started host to the first collected result."""
MOST_EVENTS = 8
"""Runner events per host."""
MOST_CPU_BY_ROUNDS = 1.3
"""CPU of the controller for five times as many rounds, as a ratio."""

# 10.77.0.N is the host's own address. 10.78.N.10 is the address of the link of its first NPU, which has a limited rate.
OPTIONS = {"check_fabric_tool": "iperf3", "check_fabric_plan": "full", "check_fabric_duration_s": TEST_SECONDS, "check_fabric_size": "16K",
           "check_fabric_addresses": ["{{ ansible_host | replace('10.77.0.', '10.78.') }}.10"], "ansible_ssh_timeout": 10, "hccn_fail_on": "never",
           "check_fabric_confirm": False, "check_fabric_relative_floor": 0.5}

EVENTS = '''
from ansible.plugins.callback import CallbackBase
import json, os, time

class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "events"

    def __init__(self):
        super().__init__()
        self.stream = open(os.environ["BENCH_EVENTS"], "w")

    def write(self, kind, task, host=""):
        print(json.dumps([time.time(), kind, task.get_name(), host]), file=self.stream, flush=True)

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.write("task", task)

    def result(self, result):
        self.write("result", result._task, result._host.get_name())

    def lost(self, result):
        self.write("lost", result._task, result._host.get_name())

    v2_runner_on_ok = v2_runner_on_failed = v2_runner_on_skipped = result
    v2_runner_on_unreachable = lost
'''
START, COLLECT = "Start the measurements of the host", "Wait for the measurements of the host"


class Wall(NamedTuple):
    """Seconds from the first start to the last result, the part until all hosts were started, and the part of collecting."""

    whole: float
    starting: float
    collecting: float

    @property
    def between(self) -> float:
        return self.whole - self.starting - self.collecting


class MeasuredPlay:
    """A completed play: its events (time, kind, task, host), the CPU seconds of the controller, and its exit status."""

    def __init__(self, events: list[Any], cpu: float, code: int, output: str, verdict: dict[str, Any]) -> None:
        self.events, self.cpu, self.code, self.output, self.verdict = events, cpu, code, output, verdict

    def first(self, task: str) -> float:
        return min(when for when, kind, name, _host in self.events if kind == "task" and name.endswith(task))

    def last(self, task: str) -> float:
        """Return the time of the last result of a task. A lost host has no result."""
        return max(when for when, kind, name, _host in self.events if kind == "result" and name.endswith(task))

    @property
    def wall(self) -> Wall:
        return Wall(self.last(COLLECT) - self.first(START), self.last(START) - self.first(START), self.last(COLLECT) - self.first(COLLECT))

    @property
    def events_per_host(self) -> dict[str, int]:
        return Counter(host for _when, kind, _name, host in self.events if kind != "task" and host != "localhost")

    @property
    def mean(self) -> float:
        return sum(self.events_per_host.values()) / len(self.events_per_host)


def play(lab: Lab, folder: Path, playbook: str, options: dict[str, Any], meanwhile: Callable[[Path], None] = lambda events: None) -> MeasuredPlay:
    folder.mkdir()
    (folder / "events.py").write_text(EVENTS)
    path = folder / "events.jsonl"
    env = ansible_environment(ANSIBLE_CALLBACK_PLUGINS=str(folder), ANSIBLE_CALLBACKS_ENABLED="events", BENCH_EVENTS=str(path), ANSIBLE_FORKS="16",
                              ANSIBLE_SHOW_CUSTOM_STATS="true")
    argv = [ANSIBLE_PLAYBOOK, "-i", str(lab.inventory), playbook, "-e", json.dumps(options)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(argv, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            meanwhile(path)
            code = process.wait(PLAY_SECONDS)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        log.seek(0)
        output = log.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = [line.partition("RUN: ")[2] for line in output.splitlines() if "RUN: " in line]
    return MeasuredPlay([json.loads(line) for line in path.read_text().splitlines()],
                        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, code, output,
                        json.loads(stats[-1])["hccn_check_fabric"] if stats else {})


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    packages.ensure({"iperf3": "iperf3"}, "the benchmark")
    with testbed.lab(HOSTS, npus=1, leaf_size=16, link_rate="4mbit") as up:  # 64 links at 20 Mbit/s would need one core
        yield up


def table(capsys: pytest.CaptureFixture[str], *lines: str) -> None:
    with capsys.disabled():
        print("", *lines, sep="\n")


def in_words(seen: MeasuredPlay, hosts: str, seconds: int, whole: float, between: float) -> list[str]:
    wall, bound = seen.wall, ROUNDS * seconds
    return [f"check_fabric, {HOSTS} hosts{hosts}, full, {seconds} s a test: {wall.whole:.1f} s, ratio {wall.whole / bound:.2f} to {bound} s "
            f"(reference {whole}{'' if _enough(seconds) else f' on {ENOUGH_CORES} cores'})",
            f"  until all were started {wall.starting:.1f} s, {100 * wall.starting / wall.whole:.0f} % of it; collecting {wall.collecting:.1f} s; "
            f"between {wall.between:.1f} s, ratio {wall.between / bound:.2f} (reference {between}); here are {CORES} cores"]


def _enough(seconds: int) -> bool:
    return CORES * seconds >= ENOUGH_CORES * TEST_SECONDS


def check_references(seen: MeasuredPlay, seconds: int, whole: float, between: float) -> None:
    assert seen.wall.between <= between * ROUNDS * seconds
    assert not _enough(seconds) or seen.wall.whole <= whole * ROUNDS * seconds


SECONDS = pytest.mark.parametrize("seconds", sorted({TEST_SECONDS, LONGER}))


@SECONDS
def test_time_of_all_pairs(seconds: int, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = play(lab, tmp_path / "all", "hccn.cluster.check_fabric", {**OPTIONS, "check_fabric_duration_s": seconds})
    assert len(seen.verdict["hosts"]["good"]) == HOSTS, seen.output
    assert seen.verdict["coverage"]["pairs_good"] == HOSTS * (HOSTS - 1) // 2
    table(capsys, *in_words(seen, "", seconds, MOST_WALL, MOST_BETWEEN),
          f"check_fabric, {HOSTS} hosts: {seen.mean:.2f} runner events per host, {max(seen.events_per_host.values())} on the first (reference {MOST_EVENTS})")
    assert seen.mean <= MOST_EVENTS
    check_references(seen, seconds, MOST_WALL, MOST_BETWEEN)


@SECONDS
def test_time_with_a_hung_host(seconds: int, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = f"node{HOSTS // 2}"

    def hang(events: Path) -> None:
        """Pause a host after ten rounds."""
        def started() -> int:
            return sum(START in line and '"result"' in line for line in events.read_text().splitlines()) if events.exists() else 0

        assert happens(lambda: started() >= HOSTS, PLAY_SECONDS)
        time.sleep(10 * seconds)
        lab.fault(victim, "pause")

    try:
        seen = play(lab, tmp_path / "hung", "hccn.cluster.check_fabric", {**OPTIONS, "check_fabric_duration_s": seconds}, hang)
    finally:
        lab.heal(victim)
    assert seen.verdict["hosts"]["good"] == [name for name in lab.hosts if name != victim], seen.output
    table(capsys, *in_words(seen, ", one of them hangs", seconds, MOST_WALL_WITH_A_HUNG_HOST, MOST_BETWEEN_WITH_A_HUNG_HOST))
    check_references(seen, seconds, MOST_WALL_WITH_A_HUNG_HOST, MOST_BETWEEN_WITH_A_HUNG_HOST)


def task_playbook(folder: Path, lab: Lab, rounds: int) -> Path:
    """Write a playbook that measures the same pairs with tasks only: in each round the servers, then the clients."""
    hosts = [{"host": name, "control_address": host.address, "control_port": 1, "devices": [{"id": 0, "address": host.addresses[0]}]}
             for name, host in list(lab.hosts.items())[:FEW_HOSTS]]
    tasks: list[dict[str, Any]] = []
    for pairs in make_plan(hosts, "full", compact=False)["rounds"][:rounds]:
        servers = {pair["target"]["host"]: pair["target"]["address"] for pair in pairs}
        clients = {pair["source"]["host"]: pair["target"]["address"] for pair in pairs}
        tasks += [
            {"name": "Start a server", "ansible.builtin.command": {"argv": ["iperf3", "-s", "-1", "-D", "-B", "{{ own[inventory_hostname] }}"]},
             "vars": {"own": servers}, "when": "inventory_hostname in own"},
            {"name": "Run a client", "ansible.builtin.command": {"argv": ["iperf3", "-J", "-t", str(TEST_SECONDS), "-c", "{{ other[inventory_hostname] }}"]},
             "vars": {"other": clients}, "when": "inventory_hostname in other"}]
    path = folder / f"plain{rounds}.yml"
    path.write_text(json.dumps([{"hosts": ",".join(entry["host"] for entry in hosts), "gather_facts": False, "tasks": tasks}]))
    return path


def test_controller_cost_is_independent_of_rounds(lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five times as many rounds cause the same number of events and hardly more CPU. With tasks for each round, both grow with the rounds."""
    many = FEW_HOSTS - 1
    few = {**OPTIONS, "hccn_hosts": ",".join(list(lab.hosts)[:FEW_HOSTS])}
    budget = FEW_ROUNDS * (TEST_SECONDS + 1.0) / 60 + 0.001  # in minutes, the unit of the plan
    ours = {FEW_ROUNDS: play(lab, tmp_path / "few", "hccn.cluster.check_fabric", {**few, "check_fabric_budget_minutes": budget}),
            many: play(lab, tmp_path / "many", "hccn.cluster.check_fabric", few)}
    tasks = {rounds: play(lab, tmp_path / f"plain{rounds}", str(task_playbook(tmp_path, lab, rounds)), {}) for rounds in (FEW_ROUNDS, many)}
    assert [seen.code for seen in tasks.values()] == [0, 0], tasks[many].output
    assert {rounds: seen.verdict["coverage"]["pairs_good"] for rounds, seen in ours.items()} == {
        FEW_ROUNDS: FEW_ROUNDS * FEW_HOSTS // 2, many: many * FEW_HOSTS // 2}
    for name, found in (("check_fabric", ours), ("tasks a round", tasks)):
        table(capsys, *(f"{name}, {FEW_HOSTS} hosts, {rounds} rounds: {seen.mean:.2f} events per host, {1000 * seen.cpu / FEW_HOSTS:.0f} ms of controller "
                        f"CPU per host" for rounds, seen in found.items()))
    ratio, by_tasks = (found[many].cpu / found[FEW_ROUNDS].cpu for found in (ours, tasks))
    table(capsys, f"controller CPU of {many} rounds against {FEW_ROUNDS}: {ratio:.2f} (reference {MOST_CPU_BY_ROUNDS}), by tasks a round {by_tasks:.2f}")
    assert ours[many].mean == ours[FEW_ROUNDS].mean
    assert ratio <= MOST_CPU_BY_ROUNDS
