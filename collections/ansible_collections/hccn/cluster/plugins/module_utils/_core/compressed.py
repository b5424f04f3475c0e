# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Compress texts for values of Ansible, which can contain text only: zlib in base64."""

from __future__ import annotations

import base64
import zlib


class TooLarge(ValueError):
    """The text is longer than allowed."""


def compress(text: str) -> str:
    """Return the compressed text. The same text results in the same value."""
    return base64.b64encode(zlib.compress(text.encode("utf-8"))).decode("ascii")


def decompress(value: str, most_bytes: int) -> str:
    """Return the text that ``compress`` compressed. Raises TooLarge if it has more than ``most_bytes``, ValueError if the value is damaged."""
    packing = zlib.decompressobj()
    try:
        text = packing.decompress(base64.b64decode(value, validate=True), most_bytes)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if packing.unconsumed_tail:
        raise TooLarge
    if not packing.eof:
        raise ValueError("the data is incomplete")
    return text.decode("utf-8")
