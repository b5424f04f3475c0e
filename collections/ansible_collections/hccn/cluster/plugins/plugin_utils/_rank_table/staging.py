# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Make the table of a task once for all its hosts. The process of the first host makes it, and the processes of the others wait for it.

Each host of a task has its own process, so they share the table in files, in the folder that Ansible removes at the end of the run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Made = dict[str, Any]


def key_of(*parts: Any) -> str:
    """Return a name for ``parts``, which are JSON values or are converted to text."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def once(folder: Path, key: str, make: Callable[[], Made]) -> tuple[Made, bool]:
    """Return the result of ``make`` by the first process with this ``key``, and True if this is that process. Exceptions are not kept."""
    kept = folder / f"rank_table_{key}.made"
    with open(folder / f"rank_table_{key}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            return json.loads(kept.read_text(encoding="utf-8")), False
        made = make()
        write(kept, json.dumps(made))
        return made, True


def write(path: Path, text: str) -> None:
    """Write a file atomically that only the user of the run can read."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(draft, path)
