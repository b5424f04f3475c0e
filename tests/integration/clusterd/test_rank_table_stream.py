"""The rank table of a job over gRPC and a real socket: the behavior of ClusterD towards subscribers."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import rank_table_info, rank_table_stream
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError

from tests.integration.clusterd.conftest import Start
from tests.lib.waiting import happens
from tests.simulator.clusterd_sim.server import ClusterD
from tests.simulator.clusterd_sim.world import Job, Times, World

pytestmark = pytest.mark.usefixtures("no_proxy")

SUBSCRIBE = "/config.Config/SubscribeRankTable"
COORDINATORS = [{"server_id": "192.0.2.1", "server_ip": "10.1.0.1"}, {"server_id": "192.0.2.2", "server_ip": "10.1.0.2"}]


def instance(group: str, address: str) -> dict[str, Any]:
    device = {"device_id": "0", "device_ip": address, "device_logical_id": "0", "rank_id": "0"}
    return {"group_id": group, "deploy_server": "0", "server_count": "1",
            "server_list": [{"server_id": "192.0.2.9", "server_ip": "10.1.0.9", "device": [device]}]}


def table(*groups: dict[str, Any], coordinators: list[dict[str, str]] = COORDINATORS) -> str:
    first = [{"group_id": "0", "server_count": "2", "server_list": coordinators}]
    return json.dumps({"version": "1.0", "status": "completed", "server_group_list": first + list(groups)})


FIRST = table(instance("2", "192.168.1.1"), instance("3", "192.168.1.2"))
RENUMBERED = table(instance("2", "192.168.1.2"), instance("3", "192.168.1.1"), coordinators=COORDINATORS[::-1])
SECOND = table(instance("2", "192.168.1.1"), instance("3", "192.168.1.2"), instance("4", "192.168.1.3"))


def world(first_push: float = 0.05, text: str = FIRST) -> World:
    return World((Job("job-1", table=text),), Times(first_push=first_push))


def subscribe(one: ClusterD, seconds: float = 10, settle: float = 0, job: str = "job-1") -> rank_table_stream.Received:
    with Channel(Server(one.address), 5) as channel:
        return rank_table_stream.subscribe(channel, job, "hccn.cluster", seconds, settle)


def test_subscription_registers_and_ends_with_the_first_table(clusterd: Start) -> None:
    one = clusterd(world())
    subscription = subscribe(one)
    assert subscription.table == json.loads(FIRST)
    assert [(message["duplicate"], message["groups"], message["servers"]) for message in subscription.messages] == [(False, 3, 4)]
    assert (subscription.received, subscription.preempted) == (1, False)
    assert one.calls == [("/config.Config/Register", {"jobId": "job-1", "role": "hccn.cluster"}), (SUBSCRIBE, {"jobId": "job-1", "role": "hccn.cluster"})]


def test_stream_without_registration_is_refused(clusterd: Start) -> None:
    one = clusterd(world())
    with Channel(Server(one.address), 5) as channel:
        stream = channel.stream("config", "SubscribeRankTable", {"jobId": "job-1", "role": "me"}, 5)
        with pytest.raises(HccnError, match="jobId=job-1 not registered, role=me") as caught:
            list(stream)
    assert caught.value.code == "refused"


def test_each_stream_needs_a_registration(clusterd: Start) -> None:
    one = clusterd(world())
    subscribe(one)
    assert happens(lambda: one.world.publishers == {}, 5)
    assert subscribe(one).table == json.loads(FIRST)


def test_the_first_table_takes_two_seconds(clusterd: Start) -> None:
    one = clusterd(World((Job("job-1", table=FIRST),)))
    with pytest.raises(HccnError) as caught:
        subscribe(one, seconds=1)
    assert caught.value.code == "silent"
    assert subscribe(one, seconds=8).table == json.loads(FIRST)


def test_table_that_is_complete_later_arrives_with_the_second_attempt(clusterd: Start) -> None:
    """ClusterD makes two attempts after a subscription and later ones after events."""
    one = clusterd(world(first_push=0.3, text=""))
    threading.Timer(0.6, setattr, (one.world.jobs["job-1"], "table", FIRST)).start()
    subscription = subscribe(one, seconds=8)
    assert (subscription.table, subscription.received) == (json.loads(FIRST), 1)


@pytest.mark.parametrize("job", ["job-1", "unknown"])
def test_missing_table_is_an_error(clusterd: Start, job: str) -> None:
    with pytest.raises(HccnError) as caught:
        subscribe(clusterd(world(text="")), seconds=0.3, job=job)
    assert (caught.value.code, caught.value.message) == ("silent", f"ClusterD sent no rank table of job {job} within 0.3 s, and no reason")
    assert "source configmap" in caught.value.hint


def test_stream_ended_by_another_client_is_preempted(clusterd: Start) -> None:
    one = clusterd(world(first_push=30))

    def another() -> None:
        one.wait_for(SUBSCRIBE)
        with Channel(Server(one.address), 5) as channel:
            channel.call("config", "Register", {"jobId": "job-1", "role": "controller"})

    thread = threading.Thread(target=another)
    thread.start()
    with pytest.raises(HccnError) as caught:
        subscribe(one)
    thread.join()
    assert (caught.value.code, caught.value.message) == (
        "preempted", "the stream of job job-1 ended before a rank table was received: another client has registered for the job")


def test_preemption_after_a_table_is_reported(clusterd: Start) -> None:
    one = clusterd(world())

    def another() -> None:
        one.wait_for(SUBSCRIBE)
        time.sleep(0.3)
        one.world.register({"jobId": "job-1"})

    thread = threading.Thread(target=another)
    thread.start()
    subscription = subscribe(one, settle=8)
    thread.join()
    assert (subscription.table, subscription.preempted) == (json.loads(FIRST), True)


def test_subscription_ends_the_stream_of_the_previous_client(clusterd: Start) -> None:
    """The module requires ``confirm`` for this reason."""
    one = clusterd(world(first_push=1))
    ended = threading.Event()

    def controller() -> None:
        with Channel(Server(one.address), 5) as channel:
            channel.call("config", "Register", {"jobId": "job-1", "role": "controller"})
            list(channel.stream("config", "SubscribeRankTable", {"jobId": "job-1", "role": "controller"}, 8))
            ended.set()

    thread = threading.Thread(target=controller)
    thread.start()
    one.wait_for(SUBSCRIBE)
    subscribe(one)
    thread.join()
    assert ended.is_set()


def test_duplicates_with_renumbered_groups_are_dropped(clusterd: Start) -> None:
    one = clusterd(world())

    def events() -> None:
        one.wait_for(SUBSCRIBE)
        time.sleep(0.2)
        for text in (FIRST, RENUMBERED, SECOND, SECOND):
            one.world.push("job-1", text)

    thread = threading.Thread(target=events)
    thread.start()
    subscription = subscribe(one, settle=0.6)
    thread.join()
    assert [message["duplicate"] for message in subscription.messages] == [False, True, True, False, True]
    assert (subscription.table, subscription.preempted) == (json.loads(SECOND), False)


def test_two_subscribers_share_the_messages(clusterd: Start) -> None:
    """Each message reaches one of them only, so a second subscriber makes the stream unreliable."""
    one = clusterd(world(first_push=30))
    got: list[str] = []

    def listen() -> None:
        with Channel(Server(one.address), 5) as channel:
            try:
                for message in channel.stream("config", "SubscribeRankTable", {"jobId": "job-1", "role": "r"}, 1.0):
                    got.append(message["rankTable"])
            except HccnError:
                pass

    with Channel(Server(one.address), 5) as channel:
        channel.call("config", "Register", {"jobId": "job-1", "role": "r"})
    threads = [threading.Thread(target=listen) for _ in range(2)]
    for thread in threads:
        thread.start()
    one.wait_for(SUBSCRIBE, 2)
    for number in range(6):
        one.world.push("job-1", json.dumps({"number": number}))
    for thread in threads:
        thread.join()
    assert sorted(got) == [json.dumps({"number": number}) for number in range(6)]


PARAMS = {"source": "grpc", "tls": False, "ca_cert": None, "client_cert": None, "client_key": None, "server_name": None, "timeout": 5, "job_id": "job-1",
          "role": "hccn.cluster", "confirm": True, "wait": 8, "settle": 0, "fail_on": "error", "readers": None}


def test_table_is_validated(clusterd: Start) -> None:
    """MindIE-Motor refuses two instances in one pod."""
    result = rank_table_info.read({**PARAMS, "server": clusterd(world()).address}, check_mode=False)
    assert result["failed"] is True
    assert result["msg"].startswith("the rank table has problems: ")
    assert [(problem["reader"], problem["message"]) for problem in result["problems"]] == [
        ("mindie_motor", "server_ip '10.1.0.9' is also used by server_group_list[1].server_list[0]")]
    assert result["rank_table"] == json.loads(FIRST)
    kept = rank_table_info.read({**PARAMS, "fail_on": "never", "server": clusterd(world()).address}, check_mode=False)
    assert ("failed" in kept, kept["problems"]) == (False, result["problems"])


@pytest.mark.parametrize(("readers", "severities"), [(None, ["warning", "warning"]), (["mindie_motor"], ["error", "error"]), ([], []), (["hccl"], ["error"])])
def test_table_of_one_group_is_refused_only_by_named_readers(clusterd: Start, readers: list[str] | None, severities: list[str]) -> None:
    """The documentation of ClusterD shows one group of instances, without coordinators and controllers."""
    text = json.dumps({"version": "1.0", "status": "completed", "server_group_list": [instance("2", "192.168.1.1")]})
    result = rank_table_info.read({**PARAMS, "readers": readers, "server": clusterd(world(text=text)).address}, check_mode=False)
    assert [problem["severity"] for problem in result["problems"]] == severities
    assert result.get("failed", False) is ("error" in severities)
    assert result["rank_table"] == json.loads(text)


def test_check_mode_reads_files_and_sends_no_request(clusterd: Start, tmp_path: Path) -> None:
    one = clusterd(world())
    params = {**PARAMS, "server": one.address}
    result = rank_table_info.read(params, check_mode=True)
    assert result.pop("unchecked")[0].startswith("the rank table: ClusterD is not queried in check mode")
    assert result == {"messages": [], "received": 0, "preempted": False, "problems": []}
    with pytest.raises(InputError, match="ca_cert: cannot read .*absent.pem"):
        rank_table_info.read({**params, "ca_cert": str(tmp_path / "absent.pem")}, check_mode=True)
    with pytest.raises(InputError, match="set confirm to true to allow this"):
        rank_table_info.read({**params, "confirm": False}, check_mode=True)
    assert one.calls == []


def test_what_is_no_table(clusterd: Start) -> None:
    with pytest.raises(HccnError, match="ClusterD sent an invalid rank table for job job-1: not JSON"):
        subscribe(clusterd(world(text="{broken")))
