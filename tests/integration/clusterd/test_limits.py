"""Limits of ClusterD and of the nginx proxy of its security guide: each ends with a message that names the limit, and never hangs."""

from __future__ import annotations

import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import faults, jobs, nic_switch
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.integration.clusterd.conftest import Start
from tests.lib.waiting import until
from tests.simulator.clusterd_sim.gate import Refuser, status, too_many_pings
from tests.simulator.clusterd_sim.world import Job, Limits, Times, World

CLIENT = {"jobId": "job-1", "role": "test"}
LIMITS = "ClusterD accepts 64 streams per connection, 512 connections from one address and 1024 connections in total"
pytestmark = pytest.mark.usefixtures("no_proxy")


def register(address: str, timeout: float = 5) -> object:
    with Channel(Server(address), timeout) as channel:
        return channel.call("config", "Register", CLIENT)


def refusal(address: str, timeout: float = 5) -> HccnError:
    with pytest.raises(HccnError) as caught:
        register(address, timeout)
    return caught.value


def switch(address: str, job: str = "job-1") -> nic_switch.Outcome:
    with Channel(Server(address), 5) as channel:
        return nic_switch.switch(channel, nic_switch.request(job, {"node-1": [0]}, "failover"), 2)


@pytest.mark.parametrize("limits", [Limits(connections=2), Limits(connections_of_one=2)])
def test_connection_above_the_limit(clusterd: Start, limits: Limits) -> None:
    one = clusterd(World((Job("job-1", {"node-1": ["0"]}),), Times(switch=0.05), limits))
    held = [socket.create_connection(("127.0.0.1", one.port)) for _ in range(2)]
    error = refusal(one.address)
    assert (error.code, error.hint) == (
        "server_unreachable", f"check that ClusterD runs at this address, and whether it requires TLS. It may also have too many clients: {LIMITS}")
    turned_away = switch(one.address)  # nothing was sent, so the result is not unknown
    assert turned_away.status == "not_sent"
    assert "failed to connect" in turned_away.why
    assert one.calls == []
    for client in held:
        client.close()
    one.gate.wait_until_free()
    assert switch(one.address).status == "finished"


def test_new_channel_does_not_wait_for_one_that_was_turned_away(clusterd: Start) -> None:
    one = clusterd(World((Job("job-1"),), limits=Limits(connections=1)))
    with Channel(Server(one.address), 5) as turned_away:
        with socket.create_connection(("127.0.0.1", one.port)), pytest.raises(HccnError):
            turned_away.call("config", "Register", CLIENT)
        one.gate.wait_until_free()
        assert register(one.address) == {"code": 0, "info": "register success"}


def test_stream_above_the_limit_waits_until_the_deadline(clusterd: Start) -> None:
    one = clusterd(World((Job("job-1", table="{}"),), Times(first_push=0.05), Limits(streams=1)))
    with Channel(Server(one.address), 0.5) as channel:
        channel.call("config", "Register", CLIENT)
        stream = channel.stream("config", "SubscribeRankTable", CLIENT, 20)
        messages = iter(stream)
        next(messages)
        with pytest.raises(HccnError) as caught:
            channel.call("config", "Register", CLIENT)
        stream.close()
        assert list(messages) == []
    assert (caught.value.code, caught.value.message) == ("deadline", f"ClusterD at {one.address} did not answer /config.Config/Register within 0.5 s")
    assert caught.value.hint == f"check address and port. Through a proxy, the call may wait for a free stream: {LIMITS}"


@pytest.mark.parametrize("size", [5 << 20, (4 << 20) - 10])
def test_request_that_is_too_large(clusterd: Start, size: int) -> None:
    """Refused by the client, or by the server, which counts a few bytes more."""
    one = clusterd(World(limits=Limits(receive=4 << 20)))
    outcome = switch(one.address, "j" * size)
    assert outcome.status == "not_sent"
    assert (outcome.error.code, outcome.error.hint) == ("too_large", "ClusterD accepts at most 4 MiB: send a smaller request")
    assert "larger than max" in outcome.why
    assert one.calls == []


def test_limits_of_a_proxy_before_clusterd() -> None:
    with Refuser(status(b"503")) as nginx:
        error = refusal(nginx.address)
        assert (error.code, error.message) == (
            "rate_limited", f"the proxy of ClusterD at {nginx.address} refuses the request: Received http2 header with status: 503")
        assert "20 requests per second and 20 streams for all clients" in error.hint
        assert switch(nginx.address).status == "not_sent"  # the proxy did not forward it
        assert nginx.requests == 2  # no retries
    with Refuser(status(b"502")) as nginx:
        assert refusal(nginx.address).code == "server_unreachable"
        assert switch(nginx.address).status == "unknown"  # ClusterD may have received it


def test_server_closes_the_connection_after_too_many_pings() -> None:
    with Refuser(too_many_pings) as server:
        error = refusal(server.address)
        assert (error.code, error.hint) == (
            "too_many_pings", "this client pings every 330 s, and ClusterD allows one ping every 5 min: check the proxies between this host and ClusterD")
        assert switch(server.address).status == "unknown"


def test_new_streams_of_the_jobs(clusterd: Start) -> None:
    """From 26.0 on the limit is one of streams, and Register has none."""
    one = clusterd(World((Job("job-1"),), limits=Limits(jobs=1)))
    with Channel(Server(one.address), 5) as channel:
        assert [job["job_id"] for job in jobs.over_grpc(channel, "FdAgent", 3)] == ["job-1"]
        with pytest.raises(HccnError, match="rate limited, there is too many requests, please retry later") as caught:
            jobs.over_grpc(channel, "FdAgent", 3)
    assert caught.value.code == "rate_limited"


@pytest.mark.parametrize("version", ["v7.1.RC1", "v7.2.RC1", "v7.3.0"])
def test_places_for_clients_of_the_jobs_before_26(clusterd: Start, version: str) -> None:
    """A client that cannot subscribe to a list gives its place back, since ClusterD would keep it until its restart."""
    one = clusterd(World((Job("job-1"),), limits=Limits(clients=2), version=version))
    with Channel(Server(one.address), 5) as channel:
        for _ in range(3):
            with pytest.raises(HccnError) as caught:
                jobs.over_grpc(channel, "DefaultUser1", 3)
            assert (caught.value.code, caught.value.hint) == ("not_implemented", "lists of jobs need ClusterD 26.0: use source configmap")
        until(lambda: one.world.summaries.clients == {}, 5)
        for _ in range(2):
            channel.call("job", "Register", {"role": "CCAgent"})
        with pytest.raises(HccnError, match="429 RateLimitedCode: too many requests or clients: too many clients registered") as caught:
            jobs.over_grpc(channel, "DefaultUser1", 3)
    assert "keeps its place until ClusterD restarts" in caught.value.hint


def test_list_of_jobs_that_is_too_large_for_a_message(clusterd: Start) -> None:
    one = clusterd(World((Job("job-1", hccl="x" * 3000),), limits=Limits(send=2000)))
    with Channel(Server(one.address), 5) as channel, pytest.raises(HccnError, match="the list of jobs is larger than the 8 MiB") as caught:
        jobs.over_grpc(channel, "DefaultUser1", 3)
    assert (caught.value.code, caught.value.hint) == ("too_large", "use source configmap")


def test_queries_of_faults_wait_in_a_queue(clusterd: Start) -> None:
    """10 per second; the stand-in allows 4, with 2 places in its queue."""
    one = clusterd(World(limits=Limits(faults=4, fault_queue=2)))

    def query(_number: int) -> str:
        with Channel(Server(one.address), 5) as channel:
            try:
                return str(faults.query(channel, "", "test")["info"])
            except HccnError as error:
                return error.code

    with ThreadPoolExecutor(8) as pool:
        found = Counter(pool.map(query, range(8)))
    assert found["Succeed"] >= 6 and found["rate_limited"] == 8 - found["Succeed"]
