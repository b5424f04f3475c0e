# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Folders and files that are there for good, or not at all. All functions raise OSError."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

FOLDER_MODE = 0o750
FILE_MODE = 0o640
MOST_BYTES = 1 << 30
"""Of one run: a million results of pairs have a third of that."""


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


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


def read(path: Path) -> bytes:
    """A plain file: others may have put a link, a pipe or a device where a run should lie, of which no reader sees the end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise OSError(error.errno, "it is a link" if error.errno == errno.ELOOP else error.strerror) from error
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        return limited(stream)


def limited(stream: Readable) -> bytes:
    """All that is in it, up to MOST_BYTES."""
    content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it holds more than {MOST_BYTES >> 20} MiB")
    return content


def replace(path: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Puts ``content`` at ``path`` in one step; a reader sees the old file or the new one."""
    make_folders(path.parent)
    with draft(path, mode) as stream:
        stream.write(content)


@contextlib.contextmanager
def draft(path: Path, mode: int = FILE_MODE) -> Iterator[BinaryIO]:
    """What is written to becomes ``path`` when the block ends well, and leaves nothing where it does not."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(descriptor, mode)
            yield stream
            stream.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
