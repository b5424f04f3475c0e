# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The pair scheduler: which pair each device of this host may measure now, and when a pair is tried again. Shared by the threads of the runner.

A device takes part in one pair at a time and measures its pairs in the order of the plan. A pair whose partner host does not answer, not yet or no longer,
does not delay later pairs: a device is only kept free for a partner that answers.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from .membership import Membership
from .plan import Pair, Plan
from .transport import CONNECT_SECONDS


class PairScheduler:
    """``parallel``: the devices measure at the same time, otherwise one pair at a time on the whole host. ``changed``: shared with the membership."""

    def __init__(self, plan: Plan, membership: Membership, parallel: bool = True, changed: Optional[threading.Condition] = None) -> None:
        self._membership = membership
        self._host = plan.host
        self._parallel = parallel
        self._changed = changed or threading.Condition()
        self._open: Dict[str, Pair] = {pair.id: pair for pair in plan.pairs}
        self._given_up: Set[str] = set()
        self._used: Dict[int, str] = {}
        self._closed = False

    def slot(self, pair: Pair) -> int:
        """Return the device that a pair occupies on this host, or 0 for the whole host."""
        return pair.endpoint(self._host).device if self._parallel else 0

    def acquire(self, pair: Pair, timeout: float) -> bool:
        """Wait until the pair may start on this host. Return False after ``timeout`` seconds or if the scheduler is closed."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or self._may_start(pair), timeout) or self._closed:
                return False
            self._used[self.slot(pair)] = pair.id
            return True

    def _may_start(self, pair: Pair) -> bool:
        slot = self.slot(pair)
        return slot not in self._used and not any(
            other.order < pair.order and self.slot(other) == slot and not self._membership.lets_others_go_first(other)
            for other in self._open.values())

    def release(self, pair: Pair) -> None:
        """Release the pair's device, unless another pair holds it."""
        with self._changed:
            if self._used.get(self.slot(pair)) == pair.id:
                del self._used[self.slot(pair)]
                self._changed.notify_all()

    def settle(self, pairs: Iterable[Pair]) -> None:
        """The pairs are finished, successfully or not: nothing waits for them any more."""
        with self._changed:
            for pair in pairs:
                self._open.pop(pair.id, None)
            self._changed.notify_all()

    def give_up(self, pairs: Iterable[Pair]) -> None:
        """Nothing waits for these pairs any more, since their initiator does not answer. It may still claim them."""
        with self._changed:
            still_open = [pair for pair in pairs if pair.id in self._open]
            self._given_up.update(pair.id for pair in still_open)
            self.settle(still_open)

    def take_back(self, pair: Pair) -> None:
        """The initiator of the pair claims it: if it was given up, it is open again."""
        with self._changed:
            if pair.id in self._given_up:
                self._given_up.remove(pair.id)
                self._open[pair.id] = pair

    def is_open(self, pair: Pair) -> bool:
        with self._changed:
            return pair.id in self._open

    def is_idle(self) -> bool:
        """Return whether all open pairs are left out."""
        with self._changed:
            return all(self._membership.is_left_out(pair) for pair in self._open.values())

    def open_initiated(self) -> List[Pair]:
        """Return the open pairs that this host initiates, in order."""
        with self._changed:
            return self._sorted(pair for pair in self._open.values() if pair.source.host == self._host)

    def awaited(self) -> Dict[str, List[Pair]]:
        """Return all open pairs of the initiating hosts that an unused device of this host waits for, by host.

        A device waits for its next pair, and for the next that does not let others go first, since the later ones stay behind that. Pairs
        that let others go first and that this host initiates are skipped: it retries those itself.
        """
        with self._changed:
            following: Dict[Tuple[int, bool], Pair] = {}
            for pair in self._sorted(self._open.values()):
                waits = self._membership.lets_others_go_first(pair)
                if not waits or pair.source.host != self._host:
                    following.setdefault((self.slot(pair), waits), pair)
            hosts = {pair.source.host for (slot, _lost), pair in following.items() if pair.target.host == self._host and slot not in self._used}
            return {host: [pair for pair in self._open.values() if pair.source.host == host] for host in sorted(hosts)}

    @staticmethod
    def _sorted(pairs: Iterable[Pair]) -> List[Pair]:
        return sorted(pairs, key=lambda pair: pair.order)

    def wait(self, timeout: float) -> None:
        """Wait until anything changes."""
        with self._changed:
            self._changed.wait(timeout)

    def wait_done(self, timeout: float) -> bool:
        """Wait until no pair is open and no device is in use. Return False after ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open and not self._used, timeout)

    def close(self) -> None:
        """Let no more pairs start."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


PATIENCE_SECONDS = 1.0
LEAST_SECONDS = 0.02
BUSY_SECONDS = 0.01
"""Multiplied by one to eight, depending on the pair: initiators that wait for each other must not retry in step."""
PARKED_SECONDS = 0.5
"""How long a pair waits that the responder leaves out for the time being."""
BACKOFF_SECONDS = (0.2, 2.0)
SPACING_SECONDS = 0.1
"""Between failed calls: hundreds of partners that have not started yet must not be called all the time. Once started, they call as well."""
LOST_SHARE = 3
"""A device with other pairs waits this many times the duration of a failed call before it calls the same partner again. A duration above the deadline of a
call is cut to that deadline: this host was suspended during the call."""


class Backoff:
    """The pairs that one device has still to measure, in the order of ``pairs``, and when each is tried next."""

    def __init__(self, pairs: Iterable[Pair], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = dict.fromkeys(pairs, 0.0)
        self._failures: Dict[Pair, int] = {}

    def __bool__(self) -> bool:
        return bool(self._due)

    def __iter__(self) -> Iterator[Pair]:
        """Iterate over a copy, so that pairs may be removed meanwhile."""
        return iter(list(self._due))

    def ready(self, is_lost: Callable[[str], bool]) -> List[Pair]:
        """Return the pairs that are due, or whose partner did not answer and was met since. ``is_lost`` returns whether a host is lost."""
        now = self._clock()
        return [pair for pair, due in self._due.items() if due <= now or (pair in self._failures and not is_lost(pair.target.host))]

    def patience(self) -> float:
        """Return the seconds until the next pair is due, at most PATIENCE_SECONDS."""
        now = self._clock()
        return min([PATIENCE_SECONDS, *(max(LEAST_SECONDS, due - now) for due in self._due.values() if due > now)])

    def busy(self, pair: Pair, parked: bool) -> None:
        """The responder answered that it is in use, or that it leaves the pair out for the time being."""
        self._failures.pop(pair, None)
        self._due[pair] = self._clock() + (PARKED_SECONDS if parked else BUSY_SECONDS * (1 + pair.order % 8))

    def failed(self, pair: Pair, seconds: float) -> None:
        """A call to the responder failed after ``seconds``."""
        self._failures[pair] = failures = self._failures.get(pair, 0) + 1
        least, most = BACKOFF_SECONDS
        spent = LOST_SHARE * min(seconds, CONNECT_SECONDS) if len(self._due) > 1 else 0.0
        self._due[pair] = self._clock() + max(spent, min(most, least * 2 ** min(failures, 8)), SPACING_SECONDS * len(self._failures))

    def over(self, pair: Pair) -> None:
        del self._due[pair]
        self._failures.pop(pair, None)
