"""Run the playbook check_fabric on the machines with perftest, including Ansible, runner and guard."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.lab.roce.machines import Machine
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.project import ROOT
from tests.lib.waiting import happens

PLAY_SECONDS = 600
LEFT_SECONDS = 90.0
MIDDLE_SECONDS = 300.0
OPTIONS = {
    "check_fabric_tool": "perftest", "check_fabric_plan": "full", "check_fabric_size": "8192", "check_fabric_iterations": 40, "hccn_fail_on": "slow",
    "check_fabric_relative_floor": 0.01,  # the speed of an emulated processor says nothing about the fabric
    "check_fabric_confirm": False,
    "check_fabric_advanced": {"server_start_delay_s": 6},  # part of what a pair may take; starting a tool takes seconds here
}


class Play:
    """A running ansible-playbook. An option that is None has the default of the role."""

    def __init__(self, machines: Sequence[Machine], folder: Path, **options: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hosts.json").write_text(json.dumps(inventory(machines, folder)))
        self.machines, self._history = machines, folder / "history"
        argv = [ANSIBLE_PLAYBOOK, "-i", str(folder / "hosts.json"), "hccn.cluster.check_fabric",
                "-e", json.dumps({name: value for name, value in {**OPTIONS, **options}.items() if value is not None})]
        environment = ansible_environment(ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results", HCCN_RESULTS_PATH=str(self._history))
        self._log = folder / "log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(argv, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    @property
    def output(self) -> str:
        return self._log.read_text()

    def end(self) -> int:
        try:
            return self.process.wait(PLAY_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()

    def records(self, kind: str) -> list[dict[str, Any]]:
        run = reader.read(next(iter(reader.runs(self._history))))
        return [record for record in run.records if record["kind"] == kind]

    def verdicts(self) -> dict[str, tuple[str, str]]:
        """Return class and message by machine."""
        return {record["source"]["host"]: (record["samples"][0]["class"], record["samples"][0]["message"])
                for record in self.records("verdict") if "source" in record}

    def classes(self) -> dict[str, str]:
        return {name: verdict[0] for name, verdict in self.verdicts().items()}


def inventory(machines: Sequence[Machine], folder: Path) -> dict[str, Any]:
    """Return an inventory whose ssh connections detect a machine that does not answer."""
    ssh = ["-F", str(machines[0].ssh_config), "-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", f"ControlPath={folder}/%n",
           "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"]
    common = {"ansible_connection": "ssh", "ansible_ssh_common_args": " ".join(ssh), "ansible_ssh_args": "", "ansible_ssh_pipelining": True,
              "ansible_python_interpreter": "/usr/bin/python3", "ansible_ssh_timeout": 30}
    return {"npu": {"hosts": {machine.name: {"check_fabric_control_address": machine.address} for machine in machines}, "vars": common}}


def processes(machine: Machine) -> dict[int, list[str]]:
    """Return argv by pid of the processes of a check: Python and the tools."""
    listed = machine.run("ps", "-o", "pid,args", timeout=PLAY_SECONDS).stdout.splitlines()[1:]
    found = {int(pid): words for pid, *words in map(str.split, listed)}
    return {pid: words for pid, words in found.items() if words and words[0].rpartition("/")[2].startswith(("python", "ib_", "iperf3"))}


def server(machine: Machine) -> int:
    """Return the pid of a perftest server, or 0. A client has the address of the server as its last argument."""
    return next((pid for pid, words in processes(machine).items() if words[0].startswith("ib_") and "-p" in words and not words[-1].startswith("10.99.")), 0)


def wait_for_server(play: Play, machines: list[Machine]) -> tuple[Machine, int]:
    """Wait for a server. Return its machine and its pid there."""
    end = time.monotonic() + MIDDLE_SECONDS
    while time.monotonic() < end:
        assert play.process.poll() is None, play.output
        for machine in machines:
            pid = server(machine)
            if pid:
                return machine, pid
        time.sleep(0.5)
    raise AssertionError(f"no server came up:\n{play.output}")


def left(machines: Sequence[Machine]) -> dict[str, dict[int, list[str]]]:
    """Return the processes of a check that do not end in time."""
    happens(lambda: not any(map(processes, machines)), LEFT_SECONDS)
    return {machine.name: there for machine in machines if (there := processes(machine))}
