# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Folders and files that are there for good, or not at all. All functions raise OSError."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

FOLDER_MODE = 0o750
FILE_MODE = 0o640


def make_folders(folder: Path) -> None:
    """Makes the folders that are missing, whatever the umask; those that exist stay as they are."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(FOLDER_MODE)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Returns when the names in the folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(path: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Puts ``content`` at ``path`` in one step; a reader sees the old file or the new one."""
    make_folders(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
