# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which pairs of this host are left out for the time being: ``suspension`` for the threads of a runner, for hosts and for single NPUs.

A pair without an answer counts against its NPUs, and where it was the runner that did not answer, against its hosts. When nothing else is left
to do, one pair is tried with each that is left out (``try_again``); where this host is proven good, its end is the judgement over all the others.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from .._core.errors import HccnError
from .plan import Endpoint, Pair
from .suspension import Suspension

SHARED_LIMIT = 32 * 1024
"""Bytes. What would not fit into a line is not told; the trial at the end finds out."""

_OF_HOSTS = frozenset({"peer_unreachable", "peer_silent", "peer_lost"})


def silent_host(error: Optional[HccnError]) -> bool:
    """Did a runner not answer?"""
    return error is not None and error.code in _OF_HOSTS


def silent_npu(error: Optional[HccnError]) -> bool:
    """Did a tool not end in time?"""
    return error is not None and error.code.endswith("timeout")


class LeftOut:
    """``host``: this one."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._known = Suspension()
        self._lock = threading.Lock()
        self._trials: Dict[str, str] = {}
        self._dead: FrozenSet[str] = frozenset()

    def note(self, pair: Pair, error: Optional[HccnError]) -> None:
        """What came of a pair, also of one that goes on being tried. An error that was told at once is neither a success nor a miss."""
        with self._lock:
            source, target = pair.source, pair.target
            if error is None:
                self._known.succeeded(pair.order, source.host, target.host)
                self._known.succeeded(pair.order, str(source), str(target))
                return
            if silent_host(error):
                self._known.missed(pair.order, source.host, target.host)
            if silent_host(error) or silent_npu(error):
                self._known.missed(pair.order, str(source), str(target))

    def holds(self, pair: Pair) -> bool:
        """Is the pair left out?"""
        with self._lock:
            suspended = self._known.suspended()
            return bool(suspended) and any(name in suspended for end in (pair.source, pair.target) for name in _names(end))

    def try_again(self, pair: Pair) -> bool:
        """May this pair be the trial of its partner? One at a time for each that is left out."""
        with self._lock:
            accused = self._accused(pair)
            if any(self._trials.get(name, pair.id) != pair.id for name in accused):
                return False
            self._trials.update(dict.fromkeys(accused, pair.id))
            return True

    def tried(self, pair: Pair, error: Optional[HccnError]) -> None:
        """The end of a trial. Only one that is proven good itself may judge: else both may be hung."""
        missed = silent_host(error) or silent_npu(error)
        with self._lock:
            judged = [name for name, own in self._accused(pair).items() if self._proven(own, name)]
            for name in judged:
                self._known.judge(name, not missed)
            self._look()

    def over(self, pair: Pair) -> None:
        """The pair will not be tried any more."""
        with self._lock:
            for name in [name for name, trial in self._trials.items() if trial == pair.id]:
                del self._trials[name]

    def _look(self) -> None:
        self._dead = frozenset(name for name, good in self._known.share().get("judged", {}).items() if not good)

    def given_up(self, pair: Pair) -> Tuple[str, ...]:
        """The names in this pair that a trial found dead: nothing more is tried with them."""
        dead = self._dead
        return tuple(name for end in (pair.partner(self._host), pair.end(self._host)) for name in _names(end) if name in dead) if dead else ()

    def why(self, pair: Pair, names: Tuple[str, ...]) -> Tuple[bool, HccnError]:
        """Does it lie at the partner, and the error of a pair that was given up."""
        missed = self._missed_by(names[0])
        at_partner = names[0] in _names(pair.partner(self._host))
        return at_partner, HccnError(
            "peer_suspended", "%s was left out: there was no answer with %s, nor from it at the end of the run" % (names[0], ", ".join(missed) or "others"),
            "see what hangs there: rdma_perf_info on that host, and its NPU")

    def _missed_by(self, name: str) -> List[str]:
        with self._lock:
            return sorted(self._known.share().get("missed", {}).get(name, {}))[:8]

    def _accused(self, pair: Pair) -> Dict[str, str]:
        """Names of the partner that are left out, each with this host's own of that kind."""
        suspended: FrozenSet[str] = self._known.suspended()
        own = _names(pair.end(self._host))
        return {name: own[place] for place, name in enumerate(_names(pair.partner(self._host))) if name in suspended}

    def _proven(self, own: str, accused: str) -> bool:
        return bool(self._known.adjudication([own], lambda name, _proven: name == accused))

    def share(self) -> Dict[str, Any]:
        """What the other end of a conversation is told, empty while all is well."""
        with self._lock:
            known = self._known.share()
        return known if len(json.dumps(known)) <= SHARED_LIMIT else {}

    def learn(self, said: Any) -> None:
        """Takes over what the other end told."""
        if said:
            with self._lock:
                self._known.learn(said)
                self._look()


def _names(end: Endpoint) -> Tuple[str, str]:
    return end.host, str(end)


def host_of(name: str) -> str:
    """The host of a name of either kind; hosts have no blanks."""
    return name.partition(" ")[0]
