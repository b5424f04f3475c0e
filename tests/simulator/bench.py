"""A cluster of simulated nodes for a test."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests.lib.waiting import happens
from tests.simulator.hccn_sim import layout
from tests.simulator.hccn_sim.node import Node
from tests.simulator.hccn_sim.perf_device import record_path
from tests.simulator.hccn_sim.process import alive
from tests.simulator.hccn_sim.tool import main

DEADLINE = 90
SUCCESS = "Cmd executed successfully!\n"
ROW = re.compile(r"^ (\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", re.MULTILINE)
LATENCY_ROW = re.compile(r"^ (\d+) +(\d+)((?: +[\d.]+){7})$", re.MULTILINE)


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Bench:
    """A cluster of two nodes, whose devices 0..7 own 10.78.<node>.<device>."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def root(self, name: str) -> Path:
        return self.folder / name

    def make(self, name: str, *state: str, template: str = "10.78.1.{device}", **config: object) -> None:
        shift = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])  # tests that run at the same time have the same addresses
        settings = {"fabric": "loopback", "loopback_shift": shift, "poll_seconds": 0.02, "retry_seconds": 0.0, "server_seconds": 60.0, **config}
        layout.init(str(self.root(name)), settings, template, "255.255.0.0", list(state), conf_from_state=True)

    def set(self, name: str, *state: str) -> None:
        layout.set_state(str(self.root(name)), list(state))

    def conf(self, name: str) -> Path:
        return self.root(name) / "etc/hccn.conf"

    def run(self, name: str, line: str, stdin: str = "") -> Ran:
        """Call hccn_tool in this process."""
        out, err = io.StringIO(), io.StringIO()
        code = main(["hccn_tool", *line.split()], Node(str(self.root(name))), io.StringIO(stdin), out, err, {})
        return Ran(code, out.getvalue(), err.getvalue())

    def start(self, name: str, line: str) -> subprocess.Popen[str]:
        """Start hccn_tool as a process, as the product does."""
        return subprocess.Popen([str(self.root(name) / "bin/hccn_tool"), *line.split()], stdout=-1, stderr=-1, text=True)

    def record(self, name: str, device: int) -> dict:
        return json.loads(Path(record_path(str(self.root(name) / "state"), device)).read_text())

    def pair(self, line: str, server: str = "a", client: str = "b", device: int = 0) -> tuple[Ran, Ran]:
        """Run server and client of one test, each on ``device``, and return (server, client)."""
        self.run(server, f"-i {device} -roce_test reset")
        waiting = self.start(server, f"-i {device} -roce_test {line} -tcp")
        self.until_ready(server, device)
        address = Node(str(self.root(server))).state.get(device, "ip")
        ran = self.run(client, f"-i {device} -roce_test {line} address {address} -tcp")
        out, err = waiting.communicate(timeout=DEADLINE)
        return Ran(waiting.returncode, out, err), ran

    def until_ready(self, name: str, device: int) -> dict:
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            try:
                record = self.record(name, device)
                if record.get("ready"):
                    return record
            except FileNotFoundError:
                pass
            time.sleep(0.01)
        raise AssertionError("the device did not start")


def gone(record: dict) -> bool:
    """Return True if the device's process exited by itself in time."""
    return happens(lambda: not alive(record), DEADLINE)
