# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Command lines and host files of the MPI launchers MPICH (Hydra) and Open MPI, and the placement of their ranks.

Relevant differences: without ``slots=``, Open MPI assumes as many slots as cores; it refuses to run as root, and forwards variables only with ``-x``.
MPICH waits forever for a host that does not start, unless MPIEXEC_TIMEOUT is set (Open MPI supports this variable, too).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Sequence, Tuple

from .._core.errors import HccnError, InputError
from .._core.numbers import count_of

MPICH = "mpich"
OPENMPI = "openmpi"

PREFIXES = ("/usr/local/mpich", "/usr/local/openmpi")
"""Installation folders in the manual of hccl_test."""
TRANSPORT_PREFIXES = ("UCX_", "FI_")
ALONE_SECONDS = 60
"""Time after the limit of a run at which ranks end by themselves. The launcher ends the ranks that it can reach earlier."""
LAUNCHER_PREFIXES = ("HYDRA_", "MPICH_", "MPIR_", "OMPI_", "PMIX_", "PRTE_")
"""Prefixes of variables that only the launcher reads; the ranks do not need them."""
ALLOWED_NAMES = ("PATH", "LD_LIBRARY_PATH")

# Variables of a rank with its host as in the host file, of MPICH 5, 4 and 3.
_HOST_VARIABLES = ("PMI_HOSTNAME", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "MPICH_INTERFACE_HOSTNAME")
_OPENMPI_NODE = re.compile(r"Data for node: (\S+)[^\n]*Num procs: ([0-9]+)")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSIONS = (
    (MPICH, re.compile(r"HYDRA build details:.*?Version:\s*(\S+)", re.DOTALL)),
    (OPENMPI, re.compile(r"\((?:Open MPI|OpenRTE)\)\s*(\S+)")),
    (MPICH, re.compile(r"Intel\(R\) MPI Library.*?Version (\S+)", re.DOTALL)),
)


@dataclass(frozen=True)
class Launcher:
    """One mpirun. ``flavour``: mpich or openmpi."""

    path: str
    flavour: str
    version: str


def parse_version(path: str, text: str) -> Launcher:
    """Parse the output of ``mpirun --version``. Raises HccnError ``unknown_mpi``."""
    for flavour, pattern in _VERSIONS:
        match = pattern.search(text)
        if match:
            return Launcher(path, flavour, match.group(1))
    raise HccnError("unknown_mpi", "%s --version reports neither MPICH (Hydra) nor Open MPI" % path, "set mpirun to the program of one of them")


def candidates(name: str, path: str) -> List[str]:
    """Return the possible paths of an mpirun: a path as it is, a bare name in ``path`` (a PATH) and then in the folders of the manual of hccl_test."""
    if os.sep in name:
        return [name]
    folders = [folder for folder in path.split(os.pathsep) if folder] + [prefix + "/bin" for prefix in PREFIXES]
    return [os.path.join(folder, name) for folder in folders]


def check_hosts(flavour: str, hosts: Sequence[str]) -> None:
    """Raise InputError for a host that the host file cannot contain, or that is listed twice."""
    for index, host in enumerate(hosts):
        if flavour == MPICH and ":" in host:
            raise InputError("hosts[%d]: the host file of MPICH cannot contain an IPv6 address (%s)" % (index, host), "use IPv4 addresses, names, or Open MPI")
        if not _HOST.fullmatch(host.replace(":", "")):
            raise InputError("hosts[%d]: %r is not a host name or address" % (index, host))
        if host in hosts[:index]:
            raise InputError("hosts[%d]: %s is a duplicate of hosts[%d]" % (index, host, hosts.index(host)), "raise ranks_per_host instead")


def check_environment(environment: Mapping[str, str], own: Sequence[str]) -> None:
    """Raise InputError for a variable that is neither of the tool (``own``: prefixes of its variables) nor of the launcher."""
    prefixes = tuple(own) + TRANSPORT_PREFIXES + LAUNCHER_PREFIXES
    for name in environment:
        if name not in ALLOWED_NAMES and not name.startswith(prefixes):
            raise InputError("environment: %s is not allowed" % name, "allowed are %s and names that begin with %s" % (
                ", ".join(ALLOWED_NAMES), ", ".join(prefixes)))


def recorded(environment: Mapping[str, str], prefix: str) -> Dict[str, str]:
    """Return the variables that a record may contain. Others may contain paths, keys or login options."""
    return {name: environment[name] for name in sorted(environment) if name.startswith(prefix)}


def hostfile_text(flavour: str, hosts: Sequence[str], ranks_per_host: int) -> str:
    """Return the host file: ``10.0.0.1:8`` lines for MPICH, ``10.0.0.1 slots=8`` lines for Open MPI, in rank order."""
    line = "%s:%d\n" if flavour == MPICH else "%s slots=%d\n"
    return "".join(line % (host, ranks_per_host) for host in hosts)


def command(launcher: Launcher, ranks: int, argv: Sequence[str], hostfile: str = "", as_root: bool = False,
            environment: Sequence[str] = (), show_map: bool = False) -> List[str]:
    """Return the command line. Without ``hostfile``, ranks are started on this host only, without ssh. ``environment``: variables that the ranks need."""
    if launcher.flavour == MPICH:
        return [launcher.path] + (["-f", hostfile] if hostfile else []) + ["-n", str(ranks)] + list(argv)
    whole = [launcher.path] + (["--hostfile", hostfile] if hostfile else ["--oversubscribe"])
    whole += ["--allow-run-as-root"] if as_root else []
    whole += ["--display-map"] if show_map else []
    for name in sorted(environment):
        if not name.startswith(LAUNCHER_PREFIXES):
            whole += ["-x", name]
    return whole + ["-n", str(ranks)] + list(argv)


def timeout_environment(seconds: int) -> Dict[str, str]:
    """Return the variable that makes either launcher end its ranks on all hosts after ``seconds``."""
    return {"MPIEXEC_TIMEOUT": str(seconds)}


def limited(seconds: int) -> List[str]:
    """Return the command to put before the program, so that ranks on an unreachable host end ALONE_SECONDS after the limit."""
    return ["timeout", "-s", "KILL", str(seconds + ALONE_SECONDS)]


def placement_argv() -> List[str]:
    """Return a command that exists on every host and prints the host of a rank. It exits with 1, since not all of the variables are set."""
    return ["printenv"] + list(_HOST_VARIABLES)


def parse_placement(flavour: str, stdout: str, hosts: Sequence[str]) -> Dict[str, int]:
    """Return the number of ranks by host, from the output of ``placement_argv`` (MPICH) or the map of Open MPI. Hosts without a rank have 0."""
    found = dict.fromkeys(hosts, 0)
    if flavour == MPICH:
        for line in stdout.split():
            found[line] = found.get(line, 0) + 1
        return found
    # The daemon of Open MPI on each host may print the map again.
    found.update({host: count_of(count) for host, count in _OPENMPI_NODE.findall(stdout)})
    return found


def misplaced(placement: Mapping[str, int], hosts: Sequence[str], ranks_per_host: int) -> List[Tuple[str, int]]:
    """Return ``(host, ranks)`` of every host whose number of ranks differs from the requested one."""
    return [(host, count) for host, count in placement.items() if count != (ranks_per_host if host in hosts else 0)]
