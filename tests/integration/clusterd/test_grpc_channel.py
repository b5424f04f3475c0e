"""The channel over a real socket: plain, TLS, mutual TLS, and failures of the server, which end with a message and never hang."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import grpc
import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import grpc_channel
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server, _options
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError

from tests.integration.clusterd.certificates import Authority
from tests.integration.clusterd.conftest import Start
from tests.lib.ports import free_port
from tests.simulator.clusterd_sim.profiles import PROFILES
from tests.simulator.clusterd_sim.server import ClusterD, Tls
from tests.simulator.clusterd_sim.world import Job, Limits, Times, World

CLIENT = {"jobId": "job-1", "role": "test"}
REGISTERED = {"code": 0, "info": "register success"}
pytestmark = pytest.mark.usefixtures("no_proxy")


def register(server: Server, timeout: float = 10) -> dict[str, object]:
    with Channel(server, timeout) as channel:
        return channel.call("config", "Register", CLIENT)


def secured(start: Start, authority: Authority, mutual: bool = False, address: str = "127.0.0.1") -> ClusterD:
    pair = authority.pair("clusterd.example", address)
    return start(tls=Tls(pair.key.read_bytes(), pair.certificate.read_bytes(), authority.ca.read_bytes() if mutual else None))


def refusal(server: Server, timeout: float = 10) -> HccnError:
    with pytest.raises(HccnError) as caught:
        register(server, timeout)
    return caught.value


def test_plain(clusterd: Start) -> None:
    one = clusterd()
    assert register(Server(one.address)) == REGISTERED
    assert one.calls == [("/config.Config/Register", CLIENT)]


def test_tls(clusterd: Start, authority: Authority) -> None:
    assert register(Server(secured(clusterd, authority).address, ca=str(authority.ca))) == REGISTERED


def test_mutual_tls(clusterd: Start, authority: Authority) -> None:
    one, client = secured(clusterd, authority, mutual=True), authority.pair("client")
    assert register(Server(one.address, ca=str(authority.ca), certificate=str(client.certificate), key=str(client.key))) == REGISTERED


def test_server_name_can_differ_from_the_address(clusterd: Start, authority: Authority) -> None:
    one = secured(clusterd, authority, address="")
    assert refusal(Server(one.address, ca=str(authority.ca))).code == "tls_failed"
    assert register(Server(one.address, ca=str(authority.ca), name="clusterd.example")) == REGISTERED


def test_certificate_of_an_unknown_authority_is_refused(clusterd: Start, authority: Authority, unknown_authority: Authority) -> None:
    one = secured(clusterd, authority)
    error = refusal(Server(one.address, ca=str(unknown_authority.ca)))
    assert (error.code, error.message.split(": ")[0]) == ("tls_failed", f"the certificate of {one.address} is not accepted")
    assert "ca_cert" in error.hint
    assert one.calls == []


@pytest.mark.parametrize("client", ["without certificate", "of an unknown authority"])
def test_mutual_tls_requires_a_known_client(clusterd: Start, authority: Authority, unknown_authority: Authority, client: str) -> None:
    one, pair = secured(clusterd, authority, mutual=True), unknown_authority.pair("client")
    keys = {} if client == "without certificate" else {"certificate": str(pair.certificate), "key": str(pair.key)}
    error = refusal(Server(one.address, ca=str(authority.ca), **keys))
    assert error.code in ("tls_failed", "server_unreachable")
    assert "client_cert" in error.hint
    assert one.calls == []


def test_mixed_plain_and_tls_is_an_error(clusterd: Start, authority: Authority) -> None:
    error = refusal(Server(secured(clusterd, authority).address))
    assert (error.code, error.hint) == ("server_unreachable", "check that ClusterD runs at this address, and whether it requires TLS")
    assert refusal(Server(clusterd().address, ca=str(authority.ca))).code == "tls_failed"


def test_unreachable_server_is_an_error() -> None:
    port = free_port()
    error = refusal(Server(f"127.0.0.1:{port}"))
    assert error.code == "server_unreachable"
    assert f"ClusterD at 127.0.0.1:{port} cannot be reached" in error.message


def test_silent_server_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = refusal(Server(f"127.0.0.1:{silent.getsockname()[1]}"), timeout=0.5)
    assert error.code in ("deadline", "server_unreachable")


def test_missing_certificate_files_are_an_error(tmp_path: Path, authority: Authority) -> None:
    with pytest.raises(InputError, match="ca_cert: cannot read .*/absent.pem: No such file or directory"):
        Channel(Server("127.0.0.1:1", ca=str(tmp_path / "absent.pem")), 1)
    with pytest.raises(InputError, match="mutual TLS needs both client_cert and client_key"):
        Channel(Server("127.0.0.1:1", ca=str(authority.ca), key=str(authority.ca)), 1)


def test_default_port() -> None:
    assert [Server(address).target for address in ("clusterd-grpc-svc.mindx-dl", "10.0.0.1:9500", "fd00::1", "[fd00::1]:9500", "[fd00::1]")] == [
        "clusterd-grpc-svc.mindx-dl:8899", "10.0.0.1:9500", "[fd00::1]:8899", "[fd00::1]:9500", "[fd00::1]:8899"]


@pytest.mark.parametrize("version", ["v7.1.RC1", "v7.3.0", "v26.0.1", "master"])
def test_pings_are_rare_enough_for_every_version(clusterd: Start, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """A silent stream lives, with the times of client and server shortened by the same factor. The pings of an impatient client end it before 26.0."""
    factor = 150  # the library pings every second at most
    one = clusterd(World(version=version, limits=Limits(ping_ms=PROFILES[version].ping_ms // factor)))

    def ended(keepalive_ms: int) -> str:
        monkeypatch.setattr(grpc_channel, "KEEPALIVE_MS", keepalive_ms)
        with Channel(Server(one.address), 10) as channel:
            channel.call("config", "Register", CLIENT)
            with pytest.raises(HccnError) as caught:
                list(channel.stream("config", "SubscribeRankTable", CLIENT, 8))
        return caught.value.code

    assert ended(grpc_channel.KEEPALIVE_MS // factor) == "deadline"
    assert ended(30_000 // factor) == ("too_many_pings" if version.startswith("v7") else "deadline")


def test_limits_of_messages() -> None:
    options = dict(_options(Server("x")))
    assert (options["grpc.max_receive_message_length"], options["grpc.max_send_message_length"]) == (8 << 20, 4 << 20)


def test_server_that_stops_during_a_stream(clusterd: Start) -> None:
    one = clusterd(World((Job("job-1", table="{}"),), Times(first_push=0.05)))
    with Channel(Server(one.address), 10) as channel:
        channel.call("config", "Register", CLIENT)
        stream = iter(channel.stream("config", "SubscribeRankTable", CLIENT, 20))
        assert next(stream) == {"jobId": "job-1", "rankTable": "{}"}
        threading.Timer(0.1, one.close).start()
        with pytest.raises(HccnError) as caught:
            next(stream)
    assert caught.value.code in ("server_unreachable", "grpc_cancelled")


@pytest.mark.parametrize(("size", "arrives"), [((8 << 20) - 100, True), ((8 << 20) + 1, False)])
def test_messages_up_to_8_mib_are_received(clusterd: Start, size: int, arrives: bool) -> None:
    one = clusterd(World((Job("job-1", table="x" * size),), Times(first_push=0)))
    with Channel(Server(one.address), 10) as channel:
        channel.call("config", "Register", CLIENT)
        stream = iter(channel.stream("config", "SubscribeRankTable", CLIENT, 20))
        if arrives:
            assert len(next(stream)["rankTable"]) == size
            return
        with pytest.raises(HccnError) as caught:
            next(stream)
    assert (caught.value.code, caught.value.hint) == ("too_large", "ClusterD sends at most 8 MiB: check that the server is ClusterD")


def test_too_many_requests(clusterd: Start) -> None:
    one = clusterd(World(limits=Limits(unary=1)))
    with Channel(Server(one.address), 10) as channel:
        channel.call("config", "Register", CLIENT)
        with pytest.raises(HccnError, match="qps exceeded, method=/config.Config/Register") as caught:
            channel.call("config", "Register", CLIENT)
    assert caught.value.code == "rate_limited"


def test_an_older_server(clusterd: Start) -> None:
    one = clusterd(lacking=frozenset({"/Recover/SwitchNicTrack"}))
    with Channel(Server(one.address), 10) as channel, pytest.raises(HccnError, match="does not implement /Recover/SwitchNicTrack") as caught:
        channel.call("recover", "SwitchNicTrack", {"jobID": "j"})
    assert caught.value.code == "not_implemented"


@pytest.mark.parametrize(("status", "text", "code"), [
    ("INTERNAL", "RST_STREAM (Received RST_STREAM with error code 2)", "stream_reset"),
    ("UNKNOWN", "Stream removed (Data frame with END_STREAM flag received)", "stream_reset"),
    ("UNAVAILABLE", "Received http2 header with status: 504", "proxy_timeout"), ("UNAVAILABLE", "Received http2 header with status: 502", "server_unreachable"),
    ("INTERNAL", "Received http2 header with status: 400", "client_certificate"), ("PERMISSION_DENIED", "Received http2 header with status: 403", "forbidden"),
    ("UNAUTHENTICATED", "Received http2 header with status: 401", "forbidden"), ("INTERNAL", "something else", "grpc_internal"),
    ("UNAVAILABLE", "Stream removed (Socket closed (GOAWAY received; Error code: 11; Debug Text: too_many_pings))", "too_many_pings"),
    ("RESOURCE_EXHAUSTED", "grpc: received message larger than max (5242888 vs. 4194304)", "too_large"),
    ("UNKNOWN", "rate limited, there is too many requests, please retry later", "rate_limited"),
])
def test_errors_by_status_and_text(status: str, text: str, code: str) -> None:
    assert grpc_channel._error_of_status(grpc.StatusCode[status], text, "/x/Y", Server("127.0.0.1:1"), 5).code == code
