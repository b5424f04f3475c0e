"""Simulated hosts: make one, change the state of its NPUs, point a module or an inventory at it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.simulator.hccn_sim import layout
from tests.simulator.hccn_sim.__main__ import main
from tests.simulator.hccn_sim.node import Node
from tests.simulator.hccn_sim.schedule import schedule


def node(root: Path, *arguments: str, devices: int = 8) -> Path:
    """Make a simulated host below ``root`` with devices in the loopback fabric, and a hccn.conf that matches their state."""
    assert main(["init", str(root), "--devices", str(devices), "--fabric", "loopback", "--poll-seconds", "0.05", "--conf-from-state", *arguments]) == 0
    return root


def set_state(root: Path, *state: str) -> None:
    """Change the state of a simulated host's devices: ``3.link=0``."""
    layout.set_state(str(root), list(state))


def set_state_after(root: Path, commands: int, *state: str, matching: str = "") -> None:
    """Change the state of a simulated host after this many more calls of its tools. ``matching``: count only calls with these consecutive words."""
    schedule(Node(str(root)), list(state), commands, matching)


def tools(root: Path) -> dict[str, Any]:
    """Return the options with which a module finds the tools of a simulated host."""
    return {"hccn_tool": str(root / "bin/hccn_tool"), "npu_smi": str(root / "bin/npu-smi"), "hccn_conf": str(root / "etc/hccn.conf")}


def write_inventory(folder: Path, hosts: Mapping[str, Mapping[str, object]], **variables: object) -> Path:
    """Write the inventory ``folder``/hosts with a group ``npu`` of hosts that are this machine, each with its variables, one host per line."""
    lines = ["[npu]", *(" ".join([name, *(f"{key}={value}" for key, value in own.items())]) for name, own in hosts.items()),
             "[npu:vars]", "ansible_connection=local", f"ansible_python_interpreter={sys.executable}",
             *(f"{key}={value}" for key, value in variables.items()), ""]
    path = folder / "hosts"
    path.write_text("\n".join(lines))
    return path
