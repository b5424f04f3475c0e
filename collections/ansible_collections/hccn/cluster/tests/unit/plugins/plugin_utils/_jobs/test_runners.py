"""One pod per node with its devices and mounts, and manifests that the cluster would refuse."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.runner_pods import FilterModule
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import runners

runner_pods = FilterModule().filters()["runner_pods"]

LEAST = {"image": "registry/python:3.11", "nodes": ["node-a", "node-b"]}


def made(**more: Any) -> list[dict[str, Any]]:
    return runner_pods({**LEAST, **more})["objects"]


def test_there_is_one_pod_per_node() -> None:
    planned = runner_pods({**LEAST, "hosts": ["n1", "n2"], "name": "f", "namespace": "lab"})
    assert (planned["pods"], planned["container"], planned["namespace"], planned["deadline"], planned["problems"]) == (
        {"n1": "f-0", "n2": "f-1"}, "runner", "lab", 7200, [])
    first = planned["objects"][0]
    assert (first["kind"], first["metadata"]["name"], first["metadata"]["namespace"]) == ("Pod", "f-0", "lab")
    assert first["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "hccn.cluster", "hccn.cluster/job": "f", "hccn.cluster/role": "runner"}
    assert first["metadata"]["annotations"] == {"hccn.cluster/host": "n1"}
    spec = first["spec"]
    assert spec["affinity"] == {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]}]}]}},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"hccn.cluster/job": "f", "hccn.cluster/role": "runner"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    assert (spec["hostNetwork"], spec["dnsPolicy"], spec["restartPolicy"], spec["activeDeadlineSeconds"]) == (True, "ClusterFirstWithHostNet", "Never", 7200)
    container = spec["containers"][0]
    assert container["resources"] == {"requests": {"huawei.com/Ascend910": "8"}, "limits": {"huawei.com/Ascend910": "8"}}
    assert container["command"][-1] == "7200"
    assert container["volumeMounts"] == [
        {"name": "ascend-driver", "mountPath": "/usr/local/Ascend/driver", "readOnly": True},
        {"name": "hccn-conf", "mountPath": "/etc/hccn.conf", "readOnly": True},
        {"name": "hccn-tool", "mountPath": "/usr/bin/hccn_tool", "readOnly": True},
        {"name": "hccn-state", "mountPath": "/var/lib/hccn.cluster", "readOnly": False}]
    assert spec["volumes"][3] == {"name": "hccn-state", "hostPath": {"path": "/var/lib/hccn.cluster", "type": "DirectoryOrCreate"}}
    assert "schedulerName" not in spec


def test_a_queue_adds_a_pod_group() -> None:
    group, first, _second = made(name="f", queue="checks", priority_class="high")
    assert (group["apiVersion"], group["kind"], group["spec"]) == (
        "scheduling.volcano.sh/v1beta1", "PodGroup", {"minMember": 1, "queue": "checks", "priorityClassName": "high"})
    assert first["metadata"]["annotations"] == {"hccn.cluster/host": "node-a", "scheduling.k8s.io/group-name": "f"}
    assert (first["spec"]["schedulerName"], first["spec"]["priorityClassName"]) == ("volcano", "high")


def test_all_settings_appear_in_the_manifest() -> None:
    spec = made(resource="huawei.com/npu", devices_per_pod="16", resources={"memory": "8Gi"}, host_network=False, node_selector={"a": "b"},
                tolerations=[{"operator": "Exists"}], security_context={"privileged": True}, service_account="checker", image_pull_secrets=["registry"],
                mounts=[{"host_path": "/opt/driver"}], state_dir="/srv/hccn", lifetime=60, scheduler="mine", labels={"x": "y"})[0]["spec"]
    container = spec["containers"][0]
    assert container["resources"]["limits"] == {"huawei.com/npu": "16", "memory": "8Gi"}
    assert container["securityContext"] == {"privileged": True}
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/opt/driver", "/srv/hccn"]
    assert "hostNetwork" not in spec
    assert (spec["nodeSelector"], spec["tolerations"], spec["serviceAccountName"], spec["imagePullSecrets"], spec["schedulerName"]) == (
        {"a": "b"}, [{"operator": "Exists"}], "checker", [{"name": "registry"}], "mine")


@pytest.mark.parametrize(("more", "sentence"), [
    ({"image": ""}, "image is missing"), ({"nodes": []}, "nodes is empty"), ({"nodes": ["a", "a"]}, "nodes has a duplicate"),
    ({"hosts": ["n1"]}, "hosts has 1 names for 2 nodes"), ({"hosts": ["n1", "n1"]}, "hosts has a duplicate"), ({"lifetime": 0}, "lifetime is 0"),
    ({"state_dir": "x"}, "state_dir 'x' is not an absolute path"), ({"operation": "all_reduce"}, "unknown keys: operation"),
    ({"host_network": "maybe"}, "host_network is 'maybe', it must be true or false"),
])
def test_invalid_settings_are_refused(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnsibleFilterError, match=sentence):
        made(**more)


@pytest.mark.parametrize(("more", "rule"), [
    ({"name": "9f"}, "job_name"), ({"namespace": "Lab"}, "namespace"), ({"labels": {"a b": "c"}}, "label_key"),
    ({"mounts": [{"name": "huawei.com/x", "host_path": "/x"}]}, "volume_name"), ({"resources": {"memory": "many"}}, "quantity"),
    ({"name": "f" * 63}, "pod_name"),
])
def test_violations_of_cluster_rules_are_reported(more: dict[str, Any], rule: str) -> None:
    assert rule in {problem["rule"] for problem in runner_pods({**LEAST, **more})["problems"]}


def test_a_deleted_pod_ends_at_once() -> None:
    assert "trap 'exit 0' TERM" in runners.WAIT_SCRIPT


def test_resources_and_mounts_depend_on_the_tool() -> None:
    (pod,) = made(nodes=["node-a"], tool="perftest", resources={"rdma/hca_shared_devices_a": "1"})
    container = pod["spec"]["containers"][0]
    assert container["resources"] == {"requests": {"rdma/hca_shared_devices_a": "1"}, "limits": {"rdma/hca_shared_devices_a": "1"}}
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert ([mount["name"] for mount in container["volumeMounts"]], container.get("env")) == (["hccn-state"], None)
    (pod,) = made(nodes=["node-a"], tool="iperf3")
    container = pod["spec"]["containers"][0]
    assert (container["resources"], container.get("securityContext")) == ({"requests": {}, "limits": {}}, None)
    assert [mount["name"] for mount in container["volumeMounts"]] == ["hccn-state"]


@pytest.mark.parametrize(("more", "sentence"), [
    ({"tool": "perftest"}, "perftest needs the RDMA device of the node in the pod"), ({"tool": "ping"}, "tool is 'ping'"),
])
def test_a_tool_without_its_device_is_refused(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnsibleFilterError, match=sentence):
        made(**more)
    assert made(tool="perftest", security_context={"privileged": True})[0]["kind"] == "Pod"
