# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The files with the whole output of failed tools, one folder for each run."""

from __future__ import annotations

import contextlib
import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import files

FOLDER = "logs"
"""Below the history, unless the user sets another folder."""
MOST_FILES = 100
"""Files of a run."""
LONGEST_NAME = 64

_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


def failed(records: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the first record of a failure."""
    return next((record for record in records if record.get("status") != "ok" and isinstance(record.get("error"), Mapping)), None)


def write(folder: Path, run_id: str, host: str, output: str) -> Path | None:
    """Write a compressed file and return its path, None if the run has MOST_FILES. ``output`` has no secrets. Raise OSError."""
    place = folder / run_id
    name = _OTHER.sub("_", host)[:LONGEST_NAME] or "host"
    for number in range(1, MOST_FILES + 1):
        path = place / f"{name}-{number}.log.gz"
        if not path.exists():
            files.replace(path, gzip.compress(output.encode("utf-8", "replace"), mtime=0))
            return path
    return None


def delete(folder: Path, run_id: str) -> None:
    """Delete the files of a run. Raise OSError."""
    for path in (folder / FOLDER / run_id).glob("*.log.gz"):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        (folder / FOLDER / run_id).rmdir()
