# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that strike a run: each a name, the moment, and what is done then.

The moment is before the run, or while (``during``) or after (``late``) the host VICTIM does its part, as each playbook says itself.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

from tests.testbed import Lab

from tests.harness.play import Play

VICTIM = "node2"


@dataclass(frozen=True)
class Fault:
    """``strike`` is called with the lab and the run (None before it)."""

    moment: str
    strike: Callable[[Lab, Play | None], None]


def _on_host(what: str) -> Callable[[Lab, Play | None], None]:
    return lambda lab, play: lab.fault(VICTIM, what)


def _on_controller(number: signal.Signals) -> Callable[[Lab, Play | None], None]:
    def strike(_lab: Lab, play: Play | None) -> None:
        assert play is not None
        play.signal(number)

    return strike


FAULTS = {
    "host down before": Fault("before", _on_host("kill")),
    "host down during": Fault("during", _on_host("kill")),
    "host down late": Fault("late", _on_host("kill")),
    "ssh cut": Fault("during", _on_host("ssh-cut")),
    "disk full": Fault("before", _on_host("disk-full")),
    "controller SIGTERM": Fault("during", _on_controller(signal.SIGTERM)),
    "controller SIGKILL": Fault("during", _on_controller(signal.SIGKILL)),
}
TWO_OPERATORS = "two operators"
