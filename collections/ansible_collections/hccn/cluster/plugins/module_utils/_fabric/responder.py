# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A pair as its responder works it; the conversation is in pair_protocol.py."""

from __future__ import annotations

import time
from typing import Optional

from .._core.errors import HccnError
from .._core.process import Child
from .channel import Body, Channel
from .pair_protocol import ANSWER_SECONDS, CLAIM_SECONDS, POLL_SECONDS, READY_SECONDS, SERVER_GRACE_SECONDS, TARGET, EndError, HostState
from .plan import Pair
from .request import LINE_RATE


def serve(state: HostState, channel: Channel, pair: Pair, trial: bool) -> None:
    """Serve a pair, whose claim came by the channel. ``trial``: the initiator knows that the pair is left out."""
    state.membership.met(pair.source.host)
    if state.membership.is_left_out(pair) and not (trial and state.scheduler.is_idle()) and state.scheduler.is_open(pair):
        state.say(channel, {"type": "busy", "parked": True})
        return
    if not state.scheduler.acquire(pair, CLAIM_SECONDS if state.scheduler.is_open(pair) else 0.0):
        state.say(channel, {"type": "busy"} if state.scheduler.is_open(pair) else _refusal("pair %s is over on this host" % pair.id))
        return
    try:
        if not state.scheduler.is_open(pair):
            state.say(channel, _refusal("pair %s is over on this host" % pair.id))
            return
        state.say(channel, {"type": "claimed"})
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
        """Work until the initiator is done or gone. Raises HccnError where it went without a word."""
        end = time.monotonic() + self._state.settings.deadline + ANSWER_SECONDS
        body = self._state.hear(self._channel.receive(ANSWER_SECONDS))
        good = False
        try:
            while body.get("type") in ("prepare", "check"):
                if body["type"] == "prepare":
                    self._prepare(end)
                else:
                    self._check()
                body = self._next(end)
            good = body.get("type") == "done" and body.get("ok") is True
            self._note(None if good else HccnError(str(body.get("code")), "told by the source"))
        except HccnError as error:
            self._note(error)
            raise
        finally:
            self._clean(good)
            self._state.scheduler.settle([self._pair])

    def _note(self, error: Optional[HccnError]) -> None:
        """What came of the pair counts here, too. The initiator hears of a judgement at once: it has more pairs to give up, or to try."""
        self._state.membership.pair_ended(self._pair, error)
        if self._trial:
            self._state.membership.trial_ended(self._pair, error)
            try:
                self._state.say(self._channel, {"type": "noted"})
            except HccnError:
                pass

    def _prepare(self, end: float) -> None:
        try:
            if self._child is None or self._ended:
                self._start(end)
            rate = self._state.line_rate(self._pair.target.device)
            self._channel.send({"type": "ready"} if rate is None else {"type": "ready", LINE_RATE: rate})
        except EndError as error:
            self._fail(error, here=True)

    def _check(self) -> None:
        """Tell the initiator, whose test failed, whether this end has been given another address."""
        fine = HccnError("ok", "")
        error = self._state.cause(self._pair.target, fine)
        self._channel.send({"type": "ready"} if error is fine else {"type": "failed", "error": error.as_dict(), "here": True})

    def _fail(self, error: HccnError, here: bool) -> None:
        cause = self._state.cause(self._pair.target, error)
        self._channel.send({"type": "failed", "error": cause.as_dict(), "here": here or cause is not error})

    def _start(self, end: float) -> None:
        """Start the server and wait until it listens. Raises EndError."""
        device = self._pair.target.device
        try:
            self._state.prepare(device)
            argv = self._tool.server(device, self._pair.target.address)
            self._child, self._ended = self._state.launch(device, argv, end - time.monotonic()), False
        except HccnError as error:
            raise EndError(TARGET, error) from None
        up = time.monotonic() + self._state.settings.start_delay_s
        while not self._channel.waiting(READY_SECONDS) and not self._is_up(device, self._child, up) and time.monotonic() < end:
            if self._child.poll():
                raise EndError(TARGET, self._last_words() or HccnError("server_ended", "the server ended before a client came"))

    def _is_up(self, device: int, child: Child, up: float) -> bool:
        """Does the server listen? Where the host does not show that, it is given until ``up``."""
        ready = self._tool.ready(device, child.pid)
        return time.monotonic() >= up if ready is None else ready

    def _next(self, end: float) -> Body:
        """Return the initiator's next line; tell it when the server fails meanwhile."""
        while time.monotonic() < end:
            if self._channel.waiting(POLL_SECONDS, None if self._ended else self._child):
                return self._state.hear(self._channel.receive(ANSWER_SECONDS))
            if self._child is not None and not self._ended and self._child.poll():
                error = self._last_words()
                if error is not None:
                    self._fail(error, self._tool.of_one_end(error))
        raise HccnError("peer_silent", "the source said nothing within the time of a pair")

    def _last_words(self) -> Optional[HccnError]:
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
