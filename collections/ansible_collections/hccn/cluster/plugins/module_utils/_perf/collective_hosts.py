# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the hosts of a collective from the host that launches it: logins, limits, placement of the ranks, and hosts that block a run."""

from __future__ import annotations

import time
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError
from .._core.numbers import is_count
from .._core.words import some
from . import mpirun, ranks, ssh_login
from .collective_tool import Tool
from .launch_causes import CONSEQUENCES
from .launch_failure import LaunchError, hosts_of, of_code
from .ranks import Suspects
from .ssh_login import Login

WANTED_LIMIT = 65535
LIMITS = ("ulimit -n", "net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog")
_UNLIMITED = ("unlimited", "infinity")
_NAMED = 5

LIMITS_ARGV: Tuple[str, ...] = ("sh", "-c", "ulimit -n; cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/tcp_max_syn_backlog 2>/dev/null; true")
"""Exits with 0 if the login succeeds, so it also checks the login. The limit of open files is that of the login, which the ranks inherit."""


def parse_limits(text: str) -> Dict[str, Optional[int]]:
    """Return the limits by name; None for no limit. Missing lines and texts that are not numbers are omitted."""
    found: Dict[str, Optional[int]] = {}
    for name, line in zip(LIMITS, text.splitlines()):
        word = line.strip()
        if word in _UNLIMITED:
            found[name] = None
        elif is_count(word):
            found[name] = int(word)
    return found


def _low(limits: Mapping[str, Optional[int]]) -> List[str]:
    """Return ``ulimit -n 1024`` for each limit that is too low."""
    return ["%s %d" % (name, value) for name, value in limits.items() if value is not None and value < WANTED_LIMIT]


def limits_warning(answers: Mapping[str, str], name_of: Mapping[str, str]) -> Optional[str]:
    """Return one sentence for all hosts with low limits. ``answers``: the output of ``LIMITS_ARGV`` by host; ``name_of``: names of the hosts."""
    hosts: Dict[str, List[str]] = {}
    for host, text in answers.items():
        found = _low(parse_limits(text))
        if found:
            hosts.setdefault(", ".join(found), []).append(name_of.get(host, host))
    if not hosts:
        return None
    return "the manual of hccl_test requires limits of %d for many ranks: %s" % (
        WANTED_LIMIT, "; ".join("%s has %s" % (some(names, _NAMED), limits) for limits, names in sorted(hosts.items())))


PROBE_SECONDS = 8
"""Time between the limit of a run and the limit of the launcher. The ranks still exist then, and are probed on all hosts."""
_FIRST_POLL, _LAST_POLL = 0.005, 0.1


class NotPlaced(Exception):
    """The ranks were not started, or not on the right hosts. ``output``: that of the launcher; ``hosts``: addresses of the hosts at fault."""

    def __init__(self, error: HccnError, output: str = "", hosts: Sequence[str] = ()) -> None:
        super().__init__(error.message)
        self.error = error
        self.output = output
        self.hosts = tuple(hosts)


class Placed(NamedTuple):
    """The hosts in rank order: ``addresses`` for the launcher and ``names`` for records. ``per_host``: number of ranks on each host."""

    addresses: Tuple[str, ...]
    names: Tuple[str, ...]
    per_host: int

    @property
    def ranks(self) -> int:
        return self.per_host * len(self.names)

    def host_of(self, rank: int) -> str:
        return self.names[rank // self.per_host]

    @property
    def name_of(self) -> Dict[str, str]:
        return dict(zip(self.addresses, self.names))


def check_logins(login: Optional[Login], addresses: Sequence[str], name_of: Mapping[str, str]) -> Optional[str]:
    """Log in to all other hosts at once; return a warning about their limits. Raises NotPlaced, which names all hosts without a login."""
    if login is None or all(map(ssh_login.is_here, addresses)):
        return None
    try:
        answers = ssh_login.run_on_all(login, addresses, LIMITS_ARGV)
    except HccnError as error:
        raise NotPlaced(error) from None
    found = ssh_login.refusals(answers)
    if found:
        raise NotPlaced(ssh_login.refused(found, len(addresses)), hosts=[one.host for one in found])
    return limits_warning({address: answer.stdout for address, answer in answers.items()}, name_of)


def check_placement(tool: Tool, flavour: str, result: process.Result, placed: Placed, tail: str) -> None:
    """Raise NotPlaced if ``result``, that of ``mpirun.placement_argv``, shows ranks on wrong hosts."""
    placement = mpirun.parse_placement(flavour, result.stdout, placed.addresses)
    wrong = mpirun.misplaced(placement, placed.addresses, placed.per_host)
    # The command ends with status 1, which Open MPI reports.
    known = [error for error in tool.find_errors(result.stdout, result.stderr) if error.code != "rank_exited"]
    # A launcher that uses other names for the variables: the placement is unknown, which is not an error.
    silent = result.rc == 1 and not result.stdout.strip() and not known
    if not wrong or silent:
        return
    text = some(["%s has %d" % pair for pair in wrong], _NAMED)
    causes = [error for error in known if error.code not in CONSEQUENCES]
    hosts = [host for host, _count in wrong if host in placed.addresses]
    if causes:
        raise NotPlaced(causes[0], tail, culprits(causes[0], placed) or hosts)
    if result.timed_out or known:
        error = HccnError("hosts_not_started", "not all ranks started in time: every host should have %d, but %s" % (placed.per_host, text),
                          "check that this user can log in to each of these hosts by ssh without a password, and start this mpirun there")
    else:
        error = of_code("placement_mismatch", "the ranks were not placed as requested: every host should have %d, but %s" % (placed.per_host, text))
    raise NotPlaced(error, tail, hosts)


def watch(child: process.Child, seconds: float, late: Callable[[], None]) -> process.Result:
    """Return the result of the child. Call ``late`` once if it still runs after ``seconds``."""
    end = time.monotonic() + seconds
    pause = _FIRST_POLL
    called = False
    try:
        while not child.poll():
            if not called and time.monotonic() >= end:
                called = True
                late()
            time.sleep(pause)
            pause = min(_LAST_POLL, pause * 1.5)
        return child.wait()
    except BaseException:
        child.kill()
        raise


def find_suspects(login: Optional[Login], placed: Placed, mark: str) -> Suspects:
    """Return the hosts that block the run."""
    if login is None:
        return Suspects()
    seen = ranks.probe(login, placed.addresses, mark)
    return ranks.suspects(seen, placed.ranks, placed.addresses, placed.host_of, placed.name_of)


def end_ranks(login: Optional[Login], placed: Placed, mark: str) -> Suspects:
    """End the processes that a run left on the hosts; return the hosts that did not answer."""
    if login is None:
        return Suspects()
    seen = ranks.end(login, placed.addresses, mark)
    return ranks.suspects(ranks.RankStates({}, seen.silent), placed.ranks, placed.addresses, placed.host_of, placed.name_of)


VAGUE = ("no_table", "rows_missing", "summary_missing", "tool_failed", "mpi_init_failed", "no_output")
"""Codes besides CONSEQUENCES that do not name a cause."""
_INCOMPLETE = CONSEQUENCES + ("host_lost",)
"""Codes of errors that may name only a part of the hosts at fault."""


def with_suspects(error: HccnError, found: Suspects) -> HccnError:
    """Return the error, with the suspected hosts added if it does not name a cause."""
    if not found.sentence or error.code not in _INCOMPLETE + VAGUE:
        return error
    if error.code in VAGUE:
        return HccnError("host_lost", "the run ended without a result; %s" % found.sentence, "check these hosts, and repeat the run without them")
    return HccnError(error.code, "%s; %s" % (error.message, found.sentence), error.hint)


def culprits(error: HccnError, placed: Placed) -> Tuple[str, ...]:
    """Return the names of the hosts at fault, as far as the output of the launcher names them or their ranks."""
    if not isinstance(error, LaunchError):
        return ()
    return hosts_of(error.places, placed.names, placed.addresses, placed.per_host)


def all_hosts(error: HccnError, hosts: Sequence[str], found: Suspects) -> Tuple[str, ...]:
    """Return the hosts at fault: those that the error names, and those that were found if it may not name all."""
    if error.code in _INCOMPLETE + VAGUE:
        return tuple(dict.fromkeys(found.hosts + tuple(hosts)))
    return tuple(hosts) or found.hosts


def with_culprits(error: HccnError, hosts: Sequence[str]) -> HccnError:
    """Return the error with the hosts at fault at the begin of its message, if it does not contain them."""
    if all(host in error.message for host in hosts):
        return error
    return HccnError(error.code, "%s: %s" % (some(hosts, _NAMED), error.message), error.hint)


def with_wrong_hosts(error: HccnError, wrong: Sequence[int], placed: Optional[Placed]) -> Tuple[HccnError, Tuple[str, ...]]:
    """Return the error with the hosts of the ranks whose result was wrong, and these hosts."""
    hosts = tuple(dict.fromkeys(placed.host_of(rank) for rank in wrong if placed and rank < placed.ranks)) if placed else ()
    if not hosts:
        return error, ()
    return HccnError(error.code, "%s, on %s" % (error.message, ", ".join(hosts)), error.hint), hosts
