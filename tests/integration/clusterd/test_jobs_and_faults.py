"""Jobs and faults over gRPC, with the server's limits."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import faults, jobs
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError

from tests.integration.clusterd.conftest import Start
from tests.simulator.clusterd_sim.server import ClusterD
from tests.simulator.clusterd_sim.world import Job, Limits, World

pytestmark = pytest.mark.usefixtures("no_proxy")

HCCL = json.dumps({"status": "completed", "server_list": [
    {"server_id": "192.0.2.1", "server_name": "node-1", "device": [{"device_id": "0", "rank_id": "0"}, {"device_id": "8", "rank_id": "1"}]}]})
JOBS = (Job("job-0001", {"node-1": ["0", "8"]}, hccl=HCCL), Job("job-0002", {"node-2": ["0"]}, name="other", status="pending"))
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
        {"job_id": "job-0002", "name": "other", "namespace": "default", "status": "pending", "framework": "pytorch", "deleted": False, "nodes": None}]
    assert one.calls == [("/job.Job/Register", {"role": "DefaultUser1", "clientId": ""}),
                         ("/job.Job/SubscribeJobSummarySignalList", {"role": "DefaultUser1", "clientId": "client-1"})]


def test_limits_of_jobs(clusterd: Start) -> None:
    with pytest.raises(HccnError, match="role:me is not in whitelist"):
        listed(clusterd(World(JOBS)), role="me")
    with pytest.raises(HccnError, match="429 RateLimitedCode: too many requests or clients: client num limit, max client num is 0"):
        listed(clusterd(World(JOBS, limits=Limits(clients=0))))
    with pytest.raises(HccnError, match="role DefaultUser1 exceeded max subscription limit: current 0, max 0"):
        listed(clusterd(World(JOBS, limits=Limits(subscriptions=0))))
    with pytest.raises(HccnError, match="does not implement /job.Job/SubscribeJobSummarySignalList"):
        listed(clusterd(World(JOBS), lacking=frozenset({"/job.Job/SubscribeJobSummarySignalList"})))
    assert [job["nodes"] for job in listed(clusterd(World(JOBS, limits=Limits(npus=1))))] == [None, None]
    assert listed(clusterd(World()), seconds=0.2) == []


def queried(one: ClusterD, job_id: str = "") -> list[dict[str, Any]]:
    with Channel(Server(one.address), 3) as channel:
        return faults.query(channel, job_id, "hccn.cluster")


def test_faults_of_the_cluster_and_of_a_job(clusterd: Start) -> None:
    world = World(JOBS)
    world.faults["nodeFaultInfo"] = [FAULT]
    one = clusterd(world)
    assert queried(one) == queried(one, "job-0001") == [
        {"node_name": "node-1", "node_ip": "192.0.2.1", "node_sn": "S1", "fault_level": "UnHealthy", "devices": [
            {"device_id": "3", "device_type": "NPU", "fault_codes": ["81078603"], "fault_level": "UnHealthy", "fault_type": ["CardUnhealthy"],
             "fault_reason": ["link down"], "fault_levels": ["L4"], "switch_fault_infos": [
                 {"fault_code": "x", "switch_chip_id": "1", "switch_port_id": "2", "fault_time": "9", "fault_level": "NotHandle"}]}]}]
    assert queried(one, "job-unknown") == []
    assert set(one.paths()) == {"/fault.Fault/GetFaultMsgSignal"}
    with pytest.raises(InputError, match="ClusterD accepts ids of 8 to 128 characters, but 'short' has 5"):
        queried(one, "short")


def test_limits_of_faults(clusterd: Start) -> None:
    one = clusterd(World(limits=Limits(faults=2)))
    queried(one)
    queried(one)
    with pytest.raises(HccnError) as caught:
        queried(one)
    assert caught.value.code == "rate_limited"


def test_watching_faults(clusterd: Start) -> None:
    world = World(JOBS)
    one = clusterd(world)

    def later() -> None:
        one.wait_for("/fault.Fault/SubscribeFaultMsgSignal")
        for signal in ({"signalType": "fault", "nodeFaultInfo": [FAULT]},) * 2:
            world.fault_publishers["job-0001", "me"].messages.put(signal)

    thread = threading.Thread(target=later)
    thread.start()
    with Channel(Server(one.address), 3) as channel:
        signals = faults.watch(channel, "job-0001", "me", 0.6)
    thread.join()
    assert [(signal["signal_type"], [node["node_name"] for node in signal["faults"]]) for signal in signals] == [("normal", []), ("fault", ["node-1"])]


def test_watch_that_another_client_ends(clusterd: Start) -> None:
    one = clusterd(World(JOBS))

    def another() -> None:
        one.wait_for("/fault.Fault/SubscribeFaultMsgSignal")
        one.world.fault_register({"jobId": "", "role": "me"})

    thread = threading.Thread(target=another)
    thread.start()
    with Channel(Server(one.address), 3) as channel, pytest.raises(HccnError) as caught:
        faults.watch(channel, "", "me", 8)
    thread.join()
    assert caught.value.code == "preempted"
