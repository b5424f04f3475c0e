"""Through the nginx of the security guide: silent streams that it ends, and client certificates that it does not accept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import faults, nic_switch, rank_table_stream
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.integration.clusterd.certificates import Authority
from tests.integration.clusterd.conftest import Start
from tests.integration.clusterd.nginx import Nginx
from tests.simulator.clusterd_sim.profiles import PROFILES
from tests.simulator.clusterd_sim.world import Job, Times, World

pytestmark = pytest.mark.usefixtures("no_proxy")
SWITCH, RESULT = "/Recover/SwitchNicTrack", "/Recover/SubscribeSwitchNicSignal"
TABLE = {"version": "1.0", "status": "completed", "server_group_list": []}
FAULT = {"nodeName": "node-1", "nodeIP": "192.0.2.1", "nodeSN": "S1", "faultLevel": "UnHealthy", "faultDevice": []}
READ_TIMEOUT = "set grpc_read_timeout 900s in the nginx: proxy_read_timeout has no effect on gRPC, and the default of 60 s ends silent streams"


@pytest.mark.slow
@pytest.mark.parametrize("version", PROFILES)
def test_result_after_two_read_timeouts(tmp_path: Path, clusterd: Start, version: str) -> None:
    one = clusterd(World((Job("job-1", {"node-1": ["0"]}),), Times(switch=12, reset=3), version=version))
    with Nginx(tmp_path / "nginx", one.port, read_timeout_s=5) as nginx, Channel(Server(nginx.address), 5) as channel:
        outcome = nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 60)
    assert (outcome.status, outcome.result) == ("finished", "switch nic finish")
    assert one.paths() == [SWITCH, RESULT, RESULT, RESULT]


@pytest.mark.slow
def test_silence_of_a_healthy_job_and_of_a_job_without_a_table(tmp_path: Path, clusterd: Start) -> None:
    one = clusterd(World((Job("job-0001"),), Times(first_push=0.1)))
    with Nginx(tmp_path / "nginx", one.port, read_timeout_s=1) as nginx, Channel(Server(nginx.address), 5) as channel:
        found = faults.Watch()
        faults.watch(channel, "job-0001", "me", 4, found)
        assert (found.received, found.faults) == (0, [])
        with pytest.raises(HccnError) as caught:
            rank_table_stream.subscribe(channel, "job-0001", "me", 4, 0)
    assert caught.value.code == "silent"
    assert f"; the stream was opened {one.paths().count('/config.Config/SubscribeRankTable')} times, and lost at last because the proxy of ClusterD at " in (
        caught.value.message)


@pytest.mark.slow
def test_stream_that_is_cut_after_a_message(tmp_path: Path, clusterd: Start) -> None:
    """After a message the end is a reset of the stream, not an answer of nginx."""
    one = clusterd(World((Job("job-0001", table=json.dumps(TABLE)),), Times(first_push=0.1)))
    one.world.faults.report("job-0001", [FAULT])
    with Nginx(tmp_path / "nginx", one.port, read_timeout_s=1) as nginx, Channel(Server(nginx.address), 5) as channel:
        found = faults.Watch()
        faults.watch(channel, "", "me", 4, found)
        received = rank_table_stream.subscribe(channel, "job-0001", "me", 20, 3)
    assert [node["job_id"] for node in found.faults] == ["job-0001"]
    assert len(found.signals) == 1 and found.received >= 2  # the first signal of each subscription
    assert (received.table, received.preempted) == (TABLE, False)
    assert received.received >= 2 and [message["duplicate"] for message in received.messages] == [False] + [True] * (received.received - 1)


def test_answers_of_nginx(tmp_path: Path, clusterd: Start) -> None:
    one = clusterd(World((Job("job-0001"),), Times(first_push=0.1)))
    with Nginx(tmp_path / "nginx", one.port, read_timeout_s=1) as nginx, Channel(Server(nginx.address), 5) as channel:
        channel.call("config", "Register", {"jobId": "job-0001", "role": "r"})
        with pytest.raises(HccnError) as caught:
            list(channel.stream("config", "SubscribeRankTable", {"jobId": "job-0001", "role": "r"}, 5))
        assert (caught.value.code, caught.value.message, caught.value.hint) == (
            "proxy_timeout", f"the proxy of ClusterD at {nginx.address} ended a silent stream: Received http2 header with status: 504", READ_TIMEOUT)
        one.close()
        with pytest.raises(HccnError) as caught:
            channel.call("config", "Register", {"jobId": "job-0001", "role": "r"})
        assert (caught.value.code, caught.value.message) == (
            "server_unreachable", f"the proxy at {nginx.address} cannot reach ClusterD: Received http2 header with status: 502")


def test_client_certificates(tmp_path: Path, clusterd: Start, authority: Authority, unknown_authority: Authority) -> None:
    """Without a certificate of the right CA nothing is sent, and the message says which certificate is missing."""
    one = clusterd(World((Job("job-1", {"node-1": ["0"]}),)))
    own, foreign = authority.pair("client"), unknown_authority.pair("client")
    order = nic_switch.request("job-1", {"node-1": [0]}, "failover")
    with Nginx(tmp_path / "nginx", one.port, authority=authority) as nginx:
        def outcome(**files: str) -> nic_switch.Outcome:
            with Channel(Server(nginx.address, ca=str(authority.ca), **files), 5) as channel:
                return nic_switch.switch(channel, order, 5)

        without = outcome()
        assert (without.status, without.error.code, without.why) == (
            "not_sent", "client_certificate",
            f"the proxy of ClusterD at {nginx.address} refuses the request, since no client certificate was sent: Received http2 header with status: 400 (set "
            "client_cert and client_key to a certificate that is signed by the CA of the proxy (its ssl_client_certificate))")
        other = outcome(certificate=str(foreign.certificate), key=str(foreign.key))
        assert (other.status, other.error.code, other.error.message) == (
            "not_sent", "client_certificate",
            f"the proxy of ClusterD at {nginx.address} does not accept the client certificate {foreign.certificate}: Received http2 header with status: 400")
        assert one.calls == []
        assert outcome(certificate=str(own.certificate), key=str(own.key)).status == "finished"


def test_forbidden_client(tmp_path: Path, clusterd: Start) -> None:
    one = clusterd(World((Job("job-1", {"node-1": ["0"]}),)))
    with Nginx(tmp_path / "nginx", one.port, deny=True) as nginx, Channel(Server(nginx.address), 5) as channel:
        outcome = nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 5)
    assert (outcome.status, outcome.error.code, one.calls) == ("not_sent", "forbidden", [])
