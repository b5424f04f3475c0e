# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Send how far this host is to the reporters of a run. A host that is a reporter itself collects what others send, until all are over or gone.

Every report goes to every reporter and holds all counts, so that a reporter that dies takes nothing along that the next one does not know. It also
carries who is left out, both ways: so all hosts hear of one that died within a few seconds, also those that have not met it yet.

No host knows how long Ansible takes to start a thousand hosts. When it is done, the controller tells a reporter (``progress_aggregator.mark_started``), and
the reporter's answers tell all others: a host that was not met a little later will not come. Without that word, ``meeting_timeout`` bounds the wait.
"""

from __future__ import annotations

import threading
import time
from typing import Any, List, Optional, Set

from .._core.errors import HccnError
from .channel import CONNECT_SECONDS, NAMES_A_LINE, Body, Channel, call
from .pair_protocol import HostState
from .progress_aggregator import Counts, ProgressAggregator, interval_s

SELDOM = 10
"""A reporter whose host does not even refuse takes its time, so it is tried every tenth time only."""
LAST_TRIES = 3
LAST_PAUSE_SECONDS = 0.5
LINGER_POLL_SECONDS = 0.25
LINGER_WRITE_SECONDS = 1.0


class ProgressReporter:
    """``aggregator``: where this host, as a reporter, collects what others report; None where it is none."""

    def __init__(self, state: HostState, counts: Counts, aggregator: Optional[ProgressAggregator]) -> None:
        self._state = state
        self._plan = state.plan
        self._membership = state.membership
        self._counts = counts
        self._interval_s = interval_s(len(state.plan.controls))
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self.aggregator = aggregator

    def start(self) -> None:
        if self._membership.reporters(slow=True) or self.aggregator:
            self._thread = threading.Thread(target=self._report_repeatedly, daemon=True)
            self._thread.start()

    def take(self, channel: Channel, body: Body) -> None:
        """Another host's report. Raises HccnError."""
        if self.aggregator is None:
            channel.send({"type": "refused", "error": HccnError("peer_refused", "%s is no reporter" % self._plan.host).as_dict()})
            return
        self.aggregator.take(body)
        if body.get("host") in self._membership.reporters(slow=True):
            if body.get("all_over") is True:
                self._membership.nobody_else_comes(time.monotonic())
            self._note_started(body)
        self._state.say(channel, {"type": "noted", "over": self._membership.over_among(_names(body.get("awaits"))), **self._started()})

    def _started(self) -> Body:
        return {"started": True} if self._membership.knows_all_started() else {}

    def _note_started(self, body: Body) -> None:
        if body.get("started") is True:
            self._membership.all_started(time.monotonic())

    def _report_repeatedly(self) -> None:
        turn = 0
        while not self._rest(self._interval_s if turn else 0.0):
            for host in self._membership.reporters(slow=turn % SELDOM == 0):
                self._report(host)
            self._keep()
            turn += 1

    def _rest(self, seconds: float) -> bool:
        """Wait until the next turn; return True at the end."""
        began = time.monotonic()
        ended = self._stop.wait(seconds)
        self._membership.stood_still(time.monotonic() - began - seconds)
        return ended

    def _keep(self) -> None:
        """Add this host's own counts to the sum, and write it."""
        if self.aggregator is not None:
            if self.aggregator.is_told_that_all_started():
                self._membership.all_started(time.monotonic())
            self.aggregator.take(self._counts.as_body())
            self.aggregator.write()

    def _report(self, host: str, **more: Any) -> bool:
        """Send the counts to a reporter, and take over its answer. Return False where it does not answer."""
        began = time.monotonic()
        try:
            self._exchange(host, more)
        except HccnError:
            self._membership.reporter_failed(host, time.monotonic() - began)
            return False
        self._membership.reporter_answered(host)
        return True

    def _exchange(self, host: str, more: Body) -> None:
        channel = call(host, self._plan.controls[host], self._state.key, self._plan.run_id, CONNECT_SECONDS)
        try:
            known = self._started() if self.aggregator is not None else {}
            awaited = sorted(self._state.scheduler.awaited())[:NAMES_A_LINE]
            self._state.say(channel, {**self._counts.as_body(), "awaits": awaited, **known, **more})
            answer = self._state.hear(channel.receive(CONNECT_SECONDS))
        finally:
            channel.close()
        self._note_started(answer)
        self._membership.over(_names(answer.get("over")))

    def end(self) -> None:
        """Send the last report at once: this host is over. A reporter that is just going down or coming up is tried again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(3 * CONNECT_SECONDS)
        self._counts.end()
        reached: Set[str] = set()
        for number in range(LAST_TRIES):
            missing = [host for host in self._membership.reporters(slow=False) if host not in reached]
            if not missing:
                break
            if number:
                time.sleep(LAST_PAUSE_SECONDS)
            reached.update(host for host in missing if self._report(host))
        self._keep()

    def linger(self, until: float) -> None:
        """A reporter goes on listening until all hosts are over or gone, at the latest at ``until`` on the monotonic clock."""
        if self.aggregator is None:
            return
        written = 0.0
        while time.monotonic() < until and not self.aggregator.is_over():
            time.sleep(LINGER_POLL_SECONDS)
            if time.monotonic() - written > LINGER_WRITE_SECONDS:
                self._keep()
                written = time.monotonic()
        self.aggregator.write()
        if self.aggregator.is_over():  # one that died after a single word may have said it to this reporter alone
            for host in self._membership.reporters(slow=False):
                self._report(host, all_over=True)


def _names(said: Any) -> List[Any]:
    """A list from the network, empty where it is none."""
    return said if isinstance(said, list) else []
