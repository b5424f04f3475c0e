"""Jobs and faults over gRPC, with the server's limits."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import faults, jobs
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError

from tests.integration.clusterd.conftest import Start
from tests.simulator.clusterd_sim.gate import Gate
from tests.simulator.clusterd_sim.server import ClusterD
from tests.simulator.clusterd_sim.world import Job, Limits, Times, World

pytestmark = pytest.mark.usefixtures("no_proxy")

SUBSCRIBE = "/fault.Fault/SubscribeFaultMsgSignal"
HCCL = json.dumps({"status": "completed", "server_list": [
    {"server_id": "192.0.2.1", "server_name": "node-1", "device": [{"device_id": "0", "rank_id": "0"}, {"device_id": "8", "rank_id": "1"}]}]})
JOBS = (Job("job-0001", {"node-1": ["0", "8"]}, hccl=HCCL), Job("job-0002", {"node-2": ["0"]}, name="other", status="pending"),
        Job("job-0003", name="coordinator"))
FAULT = {"nodeName": "node-1", "nodeIP": "192.0.2.1", "nodeSN": "S1", "faultLevel": "UnHealthy", "faultDevice": [
    {"deviceId": "3", "deviceType": "NPU", "faultCodes": ["81078603"], "faultLevel": "UnHealthy", "faultType": ["CardUnhealthy"], "faultReason": ["link down"],
     "switchFaultInfos": [{"faultCode": "x", "switchChipId": "1", "switchPortId": "2", "faultTime": "9", "faultLevel": "NotHandle"}], "faultLevels": ["L4"]}]}


def listed(one: ClusterD, seconds: float = 3, role: str = "DefaultUser1") -> list[dict[str, Any]]:
    with Channel(Server(one.address), 3) as channel:
        return jobs.over_grpc(channel, role, seconds)


def test_all_jobs(clusterd: Start) -> None:
    one = clusterd(World(JOBS))
    assert listed(one) == [
        {"job_id": "job-0001", "name": "train", "namespace": "default", "status": "running", "framework": "pytorch", "deleted": False,
         "nodes": [{"node": "node-1", "address": "192.0.2.1", "devices": [0, 8]}]},
        {"job_id": "job-0002", "name": "other", "namespace": "default", "status": "pending", "framework": "pytorch", "deleted": False, "nodes": None},
        {"job_id": "job-0003", "name": "coordinator", "namespace": "default", "status": "running", "framework": "pytorch", "deleted": False, "nodes": []}]
    assert [(path, request["role"]) for path, request in one.calls] == [
        ("/job.Job/Register", "DefaultUser1"), ("/job.Job/SubscribeJobSummarySignalList", "DefaultUser1")]


def test_limits_of_jobs(clusterd: Start) -> None:
    with pytest.raises(HccnError, match="role:me is not in whitelist"):
        listed(clusterd(World(JOBS)), role="me")
    with pytest.raises(HccnError, match="429 RateLimitedCode: too many requests or clients: too many clients registered"):
        listed(clusterd(World(JOBS, limits=Limits(clients=0))))
    with pytest.raises(HccnError, match="role DefaultUser1 exceeded max subscription limit: current 0, max 0"):
        listed(clusterd(World(JOBS, limits=Limits(subscriptions=0))))
    with pytest.raises(HccnError, match="does not implement /job.Job/SubscribeJobSummarySignalList"):
        listed(clusterd(World(JOBS), lacking=frozenset({"/job.Job/SubscribeJobSummarySignalList"})))
    assert [job["nodes"] for job in listed(clusterd(World(JOBS[:2], limits=Limits(npus=0))))] == [None, None]
    assert listed(clusterd(World()), seconds=0.2) == []


def queried(one: ClusterD, job_id: str = "") -> list[dict[str, Any]]:
    with Channel(Server(one.address), 3) as channel:
        return faults.query(channel, job_id, "hccn.cluster")["faults"]


NODE = {"node_name": "node-1", "node_ip": "192.0.2.1", "node_sn": "S1", "fault_level": "UnHealthy", "devices": [
    {"device_id": "3", "device_type": "NPU", "fault_codes": ["81078603"], "fault_level": "UnHealthy", "fault_type": ["CardUnhealthy"],
     "fault_reason": ["link down"], "fault_levels": ["L4"], "switch_fault_infos": [
         {"fault_code": "x", "switch_chip_id": "1", "switch_port_id": "2", "fault_time": "9", "fault_level": "NotHandle"}]}]}


def test_faults_of_the_cluster_and_of_a_job(clusterd: Start) -> None:
    world = World(JOBS)
    world.faults.report("job-0001", [FAULT])
    one = clusterd(world)
    assert queried(one) == queried(one, "job-0001") == [NODE]
    assert queried(one, "job-0002") == []
    assert set(one.paths()) == {"/fault.Fault/GetFaultMsgSignal"}
    with pytest.raises(InputError, match="ClusterD accepts ids of 8 to 128 characters, but 'short' has 5"):
        queried(one, "short")


def test_unknown_job_is_not_healthy(clusterd: Start) -> None:
    one = clusterd(World(JOBS, mindie=frozenset({"mindie-1"})))
    for job in ("job-unknown", "mindie-1"):
        with pytest.raises(HccnError) as caught:
            queried(one, job)
        assert (caught.value.code, caught.value.message) == (
            "unknown_job", f"ClusterD has no job {job}: job with jobId: {job} not found fault info")
    with pytest.raises(HccnError) as caught:
        watched(one, "mindie-1", "me", 1)
    assert caught.value.code == "unknown_job"
    assert "as role: mindie-ms-server, mindie-ms-controller, mindie-ms-coordinator" in caught.value.hint
    assert watched(one, "mindie-1", "mindie-ms-server", 0.4).received == 0


def test_limits_of_faults(clusterd: Start) -> None:
    one = clusterd(World(limits=Limits(faults=2, fault_queue=0)))
    queried(one)
    queried(one)
    with pytest.raises(HccnError) as caught:
        queried(one)
    assert caught.value.code == "rate_limited"


def watched(one: ClusterD, job: str, role: str, seconds: float) -> faults.Watch:
    found = faults.Watch()
    with Channel(Server(one.address), 3) as channel:
        faults.watch(channel, job, role, seconds, found)
    return found


def later(one: ClusterD, *reports: tuple[str, list[dict[str, Any]]]) -> threading.Thread:
    """Report faults of jobs when a client has subscribed."""
    def report() -> None:
        one.wait_for(SUBSCRIBE)
        time.sleep(0.2)
        for job, nodes in reports:
            one.world.faults.report(job, nodes)

    thread = threading.Thread(target=report)
    thread.start()
    return thread


def test_watching_a_job(clusterd: Start) -> None:
    one = clusterd(World(JOBS))
    thread = later(one, ("job-0001", [FAULT]), ("job-0001", [FAULT]), ("job-0002", [FAULT]), ("job-0001", []))
    found = watched(one, "job-0001", "me", 1)
    thread.join()
    assert found.as_dict() == {"received": 2, "faults": [], "signals": [
        {"job_id": "job-0001", "signal_type": "fault", "faults": [NODE]}, {"job_id": "job-0001", "signal_type": "normal", "faults": []}]}


@pytest.mark.parametrize("ok_at_deadline", [False, True])
def test_watching_the_cluster_merges_the_faults_of_all_jobs(clusterd: Start, ok_at_deadline: bool) -> None:
    """Each signal is of one job, and an end without an error at the deadline is the deadline."""
    one = clusterd(World(JOBS, Times(ok_at_deadline=ok_at_deadline)))
    one.world.faults.report("job-0001", [FAULT])
    other = {**FAULT, "nodeName": "node-2"}
    thread = later(one, ("job-0002", [FAULT, other]), ("job-0003", [FAULT]), ("job-0003", []))
    found = watched(one, "", "me", 1)
    thread.join()
    assert [(signal["job_id"], signal["signal_type"], len(signal["faults"])) for signal in found.signals] == [
        ("job-0001", "fault", 1), ("job-0002", "fault", 2), ("job-0003", "fault", 1), ("job-0003", "normal", 0)]
    assert [(node["job_id"], node["node_name"]) for node in found.faults] == [("job-0001", "node-1"), ("job-0002", "node-1"), ("job-0002", "node-2")]


def test_version_7_1_has_no_watch_of_the_cluster(clusterd: Start) -> None:
    with pytest.raises(HccnError) as caught:
        watched(clusterd(World(JOBS, version="v7.1.RC1")), "", "me", 1)
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        "not_supported", "ClusterD 7.1 has no watch of the whole cluster: ClusterD refuses /fault.Fault/Register: jobId= not exist and is not multi-instance",
        "set job_id to watch one job, or query the cluster without watch")


def test_watch_goes_on_after_a_lost_stream(clusterd: Start) -> None:
    one = clusterd(World(JOBS))
    gate = Gate(one.port, 100, 100)

    def cut() -> None:
        one.wait_for(SUBSCRIBE)
        one.world.faults.report("job-0001", [FAULT])
        time.sleep(0.3)
        gate.cut()
        one.wait_for(SUBSCRIBE, 2)
        time.sleep(0.2)
        one.world.faults.report("job-0002", [FAULT])

    thread = threading.Thread(target=cut)
    thread.start()
    found = faults.Watch()
    with Channel(Server(f"127.0.0.1:{gate.port}"), 3) as channel:
        faults.watch(channel, "", "me", 3, found)
    thread.join()
    gate.close()
    assert [node["job_id"] for node in found.faults] == ["job-0001", "job-0002"]
    assert one.paths() == ["/fault.Fault/Register", SUBSCRIBE] * 2


def test_watch_that_another_client_ends_keeps_its_signals(clusterd: Start) -> None:
    one = clusterd(World(JOBS))
    one.world.faults.report("job-0001", [FAULT])

    def another() -> None:
        one.wait_for(SUBSCRIBE)
        time.sleep(0.3)
        one.world.faults.register({"jobId": "", "role": "me"})

    thread = threading.Thread(target=another)
    thread.start()
    found = faults.read({"server": one.address, "tls": False, "ca_cert": None, "client_cert": None, "client_key": None, "server_name": None, "timeout": 3,
                         "job_id": "", "role": "me", "watch": 8, "confirm": True})
    thread.join()
    assert (found["failed"], found["error"]["code"], found["received"]) == (True, "preempted", 1)
    assert [node["job_id"] for node in found["faults"]] == ["job-0001"]
