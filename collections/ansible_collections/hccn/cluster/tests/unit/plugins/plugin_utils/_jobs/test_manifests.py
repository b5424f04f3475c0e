"""The content of the manifests for both engines."""

from __future__ import annotations

from typing import Any

import pytest

from ansible.errors import AnsibleFilterError
from ansible_collections.hccn.cluster.plugins.filter.mpi_job import FilterModule as MpiFilters
from ansible_collections.hccn.cluster.plugins.filter.mpi_job import mpi_job
from ansible_collections.hccn.cluster.plugins.filter.volcano_job import FilterModule as VolcanoFilters
from ansible_collections.hccn.cluster.plugins.filter.volcano_job import volcano_job

LEAST = {"name": "check-1", "namespace": "lab", "image": "registry/hccl:1", "nodes": ["node-a", "node-b"]}
LABELS = {"app.kubernetes.io/managed-by": "hccn.cluster", "hccn.cluster/job": "check-1"}
PROGRAM = "/usr/local/Ascend/cann/tools/hccl_test/bin/all_reduce_test"
ARGUMENTS = "-p 8 -b 8K -e 64M -f 2 -d fp32 -o sum -n 20 -w 10 -c 1".split()
SSH = "-p 22 -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=10"


def templates(planned: "dict[str, Any]") -> "tuple[dict[str, Any], dict[str, Any]]":
    """The pod specs of launcher and worker."""
    spec = planned["objects"][-1]["spec"]
    if planned["kind"] == "Job":
        return tuple(task["template"]["spec"] for task in spec["tasks"])
    return tuple(spec["mpiReplicaSpecs"][role]["template"]["spec"] for role in ("Launcher", "Worker"))


def values(container: "dict[str, Any]") -> "dict[str, Any]":
    return {one["name"]: one.get("value", one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")) for one in container.get("env", ())}


def test_the_filters_have_their_names() -> None:
    found = {**VolcanoFilters().filters(), **MpiFilters().filters()}
    assert {name: function.__wrapped__ for name, function in found.items()} == {"volcano_job": volcano_job, "mpi_job": mpi_job}


def test_the_manifest_of_a_volcano_job() -> None:
    planned = volcano_job(LEAST)
    assert {key: planned[key] for key in planned if key != "objects"} == {
        "api_version": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "check-1", "namespace": "lab", "replicas": 2, "deadline": 960, "problems": []}
    job = planned["objects"][0]
    assert len(planned["objects"]) == 1
    assert job["metadata"] == {"name": "check-1", "namespace": "lab", "labels": LABELS}
    assert {key: value for key, value in job["spec"].items() if key != "tasks"} == {
        "schedulerName": "volcano", "queue": "default", "minAvailable": 3, "maxRetry": 1, "ttlSecondsAfterFinished": 3600,
        "plugins": {"ssh": [], "svc": ["--publish-not-ready-addresses=true"], "mpi": ["--master=mpimaster", "--worker=mpiworker", "--port=22"]},
        "policies": [{"event": "PodFailed", "action": "AbortJob"}, {"event": "PodEvicted", "action": "AbortJob"}]}
    master, worker = job["spec"]["tasks"]
    assert (master["name"], master["replicas"], master["policies"]) == ("mpimaster", 1, [{"event": "TaskCompleted", "action": "CompleteJob"}])
    assert (worker["name"], worker["replicas"]) == ("mpiworker", 2)
    assert master["template"]["metadata"]["labels"] == {**LABELS, "hccn.cluster/role": "launcher"}


def test_the_volcano_master_runs_mpirun() -> None:
    container = templates(volcano_job(LEAST))[0]["containers"][0]
    assert container["command"][:2] == ["/bin/sh", "-c"]
    assert container["command"][3:9] == ["launch", "/etc/volcano/mpiworker.host", ":8", "300", "/tmp/hccn-hostfile", SSH]
    assert container["command"][9:] == ["mpirun", "-localhost", "$(HCCN_POD_IP)", "-f", "/tmp/hccn-hostfile", "-n", "16", PROGRAM, *ARGUMENTS]
    assert values(container) == {"HYDRA_LAUNCHER_EXTRA_ARGS": SSH, "MPIEXEC_TIMEOUT": "600", "HCCN_POD_IP": "status.podIP"}
    assert "$(date" not in container["command"][2].replace("$$(date", "")


def test_open_mpi_under_volcano() -> None:
    job = {**LEAST, "mpi": "openmpi", "mpirun": "/usr/local/openmpi/bin/mpirun", "environment": {"HCCL_BUFFSIZE": 300}}
    container = templates(volcano_job(job))[0]["containers"][0]
    assert container["command"][5] == " slots=8"
    assert container["command"][9:19] == ["/usr/local/openmpi/bin/mpirun", "--mca", "plm_rsh_args", SSH, "--hostfile", "/tmp/hccn-hostfile",
                                          "--allow-run-as-root", "-x", "HCCL_BUFFSIZE", "-x"]
    assert values(container) == {"HCCL_BUFFSIZE": "300", "MPIEXEC_TIMEOUT": "600", "PRTE_MCA_plm_ssh_args": SSH, "HCCN_POD_IP": "status.podIP"}


def test_the_manifest_of_an_mpi_job() -> None:
    planned = mpi_job(LEAST)
    spec = planned["objects"][0]["spec"]
    assert (planned["api_version"], planned["kind"], planned["problems"]) == ("kubeflow.org/v2beta1", "MPIJob", [])
    assert {key: value for key, value in spec.items() if key != "mpiReplicaSpecs"} == {
        "slotsPerWorker": 8, "mpiImplementation": "MPICH", "launcherCreationPolicy": "WaitForWorkersReady", "runPolicy": {
            "cleanPodPolicy": "Running", "backoffLimit": 0, "activeDeadlineSeconds": 960, "ttlSecondsAfterFinished": 3600,
            "schedulingPolicy": {"minAvailable": 3, "queue": "default"}}}
    launcher = templates(planned)[0]["containers"][0]
    assert launcher["command"] == ["mpirun", "-n", "16", PROGRAM, *ARGUMENTS]
    assert [spec["mpiReplicaSpecs"][role]["replicas"] for role in ("Launcher", "Worker")] == [1, 2]


def test_open_mpi_uses_the_hosts_of_the_operator() -> None:
    command = templates(mpi_job({**LEAST, "mpi": "openmpi"}))[0]["containers"][0]["command"]
    assert command[:8] == ["mpirun", "--mca", "plm_rsh_args", SSH, "--allow-run-as-root", "-x", "LD_LIBRARY_PATH", "-n"]


@pytest.mark.parametrize("make", [volcano_job, mpi_job])
def test_the_manifest_of_a_worker(make: Any) -> None:
    launcher, worker = templates(make(LEAST))
    container = worker["containers"][0]
    assert container["command"][3:] == ["worker", "/usr/sbin/sshd", "22"]
    assert container["resources"] == {"requests": {"huawei.com/Ascend910": "8"}, "limits": {"huawei.com/Ascend910": "8"}}
    assert values(container) == {"ASCEND_VISIBLE_DEVICES": "metadata.annotations['huawei.com/Ascend910']"}
    assert [(one["name"], one["mountPath"], one.get("readOnly", False)) for one in container["volumeMounts"]] == [
        ("ascend-driver", "/usr/local/Ascend/driver", True), ("hccn-conf", "/etc/hccn.conf", True), ("hccn-tool", "/usr/bin/hccn_tool", True),
        ("shm", "/dev/shm", False)]
    assert worker["volumes"] == [
        {"name": "ascend-driver", "hostPath": {"path": "/usr/local/Ascend/driver", "type": "Directory"}},
        {"name": "hccn-conf", "hostPath": {"path": "/etc/hccn.conf", "type": "File"}},
        {"name": "hccn-tool", "hostPath": {"path": "/usr/local/Ascend/driver/tools/hccn_tool", "type": "File"}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}}]
    assert worker["affinity"] == {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a", "node-b"]}]}]}},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"hccn.cluster/job": "check-1", "hccn.cluster/role": "worker"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    assert [spec["activeDeadlineSeconds"] for spec in (launcher, worker)] == [960, 960]
    assert not {"volumes", "affinity", "hostNetwork"} & set(launcher)


@pytest.mark.parametrize("make", [volcano_job, mpi_job])
def test_all_settings_appear_in_the_manifest(make: Any) -> None:
    planned = make({
        **LEAST, "nodes": None, "replicas": 4, "one_per_node": False, "host_network": True, "resource": "huawei.com/npu", "devices_per_pod": 4,
        "resources": {"memory": "64Gi", "rdma/hca": 1}, "labels": {"ring-controller.atlas": "ascend-npu"}, "annotations": {"huawei.com/schedule_policy": "x"},
        "node_selector": {"accelerator-type": "module"}, "tolerations": [{"operator": "Exists"}], "priority_class": "high", "queue": "q", "scheduler": "s",
        "service_account": "sa", "image_pull_secrets": ["key"], "security_context": {"privileged": True}, "shm_size": "8Gi", "rank_table": True,
        "mounts": [{"host_path": "/opt/x"}, {"name": "y", "host_path": "/y", "mount_path": "/z", "read_only": False}], "tool_dir": "/opt/hccl_test",
        "environment": {"HCCL_SOCKET_IFNAME": "$(eth)"}, "keep_seconds": 60})
    config, job = planned["objects"]
    launcher, worker = templates(planned)
    container = worker["containers"][0]
    assert planned["problems"] == []
    assert (config["kind"], config["metadata"]["name"], config["data"]) == ("ConfigMap", "rings-config-check-1", {"hccl.json": '{"status":"initializing"}'})
    assert config["metadata"]["labels"]["ring-controller.atlas"] == job["metadata"]["labels"]["ring-controller.atlas"] == "ascend-npu"
    assert container["resources"]["limits"] == {"huawei.com/npu": "4", "memory": "64Gi", "rdma/hca": "1"}
    assert values(container) == {"ASCEND_VISIBLE_DEVICES": "metadata.annotations['huawei.com/npu']", "HCCL_IF_IP": "status.hostIP"}
    assert (worker["hostNetwork"], worker["dnsPolicy"], container["ports"]) == (True, "ClusterFirstWithHostNet", [{"name": "ssh", "containerPort": 2222}])
    assert container["volumeMounts"][:2] == [{"name": "mount-0", "mountPath": "/opt/x", "readOnly": True}, {"name": "y", "mountPath": "/z", "readOnly": False}]
    assert worker["volumes"][2:] == [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
                                     {"name": "rank-table", "configMap": {"name": "rings-config-check-1"}}]
    assert (worker["tolerations"], worker["nodeSelector"], container["securityContext"]) == (
        [{"operator": "Exists"}], {"accelerator-type": "module"}, {"privileged": True})
    for spec in (launcher, worker):
        assert (spec["schedulerName"], spec["serviceAccountName"], spec["imagePullSecrets"]) == ("s", "sa", [{"name": "key"}])
    assert "affinity" not in worker
    assert values(launcher["containers"][0])["HCCL_SOCKET_IFNAME"] == "$$(eth)"
    assert "/opt/hccl_test/bin/all_reduce_test" in launcher["containers"][0]["command"]
    text = str(job["spec"])
    assert "'priorityClassName': 'high'" in text or "'priorityClass': 'high'" in text


def test_nccl_tests_in_the_path_of_the_image() -> None:
    launcher, worker = templates(mpi_job({**LEAST, "tool": "nccl_tests", "gpus_per_process": 8, "operation": "alltoall"}))
    assert launcher["containers"][0]["command"] == ["mpirun", "-n", "2", "alltoall_perf"] + "-b 32M -e 512M -f 2 -g 8 -d float -n 20 -w 5 -c 1".split()
    assert worker["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert "env" not in worker["containers"][0]


@pytest.mark.parametrize("make", [VolcanoFilters().filters()["volcano_job"], MpiFilters().filters()["mpi_job"]])
def test_invalid_input_is_one_sentence(make: Any) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        make({"image": "x"})
    assert str(caught.value).endswith("_job: the number of pods is unknown: neither nodes nor replicas is given (give one of them)")
