# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The manifests of a collective as a Volcano Job: a master that starts mpirun and one worker per node, scheduled together."""

from __future__ import annotations

from typing import Any

from ...module_utils._core.problems import as_dicts
from ...module_utils._perf import mpirun
from . import pods, volcano_rules
from .job import Job
from .pods import Manifest

API_VERSION = "batch.volcano.sh/v1alpha1"
MASTER, WORKER = "mpimaster", "mpiworker"
HOSTS = f"/etc/volcano/{WORKER}.host"
"""The file in which the svc plugin lists the names of the workers, one per line."""
HOSTFILE = "/tmp/hccn-hostfile"  # noqa: S108 -- inside a container

LAUNCH_SCRIPT = """\
set -eu
hosts=$1 line_end=$2 seconds=$3 hostfile=$4 ssh_arguments=$5
shift 5
end=$(($(date +%s) + seconds))
: > "$hostfile"
while read -r host || [ -n "$host" ]; do
    [ -n "$host" ] || continue
    until ssh -n $ssh_arguments "$host" true 2> /dev/null; do
        if [ "$(date +%s)" -ge "$end" ]; then
            ssh -n $ssh_arguments "$host" true && break
            exit 70
        fi
        sleep 1
    done
    printf '%s%s\\n' "$host" "$line_end" >> "$hostfile"
done < "$hosts"
exec "$@"
"""
"""Waits until every worker accepts a login, then starts mpirun. If a worker does not, the output is the error of ssh."""


def manifests(job: Job) -> list[Manifest]:
    """Return the companion objects, then the Job."""
    companions = [pods.rank_table(job)] if job.rank_table else []
    return [*companions, _job(job)]


def planned(job: Job) -> dict[str, Any]:
    """Return the value of the filter volcano_job."""
    objects = manifests(job)
    return {"api_version": API_VERSION, "kind": "Job", "name": job.name, "namespace": job.namespace, "replicas": job.replicas,
            "deadline": job.deadline, "objects": objects, "problems": as_dicts(volcano_rules.problems(objects[-1]))}


def _job(job: Job) -> Manifest:
    spec: Manifest = {
        "schedulerName": job.scheduler or "volcano", "queue": job.queue, "minAvailable": job.replicas + 1, "maxRetry": 1,
        "ttlSecondsAfterFinished": job.keep_seconds,
        "plugins": {"ssh": [], "svc": ["--publish-not-ready-addresses=true"],
                    "mpi": [f"--master={MASTER}", f"--worker={WORKER}", f"--port={job.ssh_port}"]},
        "policies": [{"event": "PodFailed", "action": "AbortJob"}, {"event": "PodEvicted", "action": "AbortJob"}],
        "tasks": [
            {"name": MASTER, "replicas": 1, "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}], "template": _master(job)},
            {"name": WORKER, "replicas": job.replicas, "template": pods.worker_template(job, WORKER)},
        ],
    }
    if job.priority_class:
        spec["priorityClassName"] = job.priority_class
    return {"apiVersion": API_VERSION, "kind": "Job", "metadata": pods.metadata(job), "spec": spec}


def _master(job: Job) -> Manifest:
    line_end = mpirun.hostfile_text(job.mpi, [""], job.processes_per_host).rstrip("\n")
    launch = pods.mpirun_command(job, HOSTFILE)
    if job.mpi == mpirun.MPICH:
        # Workers connect to the launcher, but cannot resolve its short host name.
        launch[1:1] = ["-localhost", "$(HCCN_POD_IP)"]
    command = ["/bin/sh", "-c", pods.literal(LAUNCH_SCRIPT), "launch", HOSTS, line_end, str(job.start_timeout), HOSTFILE, pods.ssh_arguments(job), *launch]
    return pods.launcher_template(job, MASTER, command, [pods.address_of_pod("HCCN_POD_IP")])
