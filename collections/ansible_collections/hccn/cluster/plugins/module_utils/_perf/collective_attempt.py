# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One start of mpirun over hosts, with what is looked at before it, while it hangs, and after it."""

from __future__ import annotations

import os
from typing import Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError
from . import collective_hosts, mpirun
from .collective_hosts import LOOK_SECONDS, Placed
from .collective_plan import KNOWN_HOSTS, Plan, Request
from .ranks import Suspects
from .table import tail

GRACE_SECONDS = 15
"""Between the launcher's own time limit and the kill: it needs a moment to end the ranks of all hosts."""
PLACEMENT_SECONDS = 60
"""A host that starts nothing within this time would not start the collective either."""


class Attempt:
    """``path``: of the host file. ``mark``: of the guard under which it runs; its ``clear`` is to be called when it is over, however that came."""

    def __init__(self, request: Request, made: Plan, path: str) -> None:
        self._request = request
        self._plan = made
        self._path = path
        self._pid = os.getpid()
        self._begun = False
        self._late = Suspects()
        self._after = Suspects()
        self.mark = ""
        self.warnings: Tuple[str, ...] = ()
        names = request.names or request.hosts or (os.uname().nodename,)
        self.placed = Placed(request.hosts, names, request.processes_per_host)

    def run(self) -> process.Result:
        """Raises HccnError, NotPlaced."""
        request, made = self._request, self._plan
        with open(self._path, "w") as stream:
            stream.write(made.hostfile)
        if request.known_hosts:
            # Its name follows from that of the host file, which others see.
            with open(os.open(self._path + KNOWN_HOSTS, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as stream:
                stream.write("".join(line + "\n" for line in request.known_hosts))
        if not request.allow_busy:
            request.tool.refuse_work(request.smi, request.options)
        if made.placement_argv:
            self._check_hosts()
        # A run that hangs is looked at while its ranks still stand: only then does the launcher end them.
        more = LOOK_SECONDS if made.login else 0
        return self._launch(made.argv, request.timeout, more)

    def _check_hosts(self) -> None:
        made = self._plan
        said = collective_hosts.check_logins(made.login, self._request.hosts, self.placed.name_of)
        self.warnings = (said,) if said and self._request.tool.wants_limits else ()
        result = self._launch(made.placement_argv, min(PLACEMENT_SECONDS, self._request.timeout), 0)
        collective_hosts.check_placement(self._request.tool, made.launcher.flavour, result, self.placed, tail(result.stdout, result.stderr))

    def _launch(self, argv: Sequence[str], seconds: int, more: int) -> process.Result:
        environment = dict(self._plan.environment)
        environment.update(mpirun.timeout_environment(seconds + more))
        # The ranks start in the launcher's folder, which must exist on every host.
        folder = self._plan.folder if os.path.isdir(self._plan.folder) else "/"
        self._begun = True
        child = process.Child(argv, seconds + more + GRACE_SECONDS, env=environment, cwd=folder)
        return collective_hosts.watch(child, seconds, self._look if more else lambda: None)

    def _look(self) -> None:
        self._late = collective_hosts.look(self._plan.login, self.placed, self.mark)

    def over(self, error: Optional[HccnError]) -> None:
        """A good run leaves nothing: nobody needs to look."""
        self._begun = error is not None

    def clear(self) -> None:
        """Ends what is left on the other hosts. Called by the guard's process, too, which knows this object as it was when the guard began."""
        if self._begun or os.getpid() != self._pid:
            self._after = collective_hosts.clear(self._plan.login, self.placed, self.mark)

    def found(self) -> Suspects:
        """Who held it up: what was seen while it hung, else who did not answer afterwards."""
        return self._late if self._late.hosts else self._after

    def names_of(self, addresses: Sequence[str]) -> Tuple[str, ...]:
        return tuple(self.placed.name_of.get(address, address) for address in addresses)
