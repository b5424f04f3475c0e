# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Write palette images (PNG, ISO/IEC 15948) with the standard library, and define the colours of the maps.

The scale has two parts, red below the limit and blue from the limit on. It is ordered in greyscale, and does not require to distinguish red from green.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence

Colour = tuple[int, int, int, int]

SHADES = 240
"""Palette entries of the scale, dark to light; the next entry is transparent."""
CLEAR = SHADES
_BELOW = ("2b0a3d", "7a0f2b", "b3261e", "d9480f")
_ABOVE = ("2f7fc4", "7db8e0", "e6f2fb")


def shade(index: int) -> Colour:
    """Return the colour at a position on the scale, 0 to SHADES - 1."""
    half = SHADES // 2
    anchors = _BELOW if index < half else _ABOVE
    place = index % half / (half - 1) * (len(anchors) - 1)
    low = min(int(place), len(anchors) - 2)
    one, other = (bytes.fromhex(anchors[number]) for number in (low, low + 1))
    red, green, blue = (round(a + (b - a) * (place - low)) for a, b in zip(one, other))
    return red, green, blue, 255


SCALE: tuple[Colour, ...] = tuple(map(shade, range(SHADES))) + ((0, 0, 0, 0),)


def picture(width: int, rows: Iterable[bytes], palette: Sequence[Colour]) -> bytes:
    """Return a PNG of ``rows`` with ``width`` bytes each, one palette index per pixel."""
    lines = list(rows)
    header = struct.pack(">IIBBBBB", width, len(lines), 8, 3, 0, 0, 0)
    colours = b"".join(bytes(colour[:3]) for colour in palette)
    alphas = bytes(colour[3] for colour in palette)
    body = zlib.compress(b"".join(b"\0" + line for line in lines), 9)
    chunks = ((b"IHDR", header), (b"PLTE", colours), (b"tRNS", alphas), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    name, data = part
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def inline(content: bytes) -> str:
    """Return a PNG as a data URL."""
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


# The states of a cell without a value. Their patterns differ in shape, so that they can be distinguished in greyscale and on paper.
DIAGONAL, FAILED, NOT_MEASURED, LOST = 1, 2, 3, 4
OVERLAY: tuple[Colour, ...] = ((0, 0, 0, 0), (128, 128, 128, 150), (176, 0, 32, 255), (255, 255, 255, 255), (128, 128, 128, 190), (64, 64, 72, 255))


def _pattern(state: int, size: int) -> list[bytes]:
    """Return a cell of the overlay as ``size`` rows of ``size`` pixels."""
    last, middle = size - 1, size // 2
    rows = []
    for y in range(size):
        if state == DIAGONAL:
            rows.append(bytes(1 for x in range(size)))
        elif state == FAILED:
            rows.append(bytes(3 if size >= 4 and (x in (y, last - y)) and 0 < y < last else 2 for x in range(size)))
        elif state == LOST:
            rows.append(bytes(5 if (x + y) % 3 == 0 else 4 for x in range(size)))
        elif state == NOT_MEASURED:
            rows.append(bytes(4 if middle - size // 9 <= x <= middle and middle - size // 9 <= y <= middle else 0 for x in range(size)))
        else:
            rows.append(bytes(size))
    return rows


def overlay(states: Sequence[bytes], size: int) -> bytes:
    """Return a PNG of the states with ``size`` pixels per cell. ``states``: rows of states, 0 for a cell with a value."""
    patterns = {state: _pattern(state, size) for state in (0, DIAGONAL, FAILED, NOT_MEASURED, LOST)}
    rows: list[bytes] = []
    for line in states:
        rows += [b"".join([patterns[state][y] for state in line]) for y in range(size)]
    return picture(len(states[0]) * size if states else 0, rows, OVERLAY)
