"""Two simulated nodes on which sequences run, and the observations of each step. It needs a separate process (``adopt_orphans``)."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shlex
import sys
from ast import literal_eval
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from tests.lab.campaign import forked, tool
from tests.lab.campaign.steps import CLEARED, DEVICES, NODE, OTHER, Call, Change
from tests.lab.campaign.trace import Command, Node, Trace
from tests.lib.ports import free_port
from tests.lib.waiting import happens
from tests.simulator.hccn_sim import layout
from tests.simulator.hccn_sim.node import Node as SimulatedNode
from tests.simulator.hccn_sim.schedule import schedule
from tests.lib.hosts import tools

DEFAULTS = {"ip": "", "netmask": "", "gateway": "", "netdetect": "", "mtu": "1500", "tls": "0"}
"""The settings of the devices, with their values if nothing is set."""
UNRELATED = (b"# site: rack 7\narp_0=-i eth0 -s 10.81.9.1 00:00:5e:00:53:01\narp_0=-i eth0 -s 10.81.9.2 00:00:5e:00:53:02\n"
             b"vendor_option_1=keep me  \nnote_1=\xc3\xa4\n")
MODULE_SECONDS, LEFT_SECONDS = 120.0, 15.0
TIMEOUT, SHORT_TIMEOUT = 10, 2
HOLDER = b"import hold; hold("
"""Part of the command line of the process that the fault conf_locked starts."""
LAUNCHER = "#!/bin/sh\nexec {python} -I -S {script} {root} {name} \"$@\"\n"
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make every process that a module leaves behind a child of this process, which can then find it."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def children() -> list[int]:
    """Return the running descendants of this process and reap exited ones. The simulator's process that holds the lock is excluded."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            return []
    found = [int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]
    return [pid for pid in found if not _is_holder(pid)]


def _is_holder(pid: int) -> bool:
    try:
        return HOLDER in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


class World:
    """The nodes, in the same state at the start of every sequence. ``folder`` belongs to this process; all processes share the file ``lock``."""

    def __init__(self, folder: Path, lock: Path) -> None:
        self.folder, self._lock = folder, lock
        self.roots = {name: folder / name for name in (NODE, OTHER)}
        self._calls = 0
        self._template: dict[str, tuple[bytes, bytes]] = {}
        for number, (name, root) in enumerate(self.roots.items(), 1):
            self._make(name, root, number)
        self.first: dict[str, Node] = {}

    def _make(self, name: str, root: Path, number: int) -> None:
        settings = {"fabric": "loopback", "poll_seconds": 0.05, "retry_seconds": 0.02, "hang_seconds": 2.0, "measure_seconds": 0.05, "devices": len(DEVICES),
                    "switch_addresses": [f"10.{third}.0.{last}" for third in (81, 82, 83) for last in (1, 2, 3)]}
        layout.init(str(root), settings, address_template=f"10.81.{number}.1{{device}}", netmask="255.255.0.0", conf_from_state=True,
                    state=["*.gateway=10.81.0.1", "*.rate_mbit=400", "0.tls=0"])
        with (root / "etc/hccn.conf").open("ab") as stream:
            stream.write(UNRELATED)
        for program in ("hccn_tool", "npu-smi"):
            words = {"python": sys.executable, "script": tool.__file__, "root": str(root), "name": program}
            (root / "bin" / program).write_text(LAUNCHER.format(**{key: shlex.quote(word) for key, word in words.items()}))
        self._template[name] = ((root / "state/devices.json").read_bytes(), (root / "etc/hccn.conf").read_bytes())

    def reset(self) -> None:
        """Restore the initial state."""
        for name, root in self.roots.items():
            layout.set_state(str(root), list(CLEARED))
            layout.stop(str(root))
            state, conf = self._template[name]
            for path in [*(root / "state").glob("*"), *(root / "etc").glob("hccn.conf.*"), root / "commands", *root.glob("runs/*/*")]:
                if path.is_file() and path.name != "lock":
                    path.unlink()
            (root / "state/devices.json").write_bytes(state)
            (root / "etc/hccn.conf").write_bytes(conf)
        self.first = self.snapshot()

    def close(self) -> None:
        for root in self.roots.values():
            layout.stop(str(root))

    def snapshot(self) -> dict[str, Node]:
        """Return the current state of both nodes."""
        return {name: _snapshot(root) for name, root in self.roots.items()}

    def change(self, change: Change) -> None:
        layout.set_state(str(self.roots[NODE]), list(change.state))

    def is_quiet(self) -> bool:
        """Return True if no fault and no job is active."""
        state = json.loads((self.roots[NODE] / "state/devices.json").read_text())
        names = {word.partition("=")[0] for word in CLEARED}
        return not any(names & set(values) for values in state.values()) and (self.roots[NODE] / "etc/hccn.conf").read_bytes().endswith(b"\n")

    def run(self, *calls: Call) -> Trace:
        """Run calls at the same time, each with its ``beside``, and return one trace of all."""
        wanted: dict[str, Call] = {}
        for call in calls:
            for one in (call, call.beside):
                if one is not None:
                    self._calls += 1
                    wanted[f"c{self._calls}"] = one
        quiet = self.is_quiet() and len(wanted) == 1 and not any(one.kill or one.events for one in wanted.values())
        before = self.snapshot()
        for call in calls:
            for after, words, state in call.events:
                schedule(SimulatedNode(str(self.roots[call.node])), [state], after, words)
        running = {name: self._start(name, call) for name, call in wanted.items()}
        results = {name: one.result() for name, one in running.items()}
        left = self._left()
        for root in self.roots.values():
            (root / "state/scheduled.json").unlink(missing_ok=True)
        return Trace(wanted, results, before, self.snapshot(), tuple(self._commands(set(wanted))), left, quiet, self.first)

    def _start(self, name: str, call: Call) -> forked.Running:
        root = self.roots[call.node]
        slow = "health_ret" in (root / "state/devices.json").read_text()
        arguments = {**tools(root), "timeout": SHORT_TIMEOUT if slow else TIMEOUT, **call.options, "_ansible_check_mode": call.check, "_ansible_diff": True}
        if call.module == "rdma_perf":
            arguments = {key: value for key, value in arguments.items() if key not in ("hccn_conf", "timeout")}
        kill = call.kill or {}
        environment = {tool.CALL: name, tool.KILL: "{what}:{moment}:{number}".format_map(kill) if "what" in kill else "::0"}
        return forked.start(call.module, arguments, environment, kill if "operation" in kill else None, MODULE_SECONDS)

    def _commands(self, calls: set[str]) -> Iterator[Command]:
        for name, root in self.roots.items():
            path = root / "commands"
            entries = [literal_eval(line) for line in path.read_text().splitlines()] if path.exists() else []
            for entry in entries:
                if entry["call"] in calls:
                    yield Command(entry["call"], entry["tool"], tuple(entry["arguments"]), tuple(entry["busy"]), name, entry["at"])

    def _left(self) -> tuple[str, ...]:
        happens(lambda: not children(), LEFT_SECONDS)
        found = []
        for pid in children():
            try:
                found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return tuple(found)

    def plan(self) -> dict[str, Any]:
        """Return a pair plan of both nodes, each with a free control port."""
        hosts = [{"host": name, "control_address": "127.0.0.1", "control_port": free_port(), "devices": [
            {"id": device, "address": node.devices[device]["ip"]} for device in DEVICES]} for name, node in self.snapshot().items()]
        return make_plan(hosts, "quick")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let only one process measure at a time, since the nodes of all processes have the same addresses."""
        with self._lock.open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def _snapshot(root: Path) -> Node:
    conf = root / "etc/hccn.conf"
    state: Mapping[str, Mapping[str, str]] = json.loads((root / "state/devices.json").read_text())
    every = state.get("*", {})
    devices = {device: {key: state.get(str(device), {}).get(key, every.get(key, default)) for key, default in DEFAULTS.items()} for device in DEVICES}
    saved = root / "etc/hccn.conf.restore.json"
    return Node(conf.read_bytes(), conf.stat().st_ino, devices, tuple(sorted(path.name for path in (root / "state").glob("roce_test_*.json"))),
                json.loads(saved.read_text()) if (root / "etc/hccn.conf.restore.unfinished").exists() else None)
