"""The inventory of a lab, and the options of ssh."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from .plan import Settings

DIAL = Path(__file__).with_name("dial.py")
FABRIC = {"check_fabric_advanced": {"server_start_delay_s": 0.2},  # the stand-in's servers listen at once, the real ones within seconds
          "check_fabric_relative_floor": 0.75}  # the machine's load is no fault of the hosts


def proxy_command(folder: Path) -> str:
    return shlex.join([sys.executable, "-I", "-S", str(DIAL), str(folder)]) + " %h %p"


def ssh_options(folder: Path) -> list[str]:
    """Return options that ignore the user's ssh configuration and give up a silent host after about 15 s."""
    return ["-F", "/dev/null", "-o", f"ProxyCommand={proxy_command(folder)}", "-o", "ProxyUseFdpass=yes", "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]


def text(folder: Path, settings: Settings, variables: dict[str, Any]) -> str:
    """Return the inventory as YAML. Values are JSON, which is valid YAML."""
    common = {
        "ansible_connection": "ssh", "ansible_user": "root", "ansible_ssh_private_key_file": str(folder / "id"),
        "ansible_ssh_common_args": shlex.join(ssh_options(folder)), "ansible_ssh_args": "-o ControlMaster=auto -o ControlPersist=60s",
        "ansible_control_path_dir": str(folder / "cp"), "ansible_ssh_pipelining": True, "ansible_python_interpreter": settings.python, **FABRIC, **variables,
    }
    groups: dict[str, list[str]] = {}
    for host in settings.hosts:
        groups.setdefault(host.product.lower(), []).append(
            f"        {host.name}: {{ansible_host: {host.address}, check_fabric_leaf: leaf{host.leaf}}}\n")
    lines = ["---\n", "npu:\n", "  children:\n"]
    for name, hosts in groups.items():
        lines += [f"    {name}:\n", "      hosts:\n", *hosts]
    lines += ["  vars:\n", *(f"    {name}: {json.dumps(value)}\n" for name, value in common.items())]
    return "".join(lines)
