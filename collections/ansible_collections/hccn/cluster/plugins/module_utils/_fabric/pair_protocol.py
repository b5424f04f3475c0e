# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The pair protocol: how the initiator and the responder of a pair measure it together. The lines they exchange, the initiator on the left:

    claim pair       ->  waits until the device is free
                     <-  claimed | busy (ask again; parked: the pair is left out for the time being) | refused
    prepare attempt  ->  resets the device, starts the server, waits until it listens
                     <-  ready line rate | failed error
    (runs the client)
    check            ->  (after a failure) does the device have its planned address?
                     <-  ready | failed error
    done ok          ->  ends the server, resets the device
                     <-  noted, only if this was the trial of a pair that is left out

Each line also carries the membership (``Membership.share``). A broken connection ends the pair on both sides.
A device is reset before and after each test, however the test ended. It must be idle before each reset and each start of a test: a device with other work is
neither reset nor tested, and its pair ends with ``device_busy``.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from .._core.errors import HccnError
from .._core.numbers import is_number
from .._core.process import Child, Result
from .._perf.roce_test_tool import ADDRESS_CHANGED
from .._perf.tool_output import TAIL_LIMIT, tail
from .host_state import IN_USE, SOURCE, TARGET, HostState, Outcome, SideError
from .membership import silent_host
from .plan import SOURCE_PORT, Pair
from .request import LINE_RATE
from .transport import CONNECT_SECONDS, Body, Channel, call

CLAIM_SECONDS = 5.0
"""How long an initiator holds its own device while the responder is in use. Then it releases the device and asks again later."""
ANSWER_SECONDS = 5.0
SERVER_GRACE_SECONDS = 5.0
"""How long a server may take to end after its client: roce_test checks once a second."""
POLL_SECONDS = 0.2
"""Between two checks of a test that does not report its end: its time may be over."""
READY_SECONDS = 0.01


# -- the initiator


class ResponderBusy(Exception):
    """The responder is in use: ask again later. ``parked``: much later, since the responder leaves the pair out for the time being."""

    def __init__(self, parked: bool = False) -> None:
        super().__init__()
        self.parked = parked


def measure(state: HostState, pair: Pair) -> Outcome:
    """Measure a pair whose device was acquired (``PairScheduler.acquire``), and release the device.

    Raises ResponderBusy if the responder is in use, and HccnError ``peer_unreachable``, ``wrong_run`` or ``wrong_key`` if its runner does not accept the
    connection; a later attempt may succeed.
    """
    try:
        channel = call(pair.target.host, state.plan.controls[pair.target.host], state.key, state.plan.run_id, CONNECT_SECONDS)
        try:
            state.membership.met(pair.target.host)
            return _Initiator(state, channel, pair).work()
        finally:
            channel.close()
    finally:
        state.scheduler.release(pair)


class _Initiator:
    """The initiator of one pair, with an open channel."""

    def __init__(self, state: HostState, channel: Channel, pair: Pair) -> None:
        self._state = state
        self._channel = channel
        self._pair = pair
        self._command: Sequence[str] = ()
        self._deadline = 0.0
        self._tool = state.tool_for(pair)
        self._line_rate: Optional[float] = None
        self._trial = False
        self._output = ""

    def work(self) -> Outcome:
        """Return the outcome of the pair. Raises ResponderBusy."""
        started_at, started = time.time(), time.monotonic()
        attempt = 0
        samples: List[Dict[str, Any]] = []
        error: Optional[HccnError] = None
        try:
            self._claim()
            self._deadline = time.monotonic() + self._state.settings.deadline
            while not samples:
                attempt += 1
                try:
                    samples = self._attempt(attempt)
                except HccnError as failure:
                    if attempt > 1 or not self._worth_retrying(failure):
                        raise
                    time.sleep(self._state.settings.start_delay_s)
        except HccnError as failure:
            error = self._cause(failure)
        self._state.membership.pair_ended(self._pair, error)
        duration_s = time.monotonic() - started
        self._leave(error)
        return Outcome(max(attempt, 1), samples, error, self._command, started_at, duration_s, self._line_rate, self._output if error else "", self._routers())

    def _routers(self) -> Sequence[str]:
        """Return the routers on the path of a pair that has a source port of its own: it is measured again to find which of several links is bad."""
        if SOURCE_PORT not in dict(self._pair.options) or not self._command:
            return ()
        return self._tool.routers(self._pair.source.device, self._pair.source.address, self._pair.target.address)

    def _cause(self, failure: HccnError) -> HccnError:
        """Return why the pair failed. Check on both sides whether the address of the device has changed, unless the failure already names its cause."""
        if failure.code in IN_USE or (isinstance(failure, SideError) and failure.side == TARGET):
            return failure
        own = self._state.cause(self._pair.source, failure)
        if own is not failure:
            return SideError(SOURCE, own)
        try:
            self._ask({"type": "check"}, ANSWER_SECONDS)
        except HccnError as answer:
            return answer if answer.code == ADDRESS_CHANGED else failure
        return failure

    def _worth_retrying(self, error: HccnError) -> bool:
        left = self._deadline - time.monotonic()
        return not isinstance(error, SideError) and self._tool.may_retry(error) and left > 2 * self._state.settings.start_delay_s

    def _claim(self) -> None:
        self._trial = self._state.membership.is_left_out(self._pair)
        reply = self._ask({"type": "claim", "pair": self._pair.id, "trial": self._trial}, CLAIM_SECONDS + ANSWER_SECONDS)
        if reply["type"] == "busy":
            raise ResponderBusy(reply.get("parked") is True)

    def _attempt(self, attempt: int) -> List[Dict[str, Any]]:
        device, address = self._pair.source.device, self._pair.target.address
        self._send({"type": "prepare", "attempt": attempt})
        self._own(lambda: self._state.prepare(device))
        self._line_rate = slower_rate(self._state.line_rate(device), self._receive(self._deadline - time.monotonic()).get(LINE_RATE))
        self._own(lambda: self._state.require_idle(device))  # other work may have begun while the server started
        argv = self._tool.client(device, address, self._pair.target.device)
        self._command = argv
        child = self._own(lambda: self._state.launch(device, argv, self._deadline - time.monotonic()))
        return self._samples(self._watch(child))

    def _watch(self, child: Child) -> Result:
        """Return the client's result. Also watch for lines of the responder: a client may hang if its server is gone."""
        try:
            while not child.poll():
                if self._channel.waiting(POLL_SECONDS, child):
                    self._receive(ANSWER_SECONDS)
            return child.wait()
        except BaseException:
            child.kill()
            raise

    def _samples(self, result: Result) -> List[Dict[str, Any]]:
        try:
            return self._tool.samples(result, self._pair.source.device)
        except HccnError as error:
            self._output = tail(result.stdout, result.stderr, TAIL_LIMIT)
            raise SideError(SOURCE, error) if self._tool.of_one_side(error) else error from None

    def _leave(self, error: Optional[HccnError]) -> None:
        """End the pair on both sides. A device that cannot be reset now is reset before the next test, or by the guard."""
        try:
            self._state.send(self._channel, {"type": "done", "ok": error is None, "code": error.code if error else ""})
            if self._trial and not silent_host(error):
                self._state.receive(self._channel, ANSWER_SECONDS)
        except HccnError:
            pass
        try:
            self._state.reset(self._pair.source.device)
        except HccnError:
            pass

    def _own(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except HccnError as error:
            raise SideError(SOURCE, error) from None

    def _ask(self, body: Body, timeout: float) -> Body:
        self._send(body)
        return self._receive(timeout)

    def _send(self, body: Body) -> None:
        try:
            self._state.send(self._channel, body)
        except HccnError as error:
            raise self._lost(error) from None

    def _receive(self, timeout: float) -> Body:
        """Return the responder's next line. Raises HccnError if it reports a failure, and SideError if it does not come."""
        try:
            body = self._state.receive(self._channel, timeout)
        except HccnError as error:
            raise self._lost(error) from None
        if body.get("type") not in ("claimed", "busy", "ready"):
            raise self._reported(body)
        return body

    def _reported(self, body: Body) -> HccnError:
        """Return the failure that the responder reports; its field ``here`` states that the cause is on its side."""
        reported: Any = body.get("error")
        if not isinstance(reported, dict):
            reported = {}
        message = "%s as server: %s" % (self._pair.target, reported.get("message", "refused"))
        error = HccnError(str(reported.get("code", "peer_refused")), message, str(reported.get("hint", "")))
        return SideError(TARGET, error) if body.get("here") is True else error

    def _lost(self, error: HccnError) -> SideError:
        where = "%s (%s)" % (self._pair.target.host, self._state.plan.controls[self._pair.target.host])
        return SideError(TARGET, HccnError(error.code if error.code == "peer_silent" else "peer_lost",
                                           "the runner of %s disappeared during the pair: %s" % (where, error.message),
                                           "see rdma_perf_info on that host"))


def slower_rate(own: Optional[float], reported: Any) -> Optional[float]:
    """Return the slower of the line rates of the two sides, None unless both are known. The reported one comes from the network."""
    if own is None or not is_number(reported) or not reported > 0:
        return None
    return min(own, float(reported))


# -- the responder


def serve(state: HostState, channel: Channel, pair: Pair, trial: bool) -> None:
    """Serve a pair whose claim was received on the channel. ``trial``: the initiator knows that the pair is left out."""
    state.membership.met(pair.source.host)
    state.scheduler.take_back(pair)
    if state.membership.is_left_out(pair) and not (trial and state.scheduler.is_idle()) and state.scheduler.is_open(pair):
        state.send(channel, {"type": "busy", "parked": True})
        return
    if not state.scheduler.acquire(pair, CLAIM_SECONDS if state.scheduler.is_open(pair) else 0.0):
        state.send(channel, {"type": "busy"} if state.scheduler.is_open(pair) else _refusal("pair %s is over on this host" % pair.id))
        return
    try:
        if not state.scheduler.is_open(pair):
            state.send(channel, _refusal("pair %s is over on this host" % pair.id))
            return
        state.send(channel, {"type": "claimed"})
        _Responder(state, channel, pair, trial and state.membership.is_left_out(pair)).work()
    finally:
        state.scheduler.release(pair)


def _refusal(message: str) -> Body:
    return {"type": "refused", "error": HccnError("peer_refused", message).as_dict(), "here": True}


class _Responder:
    """The responder of one claimed pair."""

    def __init__(self, state: HostState, channel: Channel, pair: Pair, trial: bool) -> None:
        self._state = state
        self._channel = channel
        self._pair = pair
        self._trial = trial
        self._child: Optional[Child] = None
        self._ended = False
        self._tool = state.tool_for(pair)

    def work(self) -> None:
        """Serve until the initiator is done. Raises HccnError if the connection breaks or the initiator is silent for too long."""
        end = time.monotonic() + self._state.settings.deadline + ANSWER_SECONDS
        body = self._state.receive(self._channel, ANSWER_SECONDS)
        good = False
        try:
            while body.get("type") in ("prepare", "check"):
                if body["type"] == "prepare":
                    self._prepare(end)
                else:
                    self._check()
                body = self._next(end)
            good = body.get("type") == "done" and body.get("ok") is True
            self._note(None if good else HccnError(str(body.get("code")), "reported by the initiator"))
        except HccnError as error:
            self._note(error)
            raise
        finally:
            self._clean(good)
            self._state.scheduler.settle([self._pair])

    def _note(self, error: Optional[HccnError]) -> None:
        """Update the membership by the outcome. Send the result of a trial to the initiator at once: it may have more pairs to give up or to try."""
        self._state.membership.pair_ended(self._pair, error)
        if self._trial:
            self._state.membership.trial_ended(self._pair, error)
            try:
                self._state.send(self._channel, {"type": "noted"})
            except HccnError:
                pass

    def _prepare(self, end: float) -> None:
        try:
            if self._child is None or self._ended:
                self._start(end)
            rate = self._state.line_rate(self._pair.target.device)
            self._channel.send({"type": "ready"} if rate is None else {"type": "ready", LINE_RATE: rate})
        except SideError as error:
            self._fail(error, here=True)

    def _check(self) -> None:
        """Answer the initiator, whose test failed, whether the device on this side still has its planned address."""
        unchanged = HccnError("ok", "")
        error = self._state.cause(self._pair.target, unchanged)
        self._channel.send({"type": "ready"} if error is unchanged else {"type": "failed", "error": error.as_dict(), "here": True})

    def _fail(self, error: HccnError, here: bool) -> None:
        cause = self._state.cause(self._pair.target, error)
        self._channel.send({"type": "failed", "error": cause.as_dict(), "here": here or cause is not error})

    def _start(self, end: float) -> None:
        """Start the server and wait until it listens. Raises SideError."""
        device = self._pair.target.device
        try:
            self._state.prepare(device)
            argv = self._tool.server(device, self._pair.target.address)
            self._child, self._ended = self._state.launch(device, argv, end - time.monotonic()), False
        except HccnError as error:
            raise SideError(TARGET, error) from None
        assumed = time.monotonic() + self._state.settings.start_delay_s
        while not self._channel.waiting(READY_SECONDS) and not self._listens(device, self._child, assumed) and time.monotonic() < end:
            if self._child.poll():
                raise SideError(TARGET, self._server_failure() or HccnError("server_ended", "the server ended before the client connected"))

    def _listens(self, device: int, child: Child, assumed: float) -> bool:
        """Return whether the server listens. If the host cannot determine that, assume it from the monotonic time ``assumed`` on."""
        ready = self._tool.ready(device, child.pid)
        return time.monotonic() >= assumed if ready is None else ready

    def _next(self, end: float) -> Body:
        """Return the initiator's next line. If the server fails while waiting, report that to the initiator."""
        while time.monotonic() < end:
            if self._channel.waiting(POLL_SECONDS, None if self._ended else self._child):
                return self._state.receive(self._channel, ANSWER_SECONDS)
            if self._child is not None and not self._ended and self._child.poll():
                error = self._server_failure()
                if error is not None:
                    self._fail(error, self._tool.of_one_side(error))
        raise HccnError("peer_silent", "the initiator sent nothing within the time of a pair")

    def _server_failure(self) -> Optional[HccnError]:
        if self._child is None:
            return None
        self._ended = True
        return self._tool.failure(self._child.wait())

    def _clean(self, good: bool) -> None:
        if self._child is not None and not self._ended:
            end = time.monotonic() + (SERVER_GRACE_SECONDS if good else 0.0)
            while time.monotonic() < end and not self._child.poll():
                self._child.listen(POLL_SECONDS)
            self._child.kill()
            self._child.wait()
        try:
            self._state.reset(self._pair.target.device)
        except HccnError:
            pass
