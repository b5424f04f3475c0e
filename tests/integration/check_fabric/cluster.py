"""Simulated hosts over loopback, and modules as Ansible starts them: Python processes with arguments on standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from tests.lib.ports import free_port
from tests.lib.processes import processes
from tests.lib.project import ROOT
from tests.lib.waiting import until
from tests.simulator.hccn_sim import layout

DEADLINE = 60.0
KEY = "00112233445566778899aabbccddeeff"
TRACE = "HCCN_FABRIC_TEST"
"""Environment variable by which a test finds all processes of its modules, including guards."""

CALLS = """#!/bin/sh
echo "$@" >> {calls}
{before}
exec {tool} "$@"
"""


class Cluster:
    """Hosts n1, n2, ...; a log records each call of a tool before it is made."""

    def __init__(self, folder: Path, count: int, devices: int = 1, **settings: object) -> None:
        self.folder = folder
        self.trace = uuid.uuid4().hex
        self.ports: dict[str, int] = {}
        self.devices = devices
        self._network = 100 + os.getpid() % 100  # separate addresses for tests that run in parallel
        self._started: list[subprocess.Popen[str]] = []
        for number in range(1, count + 1):
            self._make(f"n{number}", number, {"fabric": "loopback", "poll_seconds": 0.05, "measure_seconds": 0.2, "devices": devices, **settings})

    def _make(self, name: str, number: int, settings: dict[str, object]) -> None:
        template = f"10.{self._network}.{number}.1{{device}}"
        layout.init(self.root(name), settings, address_template=template, netmask="255.255.0.0", state=["*.rate_mbit=200"], conf_from_state=True)
        self.ports[name] = free_port()
        self.instrument(name)

    def root(self, name: str) -> str:
        return str(self.folder / name)

    def instrument(self, name: str, before: str = "") -> None:
        """Make the tool of a host log its arguments. ``before``: lines of shell that run before each call."""
        path = Path(self.root(name)) / "bin" / "counted"
        path.write_text(CALLS.format(calls=self.calls_file(name), before=before, tool=f"{self.root(name)}/bin/hccn_tool"))
        path.chmod(0o755)

    def calls_file(self, name: str) -> Path:
        return Path(self.root(name)) / "calls"

    def calls(self, name: str) -> list[str]:
        """Return the calls of the measuring tool, such as "0 reset", "0 server" and "0 client"."""
        found = []
        for line in self.calls_file(name).read_text().splitlines() if self.calls_file(name).exists() else []:
            if "-roce_test" not in line:
                continue
            kind = "reset" if line.endswith(" reset") else "client" if " address " in line else "server"
            found.append(f"{line.split()[1]} {kind}")
        return found

    def set_state(self, name: str, *values: str) -> None:
        layout.set_state(self.root(name), list(values))

    def hosts(self) -> list[dict[str, Any]]:
        """Return the input of pair_plan."""
        return [
            {"host": name, "control_address": "127.0.0.1", "control_port": port,
             "devices": [{"id": device, "address": f"10.{self._network}.{name[1:]}.1{device}"} for device in range(self.devices)]}
            for name, port in self.ports.items()
        ]

    def plan(self, kind: str = "quick", **options: Any) -> dict[str, Any]:
        return make_plan(self.hosts(), kind, **options)

    def options(self, name: str, plan: dict[str, Any], **options: Any) -> dict[str, Any]:
        return {
            "run_id": "r1", "plan": plan, "host": name, "key": KEY, "hccn_tool": f"{self.root(name)}/bin/counted",
            "npu_smi": f"{self.root(name)}/bin/npu-smi", "state_dir": f"{self.root(name)}/runs",
            "server_start_delay": 0.3, "meeting_timeout": 20, "size": "64K", "iterations": 1000, "fail_on": "none", **options,
        }

    def start(self, module: str, options: dict[str, Any]) -> subprocess.Popen[str]:
        """Start a module, with the trace in its environment."""
        path = os.pathsep.join([str(ROOT / "collections"), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-m", f"ansible_collections.hccn.cluster.plugins.modules.{module}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, TRACE: self.trace, "PYTHONPATH": path})
        self._started.append(process)
        assert process.stdin
        process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": options}))
        process.stdin.close()
        process.stdin = None
        return process

    def perf(self, name: str, plan: dict[str, Any], **options: Any) -> subprocess.Popen[str]:
        return self.start("rdma_perf", self.options(name, plan, **options))

    def absent(self, name: str, **options: Any) -> dict[str, Any]:
        node = {"hccn_tool": f"{self.root(name)}/bin/counted",
            "npu_smi": f"{self.root(name)}/bin/npu-smi", "state_dir": f"{self.root(name)}/runs"}
        return result(self.start("rdma_perf", {"run_id": "r1", "state": "absent", **node, **options}))

    def info(self, name: str, wait: float = 0, **options: Any) -> dict[str, Any]:
        return result(self.start("rdma_perf_info", {"run_id": "r1", "state_dir": f"{self.root(name)}/runs", "wait": wait, **options}))

    def journal(self, name: str) -> list[dict[str, Any]]:
        return self.lines(Path(self.root(name)) / "runs" / "r1" / "journal.jsonl")

    def journals(self, name: str) -> list[list[dict[str, Any]]]:
        """Return the journals of all runs of the host."""
        return [self.lines(path) for path in Path(self.root(name)).glob("runs/*/journal.jsonl")]

    @staticmethod
    def lines(path: Path) -> list[dict[str, Any]]:
        """Return the complete lines of a journal."""
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []

    def testing(self, name: str) -> bool:
        """Return True if a device of the host has a test that runs or was not reset."""
        return any((Path(self.root(name)) / "state").glob("roce_test_*.json"))

    def processes(self, name: str = "") -> list[int]:
        """Return the processes of all modules and their children, or with a name those of the tools and devices of that host."""
        return list(processes(self.root(name) if name else f"{TRACE}={self.trace}"))

    def runners(self, name: str) -> list[int]:
        """Return the runners of the host and their guards, which may have ended."""
        return [lines[0][process] for lines in self.journals(name) if lines for process in ("pid", "guard")]

    def nothing_left(self, *names: str) -> bool:
        return not self.processes() and not any(self.processes(name) or self.testing(name) for name in names)

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait(DEADLINE)
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        until(lambda: not self.processes())
        for name in self.ports:
            layout.stop(self.root(name))


def result(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a module and return its result."""
    output, errors = process.communicate(timeout=DEADLINE)
    assert not errors, errors
    found: dict[str, Any] = json.loads(output)
    return found


def run(cluster: Cluster, plan: dict[str, Any], **options: Any) -> dict[str, dict[str, Any]]:
    """Run the module on all hosts at once and return the results by host."""
    processes = {name: cluster.perf(name, plan, **options) for name in cluster.ports}
    return {name: result(process) for name, process in processes.items()}


def records(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for found in results.values() for record in found["measurements"]]
