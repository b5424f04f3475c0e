"""Check clients against a hostile ClusterD and Kubernetes API that send too much, invalid data or endless answers: each call fails with one sentence, within
its time limit and with bounded memory.

tests/integration/clusterd/test_grpc_channel.py covers messages of 8 MiB and more, certificates, and servers that exit.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import faults, jobs, kube, nic_switch, rank_table_stream, schema
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.integration.clusterd.api import Api
from tests.integration.clusterd.conftest import clusterd, no_proxy
from tests.simulator.clusterd_sim.server import ClusterD

__all__ = ["clusterd", "no_proxy"]
pytestmark = pytest.mark.usefixtures("no_proxy")
Start = Callable[..., ClusterD]
NOISE = random.Random(12).randbytes(3000)
SIGNAL = {"uuid": "u", "jobId": "-1", "signalType": "fault"}


def refused(call: Callable[[], object]) -> HccnError:
    with pytest.raises(HccnError) as caught:
        call()
    return caught.value


def endless(make: Callable[[int], dict[str, Any]]) -> Callable[..., Iterator[dict[str, Any]]]:
    def messages(_request: dict[str, Any], active: Callable[[], bool]) -> Iterator[dict[str, Any]]:
        number = 0
        while active():
            yield make(number)
            number += 1

    return messages


def test_endless_rank_tables(clusterd: Start) -> None:
    one = clusterd()
    one._served["/config.Config/SubscribeRankTable"] = endless(lambda number: {"jobId": "j", "rankTable": json.dumps({"version": str(number)})})
    with Channel(Server(one.address), 5) as channel:
        subscription = rank_table_stream.subscribe(channel, "j", "r", 20, 0.3)
    assert subscription.received > rank_table_stream.MAX_MESSAGES == len(subscription.messages)
    assert int(subscription.table["version"]) >= rank_table_stream.MAX_MESSAGES


def test_endless_faults(clusterd: Start) -> None:
    one = clusterd()
    one._served["/fault.Fault/SubscribeFaultMsgSignal"] = endless(
        lambda number: {**SIGNAL, "nodeFaultInfo": [{"nodeName": str(number), "faultDevice": []}]})
    with Channel(Server(one.address), 5) as channel:
        found = faults.Watch()
        faults.watch(channel, "", "me", 0.5, found)
    signals = found.signals
    assert len(signals) == faults.MAX_SIGNALS
    names = [int(signal["faults"][0]["node_name"]) for signal in signals]
    assert names[:-1] == list(range(faults.MAX_SIGNALS - 1)) and names[-1] > faults.MAX_SIGNALS


def test_endless_jobs(clusterd: Start) -> None:
    one = clusterd()
    one._served["/job.Job/SubscribeJobSummarySignalList"] = endless(
        lambda number: {"jobSummarySignals": [{"jobId": f"{number}-{place}"} for place in range(1000)], "JobTotalNum": 2**31 - 1})
    with Channel(Server(one.address), 5) as channel:
        error = refused(lambda: jobs.over_grpc(channel, "FdAgent", 20))
    assert (error.code, error.message) == ("unexpected_output", "the server sent more than 10000 jobs, the maximum of ClusterD")


class Raw(grpc.GenericRpcHandler):
    """A gRPC server that answers every call with these bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        streams = {schema.path_of(name, method) for name, file in schema.FILES.items() for method, one in file.methods.items() if one.streams}
        if details.method in streams:
            return grpc.unary_stream_rpc_method_handler(lambda _request, _context: iter([b""]), None, lambda _: self._data)
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"", None, lambda _: self._data)


@pytest.mark.parametrize("data", [b"\xff" * 40, b"\x0a\xff\xff\xff\xff\x0f", NOISE + b"\xff\xff"], ids=["ones", "length", "noise"])
def test_invalid_message_is_reported(data: bytes) -> None:
    server = grpc.server(ThreadPoolExecutor(2), (Raw(data),))
    target = Server(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
    server.start()
    try:
        with Channel(target, 5) as channel:
            error = refused(lambda: channel.call("config", "Register", {"jobId": "j", "role": "r"}))
            assert error.code == "grpc_internal" and "/config.Config/Register" in error.message
            assert refused(lambda: list(channel.stream("config", "SubscribeRankTable", {"jobId": "j", "role": "r"}, 5))).code == "grpc_internal"
            # The request was sent, so its outcome is unknown.
            assert nic_switch.switch(channel, nic_switch.request("j", {"n": [0]}, "failover"), 1).status == "unknown"
    finally:
        server.stop(0)


@pytest.mark.parametrize("response", [b"HTTP/1.1 200 OK\r\n\r\nhello", b"\x00" * 100, NOISE], ids=["http1", "zeros", "noise"])
def test_other_protocol_is_reported(response: bytes) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.sendall(response)
            threading.Timer(1, client.close).start()

    threading.Thread(target=answer, daemon=True).start()
    with Channel(Server(f"127.0.0.1:{listener.getsockname()[1]}"), 2) as channel:
        error = refused(lambda: channel.call("config", "Register", {"jobId": "j", "role": "r"}))
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    assert error.code in ("server_unreachable", "deadline")


@pytest.mark.parametrize("hccl", [
    "[" * 100000, '{"server_list": 7}', '{"server_list": [7]}', '{"server_list": [{"device": [{"device_id": "²"}, {"device_id": "1"}]}]}', "{}"],
    ids=["deep", "number", "numbers", "digits", "empty"])
def test_hostile_job_summaries(hccl: str) -> None:
    class Maps:
        def items(self, *_: Any) -> list[dict[str, Any]]:
            return [{"metadata": {"name": "job-summary-a", "namespace": "theirs"},
                     "data": {"job_id": "uid", "cm_index": "x", "total": "²", "job_status": "running", "hccl.json": hccl}}]

    found = jobs.from_config_maps(Maps(), "")  # type: ignore[arg-type]
    assert [job["nodes"] for job in found] == [[{"node": "", "address": "", "devices": [1]}] if "²" in hccl else None]


def test_namespace_must_be_one_path_segment(tmp_path: Path) -> None:
    api = Api(tmp_path, {"configmaps": []})
    path = api.kubeconfig()
    kube.Api(path, "", 5).items("v1", "configmaps", "../../../apis/x?a=b#c d")
    api.close()
    assert api.requests == ["GET /api/v1/namespaces/..%2F..%2F..%2Fapis%2Fx%3Fa%3Db%23c%20d/configmaps"]


POD = {"metadata": {"name": "p", "namespace": "n"}}


def pages(tmp_path: Path, hostile: Callable[[int], dict[str, Any]], timeout: float = 30) -> tuple[HccnError, list[str], str]:
    api = Api(tmp_path, {}, hostile=hostile)
    try:
        return refused(lambda: kube.Api(api.kubeconfig(), "", timeout).items("v1", "pods")), api.requests, f"the Kubernetes API at {api.url} "
    finally:
        api.close()


def test_cyclic_pages_are_refused(tmp_path: Path) -> None:
    error, requests, api = pages(tmp_path, lambda number: {"items": [POD], "metadata": {"continue": f"t{number % 3}"}})
    assert (error.code, error.message) == (
        "kubernetes_unexpected", api + "sends the same continue token twice for the list /api/v1/pods, which therefore never ends")
    assert len(requests) == 4


def test_endless_pages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "MAX_PAGES", 20)
    error, requests, api = pages(tmp_path, lambda number: {"items": [POD], "metadata": {"continue": str(number)}})
    assert (error.code, error.message) == ("kubernetes_unexpected", api + "has more than 20 pages in the list /api/v1/pods: 20 objects so far")
    assert len(requests) == 20


def test_too_many_objects_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "MAX_ITEMS", 2000)
    error, requests, api = pages(tmp_path, lambda number: {"items": [POD] * 500, "metadata": {"continue": str(number)}})
    assert (error.code, error.message) == ("kubernetes_unexpected", api + "has more than 2000 objects in the list /api/v1/pods")
    assert len(requests) == 5


def test_too_many_bytes_in_pages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "MAX_BYTES", 4 << 20)
    error, requests, api = pages(tmp_path, lambda number: {"items": [{"x": "x" * (1 << 20)}], "metadata": {"continue": str(number)}})
    assert (error.code, error.message) == ("kubernetes_unexpected", api + "sends more than 4 MiB for the list /api/v1/pods")
    assert len(requests) == 4


def test_slow_list_times_out(tmp_path: Path) -> None:
    def slowly(number: int) -> dict[str, Any]:
        time.sleep(0.3)
        return {"items": [POD], "metadata": {"continue": str(number)}}

    began = time.monotonic()
    error, _requests, api = pages(tmp_path, slowly, 1)
    assert error.code == "kubernetes_unexpected" and error.message.startswith(api + "did not finish the list /api/v1/pods within 1 s: ")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("page", "found"), [
    ({"items": 7, "metadata": 7}, 0), ({"items": [POD, 7, None, "x"], "metadata": ["continue"]}, 1), ({"items": {"a": 1}, "metadata": {"continue": 7}}, 0),
    ({"items": [POD], "metadata": {"continue": {"a": 1}}}, 1)], ids=["numbers", "lists", "objects", "token"])
def test_malformed_page_ends_the_list(tmp_path: Path, page: dict[str, Any], found: int) -> None:
    api = Api(tmp_path, {}, hostile=lambda number: page)
    assert len(kube.Api(api.kubeconfig(), "", 5).items("v1", "pods")) == found
    api.close()
    assert len(api.requests) == 1


def test_invalid_token_is_refused(tmp_path: Path) -> None:
    error, _requests, api = pages(tmp_path, lambda number: {"items": [], "metadata": {"continue": "x" * 10_000}})
    assert (error.code, error.message) == ("kubernetes_unexpected", api + "sends a continue token of 10000 characters for the list /api/v1/pods")


@pytest.mark.parametrize(("head", "part", "pause", "code"), [
    (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1000, 0.02, "kubernetes_unreachable"), (b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.02, "kubernetes_unreachable"),
    (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536, 0.0, "kubernetes_unexpected")], ids=["drip", "header that drips", "flood"])
def test_endless_api_response_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes, part: bytes, pause: float, code: str) -> None:
    """Servers that send one part after another without end, and a server that sends as fast as it can."""
    monkeypatch.setattr(kube, "MAX_BYTES", 4 << 20)
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        client, _ = listener.accept()
        client.sendall(head)
        try:
            while True:
                client.sendall(part)
                time.sleep(pause)
        except OSError:
            client.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                                "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{listener.getsockname()[1]}"}}],
                                "users": [{"name": "u", "user": {"token": "t"}}]}))
    error = refused(lambda: kube.Api(str(path), "", 0.5).items("v1", "configmaps"))
    thread.join(5)
    listener.close()
    assert error.code == code
    assert not thread.is_alive()


