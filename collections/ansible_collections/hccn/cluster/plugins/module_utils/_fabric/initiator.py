# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A pair as its initiator works it; the conversation is in pair_protocol.py."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from .._core.errors import HccnError
from .._core.process import Child, Result
from .._perf.roce_test_tool import ADDRESS_CHANGED
from .channel import CONNECT_SECONDS, Body, Channel, call
from .membership import silent_host
from .pair_protocol import ANSWER_SECONDS, CLAIM_SECONDS, IN_USE, POLL_SECONDS, SOURCE, TARGET, EndError, HostState, Outcome
from .plan import Pair
from .request import LINE_RATE


class Busy(Exception):
    """The responder is in use: ask again, but where ``parked`` not soon, since it leaves the pair out for the time being."""

    def __init__(self, parked: bool = False) -> None:
        super().__init__()
        self.parked = parked


def measure(state: HostState, pair: Pair) -> Outcome:
    """Measure a pair, whose device was acquired (``PairScheduler.acquire``), and release the device.

    Raises Busy where the responder is in use; HccnError ``peer_unreachable``, ``wrong_run`` or ``wrong_key`` where its runner cannot be talked to, which
    may change.
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

    def work(self) -> Outcome:
        """Return what came of the pair. Raises Busy."""
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
        self._leave(error)
        return Outcome(max(attempt, 1), samples, error, self._command, started_at, time.monotonic() - started, self._line_rate)

    def _cause(self, failure: HccnError) -> HccnError:
        """Return why the pair failed: one end may have been given another address. The responder is asked where it has not said so."""
        if failure.code in IN_USE or (isinstance(failure, EndError) and failure.end == TARGET):
            return failure
        own = self._state.cause(self._pair.source, failure)
        if own is not failure:
            return EndError(SOURCE, own)
        try:
            self._ask({"type": "check"}, ANSWER_SECONDS)
        except HccnError as answer:
            return answer if answer.code == ADDRESS_CHANGED else failure
        return failure

    def _worth_retrying(self, error: HccnError) -> bool:
        left = self._deadline - time.monotonic()
        return not isinstance(error, EndError) and self._tool.may_retry(error) and left > 2 * self._state.settings.start_delay_s

    def _claim(self) -> None:
        self._trial = self._state.membership.is_left_out(self._pair)
        reply = self._ask({"type": "claim", "pair": self._pair.id, "trial": self._trial}, CLAIM_SECONDS + ANSWER_SECONDS)
        if reply["type"] == "busy":
            raise Busy(reply.get("parked") is True)

    def _attempt(self, attempt: int) -> List[Dict[str, Any]]:
        device, address = self._pair.source.device, self._pair.target.address
        self._send({"type": "prepare", "attempt": attempt})
        self._own(lambda: self._state.prepare(device))
        self._line_rate = _slower(self._state.line_rate(device), self._receive(self._deadline - time.monotonic()).get(LINE_RATE))
        self._own(lambda: self._state.require_idle(device))  # the server took its time
        argv = self._tool.client(device, address, self._pair.target.device)
        self._command = argv
        child = self._own(lambda: self._state.launch(device, argv, self._deadline - time.monotonic()))
        return self._samples(self._watch(child))

    def _watch(self, child: Child) -> Result:
        """Return the client's result. A client may hang when its server is gone, so the responder is listened to meanwhile."""
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
            raise EndError(SOURCE, error) if self._tool.of_one_end(error) else error from None

    def _leave(self, error: Optional[HccnError]) -> None:
        """Let the responder clean up, and clean up here. A device that cannot be reset now is reset before the next test, or by the guard."""
        try:
            self._state.say(self._channel, {"type": "done", "ok": error is None, "code": error.code if error else ""})
            if self._trial and not silent_host(error):
                self._state.hear(self._channel.receive(ANSWER_SECONDS))
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
            raise EndError(SOURCE, error) from None

    def _ask(self, body: Body, timeout: float) -> Body:
        self._send(body)
        return self._receive(timeout)

    def _send(self, body: Body) -> None:
        try:
            self._state.say(self._channel, body)
        except HccnError as error:
            raise self._lost(error) from None

    def _receive(self, timeout: float) -> Body:
        """Return the responder's next line. Raises EndError where that is a failure, or does not come."""
        try:
            body = self._state.hear(self._channel.receive(timeout))
        except HccnError as error:
            raise self._lost(error) from None
        if body.get("type") not in ("claimed", "busy", "ready"):
            raise self._reported(body)
        return body

    def _reported(self, body: Body) -> HccnError:
        """The failure that the responder reports; ``here`` says that the cause is at its end."""
        said: Any = body.get("error")
        if not isinstance(said, dict):
            said = {}
        message = "%s as server: %s" % (self._pair.target, said.get("message", "refused"))
        error = HccnError(str(said.get("code", "peer_refused")), message, str(said.get("hint", "")))
        return EndError(TARGET, error) if body.get("here") is True else error

    def _lost(self, error: HccnError) -> EndError:
        where = "%s (%s)" % (self._pair.target.host, self._state.plan.controls[self._pair.target.host])
        return EndError(TARGET, HccnError(error.code if error.code == "peer_silent" else "peer_lost",
                                          "the runner of %s went away in mid-pair: %s" % (where, error.message),
                                          "see rdma_perf_info on that host"))


def _slower(mine: Optional[float], other: Any) -> Optional[float]:
    """Return the slower of the line rates of two ends; the other one comes from the network."""
    if mine is None or isinstance(other, bool) or not isinstance(other, (int, float)) or not other > 0:
        return None
    return min(mine, float(other))
