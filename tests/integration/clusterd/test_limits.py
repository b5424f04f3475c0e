"""Limits of ClusterD and of the nginx proxy of its security guide: each ends with a message that names the limit, and never hangs."""

from __future__ import annotations

import socket

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import jobs, nic_switch
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.integration.clusterd.conftest import Start
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
    with pytest.raises(HccnError, match="failed to connect"):
        switch(one.address)  # nothing was sent, so the result is not unknown
    assert one.calls == []
    for client in held:
        client.close()
    one.gate.wait_until_free()
    assert switch(one.address).status == "finished"


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


@pytest.mark.parametrize(("size", "receives"), [(5 << 20, 4 << 20), (2 << 20, 1 << 20)])
def test_request_that_is_too_large(clusterd: Start, size: int, receives: int) -> None:
    """Refused by the client, or by a server with a lower limit."""
    one = clusterd(World(limits=Limits(receive=receives)))
    with pytest.raises(HccnError, match="larger than max") as caught:
        switch(one.address, "j" * size)
    assert (caught.value.code, caught.value.hint) == ("too_large", "ClusterD accepts at most 4 MiB: send a smaller request")
    assert one.calls == []


def test_limits_of_a_proxy_before_clusterd() -> None:
    with Refuser(status(b"503")) as nginx:
        error = refusal(nginx.address)
        assert (error.code, error.message) == (
            "rate_limited", f"the proxy of ClusterD at {nginx.address} refuses the request: Received http2 header with status: 503")
        assert "20 requests per second and 20 connections for all clients" in error.hint
        with pytest.raises(HccnError, match="status: 503"):
            switch(nginx.address)  # the proxy did not forward it
        assert nginx.requests == 2  # no retries
    with Refuser(status(b"502")) as nginx:
        assert refusal(nginx.address).code == "server_unreachable"
        assert switch(nginx.address).status == "unknown"  # ClusterD may have received it


def test_server_closes_the_connection_after_too_many_pings() -> None:
    with Refuser(too_many_pings) as server:
        error = refusal(server.address)
        assert (error.code, error.hint) == (
            "too_many_pings", "this client pings every 30 s, and ClusterD allows one ping every 3 s: check the proxies between this host and ClusterD")
        assert switch(server.address).status == "unknown"


def test_clients_of_the_jobs(clusterd: Start) -> None:
    one = clusterd(World((Job("job-1"),), limits=Limits(jobs=1)))
    with Channel(Server(one.address), 5) as channel:
        assert [job["job_id"] for job in jobs.over_grpc(channel, "FdAgent", 3)] == ["job-1"]
        with pytest.raises(HccnError, match="the registration of FdAgent: 429 RateLimitedCode: too many requests or clients: too many requests"):
            jobs.over_grpc(channel, "FdAgent", 3)
