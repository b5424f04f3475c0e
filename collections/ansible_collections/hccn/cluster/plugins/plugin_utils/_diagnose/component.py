# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A component that bad cells are attributed to, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass

from .classification import Link

NPU, NODE, RAIL, LEAF, UPLINK, SPINE = "npu", "node", "rail", "leaf", "uplink", "spine"
SUPER_POD, RACK, PATH, PAIR, FABRIC = "super_pod", "rack", "path", "pair", "fabric"

ON_HOST = (NPU, NODE, FABRIC)
"""Kinds that count for the verdict of a host. FABRIC is the whole fabric and counts for every host."""

SOURCE, TARGET, BOTH = "source", "target", ""

CERTAIN, PROBABLE, POSSIBLE = "certain", "probable", "possible"
CERTAINTIES = (CERTAIN, PROBABLE, POSSIBLE)
"""How sure it is that a component is bad and not another one. The aim is that 99 % of what is certain is right, and 80 % of what is probable."""

SHOWN = 16
"""Largest number of bad cells that a component contains as evidence."""


@dataclass
class Component:
    """A bad component.

    ``npus``: the NPUs that it covers. ``direction``: whether it is bad as source, as target or both. ``links``: at most SHOWN of its ``bad`` cells.
    ``proven``: partners that are proven good; ``hits`` of the ``tested`` cells with them are bad. ``certainty``: how sure it is that no other component is the
    cause; ``note`` says what else may be.
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
    certainty: str = CERTAIN
    note: str = ""

    @property
    def certain(self) -> bool:
        """Whether no other component may be the cause."""
        return self.certainty == CERTAIN
