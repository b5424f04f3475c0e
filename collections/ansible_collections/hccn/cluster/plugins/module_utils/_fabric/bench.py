# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One pair, seen from its two ends. The conversation, source on the left:

    claim pair       ->  waits until the device is free
                     <-  claimed | busy (ask again; parked: the pair is left out for the time being) | refused
    prepare attempt  ->  resets the device, starts the server, waits until it is up
                     <-  ready line rate | failed error
    (runs the client)
    done ok          ->  ends the server, resets the device
                     <-  noted, only where it was the trial of one that is left out

Each line also carries who is left out (``left_out``). A broken connection ends the pair on both sides.
A device is reset before a test and after it, however the test ended.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Sequence, Set, Tuple

from .._core.errors import HccnError
from .._core.process import Child
from .agenda import Agenda
from .channel import Body, Channel
from .left_out import LeftOut, host_of
from .outcome import LINE_RATE
from .plan import Pair, Plan
from .suspension import deadline
from .tools import PairTool

CONNECT_SECONDS = 3.0
CLAIM_SECONDS = 5.0
"""How long a source keeps its own device for a target that is in use; then it lets others have it and asks again."""
ANSWER_SECONDS = 5.0
SERVER_GRACE_SECONDS = 5.0
"""How long a server may take to end after its client: roce_test looks once a second."""
POLL_SECONDS = 0.2
"""How often a test is looked at that neither ends nor is spoken of: whether its time is over."""
READY_SECONDS = 0.01
LEAST_DEADLINE = 10.0
"""Starting tools and resetting devices takes its time on a busy host, whatever the test itself does."""


@dataclass(frozen=True)
class Settings:
    """Seconds each: ``start_delay`` from a server's start until it listens, ``pair_timeout`` for one pair once both ends are claimed,
    ``meeting_timeout`` from the start of this runner until those of its partners must be up, ``expected`` for one pair, None where that is not known."""

    start_delay: float
    pair_timeout: float
    meeting_timeout: float
    parallel: bool = True
    expected: Optional[float] = None

    @property
    def deadline(self) -> float:
        """Seconds after which one pair is given up."""
        return self.pair_timeout if self.expected is None else min(self.pair_timeout, max(LEAST_DEADLINE, deadline(self.expected)))


class Bench:
    """What both ends need: the tool, the devices' state, the agenda."""

    def __init__(self, plan: Plan, tool: PairTool, settings: Settings, key: bytes, told: Optional[Mapping[int, Mapping[str, Any]]] = None) -> None:
        """``told``: what is known of this host's devices beside what the tool tells, for the context of records."""
        self.plan = plan
        self.tool = tool
        self._told = told or {}
        self._varied: Dict[Tuple[Tuple[str, int], ...], PairTool] = {(): tool}
        self.settings = settings
        self.key = key
        self.left_out = LeftOut(plan.host)
        self.agenda = Agenda(plan, settings.parallel, left_out=self.left_out.holds)
        self._dirty: Set[int] = set(plan.devices)
        self._lock = threading.Lock()
        self._closed = False

    def tool_for(self, pair: Pair) -> PairTool:
        """The tool with the pair's own options. Raises InputError where it does not take them."""
        if pair.options not in self._varied:
            self._varied[pair.options] = self.tool.varied(dict(pair.options))
        return self._varied[pair.options]

    def about(self, device: int) -> Mapping[str, Any]:
        """What the context of a record tells of a device of this host."""
        return {**self.tool.about(device), **self._told.get(device, {})}

    def line_rate(self, device: int) -> Optional[float]:
        """Gbit/s, None where nobody told."""
        found: Optional[float] = self.about(device).get(LINE_RATE)
        return found

    def launch(self, device: int, argv: Sequence[str], timeout: float) -> Child:
        """Starts a test on a device, which is to be reset from now on. Raises HccnError."""
        with self._lock:
            if self._closed:
                raise HccnError("run_ended", "the run was ended")
            self._dirty.add(device)
            return Child(argv, timeout)

    def reset(self, device: int) -> None:
        """Resets a device unless nothing was started on it since it last was. Raises HccnError."""
        if device in self._dirty:
            self.tool.reset(device)
            self._dirty.discard(device)

    def say(self, channel: Channel, body: Body) -> None:
        """Sends a line, and with it who is left out, and who of those was there before: nobody waits for them to start. Raises HccnError."""
        known = self.left_out.share()
        channel.send({**body, "known": {**known, "come": self.agenda.came(sorted(set(map(host_of, known["missed"]))))}} if known else body)

    def hear(self, body: Body) -> Body:
        """Takes over whom the other end leaves out."""
        known = body.get("known")
        if isinstance(known, dict):
            self.left_out.learn(known)
            come = known.get("come")
            self.agenda.told_of(host for host in (come if isinstance(come, list) else ()) if isinstance(host, str) and host in self.plan.controls)
        return body

    def close(self) -> None:
        """Nothing is started from now on."""
        self.agenda.close()
        with self._lock:
            self._closed = True
