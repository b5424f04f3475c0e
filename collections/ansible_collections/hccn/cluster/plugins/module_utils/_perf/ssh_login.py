# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Log in from the launching host to the others as mpirun does: with the same program and options, many at once.

MPICH waits forever for a host that accepts no login, so the logins are checked before.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import time
from dataclasses import dataclass
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError
from .._core.words import beginning
from .launch_causes import CAUSES, PASSWORDLESS_HINT, SSH, origin_of
from .launch_failure import decisive
from .mpirun import MPICH
from .tool_output import Known, known, search

CONNECT_SECONDS = 5
ANSWER_SECONDS = 5
"""Time after the login within which the command must end."""
AT_ONCE = 64
_POLL_SECONDS = 0.02
_ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
SHOWN = 20
"""Hosts that a message names; it only counts the others."""

_OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=%d" % CONNECT_SECONDS, "-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=2")
_BATCH_SYSTEMS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PJM_JOBID")
"""Variables of batch systems, in whose jobs mpirun does not start the ranks by ssh."""
_ARGUMENTS = {"mpich": ("HYDRA_LAUNCHER_EXTRA_ARGS",), "openmpi": ("OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args")}
"""Variables with additional options for ssh, by launcher. Open MPI renamed its variable in release 5."""
_PROGRAM = {"mpich": ("HYDRA_LAUNCHER_EXEC",), "openmpi": ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent")}

# Error texts of ssh that name their cause only in the output of ssh alone, and not among the lines of a launcher.
_SSH: Tuple[Known, ...] = (
    known("host_unreachable", r"[Cc]onnection (?:timed out|reset|closed)|Connection to \S+ port [0-9]+ timed out|kex_exchange_identification",
          "the host accepts connections, but its sshd does not answer: the host hangs or is overloaded"),
    known("ssh_refused", r"Permission denied|Too many authentication failures", PASSWORDLESS_HINT),
)


class Refusal(NamedTuple):
    """A host that cannot be used, and why."""

    host: str
    error: HccnError


@dataclass(frozen=True)
class Login:
    """``argv``: ssh with its options. A host and a command are appended."""

    argv: Tuple[str, ...]

    def command(self, host: str, words: Sequence[str]) -> List[str]:
        return list(self.argv) + [host, " ".join(shlex.quote(word) for word in words)]


def trust_arguments(identity: str, known_hosts: str) -> List[str]:
    """Return the options of ssh for a key and known hosts of this run only; either may be empty. Launchers split at spaces, so the paths must not have any."""
    found = ["-i", identity, "-o", "IdentitiesOnly=yes"] if identity else []
    if known_hosts:
        found += ["-o", "UserKnownHostsFile=" + known_hosts, "-o", "GlobalKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=yes"]
    return found


def environment_with(flavour: str, environment: Mapping[str, str], arguments: Sequence[str]) -> Dict[str, str]:
    """Return the variables with which the launcher passes these options to ssh, after those in ``environment``."""
    found = {}
    for name in _ARGUMENTS[flavour] if arguments else ():
        found[name] = " ".join(filter(None, [environment.get(name, ""), *arguments]))
    return found


def login_of(flavour: str, environment: Mapping[str, str]) -> Optional[Login]:
    """Return how the launcher of this flavour logs in; None if it does not start ranks by ssh."""
    if flavour == MPICH and environment.get("HYDRA_LAUNCHER", environment.get("HYDRA_BOOTSTRAP", "ssh")) != "ssh":
        return None
    if any(name in environment for name in _BATCH_SYSTEMS):
        return None
    program = next((environment[name] for name in _PROGRAM[flavour] if environment.get(name)), "ssh")
    arguments = next((environment[name] for name in _ARGUMENTS[flavour] if environment.get(name)), "")
    return Login(tuple(program.split()) + tuple(arguments.split()) + _OPTIONS)


def is_here(host: str) -> bool:
    """Return True for the name or an address of this host, to which the launcher does not log in. The only loopback address is 127.0.0.1."""
    own = os.uname().nodename
    if host in ("localhost", "127.0.0.1", own, own.split(".")[0]):
        return True
    return _ADDRESS.fullmatch(host) is not None and not host.startswith("127.") and _can_bind(host)


def _can_bind(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def run_on_all(login: Login, hosts: Sequence[str], words: Sequence[str], seconds: float = CONNECT_SECONDS + ANSWER_SECONDS) -> Dict[str, process.Result]:
    """Run a command on all hosts at once, each for at most ``seconds``; on this host, run it without a login.

    Raises HccnError if there is no ssh. The children do not have the mark of the run, since the command may kill processes with the mark.
    """
    waiting = [(host, list(words) if is_here(host) else login.command(host, words)) for host in hosts]
    running: Dict[str, process.Child] = {}
    done: Dict[str, process.Result] = {}
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                host, argv = waiting.pop(0)
                running[host] = process.Child(argv, seconds, env={process.MARK: ""})
            for host in [host for host, child in running.items() if child.poll()]:
                done[host] = running.pop(host).wait()
            if running:
                time.sleep(_POLL_SECONDS)
    finally:
        for child in running.values():
            child.kill()
    return {host: done[host] for host in hosts}


def refusals(answers: Mapping[str, process.Result], here: str = "") -> List[Refusal]:
    """Return the hosts that refused the login, and why, from the answers to a command that exits with 0."""
    found = []
    for host, result in answers.items():
        if result.rc != 0 and host != here:
            found.append(Refusal(host, reason(result)))
    return found


def reason(result: process.Result) -> HccnError:
    """Return why a login failed, by the output of ssh."""
    if result.timed_out:
        return HccnError("host_silent", "no answer within %d s" % round(result.duration_s), CAUSES["host_silent"].hint)
    errors = [error for error in decisive(result.stderr) if origin_of(error.code) == SSH] + search(_SSH, result.stderr)
    if errors:
        return errors[0]
    lines = [line.strip() for line in (result.stderr + "\n" + result.stdout).splitlines() if line.strip()]
    return HccnError("login_failed", beginning(lines[-1], 300) if lines else "the login ended with status %d" % result.rc,
                     CAUSES["login_failed"].hint)


def refused(found: Sequence[Refusal], requested: int) -> HccnError:
    """Return one error for all hosts without a login, with the code of the first."""
    shown = ["%s: %s" % (one.host, _without(one.error.message, one.host)) for one in found[:SHOWN]]
    more = " and %d more" % (len(found) - SHOWN) if len(found) > SHOWN else ""
    hints = list(dict.fromkeys(one.error.hint for one in found[:SHOWN]))
    return HccnError(found[0].error.code, "%d of %d hosts accept no login from %s: %s%s" % (len(found), requested, os.uname().nodename, "; ".join(shown), more),
                     "; ".join(hints[:2]))


def _without(message: str, host: str) -> str:
    """Return the line without the name of the host, with which ssh begins it."""
    return re.sub(r"^%s: " % re.escape(host), "", message)
