# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The manifests of a collective as an MPIJob (Kubeflow's MPI Operator, v2beta1). The operator makes host file, keys and names."""

from __future__ import annotations

from typing import Any

from ...module_utils._core.problems import as_dicts
from ...module_utils._perf import mpirun
from . import mpi_rules, pods
from .job import Job
from .pods import Manifest

API_VERSION = "kubeflow.org/v2beta1"
IMPLEMENTATIONS = {mpirun.MPICH: "MPICH", mpirun.OPENMPI: "OpenMPI"}


def manifests(job: Job) -> list[Manifest]:
    """Return the companion objects, then the MPIJob."""
    companions = [pods.rank_table(job)] if job.rank_table else []
    return [*companions, _job(job)]


def planned(job: Job) -> dict[str, Any]:
    """Return the value of the filter mpi_job."""
    objects = manifests(job)
    return {"api_version": API_VERSION, "kind": "MPIJob", "name": job.name, "namespace": job.namespace, "replicas": job.replicas,
            "deadline": job.deadline, "objects": objects, "problems": as_dicts(mpi_rules.problems(objects[-1]))}


def _job(job: Job) -> Manifest:
    scheduling: Manifest = {"minAvailable": job.replicas + 1, "queue": job.queue}
    if job.priority_class:
        scheduling["priorityClass"] = job.priority_class
    launcher = pods.launcher_template(job, "launcher", pods.mpirun_command(job, ""))
    return {"apiVersion": API_VERSION, "kind": "MPIJob", "metadata": pods.metadata(job), "spec": {
        "slotsPerWorker": job.processes_per_host, "mpiImplementation": IMPLEMENTATIONS[job.mpi], "launcherCreationPolicy": "WaitForWorkersReady",
        "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0, "activeDeadlineSeconds": job.deadline,
                      "ttlSecondsAfterFinished": job.keep_seconds, "schedulingPolicy": scheduling},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": launcher},
            "Worker": {"replicas": job.replicas, "restartPolicy": "Never", "template": pods.worker_template(job, "worker")},
        },
    }}
