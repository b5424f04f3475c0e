# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The request of a collective, and its plan: find the tools, place the ranks, build the command. Nothing is measured here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError, InputError
from . import mpirun, ssh_login
from .collective_tool import CollectiveOptions, Tool
from .hccl_test_tool import HCCL_TEST
from .ssh_login import Login

VERSION_SECONDS = 20
KNOWN_HOSTS = "-known"
"""Suffix of the name of the known_hosts file, after the name of the host file."""


@dataclass(frozen=True)
class Request:
    """The request of one run. Without ``hosts``, it runs on this host only. ``names``: names of the hosts in the record. ``timeout``: seconds.

    ``folder``: folder of the programs (empty: search for them). ``smi``: the tool that reports whether devices are busy.
    ``identity``: path of the SSH key (empty: the default of ssh); ``known_hosts``: lines of a known_hosts file (empty: the files of ssh).
    ``context``: that of the record.
    """

    options: CollectiveOptions
    hosts: Tuple[str, ...] = ()
    names: Tuple[str, ...] = ()
    folder: str = ""
    mpirun: str = "mpirun"
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: int = 600
    check_hosts: bool = True
    run_id: str = ""
    attempt: int = 1
    smi: str = "npu-smi"
    allow_busy: bool = False
    tool: Tool = HCCL_TEST
    identity: str = ""
    known_hosts: Tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return self.options.ranks_per_host * max(1, len(self.hosts))

    @property
    def processes_per_host(self) -> int:
        return self.tool.processes_per_host(self.options)

    @property
    def processes(self) -> int:
        return self.processes_per_host * max(1, len(self.hosts))


@dataclass(frozen=True)
class Plan:
    """The command of a run, the text of its host file (empty: none), its working directory and additional environment variables.

    ``login``: how the launcher logs in to the hosts; None if it does not use ssh, or there are no hosts.
    """

    launcher: mpirun.Launcher
    argv: Tuple[str, ...]
    hostfile: str
    folder: str
    environment: Mapping[str, str]
    placement_argv: Tuple[str, ...] = ()
    login: Optional[Login] = None


def validate(request: Request) -> None:
    """Raise InputError for an invalid request, before anything is read or run."""
    if request.timeout < 1:
        raise InputError("timeout is %d seconds, it must be 1 or more" % request.timeout)
    if request.names and len(request.names) != max(1, len(request.hosts)):
        raise InputError("host_names has %d names for %d hosts" % (len(request.names), max(1, len(request.hosts))),
                         "give one name for each host, in the same order")
    request.tool.validate(request.options, request.ranks)
    mpirun.check_environment(request.environment, request.tool.variables)
    mpirun.check_hosts(mpirun.OPENMPI, request.hosts)
    if request.folder and not os.path.isabs(request.folder):
        # It becomes an argument of mpirun, where a name that begins with "-" is an option.
        raise InputError("the folder of %s is %r, it must be an absolute path" % (request.tool.name, request.folder))
    for place, line in enumerate(request.known_hosts):
        if len(line.splitlines()) > 1:
            raise InputError("ssh_known_hosts[%d] contains a line break: give one key of one host per element" % place)
    if request.identity and (" " in request.identity or not os.path.isabs(request.identity)):
        raise InputError("ssh_identity is %r, it must be an absolute path without spaces" % request.identity)


def plan(request: Request, hostfile_path: str = "hostfile") -> Plan:
    """Find the tools on this host and build the command. Runs only ``mpirun --version``.

    Raises InputError, HccnError ``tool_missing``, ``unknown_mpi``, and the error of the tool if its programs are missing.
    """
    validate(request)
    program = find_program(request)
    launcher = find_launcher(request)
    mpirun.check_hosts(launcher.flavour, request.hosts)
    environment = _environment(request, launcher, program)
    trust = ssh_login.trust_arguments(request.identity, hostfile_path + KNOWN_HOSTS if request.known_hosts else "")
    environment.update(ssh_login.environment_with(launcher.flavour, dict(os.environ, **environment), trust))
    hostfile = mpirun.hostfile_text(launcher.flavour, request.hosts, request.processes_per_host) if request.hosts else ""
    whole = dict(os.environ, **environment)
    names = [name for name in whole if name in environment or name == "LD_LIBRARY_PATH" or name.startswith(request.tool.recorded)]
    if hostfile:
        names.append(process.MARK)  # identifies the ranks on their hosts

    def command(argv: Sequence[str], show_map: bool) -> Tuple[str, ...]:
        path = hostfile_path if hostfile else ""
        return tuple(mpirun.command(launcher, request.processes, argv, path, os.geteuid() == 0, names, show_map))

    placement = command(mpirun.placement_argv(), True) if hostfile and request.check_hosts else ()
    argv = command((mpirun.limited(request.timeout) if hostfile else []) + [program] + request.tool.arguments(request.options), False)
    login = ssh_login.login_of(launcher.flavour, whole) if hostfile else None
    return Plan(launcher=launcher, argv=argv, hostfile=hostfile, folder=request.tool.working_directory(program), environment=environment,
                placement_argv=placement, login=login)


def find_program(request: Request) -> str:
    """Return the path of the program. With hosts, a given folder need not exist on this host. Raises the HccnError of the tool."""
    operation = request.options.operation
    given = request.tool.paths_in(request.folder, operation) if request.folder else []
    if given and request.hosts and not os.path.isdir(request.folder):
        return given[0]
    paths = given or request.tool.default_paths(operation, dict(os.environ, **request.environment))
    for path in paths:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise HccnError(request.tool.missing, "no such program: %s" % ", ".join(paths), request.tool.missing_hint)


def find_launcher(request: Request) -> mpirun.Launcher:
    """Return the mpirun and its flavour. Raises HccnError ``tool_missing``, ``unknown_mpi``."""
    search = request.environment.get("PATH") or os.environ.get("PATH", os.defpath)
    for path in mpirun.candidates(request.mpirun, search):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            result = process.run([path, "--version"], VERSION_SECONDS)
            return mpirun.parse_version(path, result.stdout + result.stderr)
    raise HccnError("tool_missing", "%s: no such program" % request.mpirun,
                    "install MPICH or Open MPI, or set mpirun to its path")


def _environment(request: Request, launcher: mpirun.Launcher, program: str) -> Dict[str, str]:
    """Return the variables of the user. The existing library folders of MPI and the tool are appended to LD_LIBRARY_PATH."""
    whole = dict(request.environment)
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(launcher.path)))
    wanted = ([] if prefix == "/usr" else [os.path.join(prefix, "lib")]) + request.tool.libraries(program)
    present = whole.get("LD_LIBRARY_PATH") or os.environ.get("LD_LIBRARY_PATH", "")
    paths = [path for path in present.split(":") if path]
    paths += [path for path in wanted if path not in paths and os.path.isdir(path)]
    if paths:
        whole["LD_LIBRARY_PATH"] = ":".join(paths)
    return whole
