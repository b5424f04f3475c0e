# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read hccn.conf, and rewrite it in place under flock, in the same way as hccn_tool.

The file is never replaced by rename, so its inode does not change and containers that bind-mount the file see the change.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Callable, Iterator, Optional

from .._core import locks
from .._core.errors import HccnError
from . import conf

MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of a file that is read: more than hccn_tool can write, so that such a file can be judged and made smaller."""


def read(path: str) -> Optional[str]:
    """Return the text, None if the file does not exist. Raises HccnError ``conf_unreadable``."""
    try:
        with open(path, "rb") as stream:
            return _decode(stream.read(MAX_BYTES + 1), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HccnError("conf_unreadable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None


def ending_error(path: str, text: str, consequence: str) -> HccnError:
    """Return the error for a text without a final newline, to which hccn_tool would append the next key."""
    if conf.ending_problem(text) == conf.NUL_BYTES:
        return HccnError(conf.NUL_BYTES, "%s ends in NUL bytes from an interrupted write: %s" % (path, consequence),
                         "hccn.cluster.hccn_conf removes them")
    return HccnError("no_final_newline", "%s has no final newline: %s" % (path, consequence), "hccn.cluster.hccn_conf adds the newline")


def require_writable(path: str, text: Optional[str]) -> None:
    """Require that hccn_tool can write the file.

    Raises HccnError ``conf_missing``, ``no_final_newline``, ``nul_bytes``, ``conf_full`` or ``conf_unwritable``.
    """
    if text is None:
        raise _missing(path)
    size = len(conf.encoded(text))
    if size + conf.MAX_LINE > conf.MAX_BYTES:
        raise HccnError("conf_full", "%s has %d bytes, and hccn_tool writes at most %d: the device would change, but not the file" % (
            path, size, conf.MAX_BYTES), "remove lines from the file, for instance comments")
    if not conf.ends_in_newline(text):
        raise ending_error(path, text, "hccn_tool would append the next setting to the last line")
    if not os.access(path, os.W_OK):
        raise HccnError("conf_unwritable", "%s is not writable: a change of the device would be lost at the next boot" % path,
                        "run as root (become: true), and check whether the file is mounted read-only or immutable")


def _missing(path: str) -> HccnError:
    return HccnError("conf_missing", "%s does not exist" % path, "create it with hccn_conf and create: true, or with the installer of the driver")


def _decode(content: bytes, path: str) -> str:
    if len(content) > MAX_BYTES:
        raise HccnError("conf_too_large", "%s is larger than %d bytes" % (path, MAX_BYTES), "check that the path is correct")
    # surrogateescape preserves bytes that are not UTF-8.
    return content.decode("utf-8", "surrogateescape")


def _lock(descriptor: int, path: str, timeout: float) -> None:
    if not locks.take(descriptor, timeout):
        raise HccnError("conf_locked", "%s stayed locked for %.0f s by %s" % (path, timeout, locks.holder_of(descriptor)),
                        "wait for that process, or end it if it hangs")


@contextmanager
def locked(path: str, timeout: float, flags: int = os.O_RDONLY, refused: str = "conf_unreadable") -> Iterator[int]:
    """Hold the lock of hccn.conf, as hccn_tool does while it writes, and yield the descriptor. ``refused``: the error code if the file cannot be opened.

    Raises HccnError ``conf_missing``, ``conf_locked`` or ``refused``.
    """
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        raise HccnError(refused, "%s: %s" % (path, error.strerror), "run as root (become: true)") from None
    try:
        _lock(descriptor, path, timeout)
        yield descriptor
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: bytes, offset: int) -> None:
    while content:
        written = os.pwrite(descriptor, content, offset)
        content, offset = content[written:], offset + written


def _overwrite(descriptor: int, before: bytes, after: bytes) -> None:
    """Overwrite the old text. After each system call the file contains the old or the new text, apart from empty lines, which hccn_tool ignores.

    A file that grows is first extended by empty lines, so that a full disk is noticed. A file that shrinks is filled with empty lines and truncated last.
    """
    same = len(os.path.commonprefix([before, after]))
    try:
        _write(descriptor, b"\n" * (len(after) - len(before)), len(before))
        _write(descriptor, after[same:] + b"\n" * (len(before) - len(after)), same)
        os.fsync(descriptor)
        os.ftruncate(descriptor, len(after))
    except BaseException:
        _restore(descriptor, before)
        raise


def _restore(descriptor: int, before: bytes) -> None:
    try:
        _write(descriptor, before, 0)
        os.ftruncate(descriptor, len(before))
        os.fsync(descriptor)
    except OSError:
        pass  # the caller reads the file again and reports its content


def _failure(descriptor: int, path: str, before: bytes, error: OSError) -> HccnError:
    held = os.pread(descriptor, MAX_BYTES + 1, 0)
    if held == before:
        return HccnError("conf_unwritable", "%s: %s; the file holds its old content" % (path, error.strerror), "check the file system")
    return HccnError("conf_damaged", "%s: %s, and the old content could not be put back: the file holds %d bytes that are neither the old nor the new text"
                     % (path, error.strerror, len(held)), "repair the file system, then write the file again, for instance from a backup")


def change(path: str, edit: Callable[[str], str], timeout: float, before_write: Optional[Callable[[str], None]] = None) -> bool:
    """Read, edit and write the file under one lock. Return True if it changed. ``before_write`` is called with the old text, for a backup.

    Raises HccnError ``conf_missing``, ``conf_locked``, ``conf_unwritable`` (the file then contains the old text), ``conf_damaged`` or ``conf_too_large``.
    """
    with locked(path, timeout, os.O_RDWR, "conf_unwritable") as descriptor:
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
            raise _failure(descriptor, path, before, error) from None
        return True


def create(path: str, mode: int = 0o644) -> None:
    """Create an empty file like the installer of the driver, root:root 0644 independent of the umask, never through a link. Keep an existing file.

    Raises HccnError ``conf_unwritable``.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        if os.path.exists(path):
            return
        raise HccnError("conf_unwritable", "%s is a link to a file that does not exist" % path, "remove the link, or create that file") from None
    except OSError as error:
        raise HccnError("conf_unwritable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None
    try:
        os.fchmod(descriptor, mode)
        os.close(descriptor)
    except OSError as error:
        raise HccnError("conf_unwritable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None
