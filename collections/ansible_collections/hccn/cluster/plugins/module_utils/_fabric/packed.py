# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A pair plan as a short text. Every host gets the whole plan, so its size counts by the square of the number of hosts, in what is sent and in what the
controller holds; addresses are much alike and pack to about a tenth."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any, Dict, Mapping

from .._core.errors import InputError

PACKED = "packed"
NEEDED = ("hosts", "rounds", "schedule")
"""What a host needs of a plan to work its part."""
MOST = 256 << 20
"""Bytes that a packed plan may have. A listed one has some 150 for each pair."""


def needed(plan: Mapping[str, Any]) -> Dict[str, Any]:
    """The plan without all else: two plans that agree in this are worked alike."""
    return {name: plan[name] for name in NEEDED if name in plan}


def pack(plan: Mapping[str, Any]) -> Dict[str, str]:
    """``{"packed": TEXT}``: what is NEEDED of the plan as base64 of zlib of JSON. The same plan gives the same text."""
    text = json.dumps(needed(plan), sort_keys=True, separators=(",", ":"))
    return {PACKED: base64.b64encode(zlib.compress(text.encode("utf-8"))).decode("ascii")}


def unpack(plan: Any) -> Any:
    """The plan of ``pack``; what is not packed is returned as it is. Raises InputError where the text is damaged."""
    if not isinstance(plan, dict) or set(plan) != {PACKED}:
        return plan
    packing = zlib.decompressobj()
    try:
        text = packing.decompress(base64.b64decode(str(plan[PACKED]), validate=True), MOST)
        if packing.unconsumed_tail:
            raise InputError("plan: the packed plan has more than %d MiB" % (MOST >> 20))
        if not packing.eof:
            raise ValueError("it ends too early")
        return json.loads(text.decode("utf-8"))
    except (ValueError, zlib.error, RecursionError) as error:
        raise InputError("plan: the packed plan is damaged: %s" % error, "make it with the filter hccn.cluster.packed_plan") from None
