"""Find processes of this machine, and how much memory they used."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path


def processes(*texts: str, environment: bool = True) -> dict[int, str]:
    """Return the command lines, by pid, of other processes with one of the texts in their command line or, unless it is excluded, their environment."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                words = Path("/proc", name, "cmdline").read_bytes()
                seen = words + b"\0" + Path("/proc", name, "environ").read_bytes() if environment else words
            except OSError:
                continue
            if any(text.encode() in seen for text in texts):
                found[int(name)] = words.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return found


def descendants(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            children.setdefault(int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def peak_mib(pid: int | str = "self") -> float:
    """Return the largest resident set that a process had, in MiB, or 0 if it has ended.

    Not ``ru_maxrss``, which begins with the memory of the process that started it.
    """
    return _mib(f"/proc/{pid}/status", "VmHWM")


def proportional_mib(pid: int) -> float:
    """Return the resident set of a process in MiB, each shared page divided by the number of processes that share it, or 0 if it has ended."""
    return _mib(f"/proc/{pid}/smaps_rollup", "Pss")


def _mib(path: str, field: str) -> float:
    with contextlib.suppress(OSError):
        if found := re.search(rf"^{field}:\s+(\d+) kB", Path(path).read_text(), re.MULTILINE):
            return int(found.group(1)) / 1024
    return 0.0
