"""SwitchNicTrack over a real socket: all refusals in the order of the server, all texts of results, and results that are unknown after failures."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import nic_switch, server_codes
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.integration.clusterd.conftest import Start
from tests.simulator.clusterd_sim.gate import Gate, Refuser, status
from tests.simulator.clusterd_sim.server import ClusterD
from tests.simulator.clusterd_sim.world import Job, Times, World

pytestmark = pytest.mark.usefixtures("no_proxy")

NODES = {"node-1": [str(device) for device in range(16)], "node-2": [str(device) for device in range(16)]}
SWITCH, RESULT = "/Recover/SwitchNicTrack", "/Recover/SubscribeSwitchNicSignal"


def world(times: Times | None = None, **of_job: Any) -> World:
    return World((Job("job-1", **{"nodes": NODES, **of_job}),), times or Times(switch=0.1))


def switched(one: ClusterD, nics: dict[str, list[int]] | None = None, direction: str = "failover", job: str = "job-1",
             seconds: float = 5) -> nic_switch.Outcome:
    request = nic_switch.request(job, {"node-1": [0, 8]} if nics is None else nics, direction)
    with Channel(Server(one.address), 2) as channel:
        return nic_switch.switch(channel, request, seconds)


@pytest.mark.parametrize(("direction", "operation"), [("failover", True), ("switchback", False)])
def test_failover_and_switchback(clusterd: Start, direction: str, operation: bool) -> None:
    one = clusterd(world())
    outcome = switched(one, direction=direction)
    assert outcome == ("finished", 0, "switching operation was successfully distributed", "switch nic finish", "", None)
    assert outcome.sentence() == ""
    assert one.calls == [
        (SWITCH, {"jobID": "job-1", "nicOps": {"node-1": {"dev": ["0", "8"], "op": [operation, operation]}}}), (RESULT, {"jobID": "job-1"})]


@pytest.mark.parametrize(("of_job", "nics", "job", "info"), [
    ({}, None, "other", "job:other not exist"),
    ({"registered": False, "status": "pending"}, None, "job-1", "job:job-1 is not registered"),
    ({"status": "pending"}, {"node-9": [0]}, "job-1", "job:job-1 is not running"),
    ({}, {"node-9": [0]}, "job-1", "node:node-9 not exist in job:job-1"),
    ({"reported": {"node-2"}}, None, "job-1", "node:node-1 not exist in job:job-1"),
    ({}, {"node-1": []}, "job-1", "dev or op is empty"),
    ({}, {"node-1": [16]}, "job-1", "device:16 not exist in node:node-1"),
    ({"super_pods": {"node-1": -1}, "idle": False}, None, "job-1", "node:node-1 should operate in superPodID"),
])
def test_order_of_refusals(clusterd: Start, of_job: dict[str, Any], nics: dict[str, list[int]] | None, job: str, info: str) -> None:
    one = clusterd(world(**of_job))
    outcome = switched(one, nics, job=job)
    assert (outcome.status, outcome.code, outcome.info, outcome.distributed) == ("refused", 413, info, False)
    assert outcome.sentence() == f"ClusterD refused the switch, nothing was switched: 413 OMParamInvalid: the request does not fit the job: {info}"
    assert one.paths() == [SWITCH]


def test_lists_of_different_lengths(clusterd: Start) -> None:
    one = clusterd(world())
    with Channel(Server(one.address), 2) as channel:
        outcome = nic_switch.switch(channel, {"jobID": "job-1", "nicOps": {"node-1": {"dev": ["0", "8"], "op": [True]}}}, 2)
    assert (outcome.code, outcome.info) == (413, "dev and op length is not equal")


def test_empty_order_is_accepted_and_blocks_later_ones(clusterd: Start) -> None:
    """ClusterD accepts an order without nodes, and nothing happens; the module refuses it."""
    one = clusterd(world(Times(switch=0.1, empty_order=0.4)))
    empty = switched(one, {})
    assert (empty.status, empty.why) == ("unknown", "the switch has ended, but its result went to another client or into a broken connection: ClusterD refuses "
                                                    "/Recover/SubscribeSwitchNicSignal: jobId=job-1 is not swtiching nic")
    assert (switched(one).status, switched(one).code) == ("refused", 411)
    time.sleep(0.5)
    assert switched(one, {"node-1": [0, 0]}).status == "finished"  # duplicates are accepted


def test_direction_that_is_already_in_effect_is_accepted_after_the_reset(clusterd: Start) -> None:
    one = clusterd(world(Times(switch=0.1, reset=0.2)))
    assert switched(one).status == "finished"
    time.sleep(0.4)
    assert switched(one).status == "finished"
    assert one.paths() == [SWITCH, RESULT] * 2


def test_reset_drops_an_order_that_follows_too_soon(clusterd: Start) -> None:
    one = clusterd(world(Times(switch=0.1, reset=0.6)))
    assert switched(one).status == "finished"
    soon = switched(one)
    assert (soon.status, soon.code) == ("unknown", 0)
    assert soon.why == ("the stream of the result ended without a message: another client received it, or a switch of this job that had ended just before has "
                        "reset the state of the job")


def test_job_that_is_already_switching(clusterd: Start) -> None:
    one = clusterd(world(idle=False))
    outcome = switched(one)
    assert (outcome.status, outcome.code, outcome.info) == ("refused", 411, "jobId=job-1 nic is swtiching, or job recovering")
    assert "(wait until this has ended and check the job; this call switched nothing)" in outcome.sentence()
    assert one.paths() == [SWITCH]


@pytest.mark.parametrize("text", [*server_codes.SWITCH_FAILURES, "something new"])
def test_unknown_result_text_is_a_failure(clusterd: Start, text: str) -> None:
    outcome = switched(clusterd(world(result=text)))
    assert (outcome.status, outcome.result) == ("failed", text)
    assert outcome.sentence().startswith(f"the switch failed: {text}: ")
    assert outcome.sentence().endswith("check the job first: a failed switch can end it, and every switch saves a checkpoint")


def test_result_is_one_message_of_a_running_switch(clusterd: Start) -> None:
    one = clusterd(world())
    assert switched(one).status == "finished"
    time.sleep(0.6)
    with Channel(Server(one.address), 2) as channel, pytest.raises(HccnError, match="jobId=job-1 is not swtiching nic"):
        list(channel.stream("recover", "SubscribeSwitchNicSignal", {"jobID": "job-1"}, 2))


def test_missing_result_is_an_error(clusterd: Start) -> None:
    made = world()
    made.switches.silent = True
    outcome = switched(clusterd(made), seconds=0.4)
    assert (outcome.status, outcome.why, outcome.distributed) == ("unknown", "no result within 0.4 s", True)
    assert outcome.sentence() == ("the switch was accepted, but its result is unknown: no result within 0.4 s. Check the job and the log of ClusterD first, "
                                  "and do not send the request again before")


def test_server_stops_waiting_without_a_message(clusterd: Start) -> None:
    made = world(Times(switch=0.1, result_wait=0.2))
    made.switches.silent = True
    assert switched(clusterd(made)).why.startswith("the stream of the result ended without a message: ")


def test_server_dies_during_a_switch(clusterd: Start) -> None:
    one = clusterd(world(Times(switch=30)))

    def die() -> None:
        one.wait_for(RESULT)
        one.close()

    thread = threading.Thread(target=die)
    thread.start()
    outcome = switched(one, seconds=2)
    thread.join()
    assert outcome.status == "unknown"
    assert outcome.why.startswith("no result within 2 s; the stream was opened ")
    assert one.paths() == [SWITCH, RESULT]  # nothing is sent twice


def test_unsent_request_is_an_error_and_unanswered_request_is_unknown(clusterd: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = clusterd(world())
    dead.close()
    turned_away = switched(dead)
    assert (turned_away.status, turned_away.distributed, turned_away.error.code) == ("not_sent", False, "server_unreachable")
    assert turned_away.sentence().startswith("nothing was switched, since the request did not reach ClusterD: ")
    slow = clusterd(world())
    released = threading.Event()
    monkeypatch.setitem(slow._served, SWITCH, lambda _request: (released.wait(10), {"code": 0})[1])
    with Channel(Server(slow.address), 0.3) as channel:
        outcome = nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 1)
    released.set()
    assert (outcome.status, outcome.code) == ("unknown", None)
    assert outcome.sentence().startswith("the switch was sent, but its result is unknown: ")
    assert slow.paths() == [SWITCH]


def test_result_is_buffered_while_the_switch_runs(clusterd: Start) -> None:
    """A subscriber whose stream a proxy ended loses nothing: it subscribes again."""
    one = clusterd(world(Times(switch=1.0, reset=1.0)))
    gate = Gate(one.port, 100, 100)

    def cut() -> None:
        one.wait_for(RESULT)
        gate.cut()

    thread = threading.Thread(target=cut)
    thread.start()
    with Channel(Server(f"127.0.0.1:{gate.port}"), 2) as channel:
        outcome = nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 10)
    thread.join()
    gate.close()
    assert (outcome.status, outcome.result) == ("finished", "switch nic finish")
    assert one.paths() == [SWITCH, RESULT, RESULT]


def test_result_in_a_frozen_connection_is_lost(clusterd: Start) -> None:
    one = clusterd(world(Times(switch=0.5, reset=0.3)))
    gate = Gate(one.port, 100, 100)

    def freeze() -> None:
        one.wait_for(RESULT)
        gate.freeze()
        time.sleep(1.5)
        gate.cut()

    thread = threading.Thread(target=freeze)
    thread.start()
    with Channel(Server(f"127.0.0.1:{gate.port}"), 2) as channel:
        outcome = nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 10)
    thread.join()
    gate.close()
    assert (outcome.status, outcome.distributed) == ("unknown", True)
    assert "its result went to another client or into a broken connection: ClusterD refuses" in outcome.why
    assert "; the stream was opened 2 times, and lost at last because" in outcome.why


def test_end_without_an_error_at_the_deadline_is_the_deadline(clusterd: Start) -> None:
    one = clusterd(world(Times(switch=60, ok_at_deadline=True)))
    assert switched(one, seconds=1).why == "no result within 1 s"


@pytest.mark.parametrize(("status_code", "code", "message"), [
    (b"400", "client_certificate", "refuses the request, since no client certificate was sent: Received http2 header with status: 400"),
    (b"403", "forbidden", "forbids the request: Received http2 header with status: 403"),
    (b"503", "rate_limited", "refuses the request: Received http2 header with status: 503"),
])
def test_order_that_the_proxy_turns_away_is_not_sent(status_code: bytes, code: str, message: str) -> None:
    with Refuser(status(status_code)) as nginx, Channel(Server(nginx.address), 2) as channel:
        outcome = nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 2)
        assert nginx.requests == 1
    assert (outcome.status, outcome.distributed, outcome.error.code) == ("not_sent", False, code)
    assert outcome.error.message == f"the proxy of ClusterD at {nginx.address} {message}"
