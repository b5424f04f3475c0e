"""Rank tables and jobs from ConfigMaps."""

from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import jobs, rank_table_config_maps, server_version
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError


class Api:
    """A Kubernetes API with these objects by kind, which matches labels. A kind that is None may not be listed."""

    def __init__(self, **objects):
        self._objects = objects

    def items(self, group, plural, namespace="", labels=""):
        if self._objects.get(plural, ()) is None:
            raise HccnError("kubernetes_forbidden", "the Kubernetes API refuses it")
        wanted = dict(part.split("=") for part in labels.split(",") if part)
        return [item for item in self._objects.get(plural, []) if wanted.items() <= item["metadata"]["labels"].items()
                and namespace in ("", item["metadata"]["namespace"])]


def config_map(name, data, namespace="mindie", **labels):
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": data}


def server(number, devices=1):
    return {"server_id": "uid-%d" % number, "host_ip": "192.0.2.%d" % number, "container_ip": "10.1.0.%d" % number,
            "device": [{"device_id": str(place), "device_ip": "192.168.%d.%d" % (number, place + 1), "rank_id": str(place)} for place in range(devices)]}


def rings_of(name, number, status="completed", label="grt-group/deploy-server", **more):
    table = dict({"status": status, "server_count": "1", "version": "1.0", "server_list": [server(number)] if status == "completed" else []}, **more)
    return config_map("rings-config-" + name, {"hccl.json": json.dumps(table)}, **{"jobID": "j", "mx-consumer-cim": "true", label: "0"})


def pod(name, app, host, address):
    return {"metadata": {"name": name, "namespace": "mindie", "labels": {"jobID": "j", "app": app}}, "status": {"hostIP": host, "podIP": address}}


PODS = [pod("b", "mindie-ms-coordinator", "192.0.2.8", "10.1.0.8"), pod("a", "mindie-ms-coordinator", "192.0.2.7", "10.1.0.7"),
        pod("c", "mindie-ms-controller", "192.0.2.7", "10.1.0.6"),
        pod("e", "mindie-ms-server", "192.0.2.1", "10.1.0.1")]


def read(api, version="7.3.0"):
    """Return the table and the problems."""
    return rank_table_config_maps.global_of(api, "mindie", "j", rank_table_config_maps.instances(api, "mindie", "j", ""), version)[:2]


def test_instances_are_numbered_by_the_names_of_their_config_maps():
    table, problems = read(Api(configmaps=[rings_of("z", 2), config_map("other", {}, jobID="j"), rings_of("a", 1)], pods=PODS))
    assert problems == []
    assert table == {"version": "1.0", "status": "completed", "server_group_list": [
        {"group_id": "0", "server_count": "2", "server_list": [
            {"server_id": "192.0.2.7", "server_ip": "10.1.0.7"}, {"server_id": "192.0.2.8", "server_ip": "10.1.0.8"}]},
        {"group_id": "1", "server_count": "1", "server_list": [{"server_id": "192.0.2.7", "server_ip": "10.1.0.6"}]},
        {"group_id": "2", "deploy_server": "0", "server_count": "1", "server_list": [
            {"device": [
                {"device_id": "0", "device_ip": "192.168.1.1", "device_logical_id": "0", "rank_id": "0"}], "server_id": "192.0.2.1", "server_ip": "10.1.0.1"}]},
        {"group_id": "3", "deploy_server": "0", "server_count": "1", "server_list": [
            {"device": [
                {"device_id": "0", "device_ip": "192.168.2.1", "device_logical_id": "0", "rank_id": "0"}],
             "server_id": "192.0.2.2", "server_ip": "10.1.0.2"}]}]}


@pytest.mark.parametrize("label", ["grt-server/deploy-server", "grt-group/deploy-server"])
def test_each_config_map_is_a_group(label):
    table, problems = read(Api(configmaps=[rings_of("a", 1, label=label), rings_of("b", 2, label=label, server_count="9")], pods=PODS))
    assert problems == []
    assert [(group["group_id"], group.get("deploy_server"), group["server_count"]) for group in table["server_group_list"]] == [
        ("0", None, "2"), ("1", None, "1"), ("2", "0", "1"), ("3", "0", "9")]


SUPER_POD = {"version": "1.2", "super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "uid-1"}]}]}


@pytest.mark.parametrize("version, server_id", [
    ("7.1.RC1", "uid-1"), ("v7.2.RC1", "uid-1"), ("v7.3.0", "192.0.2.1"), ("26.0.1", "192.0.2.1"), ("master", "192.0.2.1")])
def test_host_ip_replaces_server_id_from_7_3_on(version, server_id):
    table, problems = read(Api(configmaps=[rings_of("a", 1, **SUPER_POD)], pods=PODS), version)
    group = table["server_group_list"][2]
    assert problems == []
    assert (group["server_list"][0]["server_id"], group["super_pod_list"]) == (
        server_id, [{"super_pod_id": "0", "server_list": [{"server_id": server_id}]}])


@pytest.mark.parametrize("version, server_id", [("7.2.RC1", "uid-1"), ("7.3.0", "")])
def test_server_without_host_ip(version, server_id):
    maps = [rings_of("a", 1, server_list=[{key: value for key, value in server(1).items() if key != "host_ip"}])]
    assert read(Api(configmaps=maps, pods=PODS), version)[0]["server_group_list"][2]["server_list"][0]["server_id"] == server_id


def clusterd_pod(name, image):
    return {"metadata": {"name": name, "namespace": "mindx-dl", "labels": {"app": "clusterd"}},
            "spec": {"containers": [{"image": "redis:7.4"}, {"image": image}]}}


@pytest.mark.parametrize("images, version, server_id", [
    (["clusterd:v7.1.RC1"], "v7.1.RC1", "uid-1"),
    (["registry.example:5000/ascend/clusterd:v26.0.1-arm64@sha256:0"], "v26.0.1-arm64", "192.0.2.1"),
    (["clusterd:v7.2.RC1", "clusterd:v7.2.RC1"], "v7.2.RC1", "uid-1"),
    (["clusterd:v7.2.RC1", "clusterd:v7.3.0"], None, "192.0.2.1"),
    (["clusterd:latest"], None, "192.0.2.1"), (["clusterd"], None, "192.0.2.1"), ([], None, "192.0.2.1"),
])
def test_version_of_the_image(images, version, server_id):
    pods = [clusterd_pod("clusterd-%d" % number, image) for number, image in enumerate(images)]
    api = Api(configmaps=[rings_of("a", 1)], pods=PODS + pods)
    found = rank_table_config_maps.global_of(api, "mindie", "j", rank_table_config_maps.instances(api, "mindie", "j", ""))
    assert (found.version, found.table["server_group_list"][2]["server_list"][0]["server_id"]) == (version, server_id)
    assert [problem.rule for problem in found.problems] == ([] if version else ["clusterd_version"])


def test_unknown_version_is_no_problem_if_all_versions_build_the_same_table():
    maps = [rings_of("a", 1, server_list=[dict(server(1), server_id="192.0.2.1")])]
    assert read(Api(configmaps=maps, pods=PODS), None)[1] == []


@pytest.mark.parametrize("text", ["", "seven", "7", "7.x", "latest"])
def test_text_that_is_no_version(text):
    with pytest.raises(InputError, match="is no version of ClusterD"):
        server_version.parse(text)


@pytest.mark.parametrize("servers, message", [
    ([None], "server_list of the rank table is not a list of objects"),
    ("n1", "server_list of the rank table is n1, not a list"),
    ([{"server_id": "192.0.2.1", "device": [None]}], "server_list[0].device of the rank table is not a list of objects"),
    ([{"server_id": 1}], "server_list[0].server_id of the rank table is 1, not a string"),
    ([dict(server(1), device=[{"device_id": 0}])], "server_list[0].device[0].device_id of the rank table is 0, not a string"),
])
def test_table_that_clusterd_cannot_read_silences_it(servers, message):
    table, problems = read(Api(configmaps=[rings_of("a", 1), rings_of("b", 2, server_list=servers)], pods=PODS))
    assert table is None
    assert [(problem.rule, problem.where, problem.message) for problem in problems] == [
        ("config_map", "mindie/rings-config-b", message + ": ClusterD sends no table of this job at all")]


def test_fields_are_read_as_by_go_and_empty_ones_are_omitted():
    """Letter case does not matter, null is no value, and an unknown key is dropped."""
    servers = [{"Server_ID": "x", "HOST_IP": "192.0.2.1", "container_ip": None, "hardware_type": "", "zone": "z", "device": [
        {"device_id": "0", "device_ip": None, "rank_id": "0", "super_device_id": "", "device_logical_id": "7", "levels": [1]}]}, {}]
    table, _problems = read(Api(configmaps=[rings_of("a", 1, server_list=servers, super_pod_list=[])], pods=PODS))
    assert table["server_group_list"][2] == {"group_id": "2", "deploy_server": "0", "server_count": "1", "server_list": [
        {"device": [{"device_id": "0", "device_ip": "", "device_logical_id": "0", "rank_id": "0"}], "server_id": "192.0.2.1"}, {"server_id": ""}]}


def test_labels_that_silence_clusterd():
    both = rings_of("b", 2, "initializing")
    both["metadata"]["labels"]["grt-server/deploy-server"] = "1"
    table, problems = read(Api(configmaps=[rings_of("a", 1), both, rings_of("c", 3, label="x")], pods=PODS))
    assert table is None
    assert [(problem.rule, problem.severity, problem.where, problem.message.split(":")[0]) for problem in problems] == [
        ("deploy_server_label", "error", "mindie/rings-config-b", "the ConfigMap has both labels grt-server/deploy-server and grt-group/deploy-server"),
        ("deploy_server_label", "error", "mindie/rings-config-c", "the ConfigMap has neither label grt-server/deploy-server nor grt-group/deploy-server"),
        ("instance_incomplete", "warning", "mindie/rings-config-b",
         "the instance is initializing, so it is not in the table; ClusterD omits it without an error")]


def test_pod_without_a_place_is_named():
    pods = PODS + [pod("f", "mindie-ms-coordinator", "", ""), pod("g", "mindie-ms-controller", "192.0.2.1", ""), pod("h", "mindie-ms-server", "", "")]
    table, problems = read(Api(configmaps=[rings_of("a", 1)], pods=pods))
    assert table is None
    assert [(problem.rule, problem.severity, problem.where, problem.message) for problem in problems] == [
        ("app_not_placed", "error", "mindie/f", "mindie/f of mindie-ms-coordinator has no node or address yet: ClusterD sends no table until then"),
        ("app_not_placed", "error", "mindie/g", "mindie/g of mindie-ms-controller has no node or address yet: ClusterD sends no table until then")]


@pytest.mark.parametrize("app", ["mindie-ms-coordinator", "mindie-ms-controller", "mindie-ms-server"])
def test_missing_pods_silence_clusterd(app):
    table, problems = read(Api(configmaps=[rings_of("a", 1)], pods=[one for one in PODS if one["metadata"]["labels"]["app"] != app]))
    assert table is None
    assert [(problem.rule, problem.message) for problem in problems] == [
        ("app_missing", "there is no pod of %s with the label jobID=j: ClusterD sends no table without it" % app)]


def test_pod_group_without_labels_silences_clusterd():
    groups = [{"metadata": {"name": app, "namespace": "mindie", "labels": {"jobID": "j", "app": app}}} for app in ("mindie-ms-coordinator", "mindie-ms-server")]
    table, problems = read(Api(configmaps=[rings_of("a", 1)], pods=PODS, podgroups=groups))
    assert table is None
    assert [(problem.rule, problem.message) for problem in problems] == [
        ("pod_group_label", "no PodGroup has the labels jobID=j and app=mindie-ms-controller: ClusterD sends no table without them")]


def test_instances_that_clusterd_omits_are_reported():
    invisible = rings_of("b", 2)
    del invisible["metadata"]["labels"]["mx-consumer-cim"]
    broken = config_map("rings-config-c", {"hccl.json": "{"}, jobID="j")
    maps = [rings_of("a", 1), invisible, broken, rings_of("d", 4, "initializing"), rings_of("e", 5, version="1.2")]
    table, problems = read(Api(configmaps=maps, pods=PODS))
    assert [(problem.rule, problem.severity, problem.where) for problem in problems] == [
        ("config_map_label", "warning", "mindie/rings-config-b"), ("config_map_label", "warning", "mindie/rings-config-c"),
        ("instance_incomplete", "warning", "mindie/rings-config-d"), ("versions_differ", "error", None)]
    assert [len(group["server_list"]) for group in table["server_group_list"]] == [2, 1, 1, 1]


def test_no_complete_instance_is_an_error():
    with pytest.raises(HccnError, match="no instance of job j is complete yet: mindie/rings-config-a: the instance is initializing") as caught:
        read(Api(configmaps=[rings_of("a", 1, "initializing")], pods=PODS))
    assert caught.value.code == "no_rank_table"
    with pytest.raises(HccnError, match=r"there is no ConfigMap rings-config-\* with the label jobID=x in the namespace mindie"):
        rank_table_config_maps.instances(Api(configmaps=[rings_of("a", 1)]), "mindie", "x", "")


def test_table_of_a_training_job():
    table = {"status": "completed", "server_count": "1", "version": "1.0", "server_list": [server(1)]}
    api = Api(configmaps=[config_map("rings-config-llama", {"hccl.json": json.dumps(table)}), config_map("rings-config-llama2", {"hccl.json": "{}"})])
    assert rank_table_config_maps.single_of(rank_table_config_maps.instances(api, "mindie", "", "llama")) == table
    with pytest.raises(HccnError, match="the ConfigMap mindie/rings-config-llama2 contains no complete table: it is without a status"):
        rank_table_config_maps.single_of(rank_table_config_maps.instances(api, "mindie", "", "llama2"))


def summary(job, name, hccl, status="running", index="0", total="1", **more):
    data = dict({"job_id": job, "job_name": name, "framework": "pytorch", "job_status": status, "operator": "add", "cm_index": index, "total": total,
                 "hccl.json": json.dumps(hccl) if isinstance(hccl, dict) else hccl}, **more)
    part = "" if index == "0" else "-" + index
    return config_map("job-summary-%s%s" % (name, part), data, "train", **{"outside-job-info": "true"})


def on(node, *devices):
    return {"server_id": "192.0.2.1", "server_name": node, "device": [{"device_id": str(device), "rank_id": "0"} for device in devices]}


SUMMARIES = [
    summary("j1", "one", {"server_list": [on("n1", 0, 8), on("n2", 0, 1)]}),
    summary("j2", "two", {"server_list": [on("n1", 3)]}, total="2"), summary("j2", "two", {"server_list": [on("n3", 8)]}, index="1", total="2"),
    summary("j3", "three", {"status": "initializing"}),
    summary("j4", "four", {"server_list": [on("n1", 0)]}, status="complete"),
    summary("j5", "five", {"server_list": [on("n1", 0)]}, operator="delete"),
    summary("j6", "six", {"server_list": [on("n1", 0)]}, total="2"),
    summary("j7", "seven", ""),
    summary("j8", "eight", {"server_list": [on("n1", 0)]}),
    summary("j8", "eight", {"server_list": [on("n1", 1)]}, index="3"),
    config_map("other", {"job_id": "x"}, "train", **{"outside-job-info": "true"}),
]


def owned(name, job):
    return {"metadata": {"name": name, "namespace": "train", "labels": {}, "uid": "uid-" + name, "ownerReferences": [
        {"uid": "other"}, {"uid": job, "controller": True}]}}


GROUPS = [owned("pg-" + job, job) for job in ("j1", "j2", "j6", "j7")]
TRAIN_PODS = [owned("pod-j8", "j8")]


def test_jobs_from_summaries():
    found = jobs.from_config_maps(Api(configmaps=SUMMARIES, podgroups=GROUPS, pods=TRAIN_PODS), "")
    assert {job["job_id"]: job["nodes"] and [(node["node"], node["devices"]) for node in job["nodes"]] for job in found} == {
        "j1": [("n1", [0, 8]), ("n2", [0, 1])], "j2": [("n1", [3]), ("n3", [8])], "j3": None, "j4": [("n1", [0])], "j5": [("n1", [0])], "j6": None,
        "j7": [], "j8": [("n1", [0])]}
    assert next(job for job in found if job["name"] == "one") == {
        "job_id": "j1", "name": "one", "namespace": "train", "status": "running", "framework": "pytorch", "deleted": False, "stale": False, "nodes": [
            {"node": "n1", "address": "192.0.2.1", "devices": [0, 8]}, {"node": "n2", "address": "192.0.2.1", "devices": [0, 1]}]}


@pytest.mark.parametrize("objects, stale", [
    ({"podgroups": GROUPS[:1], "pods": []}, {"j1": False, "j2": True, "j3": True}),
    ({"podgroups": GROUPS[:1], "pods": [owned("p", "j2")]}, {"j1": False, "j2": False, "j3": True}),
    ({"podgroups": None, "pods": [owned("p", "j2")]}, {"j1": True, "j2": False, "j3": True}),
    ({"podgroups": GROUPS[:1], "pods": None}, {"j1": False, "j2": True, "j3": True}),
    ({"podgroups": None, "pods": None}, {"j1": None, "j2": None, "j3": None}),
])
def test_running_job_without_pod_group_and_pod_is_stale(objects, stale):
    """It was deleted while ClusterD did not run."""
    found = jobs.from_config_maps(Api(configmaps=SUMMARIES[:5], **objects), "")
    assert {job["job_id"]: job["stale"] for job in found if job["job_id"] in stale} == stale
    assert [job["stale"] for job in found if job["job_id"] == "j4"] == [False]  # complete
    assert {job["job_id"] for job in jobs.on_devices(found, {}, list(range(16)))} == {job for job in stale if not stale[job]}


def test_running_jobs_on_a_leaf():
    api = Api(configmaps=SUMMARIES, podgroups=GROUPS, pods=[*TRAIN_PODS, owned("pod-j3", "j3")])
    found = jobs.on_devices(jobs.from_config_maps(api, "train"), {"n2": [1]}, [0, 8])
    assert [(job["job_id"], job["nics"]) for job in found] == [
        ("j8", [{"node": "n1", "devices": [0]}]), ("j1", [{"node": "n1", "devices": [0, 8]}, {"node": "n2", "devices": [1]}]), ("j6", None), ("j3", None),
        ("j2", [{"node": "n3", "devices": [8]}])]
    assert jobs.on_devices([dict(found[0], nics=None)], {}, None) == []


def test_invalid_numbers_are_ignored():
    """Any account that may write a ConfigMap with the label may write anything into it."""
    part = summary("j", "one", {"server_list": [on("n1", "\u00b2", "9" * 5000, 3)]}, index="\u00b2", total="9" * 5000)
    (found,) = jobs.from_config_maps(Api(configmaps=[part]), "")
    assert found["nodes"] == [{"node": "n1", "address": "192.0.2.1", "devices": [3]}]
