# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A task that runs for many hosts makes its table once: the first host's process makes it, those of the others wait and take it.

Each host of a task has a process of its own, so what they share lies in files, in the folder that Ansible removes when the run ends.
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
    """A name for what is made from ``parts``: JSON values, or what becomes text."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def once(folder: Path, key: str, make: Callable[[], Made]) -> tuple[Made, bool]:
    """What ``make`` gives, made by the first process that asks for ``key``. True: by this one. What raises is not kept."""
    kept = folder / f"rank_table_{key}.made"
    with open(folder / f"rank_table_{key}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            return json.loads(kept.read_text(encoding="utf-8")), False
        made = make()
        write(kept, json.dumps(made))
        return made, True


def write(path: Path, text: str) -> None:
    """A file that only the user of the run reads, there as a whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(draft, path)
