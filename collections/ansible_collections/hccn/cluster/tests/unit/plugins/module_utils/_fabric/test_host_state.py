"""The state that initiators and responders of a host share: lost hosts become known through others, and devices are reset around tests."""

from __future__ import annotations

import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.host_state import HostState, Settings
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Control, Endpoint, Pair, Plan

HOSTS = ("a", "b", "c", "dead")


def pair(order, source, target):
    return Pair("p%d" % order, order + 1, order, Endpoint(source, 0, "10.0.0.1"), Endpoint(target, 0, "10.0.0.2"))


def state_of(host, *pairs):
    plan = Plan("r1", host, pairs, {name: Control("127.0.0.1", 1) for name in HOSTS})
    return HostState(plan, None, Settings(0.0, 60.0, 120.0), b"")


def given_up(state, host="dead"):
    """Return whether the host is given up soon because it was present, instead of after the meeting timeout."""
    return [state.membership.call_failed(host, pair(9, state.plan.host, host), HccnError("peer_unreachable", "gone"), now) for now in (1.0, 2.0, 3.0)][-1]


class Wire:
    def __init__(self):
        self.sent = None

    def send(self, body):
        self.sent = body


def line_of(state):
    wire = Wire()
    state.send(wire, {"type": "noted"})
    return wire.sent


def test_nothing_is_shared_without_misses():
    state = state_of("a", pair(0, "a", "b"))
    state.membership.met("b")
    assert line_of(state) == {"type": "noted"}


@pytest.mark.parametrize("code, come", [("peer_lost", ["a", "dead"]), ("iperf3_timeout", ["a", "dead"]), ("peer_unreachable", ["a", "dead"])])
def test_a_lost_host_becomes_known_from_host_to_host(code, come):
    lost = pair(0, "a", "dead")
    met, between, waits = state_of("a", lost), state_of("b", pair(1, "b", "dead")), state_of("c", pair(2, "c", "dead"))
    met.membership.met("dead")
    met.membership.met("a")
    met.membership.pair_ended(lost, HccnError(code, "gone"))
    assert line_of(met)["known"]["come"] == come
    assert not given_up(waits)
    between.membership.detach(line_of(met))
    waits.membership.detach(line_of(between))
    assert given_up(waits)


def test_a_host_that_was_never_met_has_time_to_start():
    missed = pair(0, "a", "dead")
    late, waits = state_of("a", missed), state_of("c", pair(2, "c", "dead"))
    late.membership.pair_ended(missed, HccnError("peer_unreachable", "no answer"))
    waits.membership.detach(line_of(late))
    assert not given_up(waits)


@pytest.mark.parametrize("known", [None, [], "x", {"come": None}, {"come": {"dead": 1}}, {"come": [1, None, ["dead"], "nobody"]}, {"missed": []}])
def test_malformed_knowledge_is_ignored(known):
    waits = state_of("c", pair(2, "c", "dead"))
    waits.membership.detach({"type": "noted", "known": known})
    assert not given_up(waits)


class Tool:
    """Records the resets."""

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
    """Device 0 is busy if ``busy``; ``own``: the values passed for tests of this run."""

    def __init__(self):
        self.busy = False
        self.own = []

    def require_idle(self, device, own_test):
        self.own.append(own_test)
        if self.busy:
            raise HccnError("device_busy", "device 0 is busy: pid 7")


@pytest.fixture
def device(tmp_path):
    """The state of a host with one device, its tool and its probe."""
    plan = Plan("r1", "a", (pair(0, "a", "b"),), {name: Control("127.0.0.1", 1) for name in HOSTS})
    tool, probe = Tool(), Probe()
    tool.folder = str(tmp_path)
    return HostState(plan, tool, Settings(0.0, 60.0, 120.0), b"", None, probe), tool, probe


def test_a_device_is_reset_before_its_first_test_and_after_each(device):
    state, tool, probe = device
    state.reset(0)
    assert tool.resets == [], "this run has started no test"
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


def test_a_test_of_this_run_is_ended_even_if_the_device_is_busy(device):
    state, tool, probe = device
    state.prepare(0)
    state.launch(0, ["true"], 10.0).wait()
    probe.busy = True
    state.reset(0)
    assert tool.resets == [0, 0]


def test_the_guard_ends_only_tests_of_this_run(device, tmp_path):
    """The guard is another process, and sees tests that were started after it was forked."""
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
