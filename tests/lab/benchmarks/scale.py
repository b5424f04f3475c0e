"""Measure the cost of a thousand hosts on the controller: CPU per host, memory, and the effect of forks.

``make bench-scale`` prints the tables. It fails if a playbook's cost per host grows faster with the number of hosts than the cost of Ansible tasks that do
nothing.

Hosts with the connection ``canned`` (tests/lab/benchmarks/null) return prepared answers, so that only the controller is measured. The additional cost of ssh is
measured with testbed hosts (tests/lab/testbed).

HCCN_SCALE_HOSTS=64,256,1000 and HCCN_SCALE_FORKS=4,16,64 set other numbers; HCCN_SCALE_LAB: number of testbed hosts, 0 for none; HCCN_SCALE_OUT: a file for the
results. ``make soak`` measures 10,000 hosts as well.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.lab import testbed
from tests.lab.benchmarks.null import answers
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.processes import peak_mib, proportional_mib
from tests.lib.project import ROOT

COUNTS = [int(number) for number in os.environ.get("HCCN_SCALE_HOSTS", "64,256,1000").split(",")]
FORKS = [int(number) for number in os.environ.get("HCCN_SCALE_FORKS", "4,16,64").split(",")]
LAB = int(os.environ.get("HCCN_SCALE_LAB", "256"))
USUAL_FORKS, FORKS_HOSTS = 16, min(256, max(COUNTS))
PLAYBOOKS = ("bring_up", "rank_table", "check_reachability", "check_fabric", "report")
"""In this order: the report shows the run of check_fabric."""
IDLE = "idle"
"""A play whose tasks do nothing. Its cost per host is Ansible's, which grows with the number of hosts."""
MOST_GROWTH, MOST_GROWTH_BEYOND_1000 = 1.1, 1.3
"""CPU per host with a number of hosts, as a ratio to the smallest number, and that as a multiple of the ratio of idle tasks. What the controller keeps of the
hosts makes forks more expensive; a task that iterates over all hosts on each host raises the ratio to 10."""
MOST_MEMORY_MIB = 512
"""With all workers, for 1,000 hosts or fewer; for more hosts, as much for each 1,000. 16 workers and the controller used 428 MiB."""
MOST_PAGE_BYTES = 2_000_000
REST = 3
"""After the nth run with few hosts beside the run with most hosts, wait this many times n times its duration."""
PLAY_SECONDS = 7200
NULL = ROOT / "tests/lab/benchmarks/null"
RESULTS, MEMORY = "hccn.cluster.results", "hccn.cluster.controller_memory"
SSH_ARGS = "-C -o ControlMaster=auto -o ControlPersist=30m -o ServerAliveInterval=15"
"""The values are stated in docs/howto/large_clusters.rst."""
FAILED = re.compile(r"(?:failed|unreachable)=[1-9]")


class Cost(NamedTuple):
    """The cost of one play: CPU seconds of the controller by task, memory of its process and of all its processes, wall-clock seconds until the first task is
    on the screen and until the end, and bytes of the history of the run, of ``report`` those of the page."""

    playbook: str
    hosts: int
    forks: int
    cpu: float
    tasks: dict[str, float]
    main_mib: int
    all_mib: int
    first: float
    wall: float
    written: int

    @property
    def per_host(self) -> float:
        """CPU milliseconds per host."""
        return 1000 * self.cpu / self.hosts

    def as_dict(self) -> dict[str, Any]:
        rounded = {"cpu": round(self.cpu, 1), "first": round(self.first, 1), "wall": round(self.wall, 1),
                   "tasks": {name: round(cpu, 2) for name, cpu in self.tasks.items()}}
        return {**self._asdict(), **rounded}


@contextmanager
def peak_memory(process: subprocess.Popen[bytes]) -> Iterator[dict[str, float]]:
    """Yield the peak memory in MiB of a process (``main``), and of it with its children, shared pages counted once (``all``)."""
    most, ended = {"main": 0.0, "all": 0.0}, threading.Event()

    def sample_memory() -> None:
        took = 0.0
        while not ended.wait(max(1.0, 30 * took)):  # counting takes the kernel longer the more memory there is
            start = time.monotonic()
            most["main"] = max(most["main"], peak_mib(process.pid))
            most["all"] = max(most["all"], sum(map(proportional_mib, [process.pid, *_children(process.pid)])))
            took = time.monotonic() - start

    thread = threading.Thread(target=sample_memory)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def play(folder: Path, inventory: Path, playbook: str, hosts: int, forks: int, *arguments: str, **more: str) -> Cost:
    costs = folder / f"{playbook}-{forks}.jsonl"
    env = ansible_environment(
        ANSIBLE_CONNECTION_PLUGINS=str(NULL / "connection"), ANSIBLE_CALLBACK_PLUGINS=str(NULL / "callback"), ANSIBLE_FORKS=str(forks),
        HCCN_RESULTS_PATH=str(folder / "history"), BENCH_COSTS=str(costs), **{"ANSIBLE_CALLBACKS_ENABLED": f"costs,{RESULTS},{MEMORY}", **more})
    content = str(folder / f"{IDLE}.json") if playbook == IDLE else f"hccn.cluster.{playbook}"
    argv = [ANSIBLE_PLAYBOOK, "-i", str(inventory), content, *arguments]
    stored = _size(folder / "history")
    start = time.monotonic()
    with (folder / f"{playbook}.log").open("w+b") as log:
        process = subprocess.Popen(argv, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        with peak_memory(process) as most:
            code = process.wait(PLAY_SECONDS)
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
    wall = time.monotonic() - start
    assert code == 0 and not FAILED.search(output.split("PLAY RECAP")[-1]), output[-4000:]
    steps = [json.loads(line) for line in costs.read_text().splitlines()]
    tasks: dict[str, float] = {}
    for step, following in zip(steps, steps[1:]):
        tasks[step["task"]] = tasks.get(step["task"], 0.0) + following["cpu"] - step["cpu"]
    return Cost(playbook, hosts, forks, steps[-1]["cpu"], tasks, round(most["main"]), round(most["all"]), steps[0]["wall"] - start, wall,
                _page(folder / "history") if playbook == "report" else _size(folder / "history") - stored)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.jsonl*"))


def _page(folder: Path) -> int:
    return max(folder.rglob("*.html"), key=lambda path: path.stat().st_mtime).stat().st_size


def print_lines(capsys: pytest.CaptureFixture[str], *lines: str) -> None:
    with capsys.disabled():
        print("", *lines, sep="\n", flush=True)


def line(cost: Cost) -> str:
    return (f"{cost.playbook:12} {cost.hosts:5} hosts, {cost.forks:3} forks: {cost.per_host:6.0f} ms of CPU per host, {cost.cpu:7.1f} s total, "
            f"{cost.wall:7.1f} s elapsed, first task after {cost.first:.1f} s, {cost.main_mib:5} MiB for the controller, {cost.all_mib:5} MiB with its "
            f"workers, {cost.written / 1e6:.1f} MB written")


@pytest.fixture(scope="module")
def figures() -> Iterator[list[Cost]]:
    """Collect all results, and write them to HCCN_SCALE_OUT at the end if it is set."""
    found: list[Cost] = []
    yield found
    if "HCCN_SCALE_OUT" in os.environ:
        about = {"date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "npus": answers.DEVICES, "load": [round(part, 1) for part in os.getloadavg()]}
        Path(os.environ["HCCN_SCALE_OUT"]).write_text(json.dumps({**about, "plays": [cost.as_dict() for cost in found]}, indent=1) + "\n")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[int, Path] = {}

    def of(count: int) -> Path:
        if count not in made:
            made[count] = tmp_path_factory.mktemp(f"hosts{count}")
            answers.write(made[count], count)
            (made[count] / "hosts.json").write_text(json.dumps(answers.inventory(count)))
            (made[count] / f"{IDLE}.json").write_text(json.dumps(answers.idle()))
        return made[count]

    return of


def null(folder: Path, playbook: str, count: int, forks: int, **more: str) -> Cost:
    return play(folder, folder / "hosts.json", playbook, count, forks, BENCH_ANSWERS=str(folder), **more)


def side_by_side(cluster: Any, playbook: str) -> list[Cost]:
    """Return the cost of a playbook for each number of hosts. The runs with fewer hosts repeat during the run with most hosts, because the speed of a machine
    may change by half within a minute. This way, all runs see the same changes."""
    *fewer, largest = [(cluster(count), playbook, count, USUAL_FORKS) for count in COUNTS]  # made before anything is measured
    found: list[list[Cost]] = [[] for _play in fewer]
    with ThreadPoolExecutor(1) as pool:
        most = pool.submit(null, *largest)
        while not most.done():
            for smaller, costs in zip(fewer, found):
                cost = null(*smaller)
                if not costs or not most.done():  # the cost of a run that has the machine to itself is not comparable
                    costs.append(cost)
                wait([most], timeout=REST * len(costs) * cost.wall)
    return [*map(mean, found), most.result()]


def mean(costs: list[Cost]) -> Cost:
    return costs[0]._replace(
        cpu=fmean(cost.cpu for cost in costs), first=fmean(cost.first for cost in costs), wall=fmean(cost.wall for cost in costs),
        tasks={name: fmean(cost.tasks.get(name, 0.0) for cost in costs) for name in costs[0].tasks},
        main_mib=max(cost.main_mib for cost in costs), all_mib=max(cost.all_mib for cost in costs))


@pytest.fixture(scope="module")
def idle(cluster: Any, figures: list[Cost]) -> list[Cost]:
    costs = side_by_side(cluster, IDLE)
    figures += costs
    return costs


def most_growth(hosts: int) -> float:
    return MOST_GROWTH if hosts <= 1000 else MOST_GROWTH_BEYOND_1000


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_cost_per_host_does_not_grow(
        playbook: str, cluster: Any, idle: list[Cost], figures: list[Cost], capsys: pytest.CaptureFixture[str]) -> None:
    costs = side_by_side(cluster, playbook)
    figures += costs
    few, many = costs[0], costs[-1]
    growth = {cost.hosts: (cost.per_host / few.per_host) / (same.per_host / idle[0].per_host) for cost, same in zip(costs, idle)}
    print_lines(capsys, *map(line, (*idle, *costs)),
         *(f"{playbook}: growth of CPU per host to {hosts} hosts {ratio:.2f} times that of idle tasks (at most {most_growth(hosts)})"
           for hosts, ratio in growth.items()),
         *(f"    {1000 * few.tasks.get(name, 0) / few.hosts:6.1f} -> {1000 * cpu / many.hosts:6.1f} ms per host: {name}" for name, cpu in many.tasks.items()))
    assert [hosts for hosts, ratio in growth.items() if ratio > most_growth(hosts)] == []
    assert many.all_mib <= MOST_MEMORY_MIB * max(1, many.hosts / 1000)
    assert playbook != "report" or many.written <= MOST_PAGE_BYTES


def test_effect_of_forks(cluster: Any, figures: list[Cost], capsys: pytest.CaptureFixture[str]) -> None:
    """If hosts answer at once, more workers than cores cost memory without being faster."""
    costs = [null(cluster(FORKS_HOSTS), "rank_table", FORKS_HOSTS, forks) for forks in FORKS]
    figures += costs
    print_lines(capsys, *map(line, costs))


def test_effect_of_controller_memory(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Compare memory of 16 workers and the controller, and the CPU, with and without the callback. With 256 hosts, two runs of a kind differ as much."""
    saving = null(cluster(FORKS_HOSTS), "check_fabric", FORKS_HOSTS, USUAL_FORKS)
    usual = null(cluster(FORKS_HOSTS), "check_fabric", FORKS_HOSTS, USUAL_FORKS, ANSIBLE_CALLBACKS_ENABLED=f"costs,{RESULTS}")
    print_lines(capsys, f"{line(saving)}, with controller_memory", f"{line(usual)}, without")


if LAB:
    def test_testbed_hosts_over_ssh(tmp_path: Path, figures: list[Cost], capsys: pytest.CaptureFixture[str]) -> None:
        """Measure the controller including its ssh clients. The hosts share this machine, so that the wall-clock time means little. None of them has a
        fault."""
        with testbed.lab(LAB, npus=1, leaf_size=16, link_rate="20mbit", variables={"bring_up_tls_state": "disabled"}) as lab:
            for playbook in PLAYBOOKS:
                cost = play(tmp_path, Path(lab.inventory), playbook, LAB, USUAL_FORKS, "-e", json.dumps({
                    "check_fabric_advanced": {"server_start_delay_s": 1}, "check_fabric_relative_floor": 0.3, "hccn_fail_on": "never",
                    "ansible_ssh_timeout": 60, "rank_table_path": "/etc/rank_table.json", "ansible_ssh_args": SSH_ARGS}))
                figures.append(cost)
                print_lines(capsys, f"{line(cost)}, over ssh")
            run = reader.newest(tmp_path / "history")
            verdicts = [record["samples"][0] for record in run.records if record["kind"] == "verdict"]
            assert [sample["message"] for sample in verdicts if sample["class"] != "good"] == []
            assert len(verdicts) == LAB
