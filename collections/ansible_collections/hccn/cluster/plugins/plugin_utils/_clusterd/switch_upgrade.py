# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The state machine of the role switch_upgrade, which moves all jobs off a leaf, or back, one after the other.

Each event is a function that returns the next state of a run. Nothing is read or written here: the role writes ``file`` to disk after each event that changes
it, and stops if there is a ``refusal``. The file outlives the run, so a job is ``pending`` in it before the job is switched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ...module_utils._core.errors import InputError

FAILOVER = "failover"
SWITCH_ACTION = "hccn.cluster.clusterd_nic_switch"
MAY_HAVE_BEGUN = ("failed", "unknown")
"""Values of ``status`` of clusterd_nic_switch after which it is unknown whether the NPUs were switched."""
JOB_KEYS = ("job_id", "name", "namespace", "nics")

Job = dict[str, Any]
"""``JOB_KEYS``, and the ``direction`` in which it is switched."""
File = dict[str, Any]
"""The content of the state file: ``leaf``, ``moved`` (jobs by id) and, if a switch may be unfinished, ``pending``. Empty if there is no file."""


@dataclass(frozen=True)
class Run:
    """A run over the jobs of one leaf. ``known``: the state file as this run last read or wrote it; ``begun``: the number of started switches."""

    leaf: str
    direction: str
    path: str
    check_mode: bool = False
    known: File = field(default_factory=dict)
    moved: dict[str, Job] = field(default_factory=dict)
    pending: Job | None = None
    plan: list[Job] = field(default_factory=list)
    ended: list[Job] = field(default_factory=list)
    begun: int = 0
    refusal: str | None = None

    @classmethod
    def of(cls, given: Any) -> Run:
        """Return the run from a dictionary that ``as_dict`` returned, or that has the first four fields."""
        if not isinstance(given, Mapping) or not {"leaf", "direction", "path"} <= given.keys():
            raise InputError("the input is not a run of switch_upgrade: it needs leaf, direction and path")
        return cls(**{one.name: given[one.name] for one in fields(cls) if one.name in given})

    def as_dict(self) -> dict[str, Any]:
        # asdict copies containers by calling their types, which fails for those of Ansible.
        return {**{one.name: getattr(self, one.name) for one in fields(self)}, "file": self.file, "summary": self.summary}

    @property
    def file(self) -> File:
        """Return the new content of the state file. The role removes the file at the end of a run after which no job is moved."""
        return {"leaf": self.leaf, "moved": self.moved, **({"pending": self.pending} if self.pending else {})}

    @property
    def titles(self) -> list[str]:
        return [_title(job) for job in self.plan]

    @property
    def past_tense(self) -> str:
        return "moved" if self.direction == FAILOVER else "moved back"

    @property
    def summary(self) -> str:
        return "".join([f"{self.direction} of leaf {self.leaf}: {len(self.plan)} jobs {'would be ' if self.check_mode else ''}{self.past_tense}",
                        f": {', '.join(self.titles)}" if self.plan else "",
                        f". Ended meanwhile: {', '.join(job['name'] for job in self.ended)}" if self.ended else ""])

    @property
    def current(self) -> Job:
        """Return the job whose switch was started last."""
        return self.plan[self.begun - 1]


def _title(job: Mapping[str, Any]) -> str:
    return f"{job['namespace']}/{job['name']}"


def _read(text: Any) -> File:
    """Return the content of a state file, also where Ansible has parsed it. Raises InputError."""
    try:
        found = json.loads(text or "{}") if isinstance(text, str) else text
    except (ValueError, RecursionError):
        raise InputError("it is not JSON") from None
    if not isinstance(found, Mapping) or not isinstance(found.get("moved", {}), Mapping):
        raise InputError("it does not hold the state of switch_upgrade")
    jobs = [*found.get("moved", {}).values(), *([found["pending"]] if found.get("pending") else [])]
    if not all(isinstance(job, Mapping) and {*JOB_KEYS, "direction"} <= job.keys() for job in jobs):
        raise InputError("a job in it lacks a required field")
    return dict(found)


def opened(run: Run, text: Any, resolution: str = "") -> Run:
    """The state file was read. ``resolution``: whether a switch that an earlier run left unfinished took place, ``done`` or ``not_done`` by the operator."""
    try:
        known = _read(text)
    except InputError as error:
        raise InputError(f"{run.path} cannot be used: {error.message}", "move it away, or set another switch_upgrade_state_file") from None
    pending = known.get("pending") or {}
    moved = dict(known.get("moved", {}))
    if (known and known.get("leaf") != run.leaf) or (pending and not resolution):
        advice = ": move its jobs back first, or set another switch_upgrade_state_file"
        if pending:
            advice = (f", and the previous run ended while it switched the job {pending['name']} ({pending['job_id']}), with an unknown result: "
                      "check the job, then set switch_upgrade_pending to done or not_done")
        return replace(run, known=known, refusal=f"{run.path} belongs to leaf {known.get('leaf', '?')}{advice}.")
    if pending:
        moved.pop(pending["job_id"], None)
        if (resolution == "done") == (pending["direction"] == FAILOVER):
            moved[pending["job_id"]] = dict(pending)
    return replace(run, known=known, moved=moved)


def planned(run: Run, jobs: Sequence[Mapping[str, Any]]) -> Run:
    """The jobs are known. Failover switches all jobs on the leaf that were not moved yet; switchback switches all moved jobs that still run."""
    running = {job["job_id"]: job for job in jobs if job["status"] == "running" and not job["deleted"] and not job.get("stale")}
    ended: list[Job] = []
    if run.direction == FAILOVER:
        chosen = [job for identifier, job in running.items() if identifier not in run.moved]
    else:
        chosen = [job for identifier, job in run.moved.items() if identifier in running]
        ended = [job for identifier, job in run.moved.items() if identifier not in running]
    plan = [{**{key: job[key] for key in JOB_KEYS}, "direction": run.direction} for job in chosen]
    gone = {job["job_id"] for job in ended}
    unknown = [job["name"] for job in plan if job["nics"] is None]
    refusal = f"Nothing was switched: the NPUs of these running jobs are unknown: {', '.join(unknown)}." if unknown else None
    return replace(run, plan=plan, ended=ended, moved={key: job for key, job in run.moved.items() if key not in gone}, refusal=refusal)


def checked(run: Run, results: Sequence[Mapping[str, Any]], confirm: bool) -> Run:
    """Each job was checked without being switched. Either all of them are switched or none."""
    refused = [f"{result['job']['name']}: {result['msg']}" for result in results if "msg" in result]
    if refused:
        return replace(run, refusal=f"Nothing was switched: {'; '.join(refused)}")
    if run.plan and not (run.check_mode or confirm):
        return replace(run, refusal="Nothing was switched: a failed switch can end the job. Set switch_upgrade_confirm to true to accept this. "
                                    f"Jobs: {', '.join(run.titles)}")
    return run


def compared(run: Run, text: Any) -> Run:
    """The state file was read again, since another run may have written it in the meantime."""
    try:
        if _read(text) == run.known:
            return run
    except InputError:
        pass
    return replace(run, refusal=f"{run.path} has changed since this run read it: another run is switching jobs of this leaf. "
                                f"{run.past_tense.capitalize()} by this run: {', '.join(run.titles[:run.begun]) or 'none'}. "
                                "Wait until the other run has ended, then start this run again.")


def _with_saved_file(run: Run) -> Run:
    """Return the run with its file as known, since the role writes it after the event."""
    return replace(run, known=run.file)


def started(run: Run) -> Run:
    """The next job is about to be switched."""
    return _with_saved_file(replace(run, pending=run.plan[run.begun], begun=run.begun + 1))


def switched(run: Run) -> Run:
    """The job was switched."""
    moved = {key: job for key, job in run.moved.items() if key != run.current["job_id"]}
    if run.direction == FAILOVER:
        moved[run.current["job_id"]] = run.current
    return _with_saved_file(replace(run, moved=moved, pending=None))


def failed(run: Run, action: str, result: Mapping[str, Any]) -> Run:
    """A task failed. The job stays pending unless its switch certainly did not begin, because another task failed or the module reports so."""
    may_have_begun = action == SWITCH_ACTION and "error" not in result and result.get("status", "unknown") in MAY_HAVE_BEGUN
    refusal = (f"{_title(run.current)}: {result.get('msg', 'failed')}. {run.past_tense.capitalize()}: {', '.join(run.titles[:run.begun - 1]) or 'none'}. "
               f"Not {run.past_tense}: {', '.join(run.titles[run.begun:]) or 'none'}.")
    return _with_saved_file(replace(run, pending=run.current if may_have_begun else None, refusal=refusal))


EVENTS: Mapping[str, Callable[..., Run]] = {function.__name__: function for function in (opened, planned, checked, compared, started, switched, failed)}


def after(run: Any, event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run after an event. Raises InputError."""
    if event not in EVENTS:
        raise InputError(f"event {event} is not one of {', '.join(EVENTS)}")
    return EVENTS[event](Run.of(run), **given).as_dict()
