"""Rank tables and jobs from ConfigMaps."""

from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import jobs, rank_table_config_maps
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


class Api:
    """A Kubernetes API with these objects by kind, which matches labels."""

    def __init__(self, **objects):
        self._objects = objects

    def items(self, group, plural, namespace="", labels=""):
        wanted = dict(part.split("=") for part in labels.split(",") if part)
        return [item for item in self._objects.get(plural, []) if wanted.items() <= item["metadata"]["labels"].items()
                and namespace in ("", item["metadata"]["namespace"])]


def config_map(name, data, namespace="mindie", **labels):
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": data}


def server(number, devices=1):
    return {"server_id": "192.0.2.%d" % number, "container_ip": "10.1.0.%d" % number,
            "device": [{"device_id": str(place), "device_ip": "192.168.%d.%d" % (number, place + 1), "rank_id": str(place)} for place in range(devices)]}


def rings_of(name, number, status="completed", label="grt-group/deploy-server", **more):
    table = dict({"status": status, "server_count": "1", "version": "1.0", "server_list": [server(number)] if status == "completed" else []}, **more)
    return config_map("rings-config-" + name, {"hccl.json": json.dumps(table)}, **{"jobID": "j", label: "0"})


def pod(name, app, host, address):
    return {"metadata": {"name": name, "namespace": "mindie", "labels": {"jobID": "j", "app": app}}, "status": {"hostIP": host, "podIP": address}}


PODS = [pod("b", "mindie-ms-coordinator", "192.0.2.8", "10.1.0.8"), pod("a", "mindie-ms-coordinator", "192.0.2.7", "10.1.0.7"),
        pod("c", "mindie-ms-controller", "192.0.2.7", "10.1.0.6"), pod("d", "mindie-ms-controller", "", ""),
        pod("e", "mindie-ms-server", "192.0.2.1", "10.1.0.1")]


def read(api, job="j"):
    return rank_table_config_maps.global_of(api, "mindie", job, rank_table_config_maps.instances(api, "mindie", job, ""))


def test_instances_are_numbered_by_the_names_of_their_config_maps():
    table, problems = read(Api(configmaps=[rings_of("z", 2), config_map("other", {}, jobID="j"), rings_of("a", 1)], pods=PODS))
    assert problems == []
    assert table == {"version": "1.0", "status": "completed", "server_group_list": [
        {"group_id": "0", "server_count": "2", "server_list": [
            {"server_id": "192.0.2.7", "server_ip": "10.1.0.7"}, {"server_id": "192.0.2.8", "server_ip": "10.1.0.8"}]},
        {"group_id": "1", "server_count": "1", "server_list": [{"server_id": "192.0.2.7", "server_ip": "10.1.0.6"}]},
        {"group_id": "2", "deploy_server": "0", "server_count": "1", "server_list": [
            {"server_id": "192.0.2.1", "server_ip": "10.1.0.1", "device": [
                {"device_id": "0", "device_ip": "192.168.1.1", "rank_id": "0", "device_logical_id": "0"}]}]},
        {"group_id": "3", "deploy_server": "0", "server_count": "1", "server_list": [
            {"server_id": "192.0.2.2", "server_ip": "10.1.0.2", "device": [
                {"device_id": "0", "device_ip": "192.168.2.1", "rank_id": "0", "device_logical_id": "0"}]}]}]}


def test_instances_of_one_server_share_a_group():
    table, _problems = read(Api(configmaps=[rings_of("a", 1, label="grt-server/deploy-server"), rings_of("b", 2, label="grt-server/deploy-server")], pods=PODS))
    assert [group["group_id"] for group in table["server_group_list"]] == ["0", "1", "2"]
    assert [(one["server_id"], one["deploy_server"]) for one in table["server_group_list"][2]["server_list"]] == [("192.0.2.1", "0"), ("192.0.2.2", "0")]


def test_host_ip_takes_precedence_over_server_id():
    maps = [rings_of("a", 1, server_list=[dict(server(1), server_id="40-1a", host_ip="192.0.2.9")])]
    assert read(Api(configmaps=maps, pods=PODS))[0]["server_group_list"][2]["server_list"][0]["server_id"] == "192.0.2.9"


NO_SERVERS = "the rank table is completed, but its server_list is not a list of servers"


@pytest.mark.parametrize("servers, message", [
    ([None], NO_SERVERS), (None, NO_SERVERS), ("n1", NO_SERVERS),
    ([{"server_id": "192.0.2.1", "device": [None]}], "the key device of a server in the rank table is not a list of devices"),
])
def test_invalid_table_does_not_hide_others(servers, message):
    table, problems = read(Api(configmaps=[rings_of("a", 1), rings_of("b", 2, server_list=servers)], pods=PODS))
    assert [group["group_id"] for group in table["server_group_list"]] == ["0", "1", "2"]
    assert [(problem.where, problem.message) for problem in problems if problem.rule == "config_map"] == [("mindie/rings-config-b", message)]


def test_instances_that_clusterd_omits_are_reported():
    broken = config_map("rings-config-c", {"hccl.json": "{"}, jobID="j", **{"grt-group/deploy-server": "0"})
    both = rings_of("d", 4)
    both["metadata"]["labels"]["grt-server/deploy-server"] = "1"
    maps = [rings_of("a", 1), rings_of("b", 2, "initializing"), broken, both, rings_of("e", 5, version="1.2", label="x")]
    table, problems = read(Api(configmaps=maps, pods=PODS[:2]))
    reported = [(problem.rule, problem.severity, problem.where) for problem in problems if problem.reader == "clusterd"]
    assert reported == [("instance_incomplete", "warning", "mindie/rings-config-b"), ("config_map", "error", "mindie/rings-config-c"),
                        ("deploy_server_label", "error", "mindie/rings-config-d"), ("deploy_server_label", "error", "mindie/rings-config-e"),
                        ("app_missing", "error", None), ("versions_differ", "error", None)]
    assert [len(group["server_list"]) for group in table["server_group_list"]] == [2, 0, 1, 1, 1]


def test_no_complete_instance_is_an_error():
    with pytest.raises(HccnError, match="no instance of job j is complete yet: mindie/rings-config-a") as caught:
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
    config_map("other", {"job_id": "x"}, "train", **{"outside-job-info": "true"}),
]


def test_jobs_from_summaries():
    found = jobs.from_config_maps(Api(configmaps=SUMMARIES), "")
    assert {job["job_id"]: job["nodes"] and [(node["node"], node["devices"]) for node in job["nodes"]] for job in found} == {
        "j1": [("n1", [0, 8]), ("n2", [0, 1])], "j2": [("n1", [3]), ("n3", [8])], "j3": None, "j4": [("n1", [0])], "j5": [("n1", [0])], "j6": None}
    assert found[2] == {"job_id": "j1", "name": "one", "namespace": "train", "status": "running", "framework": "pytorch", "deleted": False, "nodes": [
        {"node": "n1", "address": "192.0.2.1", "devices": [0, 8]}, {"node": "n2", "address": "192.0.2.1", "devices": [0, 1]}]}


def test_running_jobs_on_a_leaf():
    found = jobs.on_devices(jobs.from_config_maps(Api(configmaps=SUMMARIES), "train"), {"n2": [1]}, [0, 8])
    assert [(job["job_id"], job["nics"]) for job in found] == [
        ("j1", [{"node": "n1", "devices": [0, 8]}, {"node": "n2", "devices": [1]}]), ("j6", None), ("j3", None), ("j2", [{"node": "n3", "devices": [8]}])]
    assert jobs.on_devices([dict(found[0], nics=None)], {}, None) == []


def test_invalid_numbers_are_ignored():
    """Any account that may write a ConfigMap with the label may write anything into it."""
    part = summary("j", "one", {"server_list": [on("n1", "\u00b2", "9" * 5000, 3)]}, index="\u00b2", total="9" * 5000)
    (found,) = jobs.from_config_maps(Api(configmaps=[part]), "")
    assert found["nodes"] == [{"node": "n1", "address": "192.0.2.1", "devices": [3]}]
