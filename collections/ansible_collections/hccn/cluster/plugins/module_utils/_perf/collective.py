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
from .._core.record import record, utc
from . import collective_hosts, mpirun
from .collective_hosts import PROBE_SECONDS, NotPlaced
from .collective_plan import KNOWN_HOSTS, VERSION_SECONDS, Plan, Request, find_launcher, find_program, plan, validate
from .collective_tool import Ending, Judged
from .._core.numbers import parse_size
from .tool_output import tail
from .collective_hosts import Placed
from .ranks import Suspects


GRACE_SECONDS = 15
"""Time between the limit of the launcher and the kill: it needs a moment to end the ranks of all hosts."""
PLACEMENT_SECONDS = 60
"""A host that does not start a rank within this time would not start the collective either."""


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
        """Check the hosts and run the collective. Raises HccnError, NotPlaced."""
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
        more = PROBE_SECONDS if made.login else 0
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
        return collective_hosts.watch(child, seconds, self._find_late if more else lambda: None)

    def _find_late(self) -> None:
        self._late = collective_hosts.find_suspects(self._plan.login, self.placed, self.mark)

    def over(self, error: Optional[HccnError]) -> None:
        """Note the end of the run: a good one leaves no processes, so the hosts need no cleanup."""
        self._begun = error is not None

    def clear(self) -> None:
        """End the remaining processes on the other hosts. The guard also calls it, with this object as it was when the guard was forked."""
        if self._begun or os.getpid() != self._pid:
            self._after = collective_hosts.clear(self._plan.login, self.placed, self.mark)

    def found(self) -> Suspects:
        """Return the hosts that blocked the run: those found while it hung, or else those that did not answer afterwards."""
        return self._late if self._late.hosts else self._after

    def names_of(self, addresses: Sequence[str]) -> Tuple[str, ...]:
        return tuple(self.placed.name_of.get(address, address) for address in addresses)


__all__ = ["Outcome", "Plan", "Request", "find_launcher", "find_program", "judge_log", "judge_log_file", "new_run_id", "plan", "run", "validate"]


@dataclass(frozen=True)
class Outcome:
    """The record, and for a failed run the end of the output."""

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
    """Return a unique id: the time, by which ids sort, and eight random digits."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(moment)) + "-" + uuid.uuid4().hex[:8]


def run(request: Request) -> Outcome:
    """Run the collective and judge it. In any case, no process remains and a record is returned.

    Raises InputError only.
    """
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
    guard = Guard(cleanup=[attempt.clear, files], deadline=limit + GRACE_SECONDS)
    attempt.mark = guard.mark
    try:
        with guard:
            result = attempt.run()
            judged = _judge(request, result)
            attempt.over(judged.error)
    except NotPlaced as trouble:
        return _outcome(request, made, trouble.error, "not_run", started, output=trouble.output, hosts=attempt.names_of(trouble.hosts))
    except HccnError as error:
        return _outcome(request, made, error, "not_run", started)
    return _judged(request, made, result, judged, attempt)


def _judge(request: Request, result: process.Result) -> Judged:
    ending = Ending(result.stdout, result.stderr, result.rc, result.timed_out)
    return request.tool.judge_run(ending, request.options, request.ranks)


def _judged(request: Request, made: Plan, result: process.Result, judged: Judged, attempt: Attempt) -> Outcome:
    judged = replace(judged, warnings=judged.warnings + attempt.warnings)
    if judged.error is None:
        return _outcome(request, made, None, "ok", result.started_at, result.duration_s, judged)
    error, hosts = collective_hosts.named(judged.error, judged.wrong_ranks, attempt.placed)
    found = attempt.found()
    error = collective_hosts.blamed(error, found)
    return _outcome(request, made, error, "failed", result.started_at, result.duration_s, judged, tail(result.stdout, result.stderr), hosts or found.hosts)


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
    return _outcome(request, None, judged.error, "failed" if judged.error else "ok", None, None, judged, "" if judged.error is None else tail(text, ""))


def _outcome(request: Request, made: Optional[Plan], error: Optional[HccnError], status: str, started: Optional[float],
             duration: Optional[float] = None, judged: Optional[Judged] = None, output: str = "", hosts: Sequence[str] = ()) -> Outcome:
    """``hosts``: names of those that the error is of."""
    operation = request.options.operation
    told = judged or Judged(None, [], request.ranks)
    # Who took part is for the caller to say; a log without a caller's word says it itself.
    took_part = request.names or request.hosts or (told.hosts if made is None else ()) or (os.uname().nodename,)
    context = dict(request.context, **({"suspects": list(hosts)} if hosts else {}))
    tool = {"name": request.tool.program(operation)}
    if told.version:
        tool["version"] = told.version
    whole = record(
        "collective", "%s/collective/%s/%d" % (request.run_id, operation, request.attempt), status,
        tool=tool, operation=operation, measure="bandwidth", hosts=list(took_part), ranks=told.ranks, options=_options(request, made, judged),
        context=context or None, samples=told.samples or None, error=error.as_dict() if error else None, command=list(made.argv) if made else None,
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
