# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of Volcano's admission webhook, checked before the job is sent. Source: volcano-sh/volcano, pkg/webhooks/admission/jobs/validate.

The webhook also requires that the queue exists, is open and is a leaf, which only the cluster can check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils._core.problems import Problem
from . import kube_rules
from .kube_rules import error, is_label, is_subdomain

PLUGINS = ("ssh", "env", "svc", "tensorflow", "mpi", "pytorch", "hcclrank", "ray")
EVENTS = ("*", "PodFailed", "PodEvicted", "PodPending", "PodRunning", "Unknown", "TaskCompleted", "TaskFailed", "OutOfSync", "CommandIssued", "JobUpdated")
ACTIONS = ("AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob")
ENVIRONMENT_LIMIT = 128 * 1024
"""MAX_ARG_STRLEN of Linux: the mpi plugin puts all names into one variable, MPI_HOST."""


def problems(job: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of a Volcano Job; an empty list if the webhook would accept it."""
    return [*kube_rules.nulls(job), *kube_rules.names(job.get("metadata") or {}), *kube_rules.metadata(job.get("metadata") or {}, "metadata"),
            *_job(job), *_tasks(job), *_mpi(job)]


def _integer(value: Any) -> int:
    """Return an integer, or 0 for missing values and other types, which the schema refuses."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _job(job: Mapping[str, Any]) -> Iterator[Problem]:
    spec = job.get("spec") or {}
    for name in ("minAvailable", "maxRetry", "ttlSecondsAfterFinished"):
        if _integer(spec.get(name)) < 0:
            yield error("negative", "spec." + name, f"{name} is {spec[name]}", "it must be 0 or more")
    total = sum(_integer(task.get("replicas")) for task in spec.get("tasks") or [])
    if _integer(spec.get("minAvailable")) > total:
        yield error("min_available", "spec.minAvailable", "minAvailable is {}, but all tasks together have {} replicas".format(spec["minAvailable"], total))
    for name, arguments in (spec.get("plugins") or {}).items():
        if name not in PLUGINS:
            yield error("plugin", "spec.plugins." + name, f"Volcano has no plugin {name}", "valid values are {}".format(", ".join(PLUGINS)))
        if not isinstance(arguments, list) or not all(isinstance(one, str) for one in arguments):
            yield error("plugin", "spec.plugins." + name, f"the arguments of plugin {name} are not a list of strings")
    if not is_subdomain(spec.get("queue")):
        yield error("queue", "spec.queue", "{!r} is not a queue name".format(spec.get("queue")))
    yield from _policies(spec.get("policies") or [], "spec.policies")
    paths = [one.get("mountPath") for one in spec.get("volumes") or []]
    for index, path in enumerate(paths):
        if not path or path in paths[:index]:
            yield error("job_volume", f"spec.volumes[{index}]", f"mountPath {path!r} is missing or a duplicate")


def _policies(policies: list[Any], where: str) -> Iterator[Problem]:
    seen: list[Any] = []
    for index, one in enumerate(policies):
        place = f"{where}[{index}]"
        events = [*(one.get("events") or []), *([one["event"]] if "event" in one else [])]
        code = one.get("exitCode")
        if bool(events) == (code is not None):
            yield error("policy", place, "a policy must have either events or an exit code")
        if code == 0:
            yield error("policy", place, "a policy must not have exit code 0")
        for event in events:
            if event not in EVENTS:
                yield error("policy", place, f"Volcano has no event {event}", "valid values are {}".format(", ".join(EVENTS)))
        if one.get("action") not in ACTIONS:
            yield error("policy", place, "Volcano has no action {}".format(one.get("action")), "valid values are {}".format(", ".join(ACTIONS)))
        for trigger in [*events, *([code] if code is not None else [])]:
            if trigger in seen:
                yield error("policy", place, f"{trigger} already has a policy")
            seen.append(trigger)
    if "*" in seen and len(seen) > 1:
        yield error("policy", where, "the event * must be the only one")


def _tasks(job: Mapping[str, Any]) -> Iterator[Problem]:
    tasks = (job.get("spec") or {}).get("tasks") or []
    if not tasks:
        yield error("tasks", "spec.tasks", "there is no task")
    called = [task.get("name") for task in tasks]
    for index, task in enumerate(tasks):
        where = f"spec.tasks[{index}]"
        name, replicas = task.get("name"), _integer(task.get("replicas"))
        if not is_label(name):
            yield error("task_name", where + ".name", f"{name!r} is not a task name", "use lowercase letters, digits and '-', at most 63 characters")
        if name in called[:index]:
            yield error("task_name", where + ".name", f"there are two tasks {name}")
        if replicas < 0:
            yield error("negative", where + ".replicas", f"replicas is {replicas}", "it must be 0 or more")
        if not 0 <= _integer(task.get("minAvailable")) <= max(replicas, 0):
            yield error("min_available", where + ".minAvailable", "minAvailable is {}, but the task has {} replicas".format(task["minAvailable"], replicas))
        yield from kube_rules.pod_name("{}-{}-{}".format((job.get("metadata") or {}).get("name"), name, max(replicas - 1, 0)), where + ".name")
        yield from _policies(task.get("policies") or [], where + ".policies")
        yield from kube_rules.template(task.get("template") or {}, where + ".template")


def _mpi(job: Mapping[str, Any]) -> Iterator[Problem]:
    spec = job.get("spec") or {}
    if "mpi" not in (spec.get("plugins") or {}):
        return
    arguments = dict(str(one).lstrip("-").partition("=")[::2] for one in spec["plugins"]["mpi"] or [])
    tasks = {task.get("name"): task for task in spec.get("tasks") or []}
    for role in ("master", "worker"):
        wanted = arguments.get(role, role)
        if wanted not in tasks:
            yield error(f"mpi_{role}", "spec.plugins.mpi", f"the mpi plugin has {wanted} as its {role} task, which does not exist")
    name = str((job.get("metadata") or {}).get("name"))
    worker = tasks.get(arguments.get("worker", "worker"), {})
    length = _integer(worker.get("replicas")) * len(f"{name}-{worker.get('name')}-0000.{name},")
    if length > ENVIRONMENT_LIMIT:
        yield error("environment_limit", "spec.tasks", "the names of {} workers do not fit into the variable MPI_HOST".format(worker["replicas"]),
                    "measure fewer hosts at once, or shorten the job's name")
