# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Can a user read a file, by the mode bits of it and of the folders above it? Access lists and capabilities are not looked at."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

_READ, _SEARCH = 0o4, 0o1


class Entry(NamedTuple):
    """A file or a folder: permission bits as a number."""

    path: str
    mode: int
    uid: int
    gid: int


def _allowed(entry: Entry, uid: int, gid: Optional[int], bit: int) -> bool:
    if uid == 0:
        return True
    shift = 6 if entry.uid == uid else 3 if gid is not None and entry.gid == gid else 0
    return bool(entry.mode >> shift & bit)


def barrier(file: Entry, folders: Sequence[Entry], uid: int, gid: Optional[int]) -> Optional[str]:
    """What keeps the user from reading the file, as a sentence about the first such folder or the file itself; None where nothing does."""
    who = "uid %d%s" % (uid, "" if gid is None else " with gid %d" % gid)
    for folder in folders:
        if not _allowed(folder, uid, gid, _SEARCH):
            return "%s cannot enter %s (%04o, owner %d, group %d)" % (who, folder.path, folder.mode, folder.uid, folder.gid)
    if not _allowed(file, uid, gid, _READ):
        return "%s cannot read %s (%04o, owner %d, group %d)" % (who, file.path, file.mode, file.uid, file.gid)
    return None
