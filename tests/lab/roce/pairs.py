"""Run the tools of the collection on the machines: command lines and probes on the machines by ssh, parsers in this process."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Child, Result
from ansible_collections.hccn.cluster.plugins.module_utils._device.rdma_sysfs import Gid, RdmaPort
from ansible_collections.hccn.cluster.plugins.module_utils._perf import listening
from ansible_collections.hccn.cluster.plugins.module_utils._perf.iperf3 import Iperf3
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest import Perftest
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import Options
from ansible_collections.hccn.cluster.plugins.module_utils._perf.rdma_device import RdmaDevice, find_device
from tests.lab.roce.machines import Machine
from tests.lib.project import COLLECTION, ROOT

RELEASES = ("bookworm", "bookworm", "trixie", "trixie")
"""The releases of the four machines of the tests."""

LIBRARY = "/root/lib"
UTILS = "ansible_collections.hccn.cluster.plugins.module_utils"
DEVICE = 0
_NUMBERS = itertools.count(1)
SERVER_SECONDS = 90.0
READY_SECONDS = 30.0

# Writes its pid to a file. The exit status is that of a shell, 128 + signal, which ssh would hide.
RUN = """#!/bin/sh
file=$1
shift
"$@" &
echo $! >"$file"
wait $!
exit $?
"""


def install(machine: Machine) -> None:
    """Copy the code of the collection and the script that runs commands."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted((COLLECTION / "plugins/module_utils").rglob("*.py")):
            archive.add(path, str(path.relative_to(ROOT / "collections")))
        script = tarfile.TarInfo("run")
        script.mode, script.size = 0o755, len(RUN)
        archive.addfile(script, io.BytesIO(RUN.encode()))
    machine.feed(packed.getvalue(), "sh", "-c", f"mkdir -p {LIBRARY} && tar -x -C {LIBRARY}")


def python(machine: Machine, code: str) -> Any:
    """Run code on the machine, with ``utils`` for module_utils of the collection, and return the JSON that it prints."""
    return json.loads(machine.read("env", f"PYTHONPATH={LIBRARY}", "python3", "-c", code.replace("utils.", UTILS + ".")))


def rdma_info(machine: Machine) -> dict[str, Any]:
    """Return the result of rdma_info on the machine."""
    options = {"root": "/", "fail_on": "never", "rdma_device": None, "rdma_port": None}
    return python(machine, f"import json; from utils._device import rdma_checks; print(json.dumps(rdma_checks.probe({options})))")


def end_of(machine: Machine) -> RdmaDevice:
    """Return the device of the machine and the GID of its address, as the collection finds them."""
    ports = [RdmaPort(**{**entry, "gids": tuple(Gid(**gid) for gid in entry["gids"])}) for entry in rdma_info(machine)["rdma_devices"]]
    return find_device(ports, machine.address)


class Running:
    """A running command of ``machine``, identified by its pid there."""

    def __init__(self, machine: Machine, argv: Sequence[str], timeout: float) -> None:
        self._machine = machine
        self._argv = tuple(argv)
        self._file = f"/tmp/{next(_NUMBERS)}.pid"
        self._ended = False
        self._child = Child(machine.argv(f"{LIBRARY}/run", self._file, *argv), timeout)

    @property
    def pid(self) -> int:
        return int(self._machine.read("cat", self._file))

    def wait_ready(self, port: int) -> bool:
        """Wait until a process listens on the port. Return False if the command ended or none did in time."""
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end and not self._child.poll():
            if listening.listening(self._machine.read("cat", "/proc/net/tcp", "/proc/net/tcp6"), port):
                return True
        return False

    def listens(self, port: int) -> bool:
        """Return True if the collection finds the process listening on the port."""
        return python(self._machine, f"import json; from utils._perf.listening import listens; print(json.dumps(listens({self.pid}, {port})))")

    def kill(self) -> None:
        self._machine.run("kill", "-9", str(self.pid))

    def result(self) -> Result:
        """Return the result. At the deadline, the command is ended on the machine, too."""
        result = self._child.wait()
        self._ended = True
        if result.timed_out:
            self.kill()
        return dataclasses.replace(result, argv=self._argv)

    def leave(self) -> None:
        """End the command."""
        if not self._ended:
            self._child.kill()
            self.kill()


class Pair:
    """``source`` measures with ``target``. ``server`` and ``client`` are the tools of the two sides."""

    def __init__(self, source: Machine, target: Machine, server: Perftest | Iperf3, client: Perftest | Iperf3) -> None:
        self.source, self.target, self.server_tool, self.client_tool = source, target, server, client

    @contextmanager
    def serving(self, timeout: float = SERVER_SECONDS) -> Iterator[Running]:
        """Start the server and yield it when it listens."""
        server = Running(self.target, self.server_tool.server(DEVICE, self.target.address), timeout)
        try:
            if not server.wait_ready(self.server_tool.port(DEVICE)):
                raise AssertionError(f"the server does not listen: {server.result()}")
            yield server
        finally:
            server.leave()

    def client(self, timeout: float) -> Running:
        return Running(self.source, self.client_tool.client(DEVICE, self.target.address, DEVICE), timeout)

    def run(self, timeout: float = 60.0) -> tuple[Result, Result]:
        """Return the results of client and server."""
        with self.serving() as server:
            return self.client(timeout).result(), server.result()


def perftest_pair(source: Machine, target: Machine, ends: dict[str, RdmaDevice], options: Options, other: Options | None = None) -> Pair:
    """``other``: options of the server, if they differ."""
    return Pair(source, target, Perftest(other or options, {DEVICE: ends[target.name]}), Perftest(options, {DEVICE: ends[source.name]}))


def wait_for_traffic(machine: Machine, packets: int, seconds: float = 30.0) -> None:
    """Wait until this number of further packets was sent by the RDMA device."""
    def sent() -> int:
        return int(machine.read("cat", "/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"))

    goal, end = sent() + packets, time.monotonic() + seconds
    while sent() < goal:
        if time.monotonic() > end:
            raise AssertionError(f"{machine.name} sends nothing")
        time.sleep(0.1)
