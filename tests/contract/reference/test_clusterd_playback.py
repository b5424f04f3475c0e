"""The modules' logic against a server that plays the recordings of the real ClusterD back: what the modules return, as literals."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import faults, jobs, nic_switch, rank_table_stream
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.contract.reference.clusterd_recordings import METHODS, Row, cases
from tests.simulator.clusterd_sim.profiles import PROFILES
from tests.simulator.clusterd_sim.server import fill

VERSIONS = tuple(PROFILES)
ORDER, RESULT = "/Recover/SwitchNicTrack", "/Recover/SubscribeSwitchNicSignal"
REGISTERED = {"code": 0, "info": "register success"}


class Playback(grpc.GenericRpcHandler):
    """Answers each call with the next recording of its path; the last one is repeated. A recording that ends at the deadline stays open."""

    def __init__(self, recordings: dict[str, list[Row]]) -> None:
        self._left = {path: list(rows) for path, rows in recordings.items()}
        self.calls: list[str] = []
        self._server = grpc.server(ThreadPoolExecutor(8), (self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def close(self) -> None:
        self._server.stop(0).wait(5)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        path = details.method

        def play(_request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            self.calls.append(path)
            rows = self._left[path]
            row = rows.pop(0) if len(rows) > 1 else rows[0]
            yield from map(_message, [row["rpc"]] * len(row["responses"]), row["responses"])
            code = row["end"]["code"]
            while code == "DEADLINE_EXCEEDED" and context.is_active():
                time.sleep(0.01)
            if code not in ("OK", "DEADLINE_EXCEEDED"):
                context.abort(grpc.StatusCode[code], row["end"]["details"])

        return grpc.unary_stream_rpc_method_handler(play)


def _message(path: str, response: Row) -> bytes:
    if response["b64"] is not None:
        return base64.b64decode(response["b64"])
    data: bytes = fill(METHODS[path][1].response(), response["json"]).SerializeToString()
    return data


def answer(path: str, values: dict[str, Any]) -> Row:
    """Return a recording of an answer that was not recorded with the others."""
    return {"rpc": path, "responses": [{"b64": None, "json": values}], "end": {"code": "OK", "details": ""}}


@contextlib.contextmanager
def playing(*rows: Row) -> Iterator[tuple[Channel, Playback]]:
    recordings: dict[str, list[Row]] = {}
    for row in rows:
        recordings.setdefault(row["rpc"], []).append(row)
    server = Playback(recordings)
    try:
        with Channel(Server(server.address), 5) as channel:
            yield channel, server
    finally:
        server.close()


def row_of(area: str, case: str, version: str) -> Row:
    return cases(area)[case][version]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("case", "status", "text"), [
    ("again/failover", "finished", "switch nic finish"), ("again/switchback", "finished", "switch nic finish"), ("dup/order", "finished", "switch nic finish"),
    ("busy/order", "finished", "switch nic finish"), ("switchfail/order", "failed", "switch nic failed, switch nic failed"),
    ("pausefail/order", "failed", {"v7.1.RC1": "switch nic failed, pause train failed"}), ("silent/order", "unknown", ""),
])
def test_switches(case: str, status: str, text: Any, version: str) -> None:
    result = {"again/failover": "again/failover-result", "again/switchback": "again/switchback-result"}.get(case, case.replace("/order", "/result"))
    with playing(row_of("switch", case, version), row_of("switch", result, version)) as (channel, server):
        found = nic_switch.switch(channel, row_of("switch", case, version)["request"]["json"], 1 if status == "unknown" else 30)
    wanted = text if isinstance(text, str) else text.get(version, "om failed, pause train failed")
    assert (found.status, found.code, found.info, found.result) == (status, 0, "switching operation was successfully distributed", wanted)
    assert found.why == ("no result within 1 s" if status == "unknown" else "")
    assert server.calls == [ORDER, RESULT]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("case", "code", "info"), [
    ("bad/empty-job-id", 413, "job: not exist"),
    ("bad/not-registered", 413, "job:22222222-2222-4222-8222-222222222222 is not registered"),
    ("bad/unknown-node", 413, "node:node-9 not exist in job:11111111-1111-4111-8111-111111111111"),
    ("bad/more-ops", 413, "dev and op length is not equal"), ("bad/empty-lists", 413, "dev or op is empty"),
    ("bad/device0", 413, "device:device0 not exist in node:node-1"), ("bad/mindie-job", 413, "job:mindie-plain not exist"),
    ("badsp/order", 413, "node:node-s11 should operate in superPodID"),
    ("busy/second-order", 411, "jobId=77777777-0000-4000-8000-000000000008 nic is swtiching, or job recovering"),
])
def test_refused_orders(case: str, code: int, info: str, version: str) -> None:
    with playing(row_of("switch", case, version)) as (channel, server):
        found = nic_switch.switch(channel, row_of("switch", case, version)["request"]["json"], 1)
    assert (found.status, found.distributed, found.code, found.info, found.result) == ("refused", False, code, info, "")
    assert server.calls == [ORDER]


@pytest.mark.parametrize("version", VERSIONS)
def test_order_that_the_reset_drops(version: str) -> None:
    with playing(row_of("switch", "again/failover", version), row_of("switch", "again/failover-twice-result", version)) as (channel, server):
        found = nic_switch.switch(channel, row_of("switch", "again/failover", version)["request"]["json"], 5)
    assert (found.status, found.code) == ("unknown", 0)
    assert found.why == ("the stream of the result ended without a message: another client received it, or a switch of this job that had ended just before has "
                         "reset the state of the job")
    assert server.calls == [ORDER, RESULT]


@pytest.mark.parametrize("version", ["v26.0.1", "master"])
@pytest.mark.parametrize(("case", "cut", "status"), [("reset", "connection-closed-at-2-s", "finished"), ("lost", "frozen-connection", "unknown")])
def test_lost_streams(case: str, cut: str, status: str, version: str) -> None:
    rows = [row_of("switch", f"{case}/{one}", version) for one in ("order", cut, "again")]
    with playing(*rows) as (channel, server):
        found = nic_switch.switch(channel, rows[0]["request"]["json"], 5)
    assert (found.status, found.result) == (status, "switch nic finish" if status == "finished" else "")
    if status == "unknown":
        assert "its result went to another client or into a broken connection" in found.why
    assert server.calls == [ORDER, RESULT, RESULT]


@pytest.mark.parametrize("version", VERSIONS)
def test_results_through_the_nginx(version: str) -> None:
    """After 60 s of silence nginx answers 504; the next subscriber gets the result."""
    silent = {**row_of("nginx", "silent-stream-60-s", version), "rpc": RESULT}
    rows = [row_of("switch", "again/failover", version), silent, row_of("switch", "again/failover-result", version)]
    with playing(*rows) as (channel, server):
        found = nic_switch.switch(channel, rows[0]["request"]["json"], 30)
    assert (found.status, found.result) == ("finished", "switch nic finish")
    assert server.calls == [ORDER, RESULT, RESULT]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("case", "info", "count"), [("get/healthy/cluster", "Succeed", 0), ("get/bad/pending-job", "all info returned", 0),
                                                     ("get/bad/job-without-npu", "all info returned", 0), ("get/faults/cluster", "Succeed", 3),
                                                     ("get/faults/known-job", "all info returned", 2)])
def test_queries_of_faults(case: str, info: str, count: int, version: str) -> None:
    with playing(row_of("fault", case, version)) as (channel, _server):
        found = faults.query(channel, "", "r")
    assert (found["info"], len(found["faults"])) == (info, count)
    if count:
        assert {node["node_name"]: (node["node_ip"], node["node_sn"]) for node in found["faults"]} == {
            name: (f"192.0.2.{name[-1]}", f"SN-{name}") for name in ("node-1", "node-2", "node-3")[:count]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ["get/bad/8-characters", "get/bad/128-characters"])
def test_unknown_jobs(case: str, version: str) -> None:
    row = row_of("fault", case, version)
    job = row["request"]["json"]["jobId"]
    with playing(row) as (channel, _server), pytest.raises(HccnError) as caught:
        faults.query(channel, job, "r")
    assert (caught.value.code, caught.value.message) == ("unknown_job", f"ClusterD has no job {job}: job with jobId: {job} not found fault info")


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_watch_of_the_cluster(version: str) -> None:
    """At the end all is well again; before, 3 nodes had faults, each reported for every job on it."""
    row = row_of("fault", "watch/cluster", version)
    registered = answer("/fault.Fault/Register", REGISTERED)
    found = faults.Watch()
    with playing(registered, row) as (channel, _server):
        faults.watch(channel, "", "w", 2, found)
    assert (found.received, found.faults, len(found.signals)) == (len(row["responses"]), [], 100)
    assert [(signal["job_id"][:8], signal["signal_type"], [node["node_name"] for node in signal["faults"]]) for signal in found.signals[:1]] == [
        ("22222222", "fault", ["node-3"])]
    early = faults.Watch()
    with playing(registered, {**row, "responses": [one for one in row["responses"] if one["at_s"] < 13]}) as (channel, _server):
        faults.watch(channel, "", "w", 2, early)
    assert {(node["job_id"][:8], node["node_name"]) for node in early.faults} >= {("11111111", "node-1"), ("11111111", "node-2"), ("22222222", "node-3")}


def test_version_7_1_has_no_watch_of_the_cluster() -> None:
    refused = {"rpc": "/fault.Fault/Register", "responses": [], "end": {"code": "UNKNOWN", "details": "jobId= not exist and is not multi-instance"}}
    with playing(refused) as (channel, _server), pytest.raises(HccnError) as caught:
        faults.watch(channel, "", "w", 2, faults.Watch())
    assert caught.value.code == "not_supported"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("case", "code"), [
    ("set/all-initializing", "silent"), ("set/podgroup-without-labels", "silent"), ("preempt/silent-first", "preempted")])
def test_rank_tables_that_are_not_sent(case: str, code: str, version: str) -> None:
    with playing(answer("/config.Config/Register", REGISTERED), row_of("rank", case, version)) as (channel, _server), pytest.raises(HccnError) as caught:
        rank_table_stream.subscribe(channel, "job", "r", 1, 0)
    assert caught.value.code == code


@pytest.mark.parametrize("version", VERSIONS)
def test_changes_of_a_rank_table(version: str) -> None:
    row = row_of("rank", "change", version)
    with playing(answer("/config.Config/Register", REGISTERED), row) as (channel, _server):
        found = rank_table_stream.subscribe(channel, "mindie-change", "r", 5, 1)
    assert [(one["duplicate"], one["groups"], one["servers"]) for one in found.messages] == [(False, 3, 3), (False, 4, 4), (False, 3, 3)]
    assert (found.received, found.preempted) == (3, False)
    deploy = [group.get("deploy_server") for group in found.table["server_group_list"]]
    assert deploy == [None, None, "0"]


@pytest.mark.parametrize("version", VERSIONS[:3])
def test_versions_without_a_list_of_jobs(version: str) -> None:
    rows = [row_of("job", "register/DefaultUser2", version), row_of("job", "SubscribeJobSummarySignalList/any", version),
            {"rpc": "/job.Job/SubscribeJobSummarySignal", "responses": [], "end": {"code": "DEADLINE_EXCEEDED", "details": ""}}]
    with playing(*rows) as (channel, server), pytest.raises(HccnError) as caught:
        jobs.over_grpc(channel, "DefaultUser2", 2)
    assert (caught.value.code, caught.value.hint) == ("not_implemented", "lists of jobs need ClusterD 26.0: use source configmap")
    assert server.calls == [f"/job.Job/{one}" for one in ("Register", "SubscribeJobSummarySignalList", "SubscribeJobSummarySignal")]
