# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Run a collective over hosts, or read the log of one, judge it, and return its record."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any, Dict, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError, InputError
from .._core.guard import Guard
from .._core.numbers import parse_size
from .._core.record import record, utc
from .._core.words import ending
from . import collective_hosts, mpirun
from .collective_hosts import PROBE_SECONDS, NotPlaced, Placed
from .collective_plan import KNOWN_HOSTS, VERSION_SECONDS, Plan, Request, find_launcher, find_program, plan, validate
from .collective_tool import FinishedRun, Judged
from .launch_causes import origin_of
from .ranks import Suspects
from .tool_output import TAIL_LIMIT, tail, with_last_line

GRACE_SECONDS = 15
"""Time between the limit of the launcher and its kill, in which it ends the ranks on all hosts."""
PLACEMENT_SECONDS = 60
"""Time for the check of the placement. A host that does not start a rank within this time would not start the collective either."""


class Attempt:
    """One run of the launcher. ``path``: of the host file. ``mark``: that of the guard. ``cleanup`` must be called after the run in any case."""

    def __init__(self, request: Request, made: Plan, path: str) -> None:
        self._request = request
        self._plan = made
        self._path = path
        self._pid = os.getpid()
        self._needs_cleanup = False
        self._suspects_during_run = Suspects()
        self._suspects_afterwards = Suspects()
        self.mark = ""
        self.warnings: Tuple[str, ...] = ()
        names = request.names or request.hosts or (os.uname().nodename,)
        self.placed = Placed(request.hosts, names, request.processes_per_host)

    def run(self) -> process.Result:
        """Check the hosts and run the collective. Raises HccnError, NotPlaced."""
        request, made = self._request, self._plan
        with open(self._path, "w") as stream:
            stream.write(made.hostfile)
        if request.known_hosts:
            # The name is predictable, since other users see the name of the host file.
            with open(os.open(self._path + KNOWN_HOSTS, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as stream:
                stream.write("".join(line + "\n" for line in request.known_hosts))
        if not request.allow_busy:
            request.tool.refuse_if_busy(request.smi, request.options)
        if made.placement_argv:
            self._check_hosts()
        # The ranks of a run that hangs are probed before the launcher ends them.
        probe_seconds = PROBE_SECONDS if made.login else 0
        return self._launch(made.argv, request.timeout, probe_seconds)

    def _check_hosts(self) -> None:
        made = self._plan
        warning = collective_hosts.check_logins(made.login, self._request.hosts, self.placed.name_of)
        self.warnings = (warning,) if warning and self._request.tool.requires_limits else ()
        result = self._launch(made.placement_argv, min(PLACEMENT_SECONDS, self._request.timeout), 0)
        collective_hosts.check_placement(self._request.tool, made.launcher.flavour, result, self.placed, tail(result.stdout, result.stderr))

    def _launch(self, argv: Sequence[str], seconds: int, probe_seconds: int) -> process.Result:
        environment = dict(self._plan.environment)
        environment.update(mpirun.timeout_environment(seconds + probe_seconds))
        # The ranks start in the working directory of the launcher, which must exist on every host.
        folder = self._plan.folder if os.path.isdir(self._plan.folder) else "/"
        self._needs_cleanup = True
        child = process.Child(argv, seconds + probe_seconds + GRACE_SECONDS, env=environment, cwd=folder)
        return collective_hosts.watch(child, seconds, self._probe_hosts if probe_seconds else lambda: None)

    def _probe_hosts(self) -> None:
        self._suspects_during_run = collective_hosts.find_suspects(self._plan.login, self.placed, self.mark)

    def finish(self, error: Optional[HccnError]) -> None:
        """Note the end of the run. A good run leaves no processes, so the hosts need no cleanup."""
        self._needs_cleanup = error is not None

    def cleanup(self) -> None:
        """End the remaining processes on the other hosts. The guard also calls this method, in a process that it forked before the run."""
        if self._needs_cleanup or os.getpid() != self._pid:
            self._suspects_afterwards = collective_hosts.end_ranks(self._plan.login, self.placed, self.mark)

    def suspects(self) -> Suspects:
        """Return the hosts that blocked the run: those found while it hung, else those that did not answer afterwards."""
        return self._suspects_during_run if self._suspects_during_run.hosts else self._suspects_afterwards

    def names_of(self, addresses: Sequence[str]) -> Tuple[str, ...]:
        return tuple(self.placed.name_of.get(address, address) for address in addresses)


__all__ = ["Outcome", "Plan", "Request", "find_launcher", "find_program", "judge_log", "judge_log_file", "new_run_id", "plan", "run", "validate"]


@dataclass(frozen=True)
class Outcome:
    """The record of a run, and for a failed run the end of its output."""

    record: Dict[str, Any]
    output: str = ""
    warnings: Tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return bool(self.record["status"] != "ok")

    @property
    def sentence(self) -> str:
        """Return message and hint of the error; empty for a good run."""
        error = self.record.get("error", {"message": ""})
        return "%s (%s)" % (error["message"], error["hint"]) if "hint" in error else str(error["message"])

    def result(self) -> Dict[str, Any]:
        """Return the keys of the result of the module."""
        whole: Dict[str, Any] = {"changed": False, "measurements": [self.record]}
        if "command" in self.record:
            whole["command"] = self.record["command"]
        if self.output:
            whole["output"] = self.output
        return whole


def new_run_id(moment: Optional[float] = None) -> str:
    """Return a unique id that sorts by time: the time and eight random digits."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(moment)) + "-" + uuid.uuid4().hex[:8]


def run(request: Request) -> Outcome:
    """Run the collective, judge it, and return its record. No process remains in any case. Raises only InputError."""
    started = time.time()
    handle, path = tempfile.mkstemp(prefix="hccn-hostfile-")
    os.close(handle)
    files = ["rm", "-f", path, path + KNOWN_HOSTS]
    try:
        made = plan(request, path)
    except HccnError as error:
        process.run(files, VERSION_SECONDS)
        if isinstance(error, InputError):
            raise
        return _outcome(request, None, error, "not_run", started)
    attempt = Attempt(request, made, path)
    limit = request.timeout + PLACEMENT_SECONDS + 2 * GRACE_SECONDS + 2 * PROBE_SECONDS + VERSION_SECONDS
    guard = Guard(cleanup=[attempt.cleanup, files], deadline=limit + GRACE_SECONDS)
    attempt.mark = guard.mark
    try:
        with guard:
            result = attempt.run()
            judged = _judge(request, result)
            attempt.finish(judged.error)
    except NotPlaced as failure:
        return _outcome(request, made, failure.error, "not_run", started, output=failure.output, hosts=attempt.names_of(failure.hosts))
    except HccnError as error:
        return _outcome(request, made, error, "not_run", started)
    return _judged(request, made, result, judged, attempt)


def _judge(request: Request, result: process.Result) -> Judged:
    finished = FinishedRun(result.stdout, result.stderr, result.rc, result.timed_out)
    return request.tool.judge_run(finished, request.options, request.ranks)


def _judged(request: Request, made: Plan, result: process.Result, judged: Judged, attempt: Attempt) -> Outcome:
    judged = replace(judged, warnings=judged.warnings + attempt.warnings)
    if judged.error is None:
        return _outcome(request, made, None, "ok", result.started_at, result.duration_s, judged)
    error, hosts = collective_hosts.with_wrong_hosts(judged.error, judged.wrong_ranks, attempt.placed)
    hosts = hosts or collective_hosts.culprits(error, attempt.placed)
    found = attempt.suspects()
    error = collective_hosts.with_suspects(collective_hosts.with_culprits(error, hosts), found)
    hosts = collective_hosts.all_hosts(judged.error, hosts, found)
    return _outcome(request, made, error, "failed", result.started_at, result.duration_s, judged, tail(result.stdout, result.stderr), hosts)


def judge_log_file(request: Request, path: str, sizes_given: bool) -> Outcome:
    """Judge a log file. Raises InputError for a file that cannot be read, or is larger than ``process.OUTPUT_LIMIT``."""
    validate(request)
    try:
        with open(path, "rb") as stream:
            data = stream.read(process.OUTPUT_LIMIT + 1)
    except OSError as error:
        raise InputError("log: %s cannot be read: %s" % (path, error.strerror)) from None
    if len(data) > process.OUTPUT_LIMIT:
        raise InputError("log: %s has more than %d bytes" % (path, process.OUTPUT_LIMIT), "reduce it to one run of %s" % request.tool.name)
    return judge_log(request, data.decode("utf-8", "replace"), sizes_given)


def judge_log(request: Request, text: str, sizes_given: bool) -> Outcome:
    """Return the record of the run in a log. If ``sizes_given`` is False, the sizes are read from the log."""
    judged = request.tool.judge_log(FinishedRun(text), request.options, request.ranks if request.hosts else None, sizes_given)
    if judged.error is None:
        return _outcome(request, None, None, "ok", None, None, judged)
    hosts = collective_hosts.culprits(judged.error, Placed(request.hosts, request.names or request.hosts, request.processes_per_host))
    return _outcome(request, None, collective_hosts.with_culprits(judged.error, hosts), "failed", None, None, judged, tail(text, ""), hosts)


def _outcome(request: Request, made: Optional[Plan], error: Optional[HccnError], status: str, started: Optional[float],
             duration: Optional[float] = None, judged: Optional[Judged] = None, output: str = "", hosts: Sequence[str] = ()) -> Outcome:
    """Return the outcome. ``hosts``: names of the hosts that the error is about. The record of a failure has the end of ``output``."""
    operation = request.options.operation
    reported = judged or Judged(error=None, samples=[], ranks=request.ranks)
    # Without hosts in the request, the hosts of a log are those that it contains.
    participants = request.names or request.hosts or (reported.hosts if made is None else ()) or (os.uname().nodename,)
    context = dict(request.context, **({"suspects": list(hosts)} if hosts else {}))
    tool = {"name": request.tool.program(operation)}
    if reported.version:
        tool["version"] = reported.version
    failure = dict(with_last_line(error, output).as_dict(), origin=origin_of(error.code)) if error else None
    if failure and output:
        failure["output"] = ending(output, TAIL_LIMIT)
    whole = record(
        "collective", "%s/collective/%s/%d" % (request.run_id, operation, request.attempt), status,
        tool=tool, operation=operation, measure="bandwidth", hosts=list(participants), ranks=reported.ranks, options=_options(request, made, judged),
        context=context or None, samples=reported.samples or None, error=failure, command=list(made.argv) if made else None,
        started_at=utc(started) if started is not None else None, duration_s=round(duration, 3) if duration is not None else None,
    )
    return Outcome(whole, output, reported.warnings)


def _options(request: Request, made: Optional[Plan], judged: Optional[Judged]) -> Dict[str, Any]:
    """Return the options of the record; for a log (judged without a plan), only those that the request or the log contains."""
    options = request.options
    whole: Dict[str, Any] = {"ranks_per_host": options.ranks_per_host, "data_type": options.data_type, "check": options.check}
    if request.tool.has_reduction(options.operation):
        whole["reduction"] = options.reduction
    if made is None and judged is not None:
        whole.update(judged.reported_options)
        return whole
    whole.update(begin_bytes=parse_size(options.begin), end_bytes=parse_size(options.end), factor=options.factor,
                 iterations=options.iterations, warmup=options.warmup, root=options.root, timeout_s=request.timeout)
    if made is not None:
        whole["mpi"] = "%s %s" % (made.launcher.flavour, made.launcher.version)
    kept = mpirun.recorded(dict(os.environ, **request.environment), request.tool.recorded)
    if kept:
        whole["environment"] = kept
    return whole
