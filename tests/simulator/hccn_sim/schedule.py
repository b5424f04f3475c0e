"""Changes of a node's state between two commands: they take effect after the n-th following call of its tools."""

from __future__ import annotations

import os

from .json_files import read_json, write_json
from .state import assignments

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import Any
    from .node import Node

FILE = "scheduled.json"


def schedule(node: Node, items: list[str], after_commands: int, matching: str = "") -> None:
    """Change the state by ``items`` (see ``hccn-sim set``) after ``after_commands`` calls. ``matching``: count only calls with these words."""
    if after_commands < 1:
        raise ValueError(f"after-commands must be at least 1, not {after_commands}")
    assignments(items)
    with node.state.locked():
        entry = {"left": after_commands, "matching": " ".join(matching.split()), "state": items}
        write_json(_path(node), [*_read(node), entry])


def command_ended(node: Node, name: str, args: list[str]) -> None:
    """Count one call of a tool and make the changes that are due. Calls that are killed from outside do not count."""
    if not os.path.exists(_path(node)):
        return
    line = " ".join([name, *args])
    with node.state.locked():
        entries = _read(node)
        for entry in entries:
            entry["left"] -= f" {entry['matching']} " in f" {line} " or not entry["matching"]
        _write(node, [entry for entry in entries if entry["left"] > 0])
    due = [item for entry in entries if entry["left"] <= 0 for item in entry["state"]]
    if due:
        from .layout import set_state

        set_state(node.root, due)


def _path(node: Node) -> str:
    return os.path.join(node.state.folder, FILE)


def _read(node: Node) -> list[dict[str, Any]]:
    return read_json(_path(node)) or []


def _write(node: Node, entries: list[dict[str, Any]]) -> None:
    if entries:
        write_json(_path(node), entries)
    elif os.path.exists(_path(node)):
        os.unlink(_path(node))
