"""All modules in one playbook with simulated ClusterD and Kubernetes API; the rank table of a job is passed to rank_table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.clusterd.api import Api
from tests.integration.clusterd.conftest import Start
from tests.integration.rank_table.plays import keep, once, play
from tests.simulator.clusterd_sim.world import Job, Times, World
from tests.lib.module import call_module
from tests.lib.project import ROOT

pytestmark = pytest.mark.usefixtures("no_proxy")
PREFIX = "hccn.cluster."


def rings(name: str, number: int) -> dict[str, Any]:
    device = {"device_id": "0", "device_ip": f"192.168.{number}.1", "rank_id": "0"}
    table = {"status": "completed", "server_count": "1", "version": "1.0",
             "server_list": [{"server_id": f"192.0.2.{number}", "host_ip": f"192.0.2.{number}", "container_ip": f"10.1.0.{number}", "device": [device]}]}
    return {"metadata": {"name": f"rings-config-{name}", "namespace": "mindie", "labels": {
        "jobID": "mindie-1", "mx-consumer-cim": "true", "grt-group/deploy-server": "0"}},
            "data": {"hccl.json": json.dumps(table)}}


def pod(name: str, app: str, number: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "mindie", "labels": {"jobID": "mindie-1", "app": app}},
            "status": {"hostIP": f"192.0.2.{number}", "podIP": f"10.1.0.{number}"}}


SUMMARY = {"metadata": {"name": "job-summary-a", "namespace": "train", "labels": {"outside-job-info": "true"}}, "data": {
    "job_id": "uid-a", "job_name": "a", "job_status": "running", "framework": "pytorch", "operator": "add", "cm_index": "0", "total": "1",
    "hccl.json": json.dumps({"server_list": [{"server_id": "192.0.2.1", "server_name": "node-1", "device": [{"device_id": "0"}, {"device_id": "8"}]}]})}}
TRAINER = {"metadata": {"name": "a-0", "namespace": "train", "labels": {}, "ownerReferences": [{"uid": "uid-a", "controller": True}]}}
OBJECTS = {"configmaps": [rings("a", 1), rings("b", 2), SUMMARY], "podgroups": [],
           "pods": [pod("c", "mindie-ms-coordinator", 3), pod("d", "mindie-ms-controller", 3), pod("e", "mindie-ms-server", 1), TRAINER]}
LEAF = [{"leaf": "leaf-1", "qdds": [{"qdd": "QDD8", "backup": "QDD7", "ports": {"A": 0, "B": 8}}]}]


def test_all_modules(tmp_path: Path, clusterd: Start) -> None:
    api = Api(tmp_path, OBJECTS)
    reached = {"kubeconfig": api.kubeconfig(namespace="mindie")}
    device = {"device_id": "0", "device_ip": "192.168.1.1", "device_logical_id": "0", "rank_id": "0"}
    table = {"version": "1.0", "status": "completed", "server_group_list": [
        {"group_id": "2", "deploy_server": "0", "server_count": "1", "server_list": [
            {"server_id": "192.0.2.1", "server_ip": "10.1.0.1", "device": [device]}]}]}
    jobs = (Job("uid-a", {"node-1": ["0", "8"]}), Job("mindie-1", table=json.dumps(table)),
            Job("uid-f", {"node-1": ["0", "8"]}, result="switch nic failed, report switch nic timeout"))
    one = clusterd(World(jobs, Times(first_push=0.05, switch=0.05)))
    server = {"server": one.address, "timeout": 10}
    nics = {**server, **reached, "job_id": "uid-a", "direction": "failover", "nics": [{"node": "node-1", "qdd": "QDD8"}], "topology": LEAF, "pause": 0}
    (tmp_path / "packages/mindx_elastic").mkdir(parents=True)
    (tmp_path / "packages/mindx_elastic/__init__.py").write_text("raise SystemExit\n__version__ = '7.0.RC1'\n")
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "from_config_maps": ("clusterd_rank_table_info", {**reached, "job_id": "mindie-1"}),
        "no_such_job": ("clusterd_rank_table_info", {**reached, "job_name": "none"}),
        "without_confirm": ("clusterd_rank_table_info", {**server, "source": "grpc", "job_id": "mindie-1"}),
        "over_grpc": ("clusterd_rank_table_info", {**server, "source": "grpc", "job_id": "mindie-1", "confirm": True}),
        "silent": ("clusterd_rank_table_info", {**server, "source": "grpc", "job_id": "uid-a", "confirm": True, "wait": 1}),
        "jobs": ("clusterd_job_info", {**reached, "leaf": "leaf-1", "topology": LEAF}),
        "jobs_over_grpc": ("clusterd_job_info", {**server, "source": "grpc", "wait": 3}),
        "switch_without_confirm": ("clusterd_nic_switch", nics),
        "switch": ("clusterd_nic_switch", {**nics, "confirm": True}),
        "failed_switch": ("clusterd_nic_switch", {**nics, "job_id": "uid-f", "confirm": True}),
        "switch_of_nothing": ("clusterd_nic_switch", {**nics, "nics": [], "confirm": True}),
        "agent": ("elastic_agent_info", {"paths": [str(tmp_path / "packages")]}),
        "faults": ("clusterd_fault_info", {**server, "timeout": 4}),
        "written": ("rank_table", {"tables": ["{{ from_config_maps.rank_table }}"], "format": "global", "path": str(tmp_path / "global.json")}),
        "one_group": ("rank_table", {"tables": ["{{ over_grpc.rank_table }}"], "format": "global", "path": str(tmp_path / "one.json")}),
    }
    tasks = [once(name, PREFIX + module, options) for name, (module, options) in calls.items()]
    explained = once("explained", "ansible.builtin.debug", {"msg": "{{ query('hccn.cluster.clusterd_code', switch.code, 'ProcessRescheduleOff') }}"})
    code, output, kept = play(tmp_path, {"n1": {}}, [*tasks, explained, keep(tmp_path, *calls, "explained")])
    api.close()
    assert code == 0, output
    assert {name: (kept[name]["failed"], kept[name]["changed"]) for name in calls if kept[name]["failed"] or kept[name]["changed"]} == {
        "no_such_job": (True, False), "without_confirm": (True, False), "silent": (True, False),
        "switch_without_confirm": (True, False), "switch": (False, True), "failed_switch": (True, True), "switch_of_nothing": (True, False),
        "written": (False, True), "one_group": (False, True)}

    assert [instance["config_map"] for instance in kept["from_config_maps"]["instances"]] == ["mindie/rings-config-a", "mindie/rings-config-b"]
    assert json.loads((tmp_path / "global.json").read_text()) == kept["from_config_maps"]["rank_table"]
    assert json.loads((tmp_path / "one.json").read_text()) == table
    assert (kept["over_grpc"]["rank_table"], kept["over_grpc"]["received"], kept["over_grpc"]["preempted"]) == (table, 1, False)
    assert [kept[name]["error"]["code"] for name in ("no_such_job", "without_confirm", "silent")] == ["no_rank_table", "invalid_input", "silent"]
    assert [(job["job_id"], job["nics"]) for job in kept["jobs"]["jobs"]] == [("uid-a", [{"node": "node-1", "devices": [0, 8]}])]
    assert [(job["job_id"], job["nodes"]) for job in kept["jobs_over_grpc"]["jobs"]] == [("uid-a", []), ("mindie-1", []), ("uid-f", [])]
    assert kept["jobs"]["jobs"][0]["stale"] is False
    assert kept["from_config_maps"]["clusterd_version"] is None
    assert kept["agent"]["packages"] == [{"path": str(tmp_path / "packages/mindx_elastic"), "version": "7.0.RC1", "retired": True}]
    assert kept["explained"]["msg"][0] == kept["switch"]["code_explained"]
    assert [(entry["code"], entry["meaning"]) for entry in kept["explained"]["msg"]] == [(0, "accepted"), (403, "process-level recovery is off")]
    switched = kept["switch"]
    assert (switched["status"], switched["code"], switched["result"]) == ("finished", 0, "switch nic finish")
    assert switched["request"] == {"jobID": "uid-a", "nicOps": {"node-1": {"dev": ["0", "8"], "op": [True, True]}}}
    assert switched["unchecked"][:3] == [
        "the product of node node-1 is A3: neither nodes nor products has it",
        "the links of NPU 0, 8 on node node-1: nodes has no result of device_info for it",
        "process-level recovery of the job: no PodGroup belongs to uid-a"]
    assert (kept["failed_switch"]["status"], kept["failed_switch"]["msg"].split(";")[0]) == (
        "failed", "the switch failed: switch nic failed, report switch nic timeout: not all NPUs were switched: not all workers reported in time")
    assert one.paths().count("/Recover/SwitchNicTrack") == 2
    assert (kept["faults"]["faults"], kept["faults"]["info"]) == ([], "Succeed")
    assert kept["faults"]["warnings"] == ["timeout is 4 s: ClusterD answers 10 queries of faults per second, and the others wait in a queue for up to 5 s. "
                                          "Set timeout to 5 or more"]
    assert {request.split()[0] for request in api.requests} == {"GET"}


def test_fault_module(clusterd: Start) -> None:
    server = {"server": clusterd(World((Job("uid-a"),))).address}
    calls: dict[str, dict[str, Any]] = {"mistyped": {"job_id": "mistyped"}, "chinese": {"job_id": "作业作业作业作业"}, "unconfirmed": {"watch": 1},
                                        "watched": {"watch": 1, "confirm": True}}
    found = {name: call_module("clusterd_fault_info", {**server, **options}) for name, options in calls.items()}
    assert {name: result.get("failed", False) for name, result in found.items()} == {"mistyped": True, "chinese": True, "unconfirmed": True, "watched": False}
    assert found["mistyped"]["error"]["code"] == "unknown_job"
    assert found["chinese"]["msg"].split(" (")[0] == "job_id: ClusterD accepts only ASCII characters without spaces, but 作业作业作业作业 contains 业 作"
    assert (found["watched"]["faults"], found["watched"]["signals"], found["watched"]["received"]) == ([], [], 0)


@pytest.mark.parametrize(("package", "name"), [("grpc", "grpcio"), ("google.protobuf", "protobuf"), ("yaml", "PyYAML")])
def test_missing_package_is_named(package: str, name: str) -> None:
    program = (f"import sys; sys.modules[{package!r}] = None\n"
               "from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import options, nic_switch\n"
               "print([name for name, _ in options.missing(grpc=True, kubernetes=True)])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env={"PYTHONPATH": str(ROOT / "collections")})
    assert done.stdout == f"['{name}']\n", done.stderr
