# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Inspect a path in a container from the host, through /proc/PID/root and without entering a namespace.

The container controls its files, so links are only followed within its root, and only regular files are opened.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from typing import FrozenSet, List, Optional, Tuple

from .._core.procfs import format_error, read_text

_MAX_LINKS = 40
"""The limit of the kernel (MAXSYMLINKS, include/linux/namei.h)."""

_IGNORES_READ_RIGHTS = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (include/uapi/linux/capability.h)."""


def open_below(root: int, path: str) -> int:
    """Open ``path`` with O_PATH and return the descriptor. The path is resolved as by a process with the root directory ``root``. Raises OSError."""
    descriptors = [os.dup(root)]
    rest = path.split("/")[::-1]
    links = 0
    try:
        while rest:
            part = rest.pop()
            if part == "..":
                if len(descriptors) > 1:
                    os.close(descriptors.pop())
            elif part not in ("", "."):
                descriptors.append(os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptors[-1]))
                if stat.S_ISLNK(os.fstat(descriptors[-1]).st_mode):
                    links += 1
                    if links > _MAX_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                    target = os.readlink("", dir_fd=descriptors[-1])
                    keep = 1 if target.startswith("/") else len(descriptors) - 1
                    while len(descriptors) > keep:
                        os.close(descriptors.pop())
                    rest.extend(target.split("/")[::-1])
        return descriptors.pop()
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@dataclass(frozen=True)
class FileIdentity:
    """The file-system identity of a process. ``uids`` and ``gids`` are the ranges to which its capabilities apply, as (first, count)."""

    uid: int
    groups: FrozenSet[int]
    capabilities: int
    uids: Tuple[Tuple[int, int], ...]
    gids: Tuple[Tuple[int, int], ...]


EVERYONE = ((0, 2 ** 32),)


def parse_status(status: str, uids: Tuple[Tuple[int, int], ...] = EVERYONE, gids: Tuple[Tuple[int, int], ...] = EVERYONE) -> FileIdentity:
    """Parse /proc/PID/status: file-system uid and gid (the fourth of each line), supplementary groups, effective capabilities. Raises ParseError."""
    fields = {key: value.split() for key, _colon, value in (line.partition(":") for line in status.splitlines())}
    try:
        groups = frozenset(int(group) for group in [fields["Gid"][3]] + fields.get("Groups", []))
        return FileIdentity(int(fields["Uid"][3]), groups, int(fields["CapEff"][0], 16), uids, gids)
    except (KeyError, IndexError, ValueError) as error:
        raise format_error("status", status) from error


def parse_id_map(lines: str) -> Tuple[Tuple[int, int], ...]:
    """Parse /proc/PID/uid_map, and return the ranges of ids outside the user namespace, as (first, count). Raises ParseError."""
    rows = [line.split() for line in lines.splitlines()]
    try:
        return tuple((int(row[1]), int(row[2])) for row in rows)
    except (IndexError, ValueError) as error:
        raise format_error("uid_map", lines) from error


def _id_map(process: str, name: str) -> Tuple[Tuple[int, int], ...]:
    try:
        return parse_id_map(read_text("%s/%s" % (process, name)))
    except FileNotFoundError:
        return EVERYONE  # a kernel without user namespaces


def user(process: str, own: str) -> FileIdentity:
    """Return the user of ``process`` (/proc/PID). ``own`` is /proc/self. Raises OSError."""
    status = read_text(process + "/status")
    if os.readlink(process + "/ns/user") == os.readlink(own + "/ns/user"):
        return parse_status(status)  # both are in the same user namespace, so no map applies
    return parse_status(status, _id_map(process, "uid_map"), _id_map(process, "gid_map"))


def _within(number: int, ranges: Tuple[Tuple[int, int], ...]) -> bool:
    return any(first <= number < first + count for first, count in ranges)


def may_read(mode: int, owner: int, group: int, reader: FileIdentity) -> bool:
    """Return True if mode, owner and capabilities allow reading. Access control lists and security modules are not considered."""
    if reader.capabilities & _IGNORES_READ_RIGHTS and _within(owner, reader.uids) and _within(group, reader.gids):
        return True
    if reader.uid == owner:
        return bool(mode & stat.S_IRUSR)
    if group in reader.groups:
        return bool(mode & stat.S_IRGRP)
    return bool(mode & stat.S_IROTH)


_OCTAL = re.compile(r"\\([0-7]{3})")


def parse_mountinfo(lines: str) -> List[str]:
    """Parse /proc/PID/mountinfo, and return the mount points relative to the root of the process."""
    points = [fields[4] for fields in (line.split() for line in lines.splitlines()) if len(fields) > 4]
    return [_OCTAL.sub(lambda found: chr(int(found.group(1), 8)), point) for point in points]


@dataclass(frozen=True)
class ContainerFile:
    """The file at the path in the container. ``regular`` is False for a directory or a device. ``mounted``: the path itself is a mount point.

    ``content`` is None if it was not read, since the file is that of the host or its size differs.
    """

    regular: bool
    device: int
    inode: int
    links: int
    content: Optional[bytes]
    read_only: bool
    readable: bool
    mounted: bool


def _content(path_descriptor: int, limit: int) -> bytes:
    # Opened through the O_PATH descriptor, so that it is the same file that was found to be regular.
    descriptor = os.open("/proc/self/fd/%d" % path_descriptor, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(limit + 1)


def inspect(process: str, own: str, root: int, path: str, identity: Tuple[int, int], size: int) -> ContainerFile:
    """Return the file at ``path`` below ``root`` as the process sees it. ``identity`` (device, inode) and ``size`` are those of the host's file.

    Raises FileNotFoundError or NotADirectoryError if the path does not exist, and OSError.
    """
    reader = user(process, own)
    mounts = parse_mountinfo(read_text(process + "/mountinfo"))
    descriptor = open_below(root, path)
    try:
        entry = os.fstat(descriptor)
        regular = stat.S_ISREG(entry.st_mode)
        compare = regular and entry.st_size == size and (entry.st_dev, entry.st_ino) != identity
        return ContainerFile(
            regular=regular, device=entry.st_dev, inode=entry.st_ino, links=entry.st_nlink,
            content=_content(descriptor, size) if compare else None,
            read_only=bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY),
            readable=may_read(entry.st_mode, entry.st_uid, entry.st_gid, reader),
            mounted=os.path.normpath(path) in mounts,
        )
    finally:
        os.close(descriptor)
