"""What a fault case needs in addition to the hosts, and how its results are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.lab.fault_matrix.faults import VICTIM
from tests.lab.fault_matrix.play import Play
from tests.lab.testbed import Lab


@dataclass(frozen=True)
class Stage:
    """A prepared fault case. ``during``: returns True while the host VICTIM is in the middle of its part. ``working``: the same for the controller, if its part
    is more than waiting for the hosts.

    ``state``: returns the state of a running host. ``elsewhere``: returns the state of everything else, such as files of the controller or ClusterD.
    """

    variables: Mapping[str, Any]
    during: Callable[[Play], bool]
    state: Callable[[str], str]
    elsewhere: Callable[[], dict[str, str]] = lambda: {}
    working: Callable[[Play], bool] | None = None


def called(*words: str, but: str = "") -> Callable[[Lab], Callable[[Play], bool]]:
    """Return a function that returns True while VICTIM runs a command with these words."""
    wanted = frozenset(words)
    return lambda lab: lambda _play: any(wanted <= set(argv) and but not in argv for argv in lab.processes(VICTIM).values())
