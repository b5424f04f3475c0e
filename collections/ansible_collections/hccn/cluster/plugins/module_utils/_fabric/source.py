# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A pair seen from its source; the conversation is told in bench.py."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from .._core.errors import HccnError
from .._core.process import Child, Result
from .._perf.roce_test_tool import ADDRESS_CHANGED
from .bench import ANSWER_SECONDS, CLAIM_SECONDS, CONNECT_SECONDS, IN_USE, POLL_SECONDS, Bench
from .channel import Body, Channel, call
from .left_out import silent_host
from .outcome import LINE_RATE, SOURCE, TARGET, EndError, Outcome
from .plan import Pair


class Busy(Exception):
    """The other end is in use: ask again, ``parked``: not soon, since it leaves the pair out for the time being."""

    def __init__(self, parked: bool = False) -> None:
        super().__init__()
        self.parked = parked


def measure(bench: Bench, pair: Pair) -> Outcome:
    """Works a pair as its source, whose device it has (``Agenda.acquire``), and gives that free.

    Raises Busy where the other end is in use; HccnError ``peer_unreachable``, ``wrong_run`` or ``wrong_key`` where the target's runner cannot be
    talked to: later it may.
    """
    try:
        channel = call(pair.target.host, bench.plan.controls[pair.target.host], bench.key, bench.plan.run_id, CONNECT_SECONDS)
        try:
            bench.agenda.met(pair.target.host)
            return _Client(bench, channel, pair).work()
        finally:
            channel.close()
    finally:
        bench.agenda.release(pair)


class _Client:
    """The source's end of one pair, with an open channel."""

    def __init__(self, bench: Bench, channel: Channel, pair: Pair) -> None:
        self._bench = bench
        self._channel = channel
        self._pair = pair
        self._command: Sequence[str] = ()
        self._deadline = 0.0
        self._tool = bench.tool_for(pair)
        self._line_rate: Optional[float] = None
        self._trial = False

    def work(self) -> Outcome:
        """Raises Busy."""
        started_at, started = time.time(), time.monotonic()
        attempt = 0
        samples: List[Dict[str, Any]] = []
        error: Optional[HccnError] = None
        try:
            self._claim()
            self._deadline = time.monotonic() + self._bench.settings.deadline
            while not samples:
                attempt += 1
                try:
                    samples = self._attempt(attempt)
                except HccnError as failure:
                    if attempt > 1 or not self._worth_retrying(failure):
                        raise
                    time.sleep(self._bench.settings.start_delay)
        except HccnError as failure:
            error = self._cause(failure)
        self._bench.left_out.note(self._pair, error)
        self._leave(error)
        return Outcome(max(attempt, 1), samples, error, self._command, started_at, time.monotonic() - started, self._line_rate)

    def _cause(self, failure: HccnError) -> HccnError:
        """Return why the pair failed: one end may have been given another address. The target is asked where it has not told of itself."""
        if failure.code in IN_USE or (isinstance(failure, EndError) and failure.end == TARGET):
            return failure
        own = self._bench.cause(self._pair.source, failure)
        if own is not failure:
            return EndError(SOURCE, own)
        try:
            self._ask({"type": "check"}, ANSWER_SECONDS)
        except HccnError as answer:
            return answer if answer.code == ADDRESS_CHANGED else failure
        return failure

    def _worth_retrying(self, error: HccnError) -> bool:
        left = self._deadline - time.monotonic()
        return not isinstance(error, EndError) and self._tool.may_retry(error) and left > 2 * self._bench.settings.start_delay

    def _claim(self) -> None:
        self._trial = self._bench.left_out.holds(self._pair)
        reply = self._ask({"type": "claim", "pair": self._pair.id, "trial": self._trial}, CLAIM_SECONDS + ANSWER_SECONDS)
        if reply["type"] == "busy":
            raise Busy(reply.get("parked") is True)

    def _attempt(self, attempt: int) -> List[Dict[str, Any]]:
        device, address = self._pair.source.device, self._pair.target.address
        self._send({"type": "prepare", "attempt": attempt})
        self._own(lambda: self._bench.prepare(device))
        self._line_rate = _slower(self._bench.line_rate(device), self._receive(self._deadline - time.monotonic()).get(LINE_RATE))
        self._own(lambda: self._bench.require_idle(device))  # the server took its time
        argv = self._tool.client(device, address, self._pair.target.device)
        self._command = argv
        child = self._own(lambda: self._bench.launch(device, argv, self._deadline - time.monotonic()))
        return self._samples(self._watch(child))

    def _watch(self, child: Child) -> Result:
        """The client's result. It may hang when its server is gone, so the other end is listened to meanwhile."""
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
        """Lets the other end clean up, and cleans up here; what cannot be reset now is before the next test, and by the guard."""
        try:
            self._bench.say(self._channel, {"type": "done", "ok": error is None, "code": error.code if error else ""})
            if self._trial and not silent_host(error):
                self._bench.hear(self._channel.receive(ANSWER_SECONDS))
        except HccnError:
            pass
        try:
            self._bench.reset(self._pair.source.device)
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
            self._bench.say(self._channel, body)
        except HccnError as error:
            raise self._lost(error) from None

    def _receive(self, timeout: float) -> Body:
        """The other end's next word. Raises EndError where that is a failure, or does not come."""
        try:
            body = self._bench.hear(self._channel.receive(timeout))
        except HccnError as error:
            raise self._lost(error) from None
        if body.get("type") not in ("claimed", "busy", "ready"):
            raise self._told(body)
        return body

    def _told(self, body: Body) -> HccnError:
        """The failure that the other end tells of; ``here`` says that it lies there."""
        said: Any = body.get("error")
        if not isinstance(said, dict):
            said = {}
        message = "%s as server: %s" % (self._pair.target, said.get("message", "refused"))
        error = HccnError(str(said.get("code", "peer_refused")), message, str(said.get("hint", "")))
        return EndError(TARGET, error) if body.get("here") is True else error

    def _lost(self, error: HccnError) -> EndError:
        where = "%s (%s)" % (self._pair.target.host, self._bench.plan.controls[self._pair.target.host])
        return EndError(TARGET, HccnError(error.code if error.code == "peer_silent" else "peer_lost",
                                          "the runner of %s went away in mid-pair: %s" % (where, error.message),
                                          "see rdma_perf_info on that host"))


def _slower(mine: Optional[float], other: Any) -> Optional[float]:
    """Of the line rates of two ends; the other one comes from the network."""
    if mine is None or isinstance(other, bool) or not isinstance(other, (int, float)) or not other > 0:
        return None
    return min(mine, float(other))
