"""The recorded exchanges through the vendor's nginx, repeated through Debian's nginx before the stand-in of each version. Times are shortened."""

from __future__ import annotations

import socket
import ssl
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.contract.reference.clusterd_recordings import METHODS, Client, Row, cases, recorded, request_of
from tests.integration.clusterd.certificates import Authority
from tests.integration.clusterd.conftest import Start
from tests.integration.clusterd.nginx import Nginx
from tests.simulator.clusterd_sim.profiles import PROFILES
from tests.simulator.clusterd_sim.world import Job, Times, World

pytestmark = [pytest.mark.usefixtures("no_proxy"), pytest.mark.slow]
REFUSED = (("UNAVAILABLE", ""), ("UNKNOWN", "Stream removed (Data frame with END_STREAM flag received)"))
"""How the library reports the answer 503, by which of its frames it has read."""
REGISTER = "/config.Config/Register"


def row_of(case: str, version: str) -> Row:
    return cases("nginx")[case][version]


def credentials(authority: Authority, client: Authority) -> Any:
    pair = client.pair("client")
    return grpc.ssl_channel_credentials(authority.ca.read_bytes(), pair.key.read_bytes(), pair.certificate.read_bytes())


def first_line_and_title(nginx: Nginx, authority: Authority, client: Authority) -> list[str]:
    """Return the status and the title of the answer to a request by HTTP/1.1."""
    pair = client.pair("client")
    context = ssl.create_default_context(cafile=str(authority.ca))
    context.load_cert_chain(pair.certificate, pair.key)
    with socket.create_connection(("127.0.0.1", nginx.port), 10) as plain, context.wrap_socket(plain, server_hostname="clusterd.example") as stream:
        stream.sendall(b"POST /fault.Fault/GetFaultMsgSignal HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return described(b"".join(iter(lambda: stream.recv(65536), b"")).decode())


def described(answer: str) -> list[str]:
    return [answer.split("\r\n")[0], answer.split("<title>")[1].split("</title>")[0] if "<title>" in answer else ""]


@pytest.mark.parametrize("version", PROFILES)
def test_certificates(tmp_path: Path, clusterd: Start, authority: Authority, unknown_authority: Authority, version: str) -> None:
    good = row_of("good", version)
    one = clusterd(World(version=version))
    one.world.faults.nodes[""] = good["responses"][0]["json"]["faultSignal"]["nodeFaultInfo"]
    with Nginx(tmp_path / "nginx", one.port, authority=authority) as nginx:
        with Client(nginx.address, credentials=credentials(authority, authority)) as client:
            assert client.repeat(good, 8) == recorded(good)
        with Client(nginx.address) as client:
            assert client.repeat(row_of("plain-text", version), 8) == recorded(row_of("plain-text", version))
        with Client(nginx.address, credentials=credentials(unknown_authority, authority)) as client:
            assert client.repeat(row_of("server-ca-unknown", version), 8) == recorded(row_of("server-ca-unknown", version))
        raw = row_of("raw/client-certificate-of-other-ca", version)["http"]
        assert first_line_and_title(nginx, authority, unknown_authority) == described(raw) == ["HTTP/1.1 400 Bad Request", "400 The SSL certificate error"]
        assert " 415 " in row_of("raw/good", version)["http"]  # the answer of ClusterD, which the certificate reaches
        assert "400" not in first_line_and_title(nginx, authority, authority)[0]


@pytest.mark.parametrize("version", PROFILES)
def test_read_timeouts(tmp_path: Path, clusterd: Start, version: str) -> None:
    silent, then = row_of("read-timeout/rank-silent", version), row_of("read-timeout/rank-table-then-silence", version)
    job = then["request"]["json"]["jobId"]
    one = clusterd(World((Job(job, table=then["responses"][0]["json"]["rankTable"]),), Times(first_push=0.1), version=version))
    with Nginx(tmp_path / "nginx", one.port, read_timeout_s=1) as nginx, Client(nginx.address) as client:
        for row in (silent, row_of("silent-stream-60-s", version), then):
            client.exchange(REGISTER, request_of(row), 5)
            assert client.repeat(row, 10) == recorded(row)


@pytest.mark.parametrize("version", PROFILES)
def test_limits(tmp_path: Path, clusterd: Start, version: str) -> None:
    """At least 20 of 60 calls at once pass, and at least 21 of 30 in a row; how many more depends on how fast they are."""
    def ends(client: Client, count: int, run: Callable[..., Any]) -> Counter[tuple[str, str]]:
        request = METHODS[row_of("60-at-once", version)["rpc"]][1].request(role="DefaultUser1").SerializeToString()
        return Counter(run(lambda _number: client.exchange(row_of("60-at-once", version)["rpc"], request, 10)[1:], range(count)))

    one = clusterd(World(version=version))
    with Nginx(tmp_path / "one", one.port, limited=True) as nginx, Client(nginx.address) as client, ThreadPoolExecutor(60) as pool:
        at_once = ends(client, 60, pool.map)
    with Nginx(tmp_path / "two", one.port, limited=True) as nginx, Client(nginx.address) as client:
        in_a_row = ends(client, 30, map)
    assert set(at_once) <= {("OK", ""), *REFUSED} and at_once["OK", ""] >= 20
    assert set(in_a_row) <= {("OK", ""), *REFUSED} and in_a_row["OK", ""] >= 21
    for case, count in (("60-at-once", 60), ("30-in-a-row", 30)):
        row = row_of(case, version)
        assert ({one["code"] for one in row["outcomes"]} <= {"OK", "UNAVAILABLE"}, sum(one["count"] for one in row["outcomes"])) == (True, count)
