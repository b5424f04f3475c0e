# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Send how far this host is to the reporters of a run. A host that is a reporter itself collects what others send, until all are over or gone.

Every report goes to every reporter and holds all counts, so that a reporter that dies takes nothing along that the next one does not know. It also
carries who is left out, both ways: so all hosts hear of one that died within a few seconds, also those that have not met it yet.

No host knows how long Ansible takes to start a thousand hosts. When it is done, the controller tells a reporter
(``progress_aggregator.mark_started``), and the reporter's answers tell all others: a host that was not met a little later will not come. Without that
word, ``meeting_timeout`` bounds the wait.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Dict, Optional, Sequence, Set

from .._core.errors import HccnError
from .channel import CONNECT_SECONDS, NAMES_A_LINE, Body, Channel, call
from .pair_protocol import HostState
from .progress_aggregator import Counts, ProgressAggregator

LEAST_SECONDS = 2.0
HOSTS_A_SECOND = 50
"""A reporter measures, too: with more hosts each reports more seldom."""
SILENT_REPORTS = 4
SLOW_SECONDS = 1.0
SLEPT_SECONDS = 5 * CONNECT_SECONDS
"""More than all deadlines of a call together: what took longer tells that this host stood still, and nothing of the reporter."""
SELDOM = 10
"""A reporter whose host does not even refuse takes its time, so it is tried every tenth time only."""
REFUSALS = 2
"""In a row, after which a reporter that was there is gone: it goes last of all. To a host that stood still since, each was there: they start first."""
LAST_TRIES = 3
LAST_PAUSE_SECONDS = 0.5
LINGER_LOOK_SECONDS = 0.25


def interval(hosts: int) -> float:
    """Seconds between two reports of a host."""
    return max(LEAST_SECONDS, hosts / HOSTS_A_SECOND)


class ProgressReporter:
    """``reporters``: hosts of the plan; ``path``: of the file where this host keeps the sum, should it be a reporter."""

    def __init__(self, state: HostState, counts: Counts, reporters: Sequence[str], path: str, meeting_timeout: float) -> None:
        plan = state.plan
        self._state = state
        self._plan = plan
        self._counts = counts
        self._others = [host for host in reporters if host != plan.host]
        self._interval = interval(len(plan.controls))
        self._mute: Dict[str, bool] = {}
        self._over: Set[str] = set()
        self._refusals: Dict[str, int] = {}
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._silent_after = SILENT_REPORTS * self._interval + CONNECT_SECONDS
        self._all_started: Optional[float] = None
        never_after = max(meeting_timeout, self._silent_after)
        self.aggregator = ProgressAggregator(plan.controls, path, self._silent_after, never_after) if plan.host in reporters else None

    def start(self) -> None:
        if self._others or self.aggregator:
            self._thread = threading.Thread(target=self._tell_again_and_again, daemon=True)
            self._thread.start()

    def take(self, channel: Channel, body: Body) -> None:
        """Another host's report. Raises HccnError."""
        if self.aggregator is None:
            channel.send({"type": "refused", "error": HccnError("peer_refused", "%s is no reporter" % self._plan.host).as_dict()})
            return
        self.aggregator.take(body)
        if body.get("host") in self._others:
            if body.get("all_over") is True:
                self.aggregator.wait_at_most(0.0)
            self._note_started(body.get("started") is True)
        awaited = body.get("awaits")
        self._state.say(channel, {"type": "noted", "over": self.aggregator.over_among(awaited if isinstance(awaited, list) else ()), **self._started()})

    def knows_over(self, host: str) -> bool:
        """Is the host's run over, as far as it is known here? A host that was there before this one began answers nobody any more."""
        return host in self._over or (self.aggregator is not None and bool(self.aggregator.over_among([host])))

    def is_forsaken(self) -> bool:
        """Is the run over for all others? The reporters are gone, which were there, and go when nobody else is left: this host stood still meanwhile."""
        return bool(self._others) and all(self._refusals.get(host, 0) >= REFUSALS for host in self._others)

    def is_late(self) -> bool:
        """Have all hosts been started for so long that one which nobody has met is not there?"""
        return self._all_started is not None and time.monotonic() - self._all_started > self._silent_after

    def _started(self) -> Body:
        return {} if self._all_started is None else {"started": True}

    def _note_started(self, all_are: bool) -> None:
        """Who is there says so within the time after which a host is silent."""
        if all_are and self._all_started is None:
            self._all_started = time.monotonic()
            if self.aggregator is not None:
                self.aggregator.wait_at_most(self._silent_after)

    def _tell_again_and_again(self) -> None:
        turn = 0
        while not self._rest(self._interval if turn else 0.0):
            for host in self._others:
                if not self._mute.get(host) or turn % SELDOM == 0:
                    self._tell(host)
            self._keep()
            turn += 1

    def _rest(self, seconds: float) -> bool:
        """Until the next turn; True at the end."""
        began = time.monotonic()
        ended = self._stop.wait(seconds)
        self._look_at_clock(time.monotonic() - began - seconds)
        return ended

    def _look_at_clock(self, seconds: float) -> bool:
        """Did this host stand still in what took so long? Then it knows nothing of the reporters any more."""
        if seconds < SLEPT_SECONDS:
            return False
        self._mute.clear()
        for host in self._others:
            self._refusals.setdefault(host, 0)
        return True

    def _keep(self) -> None:
        if self.aggregator is not None:
            self._note_started(self.aggregator.was_told_that_all_are_started())
            self.aggregator.take(self._counts.as_body())
            self.aggregator.write()

    def _tell(self, host: str, **more: Any) -> bool:
        began = time.monotonic()
        try:
            channel = call(host, self._plan.controls[host], self._state.key, self._plan.run_id, CONNECT_SECONDS)
            try:
                known = self._started() if self.aggregator is not None else {}
                self._state.say(channel, {**self._counts.as_body(), "awaits": sorted(self._state.scheduler.awaited())[:NAMES_A_LINE], **known, **more})
                answer = self._state.hear(channel.receive(CONNECT_SECONDS))
                self._note_started(answer.get("started") is True)
                said = answer.get("over")
                self._over.update(name for name in (said if isinstance(said, list) else ()) if isinstance(name, str))
            finally:
                channel.close()
            self._mute[host], self._refusals[host] = False, 0
            return True
        except HccnError:
            took = time.monotonic() - began
            if not self._look_at_clock(took):
                self._mute[host] = took > SLOW_SECONDS
                if host in self._refusals:
                    self._refusals[host] = 0 if self._mute[host] else self._refusals[host] + 1
            return False

    def end(self) -> None:
        """This host is over: the last report, at once; one that is just going down or coming up is tried again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(3 * CONNECT_SECONDS)
        self._counts.end()
        told: Set[str] = set()
        for number in range(LAST_TRIES):
            open_ones = [host for host in self._others if host not in told and not self._mute.get(host)]
            if not open_ones:
                break
            if number:
                time.sleep(LAST_PAUSE_SECONDS)
            told.update(host for host in open_ones if self._tell(host))
        self._keep()

    def linger(self, until: float) -> None:
        """A reporter goes on listening until all hosts are over or gone, at the latest at ``until`` on the monotonic clock."""
        if self.aggregator is None:
            return
        written = 0.0
        while time.monotonic() < until and not self.aggregator.is_over():
            time.sleep(LINGER_LOOK_SECONDS)
            if time.monotonic() - written > 1.0:
                self._keep()
                written = time.monotonic()
        self.aggregator.write()
        if self.aggregator.is_over():  # one that died after a single word may have said it to this reporter alone
            for host in self._others:
                if not self._mute.get(host):
                    self._tell(host, all_over=True)
