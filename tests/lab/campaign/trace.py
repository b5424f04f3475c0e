"""The observations of a step from outside the product: the node before and after it, the tool calls, the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.lab.campaign.steps import Call

CHANGING = ("-s", "-a", "-d", "-c")


@dataclass(frozen=True)
class Command:
    """One tool call. ``busy``: the devices with a job when it started."""

    call: str
    tool: str
    arguments: tuple[str, ...]
    busy: tuple[int, ...] = ()
    node: str = "n1"
    at: float = 0.0
    """Start time in seconds of a monotonic clock."""

    @property
    def device(self) -> int:
        return int(self.arguments[1]) if self.tool == "hccn_tool" and self.arguments[:1] == ("-i",) else -1

    @property
    def asks_for_jobs(self) -> bool:
        return self.tool == "npu-smi" and self.arguments == ("info",)

    @property
    def test(self) -> str:
        """Return ``reset``, ``launch`` or an empty text."""
        if "-roce_test" not in self.arguments:
            return ""
        return "reset" if self.arguments[-1] == "reset" else "launch"

    @property
    def changes(self) -> bool:
        """Return True if the command sets the device or hccn.conf, or uses the device for a test."""
        words = self.arguments[2:]
        return bool(self.test) or words[:2] == ("-cfg", "recovery") or any(word in CHANGING for word in words[1:3]) and self.tool == "hccn_tool"


@dataclass(frozen=True)
class Node:
    """One node: bytes and inode of hccn.conf, the settings of the devices, their tests, and the record of an unfinished change."""

    conf: bytes
    inode: int
    devices: Mapping[int, Mapping[str, str]]
    tests: tuple[str, ...] = ()
    saved: Mapping[str, Any] | None = None

    @property
    def settings(self) -> tuple[Any, ...]:
        """Return the settings that a change may change."""
        return self.conf, {device: dict(values) for device, values in self.devices.items()}


@dataclass(frozen=True)
class Trace:
    """``calls`` with ``results`` (None: none was printed) by the IDs of the calls; ``left``: processes that did not exit."""

    calls: Mapping[str, Call]
    results: Mapping[str, dict[str, Any] | None]
    before: Mapping[str, Node]
    after: Mapping[str, Node]
    commands: tuple[Command, ...] = ()
    left: tuple[str, ...] = ()
    quiet: bool = True
    """True if no fault was active, so that the calls had to succeed."""
    first: Mapping[str, Node] = field(default_factory=dict)
    """The nodes at the start of the sequence."""
