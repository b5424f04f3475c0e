"""Find the Python interpreters of this machine.

A name in PATH is not enough: version managers put shims there that fail, or run another version, in a clean environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

PROBE = "import sys, venv; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"


def found(versions: list[str]) -> dict[str, Path]:
    """Return the interpreters of the wanted versions (``["3.9", ...]``), each with the real path of its program."""
    managed = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"))
    folders = [*os.environ["PATH"].split(os.pathsep), *map(str, managed)]
    return {version: path for version in versions if (path := _first(version, folders))}


def _first(version: str, folders: list[str]) -> Path | None:
    for folder in folders:
        program = shutil.which(f"python{version}", path=folder)
        answer = _ask(program) if program else None
        if answer and answer[0] == version:
            return Path(answer[1])
    return None


def _ask(program: str) -> list[str] | None:
    try:
        done = subprocess.run([program, "-c", PROBE], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.split("\n")
