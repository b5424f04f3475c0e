# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The pairs that one device has still to measure, and when each is tried next."""

from __future__ import annotations

import time
from typing import Callable, Dict, Iterable, Iterator, List

from .bench import CONNECT_SECONDS
from .plan import Pair

PATIENCE_SECONDS = 1.0
LEAST_SECONDS = 0.02
BUSY_SECONDS = 0.01
"""Times one to eight, by the pair: sources that keep each other waiting must not come back in step."""
PARKED_SECONDS = 0.5
"""How long a pair rests that the other end leaves out for the time being."""
BACKOFF_SECONDS = (0.2, 2.0)
SPACING_SECONDS = 0.1
"""Between calls in vain: hundreds of partners that have not started yet are not called all the time. They call, too, once they are there."""
LOST_SHARE = 3
"""A device with other pairs to do waits so many times as long as a call in vain took before it calls there again. Of one that took longer than its
deadline only that counts: this host stood still in it."""


class Waiting:
    """In the order of ``pairs``."""

    def __init__(self, pairs: Iterable[Pair], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = dict.fromkeys(pairs, 0.0)
        self._failures: Dict[Pair, int] = {}

    def __bool__(self) -> bool:
        return bool(self._due)

    def __iter__(self) -> Iterator[Pair]:
        """Of what is there now, whatever is removed meanwhile."""
        return iter(list(self._due))

    def ready(self, is_lost: Callable[[str], bool]) -> List[Pair]:
        """Whose time has come, or whose partner did not answer and has come since. ``is_lost``: of a host."""
        now = self._clock()
        return [pair for pair, due in self._due.items() if due <= now or (pair in self._failures and not is_lost(pair.target.host))]

    def patience(self) -> float:
        """Seconds until the next one's time comes, PATIENCE_SECONDS at most."""
        now = self._clock()
        return min([PATIENCE_SECONDS, *(max(LEAST_SECONDS, due - now) for due in self._due.values() if due > now)])

    def busy(self, pair: Pair, parked: bool) -> None:
        """The other end is in use, or leaves the pair out for the time being; so it answers."""
        self._failures.pop(pair, None)
        self._due[pair] = self._clock() + (PARKED_SECONDS if parked else BUSY_SECONDS * (1 + pair.order % 8))

    def failed(self, pair: Pair, seconds: float) -> None:
        """The other end was called in vain, which took ``seconds``."""
        self._failures[pair] = failures = self._failures.get(pair, 0) + 1
        least, most = BACKOFF_SECONDS
        spent = LOST_SHARE * min(seconds, CONNECT_SECONDS) if len(self._due) > 1 else 0.0
        self._due[pair] = self._clock() + max(spent, min(most, least * 2 ** min(failures, 8)), SPACING_SECONDS * len(self._failures))

    def over(self, pair: Pair) -> None:
        del self._due[pair]
        self._failures.pop(pair, None)
