# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What is still to do on this host, and which of its devices are in use. Shared by the threads of the runner.

A device takes part in one pair at a time and works its pairs in the order of the plan. A pair whose partner host does not answer (not
yet, or no more) does not hold up the later ones: a device is kept free for a partner that is there, never for one that is not.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Dict, Iterable, Iterator, List, Set, Tuple

from .channel import CONNECT_SECONDS
from .plan import Pair, Plan

LAST_FAILURES = 3
LAST_SECONDS = 2.0
"""A partner that was there, or had its time to come, is given up when it failed so often, over so many seconds, without a success between."""


class PairScheduler:
    """``parallel``: the devices work at the same time; otherwise one pair at a time on the whole host. ``left_out``: is a pair that holds up none?"""

    def __init__(self, plan: Plan, parallel: bool = True, clock: Callable[[], float] = time.monotonic,
                 left_out: Callable[[Pair], bool] = lambda pair: False) -> None:
        self._clock = clock
        self._membership = left_out
        self._host = plan.host
        self._parallel = parallel
        self._changed = threading.Condition()
        self._open: Dict[str, Pair] = {pair.id: pair for pair in plan.pairs}
        self._used: Dict[int, str] = {}
        self._lost: Dict[str, Tuple[int, float]] = {}
        self._met: Set[str] = set()
        self._closed = False

    def slot(self, pair: Pair) -> int:
        """What a pair occupies on this host: its device, or the host as a whole."""
        return pair.end(self._host).device if self._parallel else 0

    def acquire(self, pair: Pair, timeout: float) -> bool:
        """Waits for the pair's turn on this host; False after ``timeout`` or when the scheduler is closed."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or self._turn(pair), timeout) or self._closed:
                return False
            self._used[self.slot(pair)] = pair.id
            return True

    def _turn(self, pair: Pair) -> bool:
        slot = self.slot(pair)
        return slot not in self._used and not any(
            other.order < pair.order and self.slot(other) == slot and not self._waits(other)
            for other in self._open.values())

    def _waits(self, pair: Pair) -> bool:
        """Does the pair let later ones go first?"""
        return pair.partner(self._host).host in self._lost or self._membership(pair)

    def release(self, pair: Pair) -> None:
        """Gives the pair's device free; nothing where another pair holds it."""
        with self._changed:
            if self._used.get(self.slot(pair)) == pair.id:
                del self._used[self.slot(pair)]
                self._changed.notify_all()

    def settle(self, pairs: Iterable[Pair]) -> None:
        """These are over, well or not: nobody waits for them any more."""
        with self._changed:
            for pair in pairs:
                self._open.pop(pair.id, None)
            self._changed.notify_all()

    def is_open(self, pair: Pair) -> bool:
        with self._changed:
            return pair.id in self._open

    def met(self, host: str) -> None:
        """Its runner has just proved the run's key."""
        with self._changed:
            self._met.add(host)
            self._lost.pop(host, None)
            self._changed.notify_all()

    def seen(self, host: str) -> None:
        """Its runner is there, by its own word: whether it can be called is another matter."""
        with self._changed:
            self._met.add(host)

    def told_of(self, hosts: Iterable[str]) -> None:
        """Others have met their runners: to wait for these to start is over."""
        with self._changed:
            self._met.update(hosts)
            self._changed.notify_all()

    def came(self, hosts: Iterable[str]) -> List[str]:
        """Those of the hosts whose runners were met, by this host or by one that said so."""
        with self._changed:
            return [host for host in hosts if host in self._met]

    def lost(self, host: str) -> None:
        """Its runner did not answer: later pairs do not wait for it."""
        with self._changed:
            count, since = self._lost.get(host, (0, self._clock()))
            self._lost[host] = (count + 1, since)
            self._changed.notify_all()

    def is_lost(self, host: str) -> bool:
        """Did its runner not answer, and has nobody met it since?"""
        with self._changed:
            return host in self._lost

    def has_come(self, host: str, late: bool) -> bool:
        """Was it there once, or had it its time to come? What does not answer after that hangs or is dead."""
        with self._changed:
            return late or host in self._met

    def is_hopeless(self, host: str, late: bool) -> bool:
        """Is it given up? ``late``: hosts that were never met had their time to come."""
        with self._changed:
            count, since = self._lost.get(host, (0, 0.0))
            return count >= LAST_FAILURES and self._clock() - since >= LAST_SECONDS and (late or host in self._met)

    def look_again(self) -> None:
        """Who is left out may have changed."""
        with self._changed:
            self._changed.notify_all()

    def is_idle(self) -> bool:
        """Is nothing open but what is left out?"""
        with self._changed:
            return all(self._membership(pair) for pair in self._open.values())

    def open_sources(self) -> List[Pair]:
        """Pairs that this host has still to measure, in order."""
        with self._changed:
            return self._sorted(pair for pair in self._open.values() if pair.source.host == self._host)

    def awaited(self) -> Dict[str, List[Pair]]:
        """All open pairs of the source hosts that an unused device of this host waits for, by host.

        A device waits for its next pair, and for the next that does not let others go first, since the later ones stay behind that. Among those that do,
        its own are none to ask about: it tries them itself.
        """
        with self._changed:
            following: Dict[Tuple[int, bool], Pair] = {}
            for pair in self._sorted(self._open.values()):
                waits = self._waits(pair)
                if not waits or pair.source.host != self._host:
                    following.setdefault((self.slot(pair), waits), pair)
            hosts = {pair.source.host for (slot, _lost), pair in following.items() if pair.target.host == self._host and slot not in self._used}
            return {host: [pair for pair in self._open.values() if pair.source.host == host] for host in sorted(hosts)}

    @staticmethod
    def _sorted(pairs: Iterable[Pair]) -> List[Pair]:
        return sorted(pairs, key=lambda pair: pair.order)

    def wait(self, timeout: float) -> None:
        """Until anything changes."""
        with self._changed:
            self._changed.wait(timeout)

    def wait_done(self, timeout: float) -> bool:
        """Waits until nothing is open or in use."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open and not self._used, timeout)

    def close(self) -> None:
        """Nobody acquires anything from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


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


class Backoff:
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
