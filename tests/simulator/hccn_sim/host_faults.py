"""Faults of a host instead of a device: a missing tool, or an hccn.conf that is read-only, locked, or without its last newline."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time

from .node import Node
from .process import alive, spawn, start_time, wait

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AWAY = ".away"
TOOLS = {"tool_missing": "hccn_tool", "npu_smi_missing": "npu-smi"}
READY_SECONDS, GONE_SECONDS = 10.0, 5.0
MAX_LOCK_SECONDS = 600.0
HOLDER = "import sys; sys.path.insert(0, {folder!r}); from hccn_sim.host_faults import hold; hold({conf!r}, {record!r}, {seconds!r})"


def apply(root: str, device: str, names: Iterable[str]) -> None:
    """Change the files of the node according to the values of ``names`` that were just set. Other names are ignored."""
    for name in names:
        if name not in ACTIONS:
            continue
        if device != "*":
            raise ValueError(f"{name} applies to the host, not to a device: give it without a number")
        node = Node(root)
        ACTIONS[name](node, name, node.state.get("*", name))


def _move_tool(node: Node, name: str, value: str) -> None:
    path = os.path.join(node.root, "bin", TOOLS[name])
    here, there = (path, path + AWAY) if value == "1" else (path + AWAY, path)
    if os.path.exists(here):
        os.rename(here, there)


def _protect_conf(node: Node, _name: str, value: str) -> None:
    """Change the mode, which stops ordinary users. The value itself stops the tool for all users."""
    os.chmod(node.conf.path, 0o444 if value == "1" else 0o644)


def _cut_newline(node: Node, _name: str, value: str) -> None:
    """Remove the newline in place, as an editor might."""
    with open(node.conf.path, "rb+") as stream:
        content = stream.read().rstrip(b"\n")
        stream.truncate(len(content))
        if value != "1" and content:
            stream.seek(0, os.SEEK_END)
            stream.write(b"\n")


def _lock_conf(node: Node, _name: str, value: str) -> None:
    release(node)
    if not value:
        return
    seconds = float(value)
    if not 0 < seconds <= MAX_LOCK_SECONDS:
        raise ValueError(f"conf_locked must be more than 0 and at most {MAX_LOCK_SECONDS:.0f} seconds")
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spawn([sys.executable, "-I", "-S", "-c", HOLDER.format(folder=folder, conf=node.conf.path, record=_record(node), seconds=seconds)])
    if not wait(lambda: os.path.exists(_record(node)), READY_SECONDS):
        raise ValueError("hccn.conf could not be locked")


def _record(node: Node) -> str:
    return os.path.join(node.state.folder, "conf_holder")


def hold(conf: str, record: str, seconds: float) -> None:
    """Hold the lock, in a process that exits by itself."""
    signal.setitimer(signal.ITIMER_REAL, seconds + READY_SECONDS)
    with open(conf, "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with open(record + ".new", "w", encoding="utf-8") as mine:
            mine.write(f"{os.getpid()} {start_time(os.getpid())}")
        os.replace(record + ".new", record)
        time.sleep(seconds)


def release(node: Node) -> None:
    """End the process that holds the lock, identified by its pid and start time."""
    try:
        with open(_record(node), encoding="utf-8") as stream:
            pid, started = stream.read().split()
    except FileNotFoundError:
        return
    holder = {"pid": int(pid), "started": started}
    if alive(holder):
        os.kill(holder["pid"], signal.SIGKILL)
    wait(lambda: not alive(holder), GONE_SECONDS)
    os.unlink(_record(node))


ACTIONS: dict[str, Callable[[Node, str, str], None]] = {
    **dict.fromkeys(TOOLS, _move_tool),
    "conf_unwritable": _protect_conf,
    "conf_no_newline": _cut_newline,
    "conf_locked": _lock_conf,
}
