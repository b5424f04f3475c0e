# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Durable and atomic operations on folders and files. All functions raise OSError."""

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
"""The maximum size of a run; a million pair results take a third of it."""


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def make_folders(folder: Path) -> None:
    """Create missing folders, independent of the umask. Existing ones are not changed."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(FOLDER_MODE)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> bytes:
    """Return the content of a regular file. Raise OSError for links, pipes and devices, which others may have put in its place and which may never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise OSError(error.errno, "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror) from error
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return limited(stream)


def limited(stream: Readable) -> bytes:
    """Return the whole content, raise OSError if it exceeds MOST_BYTES."""
    content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES >> 20} MiB")
    return content


def replace(path: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Replace the file at ``path`` atomically; a reader sees the old content or the new one."""
    make_folders(path.parent)
    with draft(path, mode) as stream:
        stream.write(content)


@contextlib.contextmanager
def draft(path: Path, mode: int = FILE_MODE) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces ``path`` when the block ends, or is removed if the block raises."""
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
