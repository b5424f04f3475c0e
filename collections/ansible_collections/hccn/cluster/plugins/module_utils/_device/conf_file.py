# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""hccn.conf on disk: read and rewritten in place under flock, as hccn_tool itself does.

The inode stays: containers that bind-mount the file see the change. The file is never replaced by rename.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from typing import Callable, Optional

from .._core.errors import HccnError
from . import conf

MAX_BYTES = 1024 * 1024
"""About what the tool takes (hicann/driver cfg.c)."""

_PAUSE = 0.05


def read(path: str) -> Optional[str]:
    """The text, None where there is no file. Raises HccnError ``conf_unreadable``."""
    try:
        with open(path, "rb") as stream:
            return _decode(stream.read(MAX_BYTES + 1), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HccnError("conf_unreadable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None


def no_final_newline(path: str, consequence: str) -> HccnError:
    """The error of a file whose last line is not ended: hccn_tool glues the next key to it."""
    return HccnError("no_final_newline", "%s has no final newline: %s" % (path, consequence), "hccn.cluster.hccn_conf adds the newline")


def require_end(path: str, text: Optional[str]) -> None:
    """Can hccn_tool write down what it sets? Raises HccnError ``conf_missing``, ``no_final_newline`` or ``conf_unwritable``."""
    if text is None:
        raise _missing(path)
    if not conf.ends_well(text):
        raise no_final_newline(path, "hccn_tool would glue what it sets to its last line")
    if not os.access(path, os.W_OK):
        raise HccnError("conf_unwritable", "%s cannot be written: the device would change, and change back at the next boot" % path,
                        "run as root (become: true), and see whether the file is mounted read-only or immutable")


def _missing(path: str) -> HccnError:
    return HccnError("conf_missing", "%s does not exist" % path, "the driver's installer makes it; hccn_conf with create: true too")


def _decode(content: bytes, path: str) -> str:
    if len(content) > MAX_BYTES:
        raise HccnError("conf_too_large", "%s is larger than the %d bytes that hccn_tool takes" % (path, MAX_BYTES), "is it the right file?")
    # Bytes that are no UTF-8 must come back as they were: surrogateescape keeps them.
    return content.decode("utf-8", "surrogateescape")


def _lock(descriptor: int, path: str, timeout: float) -> None:
    end = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise
        if time.monotonic() >= end:
            raise HccnError("conf_locked", "%s stayed locked by another process for %.0f s" % (path, timeout), "an hccn_tool may hang: look for it")
        time.sleep(_PAUSE)


def _overwrite(descriptor: int, before: bytes, after: bytes) -> None:
    """One write, then the length. A shorter text is first filled up with newlines, which the tool ignores, so that a kill
    between the two calls leaves no half line of the old text."""
    if len(after) > len(before):
        os.posix_fallocate(descriptor, 0, len(after))
    filled = after + b"\n" * (len(before) - len(after))
    try:
        if os.pwrite(descriptor, filled, 0) != len(filled):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(descriptor, len(after))
        os.fsync(descriptor)
    except OSError:
        os.pwrite(descriptor, before, 0)
        os.ftruncate(descriptor, len(before))
        raise


def change(path: str, edit: Callable[[str], str], timeout: float, before_write: Optional[Callable[[str], None]] = None) -> bool:
    """Reads, edits and writes the file under one lock; was it changed? ``before_write`` is given the old text (for a backup).

    Raises HccnError ``conf_missing``, ``conf_locked``, ``conf_unwritable`` (the old text stands then) or ``conf_too_large``.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        raise HccnError("conf_unwritable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None
    try:
        _lock(descriptor, path, timeout)
        before = os.pread(descriptor, MAX_BYTES + 1, 0)
        text = _decode(before, path)
        after = edit(text).encode("utf-8", "surrogateescape")
        _decode(after, path)
        if after == before:
            return False
        if before_write is not None:
            before_write(text)
        try:
            _overwrite(descriptor, before, after)
        except OSError as error:
            raise HccnError("conf_unwritable", "%s: %s; the old content stands" % (path, error.strerror), "see the file system") from None
        return True
    finally:
        os.close(descriptor)


def create(path: str, mode: int = 0o644) -> None:
    """An empty file as the driver's installer makes it, root:root 0644 whatever the umask, never behind a link; one that is there stays as it is.

    Raises HccnError ``conf_unwritable``.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        if os.path.exists(path):
            return
        raise HccnError("conf_unwritable", "%s is a link to a file that is not there" % path, "remove the link, or make that file") from None
    except OSError as error:
        raise HccnError("conf_unwritable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None
    try:
        os.fchmod(descriptor, mode)
        os.close(descriptor)
    except OSError as error:
        raise HccnError("conf_unwritable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None
