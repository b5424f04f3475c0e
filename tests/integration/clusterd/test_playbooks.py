"""The playbooks nic_switch and switch_upgrade on two simulated A3 servers, with simulated ClusterD and Kubernetes API."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.clusterd.api import Api, Object
from tests.integration.clusterd.certificates import Authority
from tests.simulator.clusterd_sim.server import ClusterD, Tls
from tests.simulator.clusterd_sim.world import Job, Times, World
from tests.lib.hosts import node, set_state, tools, write_inventory
from tests.lib.playbook import run_playbook

HOSTS = ("node-1", "node-2")
LEAF = [{"leaf": "leaf-1", "backup": "leaf-2", "qdds": [
    {"qdd": f"QDD{8 - 2 * place}", "backup": f"QDD{7 - 2 * place}", "ports": {"A": 2 * place, "B": 8 + 2 * place}} for place in range(4)]}]
SWITCH, RESULT = "/Recover/SwitchNicTrack", "/Recover/SubscribeSwitchNicSignal"
ALL = ["0", "8", "2", "10", "4", "12", "6", "14"]


def server(name: str, *devices: int) -> Object:
    return {"server_id": "192.0.2.1", "server_name": name, "device": [{"device_id": str(device), "rank_id": "0"} for device in devices]}


def summary(job: str, *servers: Object, status: str = "running") -> Object:
    return {"metadata": {"name": f"job-summary-{job}", "namespace": "train", "labels": {"outside-job-info": "true"}},
            "data": {"job_id": f"uid-{job}", "job_name": job, "job_status": status, "framework": "pytorch", "operator": "add", "cm_index": "0", "total": "1",
                     "hccl.json": json.dumps({"status": "completed", "server_list": list(servers)})}}


def pod_group(job: str, recovery: str = "on") -> Object:
    return {"metadata": {"name": f"{job}-pg", "namespace": "train", "labels": {"process-recover-enable": recovery},
                         "ownerReferences": [{"uid": f"uid-{job}", "controller": True}]}, "status": {"phase": "Running"}}


def pod(job: str, number: int = 0, **variables: str) -> Object:
    env = {"PROCESS_RECOVER": "on", "MS_ENABLE_TFT": "{TTP:1}", "TASKD_PROCESS_ENABLE": "on", **variables}
    container = {"name": "ascend", "env": [{"name": name, "value": value} for name, value in env.items()], "ports": [{"containerPort": 9601}],
                 "args": ["export MS_ENABLE_TFT='{TTP:1,TSP:1}'\nbash train_start.sh"]}
    return {"metadata": {"name": f"{job}-{number}", "namespace": "train", "labels": {}, "ownerReferences": [{"uid": f"uid-{job}", "controller": True}]},
            "spec": {"containers": [container]}, "status": {"phase": "Running"}}


class Site(NamedTuple):
    folder: Path
    clusterd: ClusterD
    api: Api

    def play(self, name: str, *arguments: str, **variables: Any) -> tuple[int, str]:
        (self.folder / "vars.json").write_text(json.dumps(variables))
        done = run_playbook(f"hccn.cluster.{name}", self.folder / "hosts", "-e", f"@{self.folder}/vars.json", *arguments, HOME=str(self.folder))
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr).replace('\\"', '"')

    def nic_switch(self, *arguments: str, **variables: Any) -> tuple[int, str]:
        common = {"hccn_clusterd": {"server": self.clusterd.address}, "nic_switch_job_id": "uid-a", "nic_switch_direction": "failover",
                  "nic_switch_topology": LEAF, "hccn_kubernetes": {"kubeconfig": self.api.kubeconfig()},
                  "nic_switch_nics": [{"node": "node-1", "leaf": "leaf-1"}], "nic_switch_pause_s": 1}
        return self.play("nic_switch", *arguments, **{**common, **variables})

    def upgrade(self, *arguments: str, **variables: Any) -> tuple[int, str]:
        common = {"hccn_clusterd": {"server": self.clusterd.address}, "switch_upgrade_leaf": "leaf-1", "switch_upgrade_topology": LEAF,
                  "hccn_kubernetes": {"kubeconfig": self.api.kubeconfig()}, "switch_upgrade_confirm": True, "switch_upgrade_pause_s": 1}
        return self.play("switch_upgrade", *arguments, **{**common, **variables})

    def keep(self, state: Object) -> None:
        """Write the state file of an earlier run."""
        path = self.folder / ".hccn.cluster/switch_upgrade.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(state))

    @property
    def state(self) -> Any:
        path = self.folder / ".hccn.cluster/switch_upgrade.json"
        return json.loads(path.read_text()) if path.exists() else None

    def switched(self) -> list[tuple[str, bool]]:
        """Return the jobs and directions of the switches since the last call."""
        sent = [(request["jobID"], next(iter(request["nicOps"].values()))["op"][0]) for path, request in self.clusterd.calls if path == SWITCH]
        self.clusterd.calls.clear()
        return sent


def cluster(folder: Path, products: dict[str, str]) -> Path:
    """Make simulated hosts, of the products by name, and their inventory."""
    write_inventory(folder, {name: tools(node(folder / name, "--product", product, devices=16 if product == "A3" else 8))
                             for name, product in products.items()})
    return folder


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cluster(tmp_path_factory.mktemp("site"), dict.fromkeys(HOSTS, "A3"))


@pytest.fixture
def site(nodes: Path, no_proxy: None) -> Iterator[Site]:
    with served(nodes) as made:
        yield made


@contextlib.contextmanager
def served(nodes: Path) -> Iterator[Site]:
    """Yield a site with jobs on both hosts."""
    devices = {name: [str(device) for device in range(16)] for name in HOSTS}
    world = World(tuple(Job(f"uid-{name}", devices) for name in "abc"), Times(switch=0.05))
    objects = {"configmaps": [summary("a", server("node-1", *range(16))), summary("b", server("node-2", *range(0, 16, 2))),
                              summary("c", server("node-2", 1, 3)), summary("d", server("node-1", 0), status="complete")],
               "podgroups": [pod_group("a"), pod_group("b"), pod_group("c")], "pods": [pod("a"), pod("a", 1), pod("b"), pod("c")]}
    made = Site(nodes, ClusterD(world), Api(nodes, objects))
    try:
        yield made
        assert made.clusterd.forbidden == []
    finally:
        made.clusterd.close()
        made.api.close()
        (nodes / ".hccn.cluster/switch_upgrade.json").unlink(missing_ok=True)


@pytest.mark.smoke("nic_switch")
def test_nic_switch_validates_before_it_switches(site: Site) -> None:
    code, output = site.nic_switch("--check")
    assert code == 0, output
    assert 'Would be sent: {"node-1": {"dev": ["0", "8", "2", "10", "4", "12", "6", "14"], "op": [true, true, true, true, true, true, true, true]}}' in output
    assert "process-level recovery is on (PodGroup train/a-pg)" in output
    assert ("2 of 2 pods of the job are running; TASKD_PROCESS_ENABLE is on in the specs of 2 pods; MindIO is enabled in the specs of 2 pods "
            "(MS_ENABLE_TFT with TSP:1); port 9601 of TaskD is declared in the specs of 2 pods. Not checked: training iterates normally") in output
    assert output.split("Not checked: ")[1].count("TASKD_PROCESS_ENABLE") == 0
    assert site.clusterd.calls == []

    code, output = site.nic_switch(nic_switch_confirm=True)
    assert code == 0, output
    assert "failover of job uid-a: finished" in output
    assert site.clusterd.calls == [(SWITCH, {"jobID": "uid-a", "nicOps": {"node-1": {"dev": ALL, "op": [True] * 8}}}), (RESULT, {"jobID": "uid-a"})]


def test_job_with_a_link_that_is_down_and_a_pod_without_taskd_is_refused(site: Site) -> None:
    site.api.objects["pods"][1] = pod("a", 1, TASKD_PROCESS_ENABLE="off")
    set_state(site.folder / "node-1", "14.link=0")
    try:
        code, said = site.nic_switch(nic_switch_confirm=True)
    finally:
        set_state(site.folder / "node-1", "14.link=1")
    assert code != 0
    assert "nothing was switched: the link of NPU 14 on node node-1 is DOWN: the switch would fail" in said
    assert "(repair the link, or exclude this NPU), and 1 more" in said
    assert "\"message\": \"TASKD_PROCESS_ENABLE is 'off' in the spec of the pod train/a-1: TaskD does not take part in a switch\", \"rule\": \"taskd\"" in said
    assert site.clusterd.calls == []


@pytest.mark.long
def test_jobs_on_other_products_are_refused(tmp_path: Path, no_proxy: None) -> None:
    """A failed switch can end the job, so ClusterD is not asked."""
    with served(cluster(tmp_path, {"node-1": "A3", "node-2": "A2"})) as site:
        refused = "node node-2 has NPUs of the product A2 according to npu-smi: ClusterD switches the links of A3 only"
        code, said = site.nic_switch(nic_switch_job_id="uid-b", nic_switch_nics=[{"node": "node-2", "devices": [0]}], nic_switch_confirm=True)
        assert code != 0
        assert f"nothing was switched: {refused}" in said
        assert site.clusterd.calls == []

        code, said = site.upgrade()
        assert code != 0
        assert f"Nothing was switched: b: nothing was switched: {refused} (exclude this node)" in said
        assert (site.switched(), site.state) == ([], None)

        hosts = tmp_path / "hosts"
        hosts.write_text(hosts.read_text().replace("node-1 ", "node-1 validate_product=A2 "))
        code, said = site.nic_switch(nic_switch_confirm=True)
        assert code != 0
        assert "nothing was switched: node node-1 has NPUs of the product A2 according to the inventory: ClusterD switches the links of A3 only" in said
        assert site.clusterd.calls == []


def entry(job: str, *nics: Object) -> Object:
    """Return what the state file has about a job that was moved or is pending."""
    return {"job_id": f"uid-{job}", "name": job, "namespace": "train", "nics": list(nics), "direction": "failover"}


def test_one_job_that_cannot_be_switched_stops_all(site: Site) -> None:
    site.api.objects["podgroups"][1] = pod_group("b", "pause")
    code, output = site.upgrade("--check")
    assert code != 0
    assert "Nothing was switched: b: nothing was switched: process-level recovery of the job is off: the PodGroup train/b-pg" in output
    assert (site.switched(), site.state) == ([], None)


@pytest.mark.smoke("switch_upgrade")
def test_switch_upgrade_stops_at_the_first_refusal_and_switches_back(site: Site) -> None:
    """An earlier run did not learn whether it moved job a. Of the jobs b and e on node-2, ClusterD refuses e."""
    site.keep({"leaf": "leaf-1", "moved": {}, "pending": entry("a")})
    objects = site.api.objects
    objects["configmaps"][1:2] = [summary("b", server("node-2", 0, 8, 2, 10)), summary("e", server("node-2", 4, 12, 6, 14))]
    objects["podgroups"].append(pod_group("e"))
    objects["pods"].append(pod("e"))
    site.clusterd.world.jobs["uid-e"] = Job("uid-e", {"node-2": ["4", "12", "6", "14"]}, status="pending")
    code, output = site.upgrade(switch_upgrade_pending="done")
    assert code != 0
    assert ("train/e: ClusterD refused the switch, nothing was switched: 413 OMParamInvalid: the request does not fit the job: "
            "job:uid-e is not running") in output
    assert "Moved: train/b. Not moved: none." in output
    assert site.switched() == [("uid-b", True), ("uid-e", True)]
    assert (sorted(site.state["moved"]), "pending" in site.state) == (["uid-a", "uid-b"], False)

    # One job has ended after the upgrade.
    objects["configmaps"][0] = summary("a", server("node-1", *range(16)), status="complete")
    code, output = site.upgrade(switch_upgrade_direction="switchback")
    assert code == 0, output
    assert "switchback of leaf leaf-1: 1 jobs moved back: train/b. Ended meanwhile: a" in output
    assert (site.switched(), site.state) == ([("uid-b", False)], None)


@pytest.mark.long
def test_stopped_switchback_continues_with_the_next_run(site: Site) -> None:
    entries = {f"uid-{job}": entry(job, {"node": node_, "devices": [0]}) for job, node_ in (("a", "node-1"), ("b", "node-2"))}
    site.keep({"leaf": "leaf-1", "moved": entries})
    site.clusterd.world.jobs["uid-b"].status = "pending"
    code, output = site.upgrade(switch_upgrade_direction="switchback")
    assert code != 0
    assert "Moved back: train/a. Not moved back: none." in output
    assert (site.switched(), list(site.state["moved"])) == ([("uid-a", False), ("uid-b", False)], ["uid-b"])

    site.clusterd.world.jobs["uid-b"].status = "running"
    code, output = site.upgrade(switch_upgrade_direction="switchback")
    assert code == 0, output
    assert "switchback of leaf leaf-1: 1 jobs moved back: train/b" in output
    assert site.clusterd.paths() == [SWITCH, RESULT]
    assert (site.switched(), site.state) == ([("uid-b", False)], None)


def test_job_of_a_killed_module_stays_pending(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_request: Object) -> Object:
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"HOME={site.folder}\0" in (path / "environ").read_text(errors="replace") and "AnsiballZ_clusterd_nic" in (path / "cmdline").read_text():
                    os.kill(int(path.name), signal.SIGKILL)
        return {"code": 0, "info": ""}

    monkeypatch.setitem(site.clusterd._served, SWITCH, killed)
    code, output = site.upgrade(ansible_pipelining=False)
    assert code != 0
    assert "Moved: none. Not moved: train/b." in output
    assert site.switched() == [("uid-a", True)]
    assert (site.state["moved"], site.state["pending"]["job_id"]) == ({}, "uid-a")

    code, output = site.upgrade()
    assert code != 0
    assert "check the job, then set switch_upgrade_pending to done or not_done" in output
    assert site.switched() == []


def test_switch_upgrade_stops_if_another_run_has_started(site: Site) -> None:
    """The other run writes the state while this one validates its jobs."""
    others = {"leaf": "leaf-1", "moved": {}, "pending": entry("a")}
    answer, path = site.api.answer, site.folder / ".hccn.cluster/switch_upgrade.json"

    def meanwhile(target: str) -> tuple[int, Object]:
        if "podgroups" in target:
            site.keep(others)
        return answer(target)

    site.api.answer = meanwhile  # type: ignore[method-assign]
    code, output = site.upgrade()
    assert code != 0
    assert (f"{path} has changed since this run read it: another run is switching jobs of this leaf. Moved by this run: none. "
            "Wait until the other run has ended") in output
    assert (site.switched(), site.state) == ([], others)


def test_rank_table_of_a_job_is_written_to_all_hosts(site: Site) -> None:
    server_of = {"server_id": "192.0.2.1", "device": [{"device_id": "0", "device_ip": "192.168.1.1", "rank_id": "0"}]}
    table = {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [server_of]}
    site.api.objects["configmaps"].append(
        {"metadata": {"name": "rings-config-a", "namespace": "train"}, "data": {"hccl.json": json.dumps(table)}})
    code, output = site.play("rank_table", rank_table_source="clusterd", rank_table_path="{{ hccn_conf | dirname }}/hccl.json",
                           rank_table_job={"job_name": "a"}, hccn_kubernetes={"kubeconfig": site.api.kubeconfig()})
    assert code == 0, output
    assert "Rank table: 1 servers, 1 ranks" in output
    written = [json.loads((site.folder / name / "etc/hccl.json").read_text()) for name in HOSTS]
    assert [found["server_list"] for found in written] == [[server_of]] * 2


def test_table_of_one_group_is_not_written_if_its_reader_is_named(site: Site) -> None:
    """The documentation of ClusterD shows one group of instances; MindIE-Motor accepts 2 to 98 groups. test_modules.py writes one without a named reader."""
    device = {"device_id": "0", "device_ip": "192.168.1.1", "device_logical_id": "0", "rank_id": "0"}
    table = {"version": "1.0", "status": "completed", "server_group_list": [
        {"group_id": "2", "deploy_server": "0", "server_count": "1", "server_list": [
            {"server_id": "192.0.2.1", "server_ip": "10.1.0.1", "device": [device]}]}]}
    site.clusterd.world.jobs["uid-a"].table = json.dumps(table)
    code, said = site.play("rank_table", rank_table_readers=["mindie_motor"], hccn_clusterd={"server": site.clusterd.address},
                           rank_table_job={"source": "grpc", "job_id": "uid-a", "confirm": True, "wait_s": 20}, rank_table_source="clusterd",
                           rank_table_format="global", rank_table_path="{{ hccn_conf | dirname }}/one.json")
    assert code != 0
    assert "the number of groups is 1: MindIE-Motor accepts 2 to 98 (rule group_count), and 1 more problem" in said
    assert not any((site.folder / name / "etc/one.json").exists() for name in HOSTS)


def test_rank_table_over_mutual_tls(nodes: Path, authority: Authority, no_proxy: None) -> None:
    server_of = {"server_id": "192.0.2.1", "server_ip": "10.1.0.1", "device": [
        {"device_id": "0", "device_ip": "192.168.1.1", "device_logical_id": "0", "rank_id": "0"}]}
    table = {"version": "1.0", "status": "completed", "server_group_list": [
        {"group_id": "0", "server_count": "1", "server_list": [{"server_id": "192.0.2.3", "server_ip": "10.1.0.3"}]},
        {"group_id": "1", "server_count": "1", "server_list": [{"server_id": "192.0.2.4", "server_ip": "10.1.0.4"}]},
        {"group_id": "2", "deploy_server": "0", "server_count": "1", "server_list": [server_of]}]}
    pair, client = authority.pair("clusterd.example"), authority.pair("client")
    one = ClusterD(World((Job("mindie-1", table=json.dumps(table)),), Times(first_push=0.05)),
                   Tls(pair.key.read_bytes(), pair.certificate.read_bytes(), authority.ca.read_bytes()))
    site = Site(nodes, one, Api(nodes, {}))
    paths = [nodes / name / "etc/global.json" for name in HOSTS]
    variables = {"hccn_clusterd": {"server": one.address, "ca_cert": str(authority.ca), "client_cert": str(client.certificate),
                                   "client_key": str(client.key)},
                 "rank_table_job": {"source": "grpc", "job_id": "mindie-1", "confirm": True, "wait_s": 20}, "rank_table_source": "clusterd",
                 "rank_table_format": "global", "rank_table_path": "{{ hccn_conf | dirname }}/global.json"}
    paths[1].write_text("{}")

    code, output = site.play("rank_table", "--check", **variables)
    assert code == 0, output
    assert (f"Rank table: {paths[0]} would be written on 1 of 2 hosts. Not predicted: the rank table: ClusterD is not queried in check mode, "
            "since") in output
    assert re.findall(r"(\S+) : ok=\d+ changed=(\d)", output) == [("localhost", "0"), ("node-1", "1"), ("node-2", "0")]
    assert (one.calls, paths[0].exists()) == ([], False)

    code, output = site.play("rank_table", **variables)
    assert code == 0, output
    assert "Rank table: 3 servers, 1 ranks" in output
    assert [json.loads(path.read_text()) for path in paths] == [table] * 2
    request = {"jobId": "mindie-1", "role": "hccn.cluster"}
    assert one.calls == [("/config.Config/Register", request), ("/config.Config/SubscribeRankTable", request)]
    one.close()
    site.api.close()
    for path in paths:
        path.unlink()
