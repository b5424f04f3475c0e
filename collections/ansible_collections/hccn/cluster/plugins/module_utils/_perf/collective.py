# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One collective over hosts: find the tools, place the ranks, run, judge, one record."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError, InputError
from .._core.guard import Guard
from .._core.record import record, utc
from . import mpirun
from .hccl_collective import HCCL_TEST
from .known_errors import CONSEQUENCES
from .collective_options import Options
from .sizes import parse_size
from .collective_tool import Ending, Judged, Tool

GRACE_SECONDS = 15
"""Between the launcher's own time limit and the kill: it needs a moment to end the ranks of all hosts."""
PLACEMENT_SECONDS = 60
"""A host that starts nothing within this time would not start the collective either."""
VERSION_SECONDS = 20
OUTPUT_LIMIT = 8000
"""Characters of a failed run's output that a result carries; the end tells why."""


@dataclass(frozen=True)
class Request:
    """One call. ``hosts`` empty: this host alone. ``names``: what the record calls the hosts. ``timeout``: seconds that the collective may take.

    ``folder``: where the programs are (empty: look for them). ``smi``: the tool that tells whether the devices are at work.
    """

    options: Options
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
    """What would be run: the command, the host file's text (empty: none), where, with which additions to the environment."""

    launcher: mpirun.Launcher
    argv: Tuple[str, ...]
    hostfile: str
    folder: str
    environment: Mapping[str, str]
    placement_argv: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The record, and the end of the output where the run was not good."""

    record: Dict[str, Any]
    output: str = ""
    warnings: Tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return bool(self.record["status"] != "ok")

    @property
    def sentence(self) -> str:
        """What was wrong and what to do, for a person; empty when all is well."""
        error = self.record.get("error", {"message": ""})
        return "%s (%s)" % (error["message"], error["hint"]) if "hint" in error else str(error["message"])

    def result(self) -> Dict[str, Any]:
        """The keys of the module's result."""
        whole: Dict[str, Any] = {"changed": False, "measurements": [self.record]}
        if "command" in self.record:
            whole["command"] = self.record["command"]
        if self.output:
            whole["output"] = self.output
        return whole


def new_run_id(moment: Optional[float] = None) -> str:
    """Time, then eight random digits: sorts by time, unique without a register."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(moment)) + "-" + uuid.uuid4().hex[:8]


def validate(request: Request) -> None:
    """Raises InputError before anything is looked at."""
    if request.timeout < 1:
        raise InputError("timeout is %d seconds, it must be 1 or more" % request.timeout)
    if request.names and len(request.names) != max(1, len(request.hosts)):
        raise InputError("host_names has %d names for %d hosts" % (len(request.names), max(1, len(request.hosts))), "give one for each, in the same order")
    request.tool.validate(request.options, request.ranks)
    mpirun.check_environment(request.environment, request.tool.variables)
    mpirun.check_hosts(mpirun.OPENMPI, request.hosts)


def plan(request: Request, hostfile_path: str = "hostfile") -> Plan:
    """Finds the tools on this host and builds the command. Runs ``mpirun --version`` only.

    Raises InputError; HccnError tool_missing, unknown_mpi, and the tool's own for programs that are not there.
    """
    validate(request)
    program = find_program(request)
    launcher = find_launcher(request)
    mpirun.check_hosts(launcher.flavour, request.hosts)
    environment = _environment(request, launcher, program)
    hostfile = mpirun.hostfile_text(launcher.flavour, request.hosts, request.processes_per_host) if request.hosts else ""
    whole = dict(os.environ, **environment)
    names = [name for name in whole if name in environment or name == "LD_LIBRARY_PATH" or name.startswith(request.tool.recorded)]

    def command(argv: Sequence[str], show_map: bool) -> Tuple[str, ...]:
        path = hostfile_path if hostfile else ""
        return tuple(mpirun.command(launcher, request.processes, argv, path, os.geteuid() == 0, names, show_map))

    placement = command(mpirun.placement_argv(), True) if hostfile and request.check_hosts else ()
    argv = command([program] + request.tool.arguments(request.options), False)
    return Plan(launcher, argv, hostfile, request.tool.start_folder(program), environment, placement)


def find_program(request: Request) -> str:
    """The path of the program. With hosts, a folder that was given need not exist here. Raises the tool's own HccnError."""
    operation = request.options.operation
    given = request.tool.inside(request.folder, operation) if request.folder else []
    if given and request.hosts and not os.path.isdir(request.folder):
        return given[0]
    paths = given or request.tool.places(operation, dict(os.environ, **request.environment))
    for path in paths:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise HccnError(request.tool.missing, "no such program: %s" % ", ".join(paths), request.tool.missing_hint)


def find_launcher(request: Request) -> mpirun.Launcher:
    """The mpirun and its flavour. Raises tool_missing, unknown_mpi."""
    search = request.environment.get("PATH") or os.environ.get("PATH", os.defpath)
    for path in mpirun.candidates(request.mpirun, search):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            result = process.run([path, "--version"], VERSION_SECONDS)
            return mpirun.parse_version(path, result.stdout + result.stderr)
    raise HccnError("tool_missing", "%s: no such program" % request.mpirun,
                    "install MPICH or Open MPI, or give its path in mpirun")


def _environment(request: Request, launcher: mpirun.Launcher, program: str) -> Dict[str, str]:
    """The user's variables; to LD_LIBRARY_PATH is appended what MPI and the tool need there, as far as it exists here."""
    whole = dict(request.environment)
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(launcher.path)))
    wanted = ([] if prefix == "/usr" else [os.path.join(prefix, "lib")]) + request.tool.libraries(program)
    present = whole.get("LD_LIBRARY_PATH") or os.environ.get("LD_LIBRARY_PATH", "")
    paths = [path for path in present.split(":") if path]
    paths += [path for path in wanted if path not in paths and os.path.isdir(path)]
    if paths:
        whole["LD_LIBRARY_PATH"] = ":".join(paths)
    return whole


def run(request: Request) -> Outcome:
    """Runs the collective and judges it; whatever happens, nothing is left running and a record comes back.

    Raises InputError only.
    """
    started = time.time()
    handle, path = tempfile.mkstemp(prefix="hccn-hostfile-")
    os.close(handle)
    limit = request.timeout + PLACEMENT_SECONDS + 2 * GRACE_SECONDS + VERSION_SECONDS
    with Guard(cleanup=[["rm", "-f", path]], deadline=limit + GRACE_SECONDS):
        try:
            made = plan(request, path)
        except InputError:
            raise
        except HccnError as error:
            return _outcome(request, None, error, "not_run", started)
        with open(path, "w") as stream:
            stream.write(made.hostfile)
        try:
            if not request.allow_busy:
                request.tool.refuse_work(request.smi, request.options)
            _check_placement(request, made)
            result = _launch(made.argv, made, request.timeout)
        except _NotPlaced as trouble:
            return _outcome(request, made, trouble.error, "not_run", started, output=trouble.output)
        except HccnError as error:
            return _outcome(request, made, error, "not_run", started)
    return _judged(request, made, result)


class _NotPlaced(Exception):
    def __init__(self, error: HccnError, output: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.output = output


def _launch(argv: Sequence[str], made: Plan, seconds: int) -> process.Result:
    environment = dict(made.environment)
    environment.update(mpirun.timeout_environment(seconds))
    # The ranks start in the launcher's folder, which must exist on every host.
    folder = made.folder if os.path.isdir(made.folder) else "/"
    return process.run(argv, seconds + GRACE_SECONDS, env=environment, cwd=folder)


def _check_placement(request: Request, made: Plan) -> None:
    """Starts a harmless program in the same way and compares where its ranks were. Raises _NotPlaced."""
    if not made.placement_argv:
        return
    result = _launch(made.placement_argv, made, min(PLACEMENT_SECONDS, request.timeout))
    placement = mpirun.parse_placement(made.launcher.flavour, result.stdout, request.hosts)
    wrong = mpirun.misplaced(placement, request.hosts, request.processes_per_host)
    known = request.tool.find_errors(result.stdout, result.stderr)
    # A launcher under another name for the variables: nothing is known, and nothing speaks against it.
    silent = result.rc == 1 and not result.stdout.strip() and not known
    if not wrong or silent:
        return
    text = ", ".join("%s has %d" % pair for pair in wrong[:5]) + (" and %d more" % (len(wrong) - 5) if len(wrong) > 5 else "")
    causes = [error for error in known if error.code not in CONSEQUENCES]
    if causes:
        raise _NotPlaced(causes[0], _tail(result.stdout, result.stderr))
    if result.timed_out or known:
        error = HccnError("hosts_not_started", "the ranks did not start on all hosts within the time: of %d ranks each, %s" % (
            request.processes_per_host, text), "log in to each of them by ssh as the same user, without a password, and run this mpirun")
    else:
        error = HccnError("placement_mismatch", "the ranks were not placed as asked: of %d ranks each, %s" % (request.processes_per_host, text),
                          "look for a batch system or a default host file that overrides the host file")
    raise _NotPlaced(error, _tail(result.stdout, result.stderr))


def _judged(request: Request, made: Plan, result: process.Result) -> Outcome:
    ending = Ending(result.stdout, result.stderr, result.rc, result.timed_out)
    judged = request.tool.judge_run(ending, request.options, request.ranks)
    return _outcome(request, made, judged.error, "failed" if judged.error else "ok", result.started_at, result.duration_s, judged,
                    "" if judged.error is None else _tail(result.stdout, result.stderr))


def judge_log_file(request: Request, path: str, sizes_given: bool) -> Outcome:
    """``judge_log`` of a file. Raises InputError for one that cannot be read or is larger than any output that is kept."""
    validate(request)
    try:
        with open(path, "rb") as stream:
            data = stream.read(process.OUTPUT_LIMIT + 1)
    except OSError as error:
        raise InputError("log: %s: %s" % (path, error.strerror)) from None
    if len(data) > process.OUTPUT_LIMIT:
        raise InputError("log: %s has more than %d bytes" % (path, process.OUTPUT_LIMIT), "cut it to one run of %s" % request.tool.name)
    return judge_log(request, data.decode("utf-8", "replace"), sizes_given)


def judge_log(request: Request, text: str, sizes_given: bool) -> Outcome:
    """The record of a run that somebody else made. ``sizes_given`` false: the sizes are read off the log itself."""
    judged = request.tool.judge_log(Ending(text), request.options, request.ranks if request.hosts else None, sizes_given)
    return _outcome(request, None, judged.error, "failed" if judged.error else "ok", None, None, judged, "" if judged.error is None else _tail(text, ""))


def _outcome(request: Request, made: Optional[Plan], error: Optional[HccnError], status: str, started: Optional[float],
             duration: Optional[float] = None, judged: Optional[Judged] = None, output: str = "") -> Outcome:
    operation = request.options.operation
    told = judged or Judged(None, [], request.ranks)
    # Who took part is for the caller to say; a log without a caller's word says it itself.
    hosts = request.names or request.hosts or (told.hosts if made is None else ()) or (os.uname().nodename,)
    tool = {"name": request.tool.program(operation)}
    if told.version:
        tool["version"] = told.version
    whole = record(
        "collective", "%s/collective/%s/%d" % (request.run_id, operation, request.attempt), status,
        tool=tool, operation=operation, measure="bandwidth", hosts=list(hosts), ranks=told.ranks, options=_options(request, made, judged),
        samples=told.samples or None, error=error.as_dict() if error else None, command=list(made.argv) if made else None,
        started_at=utc(started) if started is not None else None, duration_s=round(duration, 3) if duration is not None else None,
    )
    return Outcome(whole, output, told.warnings)


def _options(request: Request, made: Optional[Plan], judged: Optional[Judged]) -> Dict[str, Any]:
    """What was asked; of a log (judged without a plan) only what the caller or the log itself can know."""
    options = request.options
    whole: Dict[str, Any] = {"ranks_per_host": options.ranks_per_host, "data_type": options.data_type, "check": options.check}
    if request.tool.reducing(options.operation):
        whole["reduction"] = options.reduction
    if made is None and judged is not None:
        whole.update(judged.told)
        return whole
    whole.update(begin_bytes=parse_size(options.begin), end_bytes=parse_size(options.end), factor=options.factor,
                 iterations=options.iterations, warmup=options.warmup, root=options.root, timeout_s=request.timeout)
    if made is not None:
        whole["mpi"] = "%s %s" % (made.launcher.flavour, made.launcher.version)
    kept = mpirun.recorded(dict(os.environ, **request.environment), request.tool.recorded)
    if kept:
        whole["environment"] = kept
    return whole


def _tail(stdout: str, stderr: str) -> str:
    """The end of both streams, bounded."""
    half = OUTPUT_LIMIT // 2
    parts = [text.strip()[-half:] for text in (stdout, stderr)]
    return "\n".join(part for part in parts if part)
