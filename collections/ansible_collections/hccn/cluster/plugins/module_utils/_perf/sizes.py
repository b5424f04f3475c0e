# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Message sizes as people write them (64K, 2M) and as tools take them (bytes). K, M and G are powers of 1024, as in all these tools."""

from __future__ import annotations

import re

from .._core.errors import InputError

_SIZE = re.compile(r"([1-9][0-9]{0,17})([KMG]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 1024, "M": 1024 ** 2, "G": 1024 ** 3}


def parse_size(text: str) -> int:
    """``64K``, ``2M``, ``1G`` or plain bytes, in bytes. Raises InputError; leading zeros are refused, hccl_test reads them as octal."""
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise InputError("size %r is not a positive number of bytes with an optional K, M or G" % (text,), "write 64K, 2M or 65536")
    return int(match.group(1)) * _UNITS[match.group(2).upper()]
