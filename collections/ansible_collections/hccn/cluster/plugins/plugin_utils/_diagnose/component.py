# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A component that bad cells are attributed to, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass

from .classification import Link

NPU, NODE, RAIL, LEAF, SUPER_POD, RACK, PATH, PAIR, FABRIC = "npu", "node", "rail", "leaf", "super_pod", "rack", "path", "pair", "fabric"

ON_HOST = (NPU, NODE, FABRIC)
"""Kinds that count for the verdict of a host. FABRIC is the whole fabric and counts for every host."""

SOURCE, TARGET, BOTH = "source", "target", ""

SHOWN = 16
"""Largest number of bad cells that a component contains as evidence."""


@dataclass
class Component:
    """A bad component.

    ``npus``: the NPUs that it covers. ``direction``: whether it is bad as source, as target or both. ``links``: at most SHOWN of its ``bad`` cells.
    ``proven``: partners that are proven good; ``hits`` of the ``tested`` cells with them are bad. ``certain``: False if another component may be the cause;
    ``note`` names it then.
    """

    kind: str
    name: str
    state: str
    npus: list[int]
    links: list[Link]
    bad: int
    proven: list[int]
    hits: int = 0
    tested: int = 0
    direction: str = BOTH
    certain: bool = True
    note: str = ""
