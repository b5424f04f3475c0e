# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which machine a host is: two hosts of an inventory with the same one are one machine that is listed twice."""

from __future__ import annotations

import hashlib
import os
from typing import Optional, Sequence

PATHS = ("/etc/machine-id", "/sys/class/dmi/id/product_uuid")
"""Both count where both can be read: machines that were installed from one image may share the first. Only root reads the second."""

MAX_BYTES = 256
SHOWN_DIGITS = 16


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return ""


def machine_id(conf: str, paths: Sequence[str] = PATHS) -> Optional[str]:
    """Return an id of the machine that stays over reboots, None where nothing tells it.

    The path of hccn.conf belongs to it: a host whose NPUs have a file of their own, as a simulated one, is no other host of the same machine.
    """
    told = [_content(path) for path in paths]
    if not any(told):
        return None
    whole = "\n".join(told + [os.path.realpath(conf)])
    return hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:SHOWN_DIGITS]
