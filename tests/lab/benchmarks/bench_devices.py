"""Measure the cost of reading and bringing up devices, as ratios of two values from one run, and compare them with the references in this file.

`make bench` prints the table. `make test` does not assert times, because machines are noisy. Counts (calls, events) are exact.
"""

from __future__ import annotations

import json
import resource
import subprocess
import time
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device import device_session, info, read
from tests.lib.hosts import node, tools, write_inventory
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment

TOOL_SECONDS = 0.3
TOPICS = [topic for topic in read.DEFAULT_TOPICS if topic != "tls"]

MOST_WALL_FOR_16_DEVICES = 1.6
"""Ratio to one device: the devices are read in parallel."""
MOST_EVENTS_OF_BRING_UP = 12
"""Runner events per host, including checks of arguments."""
MOST_CPU_OF_BRING_UP = 1.3
"""CPU of the controller, as a ratio to the same number of tasks of a module that does nothing."""

TOOL = """#!/bin/sh
echo "$*" >>%s
case "$3" in
  -ip) out='ipaddr:10.78.1.10\\nnetmask:255.255.0.0' ;;
  -gateway) out='default gateway:10.78.0.1, Iface:eth0' ;;
  -netdetect) out='netdetect addr: 10.78.0.1' ;;
  -link) out='link status: UP' ;;
  -net_health) out='net health status: Success' ;;
esac
sleep %s
echo "$out"
"""


def host(folder: Path, devices: int) -> dict[str, object]:
    """Return the tools of a host whose hccn_tool takes TOOL_SECONDS per call. It is a shell script, so that the start of Python is not measured."""
    (folder / "hccn_tool").write_text(TOOL % (folder / "calls", TOOL_SECONDS))
    chips = "".join(f"\\t{number}      0      {number}      Ascend 910B4\\n" for number in range(devices))
    (folder / "npu-smi").write_text(f"#!/bin/sh\necho smi >>{folder / 'calls'}\nprintf '\\tNPU ID      Chip ID      Chip Logic ID      Chip Name\\n{chips}'\n")
    for name in ("hccn_tool", "npu-smi"):
        (folder / name).chmod(0o755)
    return {"hccn_tool": str(folder / "hccn_tool"), "npu_smi": str(folder / "npu-smi"), "hccn_conf": str(folder / "hccn.conf"), "timeout": 30,
            "devices": ["all"], "gather": TOPICS, "fail_on": "any"}


def wall(params: dict[str, object], repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = info.gather(device_session.start(params), params, False)
        times.append(time.perf_counter() - start)
        assert "failed" not in result
    return min(times)


def test_time_of_sixteen_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = wall({**host(tmp_path, 16), "devices": ["0"]})
    all_of_them = wall(host(tmp_path, 16))
    with capsys.disabled():
        print(f"\ndevice_info, 5 topics, {TOOL_SECONDS} s per call: 1 device {one:.2f} s, 16 devices {all_of_them:.2f} s, ratio {all_of_them / one:.2f} "
              f"(bound 1.00, reference {MOST_WALL_FOR_16_DEVICES})")
    assert all_of_them / one <= MOST_WALL_FOR_16_DEVICES


def test_tool_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = host(tmp_path, 16)
    info.gather(device_session.start(params), params, False)
    calls = (tmp_path / "calls").read_text().count("\n")
    with capsys.disabled():
        print(f"device_info, 5 topics, 16 devices: {calls} calls (bound 80 + 2)")
    assert calls <= 16 * len(TOPICS) + 2


COUNTER = '''
from ansible.plugins.callback import CallbackBase
import collections, json, os

class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "events"

    def __init__(self):
        super().__init__()
        self.events = collections.Counter()

    def count(self, result):
        self.events[result._host.get_name()] += 1

    v2_runner_on_ok = v2_runner_on_failed = v2_runner_on_skipped = v2_runner_on_unreachable = count

    def v2_playbook_on_stats(self, stats):
        with open(os.environ["BENCH_EVENTS"], "w") as stream:
            json.dump(self.events, stream)
'''


def cluster(folder: Path, hosts: int) -> Path:
    (folder / "events.py").write_text(COUNTER)
    return write_inventory(folder, {f"n{number}": tools(node(
        folder / f"n{number}", "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", "--conf-from-state", devices=2))
        for number in range(1, hosts + 1)}, bring_up_tls_state="disabled")


def play(folder: Path, inventory: Path, playbook: str) -> tuple[dict[str, int], float]:
    """Return the number of events of each host, and the CPU seconds of ansible-playbook and all its child processes."""
    env = ansible_environment(ANSIBLE_CALLBACK_PLUGINS=str(folder), ANSIBLE_CALLBACKS_ENABLED="events", BENCH_EVENTS=str(folder / "events.json"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([ANSIBLE_PLAYBOOK, "-i", str(inventory), playbook], env=env, cwd=folder, check=False,
                          capture_output=True, text=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    events = json.loads((folder / "events.json").read_text())
    events.pop("localhost", None)
    return events, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_events_of_bring_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, _cpu = play(tmp_path, cluster(tmp_path, 4), "hccn.cluster.bring_up")
    mean = sum(events.values()) / len(events)
    with capsys.disabled():
        print(f"bring_up, 4 hosts: {mean:.2f} runner events per host ({max(events.values())} on the first, which runs the tasks with run_once, "
              f"{min(events.values())} on the others; reference {MOST_EVENTS_OF_BRING_UP})")
    assert mean <= MOST_EVENTS_OF_BRING_UP


def test_cpu_of_bring_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the connection local, the modules' CPU counts too. The ratio is therefore an upper bound for a controller whose modules run on other hosts."""
    inventory = cluster(tmp_path, 4)
    events, _cpu = play(tmp_path, inventory, "hccn.cluster.bring_up")
    tasks = max(events.values())
    (tmp_path / "nothing.yml").write_text("- hosts: npu\n  gather_facts: false\n  tasks:\n" + "    - ansible.builtin.ping:\n" * tasks)
    bring_up = min(play(tmp_path, inventory, "hccn.cluster.bring_up")[1] for _ in range(3))
    nothing = min(play(tmp_path, inventory, str(tmp_path / "nothing.yml"))[1] for _ in range(3))
    with capsys.disabled():
        print(f"bring_up: {bring_up:.2f} CPU-s for controller and modules of 4 hosts, {nothing:.2f} for equally many pings: ratio {bring_up / nothing:.2f} "
              f"(reference {MOST_CPU_OF_BRING_UP})")
    assert bring_up / nothing <= MOST_CPU_OF_BRING_UP
