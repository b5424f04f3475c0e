# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""In which order a table with server_list has its ranks: what HCCL refuses, what its manual forbids, what people get wrong."""

from __future__ import annotations

from itertools import islice
from typing import Dict, Iterator, List

from .finding import Block, Finding, interleaved, shortened
from .view import Device, Table, text_of

MAX_SHOWN = 10
"""Missing ranks that a message lists."""


def rank_ids(table: Table) -> Iterator[Finding]:
    first: Dict[int, Device] = {}
    for device in table.devices:
        if device.rank is None:
            text = text_of(device.fields, "rank_id")
            if text is not None:
                yield Finding(device.where + ".rank_id", "rank_id %s is no number from 0 up" % shortened(text), device=device.id)
        elif first.setdefault(device.rank, device) is not device:
            yield Finding(device.where + ".rank_id", "rank_id %d is also that of %s" % (device.rank, first[device.rank].where), device=device.id)
    total = len(table.devices)
    beyond = min((rank for rank in first if rank >= total), default=None)
    if beyond is not None:
        missing = ", ".join(map(str, islice((rank for rank in range(total) if rank not in first), MAX_SHOWN)))
        yield Finding(first[beyond].where + ".rank_id", "rank_id %d: %d ranks must be numbered 0 to %d without a gap; missing first: %s" % (
            beyond, total, total - 1, missing), device=first[beyond].id)


def rank_order(table: Table) -> Iterator[Finding]:
    """The manual: the rank ids of one server form one block. No code of HCCL looks at it."""
    blocks: List[Block] = []
    for server in table.servers:
        ranks = [device.rank for device in server.devices if device.rank is not None]
        if ranks:
            blocks.append((min(ranks), max(ranks), server.where))
    for block, other in interleaved(blocks):
        yield Finding(block[2], "its rank ids interleave with those of %s, which the manual of HCCL does not allow" % other[2],
                      hint="number the ranks of one server after those of another")


def device_order(table: Table) -> Iterator[Finding]:
    """Ranks that follow the device ids as text (0, 1, 10, 11, 2): legal, and what a generator writes that sorts strings."""
    for server in table.servers:
        ranked = sorted((device.rank, device.id) for device in server.devices if device.rank is not None and device.id is not None)
        ids = [number for _rank, number in ranked]
        if ids != sorted(ids) and ids == sorted(ids, key=str):
            yield Finding(server.where + ".device", "the ranks follow the device ids sorted as text (%s), not as numbers" % (
                ", ".join(map(str, ids[:MAX_SHOWN]))), severity="warning", hint="sort the device ids as numbers before the ranks are given")
