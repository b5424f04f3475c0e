"""What a cell needs beside the hosts, and how it is seen what became of all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.lab.fault_matrix.faults import VICTIM
from tests.lab.fault_matrix.play import Play
from tests.lab.testbed import Lab


@dataclass(frozen=True)
class Stage:
    """``during``: is the host VICTIM in the middle of its part? ``working``: is the controller, where its part is another than to wait for the hosts?

    ``state`` of a living host, ``elsewhere`` of what is no host: a file of the controller, ClusterD.
    """

    variables: Mapping[str, Any]
    during: Callable[[Play], bool]
    state: Callable[[str], str]
    elsewhere: Callable[[], dict[str, str]] = lambda: {}
    working: Callable[[Play], bool] | None = None


def called(*words: str, but: str = "") -> Callable[[Lab], Callable[[Play], bool]]:
    """VICTIM runs a command with these words."""
    wanted = frozenset(words)
    return lambda lab: lambda _play: any(wanted <= set(argv) and but not in argv for argv in lab.processes(VICTIM).values())
