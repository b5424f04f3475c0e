# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders that are full or may not be written, as real file systems are."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import skip


@contextmanager
def disk(folder: Path, kilobytes: int, read_only: bool = False) -> Iterator[None]:
    """A small file system at ``folder`` for the time of the test."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={kilobytes}k,nr_inodes=0,mode=0755" + (",ro" if read_only else "")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "hccn-test", str(folder)], capture_output=True, text=True, timeout=30)
    if done.returncode:
        skip("small-disk", done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)
