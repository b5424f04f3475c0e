# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What the initiators and responders of one host share: the tool, the state of the devices, the membership and the pair scheduler."""

from __future__ import annotations

import mmap
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .._core.errors import HccnError
from .._core.guard import run_quietly
from .._core.process import Child
from .._device.busy import NOT_IDLE
from .._device.rdma_usage import DeviceProbe
from .._device.failures import BUSY
from .membership import Membership, silent_after_s
from .pair_scheduler import PairScheduler
from .plan import Endpoint, Pair, Plan
from .request import LINE_RATE, PairTool, Settings
from .transport import Body, Channel

IN_USE = NOT_IDLE | {BUSY}
"""Errors that explain a failed test: other work uses the device or the tool."""
SOURCE, TARGET = "source", "target"


class SideError(HccnError):
    """A failure whose cause is known to be at one side of the pair, SOURCE or TARGET."""

    def __init__(self, side: str, error: HccnError) -> None:
        super().__init__(error.code, error.message, error.hint)
        self.side = side


@dataclass(frozen=True)
class Outcome:
    """The result of a pair: ``samples`` or ``error``. ``command`` is empty if no client was started.

    ``line_rate``: Gbit/s of the slower of the two sides, None unless both are known. ``output``: the end of what the failed client printed. ``routers``: the
    addresses of those on the path, if it was traced."""

    attempt: int
    samples: List[Dict[str, Any]]
    error: Optional[HccnError]
    command: Sequence[str]
    started_at: float
    duration_s: float
    line_rate: Optional[float] = None
    output: str = ""
    routers: Sequence[str] = ()


def as_fields(pair: Pair, outcome: Outcome, device_context: Optional[Mapping[str, Any]] = None) -> Mapping[str, Any]:
    """Return the fields of a pair's record that do not come from the tool. ``device_context``: of the source, for the context of the record."""
    context: Dict[str, Any] = {**(device_context or {}), "round": pair.round}
    context.pop(LINE_RATE, None)
    if pair.rail is not None:
        context["rail"] = pair.rail
    if outcome.line_rate is not None:
        context[LINE_RATE] = outcome.line_rate
    if isinstance(outcome.error, SideError):
        context["failed_end"] = outcome.error.side
    if outcome.routers:
        context["routers"] = list(outcome.routers)
    failure = outcome.error.as_dict() if outcome.error else None
    if failure and outcome.output:
        failure["output"] = outcome.output
    return {
        "source": pair.source.as_dict(), "target": pair.target.as_dict(), "context": context,
        "samples": outcome.samples, "error": failure,
        "command": list(outcome.command) or None, "duration_s": round(outcome.duration_s, 3),
    }


class OwnTests:
    """The devices on which this run started a test and that were not reset since. In memory shared with the guard, which resets them if the runner dies."""

    def __init__(self, devices: Sequence[int]) -> None:
        self._places = {device: place for place, device in enumerate(devices)}
        self._flags = mmap.mmap(-1, max(1, len(self._places)))

    def add(self, device: int) -> None:
        self._flags[self._places[device]] = 1

    def remove(self, device: int) -> None:
        self._flags[self._places[device]] = 0

    def __contains__(self, device: int) -> bool:
        return bool(self._flags[self._places[device]])

    def devices(self) -> Sequence[int]:
        return [device for device in self._places if device in self]


class HostState:
    """The shared state of the initiators and responders of one host.

    ``device_context``: by device, facts for the context of records beside those that the tool reports; ``busy``: None if busy devices are used, too.
    """

    def __init__(self, plan: Plan, tool: PairTool, settings: Settings, key: bytes, device_context: Optional[Mapping[int, Mapping[str, Any]]] = None,
                 busy: Optional[DeviceProbe] = None, reporters: Sequence[str] = ()) -> None:
        self.plan = plan
        self.tool = tool
        self._device_context = device_context or {}
        self._tools: Dict[Tuple[Tuple[str, int], ...], PairTool] = {(): tool}
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
        """Return the tool with the pair's own options. Raises InputError for options that the tool does not support."""
        if pair.options not in self._tools:
            self._tools[pair.options] = self.tool.varied(dict(pair.options))
        return self._tools[pair.options]

    def device_context(self, device: int) -> Mapping[str, Any]:
        """Return the context of a device of this host, as records contain it."""
        return {**self.tool.about(device), **self._device_context.get(device, {})}

    def line_rate(self, device: int) -> Optional[float]:
        """Return the line rate of a device in Gbit/s, None if it is not known."""
        rate: Optional[float] = self.device_context(device).get(LINE_RATE)
        return rate

    def launch(self, device: int, argv: Sequence[str], timeout: float) -> Child:
        """Start a test on a device, and note that the device must be reset. Raises HccnError."""
        with self._lock:
            if self._closed:
                raise HccnError("run_ended", "the run was ended")
            self._own_tests.add(device)
            return Child(argv, timeout)

    def require_idle(self, device: int) -> None:
        """Raise HccnError ``device_busy`` or ``busy_unknown`` unless the device has no other work."""
        if self._busy is not None:
            self._busy.require_idle(device, device in self._own_tests)

    def cause(self, endpoint: Endpoint, error: HccnError) -> HccnError:
        """Return ``address_changed`` if a device of this host no longer has its planned address, otherwise ``error``."""
        return error if error.code in IN_USE else self.tool.moved(endpoint.device, endpoint.address) or error

    def prepare(self, device: int) -> None:
        """Prepare an idle device for a test: reset it unless this run has reset it since its last test. Raises HccnError as ``require_idle`` does."""
        self.require_idle(device)
        if device in self._never_reset:
            self._reset(device)
        self.reset(device)

    def reset(self, device: int) -> None:
        """End the test that this run started on a device, if there is one. Raises HccnError."""
        if device in self._own_tests:
            self._reset(device)

    def _reset(self, device: int) -> None:
        self.tool.reset(device)
        self._own_tests.remove(device)
        self._never_reset.discard(device)

    def end_tests(self) -> None:
        """End the tests that this run started and did not end. The guard also calls this if the runner died."""
        for device in self._own_tests.devices():
            argv = self.tool.cleanup(device)
            if argv:
                run_quietly(argv)

    def send(self, channel: Channel, body: Body) -> None:
        """Send a line together with the membership. Raises HccnError."""
        channel.send(self.membership.attach(body))

    def receive(self, channel: Channel, timeout: float) -> Body:
        """Return the next line, and update the membership from it. Raises HccnError as ``Channel.receive`` does."""
        return self.membership.detach(channel.receive(timeout))

    def close(self) -> None:
        """Start no more tests."""
        self.scheduler.close()
        with self._lock:
            self._closed = True
