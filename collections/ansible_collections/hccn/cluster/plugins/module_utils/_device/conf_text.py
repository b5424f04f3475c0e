# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The text of hccn.conf as ``hccn_tool`` reads and rewrites it, piece by piece."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from . import conf


class Unwritten(Exception):
    """The new text is larger than the buffer of hccn_tool, so the file stays as it is."""


class Piece(NamedTuple):
    """What the tool reads as a line. ``number`` is the line of the original text, ``glued`` the reason why a rewrite joined it to another line."""

    text: str
    number: int
    glued: str = ""

    @property
    def seen(self) -> str:
        """The text up to a NUL byte, as C reads it."""
        return self.text.partition("\0")[0]


class ConfText:
    """A text that can be read and rewritten many times. Lines of the original text keep their numbers."""

    def __init__(self, text: str) -> None:
        self._pieces = [Piece(piece, number) for number, line in enumerate(conf.lines_of(text), 1) for piece in conf.pieces_of(line)]
        self._bytes = len(conf.encoded(text))
        self._index()

    def _index(self) -> None:
        self._first: Dict[Tuple[int, str], Tuple[str, Piece]] = {}
        for piece in self._pieces:
            setting = conf.parse_line(piece.text)
            if setting is not None:
                self._first.setdefault((setting.device, setting.key), (setting.value, piece))

    @property
    def pieces(self) -> List[Piece]:
        return self._pieces

    def find(self, device: int, key: str) -> Optional[Tuple[str, Piece]]:
        """Return the value of the first line of a key, and the line."""
        return self._first.get((device, key))

    def value(self, device: int, key: str) -> Optional[str]:
        found = self.find(device, key)
        return None if found is None else found[0]

    def rewrite(self, device: int, key: str, value: str) -> None:
        """Remove all lines of the key and append one. Raises Unwritten."""
        self._replace(lambda piece: not _is_of(piece, device, key), "%s_%d=%s\n" % (key, device, value))

    def remove(self, unwanted: Callable[[Piece], bool]) -> bool:
        """Remove pieces; return True if there were any. Raises Unwritten."""
        if not any(unwanted(piece) for piece in self._pieces):
            return False
        self._replace(lambda piece: not unwanted(piece), "")
        return True

    def _replace(self, keep: Callable[[Piece], bool], appended: str) -> None:
        kept = [piece for piece in self._pieces if keep(piece)]
        size = sum(len(conf.encoded(piece.seen)) for piece in kept) + len(appended)
        if size > conf.MAX_BYTES:
            raise Unwritten
        self._bytes = size
        self._pieces = list(_joined(kept + ([Piece(appended, 0)] if appended else [])))
        self._index()


def _is_of(piece: Piece, device: int, key: str) -> bool:
    setting = conf.parse_line(piece.text)
    return setting is not None and (setting.device, setting.key) == (device, key)


def _joined(pieces: List[Piece]) -> List[Piece]:
    """Return the pieces as they are read again after they were written one behind the other: without what follows a NUL byte, including its LF."""
    joined: List[Piece] = []
    held: List[Piece] = []
    for piece in pieces:
        held.append(piece)
        if "\0" not in piece.text and piece.text.endswith("\n"):
            joined += _read_again(held)
            held = []
    return joined + _read_again(held)


def _read_again(held: List[Piece]) -> List[Piece]:
    if len(held) < 2 and (not held or "\0" not in held[0].text):
        return held
    text = "".join(piece.seen for piece in held)
    glued = next((piece.glued for piece in held if piece.glued), "")
    for piece in held[:-1]:
        if not glued and len(conf.encoded(piece.text)) < conf.MAX_LINE:
            glued = conf.NUL_BYTES if "\0" in piece.text else "final_newline"
    return [Piece(part, held[0].number or held[-1].number, glued) for part in conf.pieces_of(text)]
