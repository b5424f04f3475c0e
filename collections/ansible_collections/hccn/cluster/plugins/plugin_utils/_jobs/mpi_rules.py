# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of MPI Operator for an MPIJob, checked before the job is sent. Source: kubeflow/mpi-operator, pkg/apis/kubeflow/validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils._core.problems import Problem
from . import kube_rules
from .kube_rules import error

_CLEAN = ("None", "Running", "All")
_IMPLEMENTATIONS = ("OpenMPI", "Intel", "MPICH")


def problems(job: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of an MPIJob; an empty list if the operator would accept it."""
    found = job.get("metadata") or {}
    return [*kube_rules.nulls(job), *kube_rules.names(found), *kube_rules.metadata(found, "metadata"), *_job(job), *_replicas(job)]


def _job(job: Mapping[str, Any]) -> Iterator[Problem]:
    spec = job.get("spec") or {}
    policy = spec.get("runPolicy") or {}
    if (spec.get("slotsPerWorker") or 0) < 1:
        yield error("slots", "spec.slotsPerWorker", "slotsPerWorker is {!r}".format(spec.get("slotsPerWorker")), "it must be 1 or more")
    if spec.get("mpiImplementation", "OpenMPI") not in _IMPLEMENTATIONS:
        yield error("implementation", "spec.mpiImplementation", "MPI Operator does not support {}".format(spec["mpiImplementation"]),
                    "valid values are {}".format(", ".join(_IMPLEMENTATIONS)))
    if policy.get("cleanPodPolicy", "None") not in _CLEAN:
        yield error("clean_pods", "spec.runPolicy.cleanPodPolicy", "MPI Operator does not support {}".format(policy["cleanPodPolicy"]))
    for name in ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        if policy.get(name, 0) < 0:
            yield error("negative", "spec.runPolicy." + name, f"{name} is {policy[name]}", "it must be 0 or more")


def _replicas(job: Mapping[str, Any]) -> Iterator[Problem]:
    roles = (job.get("spec") or {}).get("mpiReplicaSpecs") or {}
    if (roles.get("Launcher") or {}).get("replicas") != 1:
        yield error("launcher", "spec.mpiReplicaSpecs.Launcher", "there must be one launcher")
    workers = (roles.get("Worker") or {}).get("replicas") or 0
    if workers < 1:
        yield error("workers", "spec.mpiReplicaSpecs.Worker", "there must be one worker or more")
    available = (((job.get("spec") or {}).get("runPolicy") or {}).get("schedulingPolicy") or {}).get("minAvailable", 0)
    if available > workers + 1:
        yield error("min_available", "spec.runPolicy.schedulingPolicy.minAvailable", f"minAvailable is {available}, but there are {workers + 1} pods")
    yield from kube_rules.pod_name("{}-worker-{}".format((job.get("metadata") or {}).get("name"), max(workers - 1, 0)), "spec.mpiReplicaSpecs.Worker")
    for role, one in roles.items():
        if one.get("restartPolicy", "Never") not in ("Never", "OnFailure"):
            yield error("restart_policy", f"spec.mpiReplicaSpecs.{role}", "restartPolicy {} is not allowed".format(one["restartPolicy"]))
        yield from kube_rules.template(one.get("template") or {}, f"spec.mpiReplicaSpecs.{role}.template")
