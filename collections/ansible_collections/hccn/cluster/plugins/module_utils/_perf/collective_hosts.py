# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The hosts of one collective, seen from the host that launches it: do they take logins, do they start ranks, and who holds up a run that does not end?"""

from __future__ import annotations

import time
from typing import Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple
from typing import List

from .._core import process
from .._core.errors import HccnError
from .._core.words import some
from . import mpirun, ranks, ssh_login
from .collective_tool import Tool
from .tool_output import CONSEQUENCES
from .ranks import Suspects
from .ssh_login import Login
from .._core.numbers import is_count


WANTED_LIMIT = 65535
LIMITS = ("ulimit -n", "net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog")
_UNLIMITED = ("unlimited", "infinity")
_NAMED = 5

LIMITS_ARGV: Tuple[str, ...] = ("sh", "-c", "ulimit -n; cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/tcp_max_syn_backlog 2>/dev/null; true")
"""Ends with 0 wherever a login is taken, so it proves that, too. The limit of open files is that of the login, which is the ranks'."""


def parse_limits(text: str) -> Dict[str, Optional[int]]:
    """Limits by name; None for no limit. What is not there or is no number is left out."""
    found: Dict[str, Optional[int]] = {}
    for name, line in zip(LIMITS, text.splitlines()):
        word = line.strip()
        if word in _UNLIMITED:
            found[name] = None
        elif is_count(word):
            found[name] = int(word)
    return found


def _low(limits: Mapping[str, Optional[int]]) -> List[str]:
    """``ulimit -n 1024`` for each limit that is lower than wanted."""
    return ["%s %d" % (name, value) for name, value in limits.items() if value is not None and value < WANTED_LIMIT]


def limits_warning(answers: Mapping[str, str], name_of: Mapping[str, str]) -> Optional[str]:
    """One sentence for all hosts with low limits. ``answers``: what ``LIMITS_ARGV`` printed, by host; ``name_of``: how people call the hosts."""
    hosts: Dict[str, List[str]] = {}
    for host, text in answers.items():
        found = _low(parse_limits(text))
        if found:
            hosts.setdefault(", ".join(found), []).append(name_of.get(host, host))
    if not hosts:
        return None
    return "the manual of hccl_test wants limits of %d for many ranks: %s" % (
        WANTED_LIMIT, "; ".join("%s has %s" % (some(names, _NAMED), limits) for limits, names in sorted(hosts.items())))


PROBE_SECONDS = 8
"""Between the end of the time and the launcher's own limit: so long the ranks still stand, and all hosts are asked about them."""
_FIRST_POLL, _LAST_POLL = 0.005, 0.1


class NotPlaced(Exception):
    """The ranks were not started, or not where they should be. ``output`` of the attempt, ``hosts`` that are to blame, by address."""

    def __init__(self, error: HccnError, output: str = "", hosts: Sequence[str] = ()) -> None:
        super().__init__(error.message)
        self.error = error
        self.output = output
        self.hosts = tuple(hosts)


class Placed(NamedTuple):
    """Who runs which ranks: ``addresses`` as the launcher knows them and ``names`` as records do, in rank order; ``each``: ranks of one host."""

    addresses: Tuple[str, ...]
    names: Tuple[str, ...]
    each: int

    @property
    def ranks(self) -> int:
        return self.each * len(self.names)

    def host_of(self, rank: int) -> str:
        return self.names[rank // self.each]

    @property
    def name_of(self) -> Dict[str, str]:
        return dict(zip(self.addresses, self.names))


def check_logins(login: Optional[Login], addresses: Sequence[str], name_of: Mapping[str, str]) -> Optional[str]:
    """One login to each other host, all at once. What is to be said of the hosts' limits. Raises NotPlaced, which names all that take none."""
    if login is None or all(map(ssh_login.is_here, addresses)):
        return None
    try:
        answers = ssh_login.ask(login, addresses, LIMITS_ARGV)
    except HccnError as error:
        raise NotPlaced(error) from None
    found = ssh_login.refusals(answers)
    if found:
        raise NotPlaced(ssh_login.refused(found, len(addresses)), hosts=[one.host for one in found])
    return limits_warning({address: answer.stdout for address, answer in answers.items()}, name_of)


def check_placement(tool: Tool, flavour: str, result: process.Result, placed: Placed, tail: str) -> None:
    """``result`` of ``mpirun.placement_argv``: are the ranks where they should be? Raises NotPlaced."""
    placement = mpirun.parse_placement(flavour, result.stdout, placed.addresses)
    wrong = mpirun.misplaced(placement, placed.addresses, placed.each)
    known = tool.find_errors(result.stdout, result.stderr)
    # A launcher under another name for the variables: nothing is known, and nothing speaks against it.
    silent = result.rc == 1 and not result.stdout.strip() and not known
    if not wrong or silent:
        return
    text = some(["%s has %d" % pair for pair in wrong], _NAMED)
    causes = [error for error in known if error.code not in CONSEQUENCES]
    hosts = [host for host, _count in wrong if host in placed.addresses]
    if causes:
        raise NotPlaced(causes[0], tail, hosts)
    if result.timed_out or known:
        error = HccnError("hosts_not_started", "the ranks did not start on all hosts within the time: of %d ranks each, %s" % (placed.each, text),
                          "log in to each of them by ssh as the same user, without a password, and run this mpirun")
    else:
        error = HccnError("placement_mismatch", "the ranks were not placed as asked: of %d ranks each, %s" % (placed.each, text),
                          "look for a batch system or a default host file that overrides the host file")
    raise NotPlaced(error, tail, hosts)


def watch(child: process.Child, seconds: float, late: Callable[[], None]) -> process.Result:
    """The child's result. ``late`` is called once, when it has run for ``seconds`` and is still at work."""
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
    """Who holds up the run that is at work."""
    if login is None:
        return Suspects()
    seen = ranks.probe(login, placed.addresses, mark)
    return ranks.suspects(seen, placed.ranks, placed.addresses, placed.host_of, placed.name_of)


def clear(login: Optional[Login], placed: Placed, mark: str) -> Suspects:
    """Ends what a run left on the hosts; tells those that did not answer."""
    if login is None:
        return Suspects()
    seen = ranks.end(login, placed.addresses, mark)
    return ranks.suspects(ranks.RankStates({}, seen.silent), placed.ranks, placed.addresses, placed.host_of, placed.name_of)


VAGUE = ("no_table", "rows_missing", "exit_status", "tool_failed", "mpi_init_failed")
"""Codes beside CONSEQUENCES that do not tell a cause."""


def blamed(error: HccnError, found: Suspects) -> HccnError:
    """The error with what is known of the hosts, where it says only how the run ended."""
    if not found.sentence or error.code not in CONSEQUENCES + VAGUE:
        return error
    if error.code in VAGUE:
        return HccnError("host_lost", "the run ended without a result; %s" % found.sentence, "look at these hosts, and run once more without them")
    return HccnError(error.code, "%s; %s" % (error.message, found.sentence), error.hint)


def named(error: HccnError, wrong: Sequence[int], placed: Optional[Placed]) -> Tuple[HccnError, Tuple[str, ...]]:
    """The error of ranks with a wrong result, and on which hosts these are."""
    hosts = tuple(dict.fromkeys(placed.host_of(rank) for rank in wrong if placed and rank < placed.ranks)) if placed else ()
    if not hosts:
        return error, ()
    return HccnError(error.code, "%s, on %s" % (error.message, ", ".join(hosts)), error.hint), hosts
