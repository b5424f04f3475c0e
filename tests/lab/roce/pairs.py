"""The product's tools on the machines: its command lines run there by ssh, its code looks at the machine from inside, its parsers judge here."""

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
"""Of the four machines of the tests."""

LIBRARY = "/root/lib"
UTILS = "ansible_collections.hccn.cluster.plugins.module_utils"
DEVICE = 0
_NUMBERS = itertools.count(1)
SERVER_SECONDS = 90.0
READY_SECONDS = 30.0

# Leaves its pid where others find it. The exit status is a shell's: 128 and the signal, which ssh would hide.
RUN = """#!/bin/sh
file=$1
shift
"$@" &
echo $! >"$file"
wait $!
exit $?
"""


def install(machine: Machine) -> None:
    """Copies the product's code there, and what runs a command."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted((COLLECTION / "plugins/module_utils").rglob("*.py")):
            archive.add(path, str(path.relative_to(ROOT / "collections")))
        script = tarfile.TarInfo("run")
        script.mode, script.size = 0o755, len(RUN)
        archive.addfile(script, io.BytesIO(RUN.encode()))
    machine.feed(packed.getvalue(), "sh", "-c", f"mkdir -p {LIBRARY} && tar -x -C {LIBRARY}")


def python(machine: Machine, code: str) -> Any:
    """What the code prints there as JSON; ``utils`` stands for the product's."""
    return json.loads(machine.read("env", f"PYTHONPATH={LIBRARY}", "python3", "-c", code.replace("utils.", UTILS + ".")))


def look(machine: Machine) -> dict[str, Any]:
    """What rdma_info returns there."""
    return python(machine, "import json; from utils._device import rdma_checks; print(json.dumps(rdma_checks.probe({'root': '/', 'fail_on': 'never'})))")


def end_of(machine: Machine) -> RdmaDevice:
    """The machine's device and the GID of its address, found there by the product."""
    ports = [RdmaPort(**{**entry, "gids": tuple(Gid(**gid) for gid in entry["gids"])}) for entry in look(machine)["rdma_devices"]]
    return find_device(ports, machine.address)


class Running:
    """A command of ``machine``, known there by its pid."""

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
        """Until the port is listened at; False where the command ended, or it never was."""
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end and not self._child.poll():
            if listening.listening(self._machine.read("cat", "/proc/net/tcp", "/proc/net/tcp6"), port):
                return True
        return False

    def listens(self, port: int) -> bool:
        """What the product's own look at the process there finds."""
        return python(self._machine, f"import json; from utils._perf.listening import listens; print(json.dumps(listens({self.pid}, {port})))")

    def kill(self) -> None:
        self._machine.run("kill", "-9", str(self.pid))

    def result(self) -> Result:
        """At the latest at its deadline; then it is ended there, too."""
        result = self._child.wait()
        self._ended = True
        if result.timed_out:
            self.kill()
        return dataclasses.replace(result, argv=self._argv)

    def leave(self) -> None:
        """Ends it, however far it came."""
        if not self._ended:
            self._child.kill()
            self.kill()


class Pair:
    """``source`` measures with ``target``. ``tools``: that of the server's side and that of the client's, as on two hosts."""

    def __init__(self, source: Machine, target: Machine, server: Perftest | Iperf3, client: Perftest | Iperf3) -> None:
        self.source, self.target, self.server_tool, self.client_tool = source, target, server, client

    @contextmanager
    def serving(self, timeout: float = SERVER_SECONDS) -> Iterator[Running]:
        """A server that listens."""
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
        """The client's result and the server's."""
        with self.serving() as server:
            return self.client(timeout).result(), server.result()


def perftest_pair(source: Machine, target: Machine, ends: dict[str, RdmaDevice], options: Options, other: Options | None = None) -> Pair:
    """``other``: the server's options where they are to differ."""
    return Pair(source, target, Perftest(other or options, {DEVICE: ends[target.name]}), Perftest(options, {DEVICE: ends[source.name]}))


def wait_for_traffic(machine: Machine, packets: int, seconds: float = 30.0) -> None:
    """Until so many more packets were sent over its RDMA device."""
    def sent() -> int:
        return int(machine.read("cat", "/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"))

    goal, end = sent() + packets, time.monotonic() + seconds
    while sent() < goal:
        if time.monotonic() > end:
            raise AssertionError(f"{machine.name} sends nothing")
        time.sleep(0.1)
