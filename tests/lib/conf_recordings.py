"""The recorded runs of the real hccn_tool front end on files hccn.conf."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

from tests.lib.project import shared

ABSENT = "(file absent)"


@cache
def records() -> list[dict[str, Any]]:
    """Return all runs, in the order of the file."""
    return [json.loads(line) for line in shared("oracle/hccn_conf_replay.jsonl").read_text(encoding="utf-8").splitlines()]


def content(recorded: Any) -> bytes | None:
    """Return the bytes of a recorded file, None if it was absent."""
    if recorded == ABSENT:
        return None
    if isinstance(recorded, str):
        return recorded.encode("utf-8")
    if "base64" in recorded:
        return base64.b64decode(recorded["base64"])
    parts = (part if isinstance(part, str) else part["repeat"] * part["times"] for part in recorded["parts"])
    return "".join(parts).encode("utf-8")


def text(recorded: Any) -> str:
    return (content(recorded) or b"").decode("utf-8", "surrogateescape")


def devices(run: dict[str, Any]) -> list[int]:
    """Return the devices of the command."""
    words = run["command"].split()
    return [int(words[words.index("-i") + 1])] if "-i" in words else list(range(16 if run["form"].startswith("A3") else 8))


def recoveries() -> list[dict[str, Any]]:
    """Return the runs of ``-cfg recovery`` on a file."""
    return [run for run in records() if run["command"].endswith("-cfg recovery") and run["conf_before"] != ABSENT]
