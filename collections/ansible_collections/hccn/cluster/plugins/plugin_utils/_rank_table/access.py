# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check whether a user can read a file, by the mode bits of the file and of its folders. Access lists and capabilities are not considered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_READ, _SEARCH = 0o4, 0o1


class PathMode(NamedTuple):
    """A file or folder with its permission bits, owner and group."""

    path: str
    mode: int
    uid: int
    gid: int


def _allowed(path: PathMode, uid: int, gid: int | None, bit: int) -> bool:
    if uid == 0:
        return True
    shift = 6 if path.uid == uid else 3 if gid is not None and path.gid == gid else 0
    return bool(path.mode >> shift & bit)


def read_barrier(file: PathMode, folders: Sequence[PathMode], uid: int, gid: int | None) -> str | None:
    """Return why the user cannot read the file, naming the first folder that blocks access or the file itself; None if the user can."""
    user = f"uid {uid}" + ("" if gid is None else f" with gid {gid}")
    for folder in folders:
        if not _allowed(folder, uid, gid, _SEARCH):
            return f"{user} cannot enter {folder.path} ({folder.mode:04o}, owner {folder.uid}, group {folder.gid})"
    if not _allowed(file, uid, gid, _READ):
        return f"{user} cannot read {file.path} ({file.mode:04o}, owner {file.uid}, group {file.gid})"
    return None
