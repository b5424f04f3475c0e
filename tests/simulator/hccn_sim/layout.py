"""Make the folder of a node, and change the state of its devices."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys

from . import interface
from .node import DEFAULTS, PRODUCTS, Node
from .state import State, assignments

TOOLS = ("hccn_tool", "npu-smi")
# settings that --conf-from-state writes: key of hccn.conf and key of the state
CONF_KEYS = {
    "address": "ip",
    "netmask": "netmask",
    "gateway": "gateway",
    "netdetect": "netdetect",
    "IPv6address": "ip6",
    "IPv6netmask": "prefix",
    "mtu": "mtu",
    "mac_addr": "mac",
    "send_arp_status": "send_arp",
    "tls_enable": "tls",
}


def init(
    root: str,
    config: dict[str, object],
    address_template: str | list[str] = "",
    netmask: str = "255.255.255.0",
    state: list[str] | None = None,
    conf_from_state: bool = False,
    python: str = "",
    reset: bool = False,
) -> bool:
    """Return True if the node was made, False if it existed already and was not changed."""
    root = os.path.abspath(root)
    if os.path.exists(os.path.join(root, "sim.json")):
        if not reset:
            return False
        clear(root)
    for folder in ("bin", "etc", "state"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    unknown = set(config) - set(DEFAULTS)
    if unknown:
        raise ValueError(f"unknown settings: {', '.join(sorted(unknown))}")
    if config.get("product", "A2") not in PRODUCTS:
        raise ValueError(f"unknown product: {config['product']}")
    with open(os.path.join(root, "sim.json"), "w", encoding="utf-8") as stream:
        json.dump({**DEFAULTS, **config}, stream, indent=1)
    _launchers(root, python or sys.executable)
    open(os.path.join(root, "etc", "hccn.conf"), "w", encoding="utf-8").close()
    node = Node(root)
    _addresses(node, [address_template] if isinstance(address_template, str) else address_template, netmask)
    set_state(root, state or [])
    if conf_from_state:
        _conf(Node(root))
    return True


def clear(root: str) -> None:
    """End the processes of a node's devices and remove the files that ``init`` made."""
    stop(root)
    for name in ("bin", "etc", "state"):
        shutil.rmtree(os.path.join(root, name), ignore_errors=True)
    os.unlink(os.path.join(root, "sim.json"))


def stop(root: str) -> None:
    """End the processes of a node's devices and faults."""
    from .host_faults import release
    from .perf_device import PerfDevice
    from .tool import Output, Tool

    node = Node(os.path.abspath(root))
    release(node)
    for device in node.devices():
        tool = Tool(node, Output(sys.stdout, sys.stderr), sys.stdin)
        tool.device.id = device
        PerfDevice(tool).reset()


def set_state(root: str, items: list[str]) -> None:
    """Set ``KEY=VALUE`` (see ``state.assignments``). Keys of the host change its files and processes at once."""
    from .host_faults import apply

    root = os.path.abspath(root)
    state = State(os.path.join(root, "state"))
    for device, values in assignments(items).items():
        state.update(device, values)
        apply(root, device, values)
        if any(name in interface.FOLLOWED for name in values):
            node = Node(root)
            for one in node.devices() if device == "*" else [int(device)]:
                interface.follow(node, one)


def _launchers(root: str, python: str) -> None:
    scripts = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")
    for name in TOOLS:
        path = os.path.join(root, "bin", name)
        parts = [os.path.abspath(python), "-I", "-S", os.path.join(scripts, name)]
        command = " ".join(shlex.quote(part) for part in parts)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(f'#!/bin/sh\nexport HCCN_SIM_ROOT={shlex.quote(root)}\nexec {command} "$@"\n')
        os.chmod(path, 0o755)


def _addresses(node: Node, templates: list[str], netmask: str) -> None:
    """Set addresses: device 0 gets one of the first template, device 1 of the second, and so on in turn."""
    for device in node.devices():
        template = templates[device % len(templates)] if templates else ""
        if template:
            node.state.update(device, {"ip": template.format(device=device), "netmask": netmask})


def _conf(node: Node) -> None:
    lines = []
    for device in node.devices():
        for key, name in CONF_KEYS.items():
            value = node.state.get(device, name)
            if value:
                lines.append(f"{key}_{device}={value}\n")
    with open(node.conf.path, "w", encoding="utf-8") as stream:
        stream.write("".join(lines))
