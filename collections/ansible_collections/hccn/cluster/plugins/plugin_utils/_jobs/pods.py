# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The pods of a collective, for all engines: workers that run sshd, and the command of the launcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._perf import mpirun
from .job import Job
from .settings import PodSettings

JOB_LABEL = "hccn.cluster/job"
ROLE_LABEL = "hccn.cluster/role"
RANK_TABLE_PATH = "/user/serverid/devindex/config"
LAUNCHER_RESOURCES = {"cpu": "1", "memory": "1Gi"}

_SSH = "-p %s -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=10"

WORKER_SCRIPT = """\
mkdir -p /run/sshd
exec "$1" -D -e -p "$2" ${HCCL_IF_IP:+-o "SetEnv=HCCL_IF_IP=$HCCL_IF_IP"}
"""
"""sshd does not pass variables of the container to logins, which start the ranks."""

Manifest = dict[str, Any]


def literal(text: str) -> str:
    """Escape ``$(``, since Kubernetes expands ``$(NAME)`` in arguments and values."""
    return text.replace("$(", "$$(")


def metadata(job: PodSettings, role: str = "") -> Manifest:
    """Return name, labels and annotations of an object; with ``role`` only labels and annotations, for a pod template."""
    labels = {"app.kubernetes.io/managed-by": "hccn.cluster", JOB_LABEL: job.name, **job.labels}
    whole: Manifest = {"labels": {**labels, ROLE_LABEL: role}} if role else {"name": job.name, "namespace": job.namespace, "labels": labels}
    if job.annotations:
        whole["annotations"] = dict(job.annotations)
    return whole


def ssh_arguments(job: Job) -> str:
    return _SSH % job.ssh_port


def mpirun_command(job: Job, hostfile: str) -> list[str]:
    """Return the command of mpirun. If ``hostfile`` is empty, the engine passes the hosts to mpirun."""
    operation = job.options.operation
    program = job.program.paths_in(job.tool_dir, operation)[0] if job.tool_dir else _default_program(job)
    argv = [program, *job.program.arguments(job.options)]
    names = sorted({*job.environment, "LD_LIBRARY_PATH"})
    # The engine configures the hosts of Open MPI. A placeholder file name prevents the command for a single host, and is removed below.
    whole = mpirun.command(mpirun.Launcher(job.mpirun, job.mpi, ""), job.processes_per_host * job.replicas, argv, hostfile or "-", True, names)
    if not hostfile:
        place = whole.index("-")
        del whole[place - 1:place + 1]
    if job.mpi == mpirun.OPENMPI:
        # Must be on the command line, since MPI Operator sets the environment variable of this name.
        whole[1:1] = ["--mca", "plm_rsh_args", ssh_arguments(job)]
    return [literal(word) for word in whole]


def _default_program(job: Job) -> str:
    if job.tool == "nccl_tests":
        return job.program.program(job.options.operation)
    return job.program.default_paths(job.options.operation, {})[0]


def launcher_environment(job: Job) -> list[Manifest]:
    """Return the environment of the launcher: the time limit after which it ends the ranks, and the options of ssh in the variable that it reads."""
    own = {"MPIEXEC_TIMEOUT": str(job.timeout)}
    own["HYDRA_LAUNCHER_EXTRA_ARGS" if job.mpi == mpirun.MPICH else "PRTE_MCA_plm_ssh_args"] = ssh_arguments(job)
    whole = {**own, **job.environment}
    return [{"name": name, "value": literal(value)} for name, value in sorted(whole.items())]


def launcher_template(job: Job, name: str, command: Sequence[str], environment: Sequence[Mapping[str, Any]] = ()) -> Manifest:
    """Return the template of the pod in which ``command`` starts the ranks.

    It has no device and never the network of the host, where its port would conflict with that of a worker.
    """
    container: Manifest = {
        "name": name, "image": job.image, "imagePullPolicy": job.image_pull_policy, "command": list(command),
        "env": [*launcher_environment(job), *environment], "resources": {"requests": dict(LAUNCHER_RESOURCES), "limits": dict(LAUNCHER_RESOURCES)},
    }
    spec = _spec(job, container)
    return {"metadata": metadata(job, "launcher"), "spec": spec}


def worker_template(job: Job, name: str) -> Manifest:
    """Return the template of a pod with the devices, in which sshd waits for the logins of the launcher."""
    container: Manifest = {
        "name": name, "image": job.image, "imagePullPolicy": job.image_pull_policy,
        "command": ["/bin/sh", "-c", WORKER_SCRIPT, "worker", literal(job.sshd), str(job.ssh_port)],
        "ports": [{"name": "ssh", "containerPort": job.ssh_port}], "readinessProbe": {"tcpSocket": {"port": job.ssh_port}, "periodSeconds": 2},
    }
    environment = _worker_environment(job)
    if environment:
        container["env"] = environment
    volumes = _volumes(job) + (_rank_table_volumes(job) if job.rank_table else [])
    return {"metadata": metadata(job, "worker"), "spec": device_spec(job, container, volumes, affinity(job, "worker"))}


def device_spec(job: PodSettings, container: Manifest, volumes: Sequence[tuple[Manifest, Manifest]], affinity_spec: Manifest) -> Manifest:
    """Return the spec of a pod whose container has the devices and the volumes of the node."""
    quantities = {**({job.resource: str(job.devices_per_pod)} if job.resource else {}), **job.resources}
    container["resources"] = {"requests": dict(quantities), "limits": dict(quantities)}
    if job.security_context:
        container["securityContext"] = dict(job.security_context)
    spec = _spec(job, container)
    spec["volumes"] = [volume for volume, _mount in volumes]
    container["volumeMounts"] = [mount for _volume, mount in volumes]
    if job.host_network:
        spec.update(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    if job.tolerations:
        spec["tolerations"] = [dict(one) for one in job.tolerations]
    if job.node_selector:
        spec["nodeSelector"] = dict(job.node_selector)
    if affinity_spec:
        spec["affinity"] = affinity_spec
    return spec


def _spec(job: PodSettings, container: Manifest) -> Manifest:
    spec: Manifest = {"containers": [container], "restartPolicy": "Never", "activeDeadlineSeconds": job.deadline, "terminationGracePeriodSeconds": 5}
    if job.scheduler:
        spec["schedulerName"] = job.scheduler
    if job.service_account:
        spec["serviceAccountName"] = job.service_account
    if job.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in job.image_pull_secrets]
    return spec


def _worker_environment(job: Job) -> list[Manifest]:
    """Return the variables by which Ascend's container runtime and HCCL get properties of their pod and host."""
    if job.tool != "hccl_test":
        return []
    whole = [field_of_pod("ASCEND_VISIBLE_DEVICES", f"metadata.annotations['{job.resource}']")] if job.resource.startswith("huawei.com/") else []
    return whole + ([field_of_pod(_HOST_ADDRESS, "status.hostIP")] if job.host_network else [])


_HOST_ADDRESS = "HCCL_IF_IP"


def field_of_pod(name: str, path: str) -> Manifest:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def address_of_pod(name: str) -> Manifest:
    """Return an environment variable with the address of the pod."""
    return field_of_pod(name, "status.podIP")


def _rank_table_volumes(job: Job) -> list[tuple[Manifest, Manifest]]:
    return [({"name": "rank-table", "configMap": {"name": rank_table_name(job)}}, {"name": "rank-table", "mountPath": RANK_TABLE_PATH})]


def volumes_of_host(job: PodSettings) -> list[tuple[Manifest, Manifest]]:
    """Return each volume of the host with its mount."""
    found: list[tuple[Manifest, Manifest]] = []
    for index, one in enumerate(job.mounts):
        name = str(one.get("name", f"mount-{index}"))
        source: Manifest = {"path": str(one.get("host_path", ""))}
        if one.get("type"):
            source["type"] = str(one["type"])
        mount = {"name": name, "mountPath": str(one.get("mount_path", one.get("host_path", ""))), "readOnly": bool(one.get("read_only", True))}
        found.append(({"name": name, "hostPath": source}, mount))
    return found


def _volumes(job: Job) -> list[tuple[Manifest, Manifest]]:
    """Return the volumes of the host, and shared memory."""
    memory: Manifest = {"medium": "Memory"}
    if job.shm_size:
        memory["sizeLimit"] = job.shm_size
    shared = ({"name": "shm", "emptyDir": memory}, {"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108 -- a mount, not a file of this collection
    return [*volumes_of_host(job), shared]


def rank_table_name(job: Job) -> str:
    """Return the name that Ascend Operator expects."""
    return "rings-config-" + job.name


def rank_table(job: Job) -> Manifest:
    """Return the ConfigMap that Ascend Operator fills with the rank table."""
    whole = metadata(job)
    whole["name"] = rank_table_name(job)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": whole, "data": {"hccl.json": '{"status":"initializing"}'}}


def affinity(job: PodSettings, role: str) -> Manifest:
    """Return the affinity: only on these nodes and, with ``one_per_node``, one pod per node."""
    whole: Manifest = {}
    if job.nodes:
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(job.nodes)}]}
        whole["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    if job.one_per_node:
        selector = {"matchLabels": {JOB_LABEL: job.name, ROLE_LABEL: role}}
        whole["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}]}
    return whole
