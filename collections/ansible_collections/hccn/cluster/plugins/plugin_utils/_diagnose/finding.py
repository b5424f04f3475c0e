# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One component that explains bad cells, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from .rating import Link

NPU, NODE, RAIL, LEAF, SUPER_POD, RACK, PATH, PAIR, FABRIC = "npu", "node", "rail", "leaf", "super_pod", "rack", "path", "pair", "fabric"

ON_HOST = (NPU, NODE, FABRIC)
"""Kinds for which a host answers; the others lie in the fabric. FABRIC: all of it, so that every host has its part."""

SOURCE, TARGET, BOTH = "source", "target", ""


@dataclass
class Finding:
    """``ends``: whose ends it covers; ``direction``: bad as source, as target, or both ways; ``links``: bad cells, up to SHOWN of them, of ``bad`` in all;
    ``hits`` of the ``tested`` cells with proven good partners are bad, and ``proven`` are those partners; ``certain``: False where it may be something
    else, and ``note`` says what."""

    kind: str
    name: str
    state: str
    ends: list[int]
    links: list[Link]
    bad: int
    proven: list[int]
    hits: int = 0
    tested: int = 0
    direction: str = BOTH
    certain: bool = True
    note: str = ""


SHOWN = 16
