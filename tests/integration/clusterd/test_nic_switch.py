"""SwitchNicTrack over a real socket: all refusals in the order of the server, all texts of results, and results that are unknown after failures."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import nic_switch, server_codes
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.integration.clusterd.conftest import Start
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
    assert outcome == ("finished", 0, "switching operation was successfully distributed", "switch nic finish", "")
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


def test_empty_map_and_duplicates_are_accepted(clusterd: Start) -> None:
    """ClusterD accepts these requests; the module refuses them."""
    one = clusterd(world())
    assert switched(one, {}).status == "finished"
    assert switched(one, {"node-1": [0, 0]}).status == "finished"


def test_direction_that_is_already_in_effect_is_accepted(clusterd: Start) -> None:
    one = clusterd(world())
    assert [switched(one).status for _ in range(2)] == ["finished", "finished"]
    assert one.paths() == [SWITCH, RESULT] * 2


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


def test_result_is_requested_until_the_switch_has_begun(clusterd: Start) -> None:
    one = clusterd(world(Times(switch=0.2, switch_starts=0.4)))
    assert switched(one).status == "finished"
    assert one.paths()[0] == SWITCH and 2 <= one.paths().count(RESULT) <= 4


def test_result_is_one_message_of_a_running_switch(clusterd: Start) -> None:
    one = clusterd(world())
    assert switched(one).status == "finished"
    with Channel(Server(one.address), 2) as channel, pytest.raises(HccnError, match="jobId=job-1 is not swtiching nic"):
        list(channel.stream("recover", "SubscribeSwitchNicSignal", {"jobID": "job-1"}, 2))


def test_missing_result_is_an_error(clusterd: Start) -> None:
    made = world()
    made.silent_results = True
    outcome = switched(clusterd(made), seconds=0.4)
    assert (outcome.status, outcome.why, outcome.distributed) == ("unknown", "no result within 0.4 s", True)
    assert outcome.sentence() == ("the switch was accepted, but its result is unknown: no result within 0.4 s. Check the job and the log of ClusterD first, "
                                  "and do not send the request again before")


def test_server_stops_waiting_without_a_message(clusterd: Start) -> None:
    made = world(Times(switch=0.1, result_wait=0.2))
    made.silent_results = True
    assert switched(clusterd(made)).why == "the stream of the result ended without a message"


def test_server_dies_during_a_switch(clusterd: Start) -> None:
    one = clusterd(world(Times(switch=30)))

    def die() -> None:
        one.wait_for(RESULT)
        one.close()

    thread = threading.Thread(target=die)
    thread.start()
    outcome = switched(one)
    thread.join()
    assert outcome.status == "unknown"
    assert one.paths() == [SWITCH, RESULT]


def test_unsent_request_is_an_error_and_unanswered_request_is_unknown(clusterd: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = clusterd(world())
    dead.close()
    with pytest.raises(HccnError, match="cannot be reached"):
        switched(dead)
    slow = clusterd(world())
    released = threading.Event()
    monkeypatch.setitem(slow._served, SWITCH, lambda _request: (released.wait(10), {"code": 0})[1])
    with Channel(Server(slow.address), 0.3) as channel:
        outcome = nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 1)
    released.set()
    assert (outcome.status, outcome.code) == ("unknown", None)
    assert outcome.sentence().startswith("the switch was sent, but its result is unknown: ")
    assert slow.paths() == [SWITCH]
