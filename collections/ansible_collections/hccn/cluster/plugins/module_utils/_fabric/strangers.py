# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Connections that have not proved the key yet: so many and no more, and none of them can keep those of other addresses out."""

from __future__ import annotations

import socket
from collections import Counter
from typing import Dict, Optional

MOST = 128
"""A flood of 5,000 connections a second from a partner's own address still leaves that partner 25 ms to prove the key."""


class Strangers:
    """Not to be shared between threads without a lock."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: Dict[socket.socket, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, sock: socket.socket, address: str) -> Optional[socket.socket]:
        """Takes one in; returns the one that is to leave for it: the oldest of the address that has most."""
        self._known[sock] = address
        if len(self._known) <= self._most:
            return None
        crowd = Counter(self._known.values()).most_common(1)[0][0]
        oldest = next(known for known, where in self._known.items() if where == crowd)
        del self._known[oldest]
        return oldest

    def remove(self, sock: socket.socket) -> bool:
        """Was it still here?"""
        return self._known.pop(sock, None) is not None
