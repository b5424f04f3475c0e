# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One pair, seen from its two ends. The conversation, source on the left:

    claim pair       ->  waits until the device is free
                     <-  claimed | busy (ask again; parked: the pair is left out for the time being) | refused
    prepare attempt  ->  resets the device, starts the server, waits until it is up
                     <-  ready | failed error
    (runs the client)
    done ok          ->  ends the server, resets the device
                     <-  noted, only where it was the trial of one that is left out

Each line also carries who is left out (``left_out``). A broken connection ends the pair on both sides.
A device is reset before a test and after it, however the test ended.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from .._core.errors import HccnError
from .._core.process import Child, Result
from .agenda import Agenda
from .left_out import LeftOut, silent_host
from .meeting import Body, Channel, call
from .plan import Pair, Plan
from .suspension import deadline
from .tools import PairTool

CONNECT_SECONDS = 3.0
CLAIM_SECONDS = 5.0
"""How long a source keeps its own device for a target that is in use; then it lets others have it and asks again."""
ANSWER_SECONDS = 5.0
SERVER_GRACE_SECONDS = 5.0
"""How long a server may take to end after its client: roce_test looks once a second."""
POLL_SECONDS = 0.05
READY_SECONDS = 0.01
LEAST_DEADLINE = 10.0
"""Starting tools and resetting devices takes its time on a busy host, whatever the test itself does."""
PARKED_SECONDS = 0.5
"""How long a pair rests that the other end leaves out for the time being."""

SOURCE, TARGET = "source", "target"


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


class EndError(HccnError):
    """A failure that is known to be of one end."""

    def __init__(self, end: str, error: HccnError) -> None:
        super().__init__(error.code, error.message, error.hint)
        self.end = end


class Busy(Exception):
    """The other end is in use: ask again, ``parked``: not soon, since it leaves the pair out for the time being."""

    def __init__(self, parked: bool = False) -> None:
        super().__init__()
        self.parked = parked


@dataclass(frozen=True)
class Outcome:
    """What came of a pair: ``samples``, or ``error``, with the end it is known to lie at. ``command`` empty where no client was started."""

    attempt: int
    samples: List[Dict[str, Any]]
    error: Optional[HccnError]
    command: Sequence[str]
    started_at: float
    duration_s: float


class Bench:
    """What both ends need: the tool, the devices' state, the agenda."""

    def __init__(self, plan: Plan, tool: PairTool, settings: Settings, key: bytes) -> None:
        self.plan = plan
        self.tool = tool
        self.settings = settings
        self.key = key
        self.left_out = LeftOut(plan.host)
        self.agenda = Agenda(plan, settings.parallel, left_out=self.left_out.holds)
        self._dirty: Set[int] = set(plan.devices)
        self._lock = threading.Lock()
        self._closed = False

    def launch(self, device: int, argv: Sequence[str], timeout: float) -> Child:
        """Starts a test on a device, which is to be reset from now on. Raises HccnError."""
        with self._lock:
            if self._closed:
                raise HccnError("run_ended", "the run was ended")
            self._dirty.add(device)
            try:
                return Child(argv, timeout)
            except OSError as error:
                raise HccnError("cannot_start", "%s: %s" % (argv[0], error.strerror), "is the disk of temporary files full?") from None

    def reset(self, device: int) -> None:
        """Resets a device unless nothing was started on it since it last was. Raises HccnError."""
        if device in self._dirty:
            self.tool.reset(device)
            self._dirty.discard(device)

    def say(self, channel: Channel, body: Body) -> None:
        """Sends a line, and with it who is left out. Raises HccnError."""
        known = self.left_out.share()
        channel.send({**body, "known": known} if known else body)

    def hear(self, body: Body) -> Body:
        """Takes over whom the other end leaves out."""
        if "known" in body:
            self.left_out.learn(body["known"])
            self.agenda.look_again()
        return body

    def close(self) -> None:
        """Nothing is started from now on."""
        self.agenda.close()
        with self._lock:
            self._closed = True


def measure(bench: Bench, pair: Pair, patience: float) -> Outcome:
    """Works a pair as its source, once its turn has come.

    Raises Busy where an end is in use (this one for ``patience`` seconds); HccnError ``peer_unreachable``, ``wrong_run`` or
    ``wrong_key`` where the target's runner cannot be talked to: later it may.
    """
    if not bench.agenda.acquire(pair, patience):
        raise Busy()
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
            error = failure
        self._bench.left_out.note(self._pair, error)
        self._leave(error)
        return Outcome(max(attempt, 1), samples, error, self._command, started_at, time.monotonic() - started)

    def _worth_retrying(self, error: HccnError) -> bool:
        left = self._deadline - time.monotonic()
        return not isinstance(error, EndError) and self._bench.tool.may_retry(error) and left > 2 * self._bench.settings.start_delay

    def _claim(self) -> None:
        self._trial = self._bench.left_out.holds(self._pair)
        reply = self._ask({"type": "claim", "pair": self._pair.id, "trial": self._trial}, CLAIM_SECONDS + ANSWER_SECONDS)
        if reply["type"] == "busy":
            raise Busy(reply.get("parked") is True)

    def _attempt(self, attempt: int) -> List[Dict[str, Any]]:
        device, address = self._pair.source.device, self._pair.target.address
        self._send({"type": "prepare", "attempt": attempt})
        self._own(lambda: self._bench.reset(device))
        self._receive(self._deadline - time.monotonic())
        argv = self._bench.tool.client(device, address, self._pair.target.device)
        self._command = argv
        child = self._own(lambda: self._bench.launch(device, argv, self._deadline - time.monotonic()))
        return self._samples(self._watch(child))

    def _watch(self, child: Child) -> Result:
        """The client's result. It may hang when its server is gone, so the other end is listened to meanwhile."""
        try:
            while not child.poll():
                if self._channel.waiting(POLL_SECONDS):
                    self._receive(ANSWER_SECONDS)
            return child.wait()
        except BaseException:
            child.kill()
            raise

    def _samples(self, result: Result) -> List[Dict[str, Any]]:
        try:
            return self._bench.tool.samples(result, self._pair.source.device)
        except HccnError as error:
            raise EndError(SOURCE, error) if self._bench.tool.of_one_end(error) else error from None

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


def serve(bench: Bench, channel: Channel, pair: Pair, trial: bool) -> None:
    """Works a pair as its target; the channel has brought the claim. ``trial``: the source knows that the pair is left out."""
    bench.agenda.met(pair.source.host)
    if bench.left_out.holds(pair) and not (trial and bench.agenda.is_idle()) and bench.agenda.is_open(pair):
        bench.say(channel, {"type": "busy", "parked": True})
        return
    if not bench.agenda.acquire(pair, CLAIM_SECONDS if bench.agenda.is_open(pair) else 0.0):
        bench.say(channel, {"type": "busy"} if bench.agenda.is_open(pair) else _refusal("pair %s is over on this host" % pair.id))
        return
    try:
        if not bench.agenda.is_open(pair):
            bench.say(channel, _refusal("pair %s is over on this host" % pair.id))
            return
        bench.say(channel, {"type": "claimed"})
        _Server(bench, channel, pair, trial and bench.left_out.holds(pair)).work()
    finally:
        bench.agenda.release(pair)


def _refusal(message: str) -> Body:
    return {"type": "refused", "error": HccnError("peer_refused", message).as_dict(), "here": True}


class _Server:
    """The target's end of one claimed pair."""

    def __init__(self, bench: Bench, channel: Channel, pair: Pair, trial: bool) -> None:
        self._bench = bench
        self._channel = channel
        self._pair = pair
        self._trial = trial
        self._child: Optional[Child] = None
        self._ended = False

    def work(self) -> None:
        """Until the source is done or gone. Raises HccnError where it went without a word."""
        end = time.monotonic() + self._bench.settings.deadline + ANSWER_SECONDS
        body = self._bench.hear(self._channel.receive(ANSWER_SECONDS))
        good = False
        try:
            while body.get("type") == "prepare":
                self._prepare(end)
                body = self._next(end)
            good = body.get("type") == "done" and body.get("ok") is True
            self._note(None if good else HccnError(str(body.get("code")), "told by the source"))
        except HccnError as error:
            self._note(error)
            raise
        finally:
            self._clean(good)
            self._bench.agenda.settle([self._pair])

    def _note(self, error: Optional[HccnError]) -> None:
        """What came of the pair counts here as at the source, which hears of a judgement at once: it has more pairs to give up, or to try."""
        self._bench.left_out.note(self._pair, error)
        if self._trial:
            self._bench.left_out.tried(self._pair, error)
            try:
                self._bench.say(self._channel, {"type": "noted"})
            except HccnError:
                pass

    def _prepare(self, end: float) -> None:
        try:
            if self._child is None or self._ended:
                self._start(end)
            self._channel.send({"type": "ready"})
        except EndError as error:
            self._channel.send({"type": "failed", "error": error.as_dict(), "here": True})

    def _start(self, end: float) -> None:
        """Starts the server and waits until it listens. Raises EndError."""
        device = self._pair.target.device
        try:
            self._bench.reset(device)
            argv = self._bench.tool.server(device, self._pair.target.address)
            self._child, self._ended = self._bench.launch(device, argv, end - time.monotonic()), False
        except HccnError as error:
            raise EndError(TARGET, error) from None
        up = time.monotonic() + self._bench.settings.start_delay
        while not self._channel.waiting(READY_SECONDS) and not self._is_up(device, self._child, up) and time.monotonic() < end:
            if self._child.poll():
                raise EndError(TARGET, self._last_words() or HccnError("server_ended", "the server ended before a client came"))

    def _is_up(self, device: int, child: Child, up: float) -> bool:
        """Does the server listen? Where the host shows nothing of that, it is given its time, until ``up``."""
        ready = self._bench.tool.ready(device, child.pid)
        return time.monotonic() >= up if ready is None else ready

    def _next(self, end: float) -> Body:
        """What the source says next; tells it when the server fails meanwhile."""
        while time.monotonic() < end:
            if self._channel.waiting(POLL_SECONDS):
                return self._bench.hear(self._channel.receive(ANSWER_SECONDS))
            if self._child is not None and not self._ended and self._child.poll():
                error = self._last_words()
                if error is not None:
                    self._channel.send({"type": "failed", "error": error.as_dict(), "here": self._bench.tool.of_one_end(error)})
        raise HccnError("peer_silent", "the source said nothing within the time of a pair")

    def _last_words(self) -> Optional[HccnError]:
        if self._child is None:
            return None
        self._ended = True
        return self._bench.tool.failure(self._child.wait())

    def _clean(self, good: bool) -> None:
        if self._child is not None and not self._ended:
            end = time.monotonic() + (SERVER_GRACE_SECONDS if good else 0.0)
            while time.monotonic() < end and not self._child.poll():
                time.sleep(POLL_SECONDS)
            self._child.kill()
            self._child.wait()
        try:
            self._bench.reset(self._pair.target.device)
        except HccnError:
            pass


def as_fields(pair: Pair, outcome: Outcome) -> Mapping[str, Any]:
    """The fields of a pair's record that do not come from the tool."""
    context: Dict[str, Any] = {"round": pair.round}
    if pair.rail is not None:
        context["rail"] = pair.rail
    if isinstance(outcome.error, EndError):
        context["failed_end"] = outcome.error.end
    return {
        "source": pair.source.as_dict(), "target": pair.target.as_dict(), "context": context,
        "samples": outcome.samples, "error": outcome.error.as_dict() if outcome.error else None,
        "command": list(outcome.command) or None, "duration_s": round(outcome.duration_s, 3),
    }
