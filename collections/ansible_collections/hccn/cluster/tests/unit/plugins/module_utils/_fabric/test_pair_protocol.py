"""A host that is lost is heard of through others: who has not met it yet does not wait for it to start."""

from __future__ import annotations

import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.pair_protocol import HostState, Settings
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Control, Endpoint, Pair, Plan

HOSTS = ("a", "b", "c", "dead")


def pair(order, source, target):
    return Pair("p%d" % order, order + 1, order, Endpoint(source, 0, "10.0.0.1"), Endpoint(target, 0, "10.0.0.2"))


def state_of(host, *pairs):
    plan = Plan("r1", host, pairs, {name: Control("127.0.0.1", 1) for name in HOSTS})
    return HostState(plan, None, Settings(0.0, 60.0, 120.0), b"")


def given_up(state, host="dead"):
    """Is the host given up soon, since it was there, and not waited for until the time of the meeting is over?"""
    return [state.membership.call_failed(host, pair(9, state.plan.host, host), HccnError("peer_unreachable", "gone"), now) for now in (1.0, 2.0, 3.0)][-1]


class Wire:
    def __init__(self):
        self.said = None

    def send(self, body):
        self.said = body


def told_by(state):
    wire = Wire()
    state.say(wire, {"type": "noted"})
    return wire.said


def test_nothing_is_told_while_all_is_well():
    state = state_of("a", pair(0, "a", "b"))
    state.membership.met("b")
    assert told_by(state) == {"type": "noted"}


@pytest.mark.parametrize("code, come", [("peer_lost", ["a", "dead"]), ("iperf3_timeout", ["a", "dead"]), ("peer_unreachable", ["a", "dead"])])
def test_who_was_lost_is_told_from_host_to_host(code, come):
    lost = pair(0, "a", "dead")
    met, between, waits = state_of("a", lost), state_of("b", pair(1, "b", "dead")), state_of("c", pair(2, "c", "dead"))
    met.membership.met("dead")
    met.membership.met("a")
    met.membership.pair_ended(lost, HccnError(code, "gone"))
    assert told_by(met)["known"]["come"] == come
    assert not given_up(waits)
    between.hear(told_by(met))
    waits.hear(told_by(between))
    assert given_up(waits)


def test_one_that_nobody_met_has_its_time_to_start():
    missed = pair(0, "a", "dead")
    late, waits = state_of("a", missed), state_of("c", pair(2, "c", "dead"))
    late.membership.pair_ended(missed, HccnError("peer_unreachable", "no answer"))
    waits.hear(told_by(late))
    assert not given_up(waits)


@pytest.mark.parametrize("known", [None, [], "x", {"come": None}, {"come": {"dead": 1}}, {"come": [1, None, ["dead"], "nobody"]}, {"missed": []}])
def test_what_has_not_the_form_is_left_aside(known):
    waits = state_of("c", pair(2, "c", "dead"))
    waits.hear({"type": "noted", "known": known})
    assert not given_up(waits)


class Tool:
    """Writes down what is reset."""

    def __init__(self, fails=False):
        self.resets = []
        self.fails = fails

    def reset(self, device):
        self.resets.append(device)
        if self.fails:
            raise HccnError("device_failed", "no answer")

    def cleanup(self, device):
        return ("touch", self.folder + "/%d" % device)


class Probe:
    """Device 0 is busy where ``busy``; ``own``: what it was told of tests of this run."""

    def __init__(self):
        self.busy = False
        self.own = []

    def require_idle(self, device, own_test):
        self.own.append(own_test)
        if self.busy:
            raise HccnError("device_busy", "device 0 is busy: pid 7")


@pytest.fixture
def device(tmp_path):
    """A state of one device, with its tool and its probe."""
    plan = Plan("r1", "a", (pair(0, "a", "b"),), {name: Control("127.0.0.1", 1) for name in HOSTS})
    tool, probe = Tool(), Probe()
    tool.folder = str(tmp_path)
    return HostState(plan, tool, Settings(0.0, 60.0, 120.0), b"", None, probe), tool, probe


def test_a_device_is_reset_before_its_first_test_and_after_each(device):
    state, tool, probe = device
    state.reset(0)
    assert tool.resets == [], "nothing of this run is there"
    state.prepare(0)
    state.prepare(0)
    assert tool.resets == [0]
    assert state.launch(0, ["true"], 10.0).wait().rc == 0
    state.prepare(0)
    assert (tool.resets, probe.own) == ([0, 0], [False, False, True])
    state.launch(0, ["true"], 10.0).wait()
    state.reset(0)
    state.reset(0)
    assert tool.resets == [0, 0, 0]


def test_a_device_with_other_work_is_not_reset(device):
    state, tool, probe = device
    probe.busy = True
    for action in (state.prepare, state.require_idle):
        with pytest.raises(HccnError) as caught:
            action(0)
        assert caught.value.code == "device_busy"
    state.reset(0)
    assert tool.resets == []


def test_the_test_of_this_run_is_ended_whatever_else_the_device_does(device):
    state, tool, probe = device
    state.prepare(0)
    state.launch(0, ["true"], 10.0).wait()
    probe.busy = True
    state.reset(0)
    assert tool.resets == [0, 0]


def test_only_tests_of_this_run_are_ended_by_the_guard(device, tmp_path):
    """The guard is another process: it sees what was begun after it was forked."""
    state, tool, probe = device
    reading, writing = os.pipe()
    guard = os.fork()
    if guard == 0:
        try:
            os.read(reading, 1)
            state.end_tests()
        finally:
            os._exit(0)
    state.end_tests()
    assert not (tmp_path / "0").exists()
    tool.fails = True
    state.launch(0, ["true"], 10.0).wait()
    with pytest.raises(HccnError):
        state.reset(0)
    os.write(writing, b"x")
    os.waitpid(guard, 0)
    assert (tmp_path / "0").exists()
    os.close(reading)
    os.close(writing)
