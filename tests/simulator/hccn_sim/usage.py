"""Help. The real bodies are long and no program reads them; only the surrounding lines are real."""

from __future__ import annotations

GROUPS = "-g reads, -s sets, where the command has them"


def usage(attribute: str, command: str) -> str:
    return f"[ hccn_tool {attribute} devid {command} ] needs the following parameters:\n   ({GROUPS})\n"


def overview(commands: list[str]) -> str:
    return "\n".join(f"hccn_tool -i devid {command}\n   ({GROUPS})\n" for command in commands)
