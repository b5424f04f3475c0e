# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One pair, seen from its two ends. The conversation, initiator on the left:

    claim pair       ->  waits until the device is free
                     <-  claimed | busy (ask again; parked: the pair is left out for the time being) | refused
    prepare attempt  ->  resets the device, starts the server, waits until it is up
                     <-  ready line rate | failed error
    (runs the client)
    check            ->  (after a failure) does the device have its planned address?
                     <-  ready | failed error
    done ok          ->  ends the server, resets the device
                     <-  noted, only where it was the trial of one that is left out

Each line also carries who is left out (``Membership.share``). A broken connection ends the pair on both sides.
A device is reset before a test and after it, however the test ended. Before each reset and launch of a test it must be idle: one with other work is neither
reset nor tested, and its pair ends with ``device_busy``.
"""

from __future__ import annotations

import mmap
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .._core.errors import HccnError
from .._core.guard import run_quietly
from .._core.process import Child
from .._device.busy import NOT_IDLE, BusyProbe
from .._device.failures import BUSY
from .channel import Body, Channel
from .membership import Membership
from .pair_scheduler import PairScheduler
from .plan import Endpoint, Pair, Plan
from .progress_aggregator import silent_after_s
from .request import LINE_RATE, PairTool, Settings

IN_USE = NOT_IDLE | {BUSY}
"""Errors that say why a test failed: others use the device, or the tool."""
CLAIM_SECONDS = 5.0
"""How long an initiator keeps its own device for a responder that is in use; then it lets others have it and asks again."""
ANSWER_SECONDS = 5.0
SERVER_GRACE_SECONDS = 5.0
"""How long a server may take to end after its client: roce_test looks once a second."""
POLL_SECONDS = 0.2
"""Between two looks at a test whose end is not reported: its time may be over."""
READY_SECONDS = 0.01

SOURCE, TARGET = "source", "target"


class EndError(HccnError):
    """A failure whose cause is known to be at one end."""

    def __init__(self, end: str, error: HccnError) -> None:
        super().__init__(error.code, error.message, error.hint)
        self.end = end


@dataclass(frozen=True)
class Outcome:
    """What came of a pair: ``samples``, or ``error``, with the end where its cause is known to be. ``command`` is empty where no client was started.

    ``line_rate``: Gbit/s of the slower of the two ends, None unless both are known."""

    attempt: int
    samples: List[Dict[str, Any]]
    error: Optional[HccnError]
    command: Sequence[str]
    started_at: float
    duration_s: float
    line_rate: Optional[float] = None


def as_fields(pair: Pair, outcome: Outcome, about: Optional[Mapping[str, Any]] = None) -> Mapping[str, Any]:
    """The fields of a pair's record that do not come from the tool. ``about``: what the context says of the source."""
    context: Dict[str, Any] = {**(about or {}), "round": pair.round}
    context.pop(LINE_RATE, None)
    if pair.rail is not None:
        context["rail"] = pair.rail
    if outcome.line_rate is not None:
        context[LINE_RATE] = outcome.line_rate
    if isinstance(outcome.error, EndError):
        context["failed_end"] = outcome.error.end
    return {
        "source": pair.source.as_dict(), "target": pair.target.as_dict(), "context": context,
        "samples": outcome.samples, "error": outcome.error.as_dict() if outcome.error else None,
        "command": list(outcome.command) or None, "duration_s": round(outcome.duration_s, 3),
    }


class OwnTests:
    """The devices on which a test of this run was started and not reset since, in memory shared with the guard, which resets them if the runner dies."""

    def __init__(self, devices: Sequence[int]) -> None:
        self._places = {device: place for place, device in enumerate(devices)}
        self._flags = mmap.mmap(-1, max(1, len(self._places)))

    def began(self, device: int) -> None:
        self._flags[self._places[device]] = 1

    def ended(self, device: int) -> None:
        self._flags[self._places[device]] = 0

    def __contains__(self, device: int) -> bool:
        return bool(self._flags[self._places[device]])

    def devices(self) -> Sequence[int]:
        return [device for device in self._places if device in self]


class HostState:
    """What the initiators and responders of one host share: its tool, the state of its devices, the membership and the pair scheduler.

    ``device_context``: what is known of the devices beside what the tool reports, for the context of records; ``busy`` None: busy devices are used, too.
    """

    def __init__(self, plan: Plan, tool: PairTool, settings: Settings, key: bytes, device_context: Optional[Mapping[int, Mapping[str, Any]]] = None,
                 busy: Optional[BusyProbe] = None, reporters: Sequence[str] = ()) -> None:
        self.plan = plan
        self.tool = tool
        self._device_context = device_context or {}
        self._varied: Dict[Tuple[Tuple[str, int], ...], PairTool] = {(): tool}
        self.settings = settings
        self.key = key
        changed = threading.Condition()
        self.membership = Membership(plan.host, plan.controls, reporters, settings.meeting_timeout_s, silent_after_s(len(plan.controls)), changed,
                                     changed.notify_all)
        self.scheduler = PairScheduler(plan, self.membership, settings.parallel, changed)
        self._busy = busy
        self._never_reset: Set[int] = set(plan.devices)
        self._own_tests = OwnTests(plan.devices)
        self._lock = threading.Lock()
        self._closed = False

    def tool_for(self, pair: Pair) -> PairTool:
        """The tool with the pair's own options. Raises InputError where it does not take them."""
        if pair.options not in self._varied:
            self._varied[pair.options] = self.tool.varied(dict(pair.options))
        return self._varied[pair.options]

    def about(self, device: int) -> Mapping[str, Any]:
        """What the context of a record says of a device of this host."""
        return {**self.tool.about(device), **self._device_context.get(device, {})}

    def line_rate(self, device: int) -> Optional[float]:
        """Gbit/s, None where it is not known."""
        found: Optional[float] = self.about(device).get(LINE_RATE)
        return found

    def launch(self, device: int, argv: Sequence[str], timeout: float) -> Child:
        """Start a test on a device, which is to be reset from now on. Raises HccnError."""
        with self._lock:
            if self._closed:
                raise HccnError("run_ended", "the run was ended")
            self._own_tests.began(device)
            return Child(argv, timeout)

    def require_idle(self, device: int) -> None:
        """Raise HccnError ``device_busy`` or ``busy_unknown`` unless the device has no other work."""
        if self._busy is not None:
            self._busy.require_idle(device, device in self._own_tests)

    def cause(self, end: Endpoint, error: HccnError) -> HccnError:
        """Return why a test failed at an end of this host: ``address_changed`` where the device does not have its planned address any more, else ``error``."""
        return error if error.code in IN_USE else self.tool.moved(end.device, end.address) or error

    def prepare(self, device: int) -> None:
        """Make an idle device ready for a test: reset it unless this run has done so since its last test. Raises HccnError, as ``require_idle``."""
        self.require_idle(device)
        if device in self._never_reset:
            self._reset(device)
        self.reset(device)

    def reset(self, device: int) -> None:
        """End the test that this run has started on a device, if there is one. Raises HccnError."""
        if device in self._own_tests:
            self._reset(device)

    def _reset(self, device: int) -> None:
        self.tool.reset(device)
        self._own_tests.ended(device)
        self._never_reset.discard(device)

    def end_tests(self) -> None:
        """End what this run has started and not reset; called by the guard too, when the runner is gone."""
        for device in self._own_tests.devices():
            argv = self.tool.cleanup(device)
            if argv:
                run_quietly(argv)

    def say(self, channel: Channel, body: Body) -> None:
        """Send a line, and with it what this host knows of the others. Raises HccnError."""
        known = self.membership.share()
        channel.send({**body, "known": known} if known else body)

    def hear(self, body: Body) -> Body:
        """Take over what the other host knows, and return the line."""
        self.membership.learn(body.get("known"))
        return body

    def close(self) -> None:
        """Nothing is started from now on."""
        self.scheduler.close()
        with self._lock:
            self._closed = True
