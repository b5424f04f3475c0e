# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that hold for any command: slow, hanging, busy for some calls, or talking nonsense."""

from __future__ import annotations


from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool


def strike(tool: Tool) -> None:
    """Called once a call, as soon as the device is known."""
    device, node = tool.device, tool.node
    if node.seconds("latency_seconds"):
        tool.clock.sleep(node.seconds("latency_seconds"))
    if device.is_set("hang"):
        tool.clock.sleep(node.seconds("hang_seconds"))
        raise Refused("timeout")
    if device.number("busy_for") and node.state.add(device.id, {"busy_for": -1})["busy_for"] > 0:
        raise Refused("busy")
    if device.is_set("garbage"):
        tool.info(f"\x1b[0m#@! {device.id:#06x} ---- ????\n= : =\n")
        raise Refused("silent", 0)
