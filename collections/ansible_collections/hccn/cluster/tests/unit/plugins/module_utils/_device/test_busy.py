"""Test require_idle_host and BusyProbe. Refusals of single devices are tested with the modules that use them."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import busy, host
from ansible_collections.hccn.cluster.plugins.module_utils._device.parse_npu_smi import Chip, Chips, Process
from ansible_collections.hccn.cluster.plugins.module_utils._device.npu_smi import NpuSmi

TOO_HIGH_FOR_A_PID = 2147483000


class Smi:
    """An npu-smi with two NPUs, the second of them busy, or one that fails."""

    def __init__(self, chips=None, processes=None):
        self.errors = {"chips": chips, "processes": processes}

    def chips(self):
        if self.errors["chips"]:
            raise self.errors["chips"]
        return Chips((Chip(0, 0, 0), Chip(1, 0, 1)), "A2", "910B3")

    def processes(self):
        if self.errors["processes"]:
            raise self.errors["processes"]
        return (Process(1, 0, TOO_HIGH_FOR_A_PID, "python3", 12),)


def test_only_the_first_devices_are_checked():
    busy.require_idle_host(Smi(), 1)
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(Smi(), 2)
    assert (caught.value.code, caught.value.message) == ("device_busy", "device 1 is busy: pid %d (python3)" % TOO_HIGH_FOR_A_PID)


def test_host_without_npus_is_idle(monkeypatch):
    monkeypatch.setattr(host.os, "listdir", lambda folder: ["null"])
    busy.require_idle_host(Smi(chips=HccnError("tool_missing", "npu-smi is nowhere")), 8)


def test_failing_npu_smi_does_not_mean_no_npus(tmp_path):
    (tmp_path / "davinci0").write_text("")
    smi = NpuSmi("/x/npu-smi", lambda argv, timeout: Result(tuple(argv), 0, "dcmi module initialize failed. ret is -8005\n", "", False, 0.0, 0.1))
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(smi, 8, str(tmp_path))
    assert (caught.value.code, caught.value.message) == (
        "busy_unknown", "cannot find out whether the NPUs are busy: npu-smi info -m shows no NPU: 'dcmi module initialize failed. ret is -8005'")
    (tmp_path / "davinci0").rename(tmp_path / "davinci_manager")
    busy.require_idle_host(smi, 8, str(tmp_path))


def test_program_that_blocks_npu_smi_is_reported_as_busy(tmp_path):
    text = "dcmi model initialized failed, because the device is used. ret is -8020\n"
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(NpuSmi("/x/npu-smi", lambda argv, timeout: Result(tuple(argv), 0, text, "", False, 0.0, 0.1)), 8, str(tmp_path))
    assert (caught.value.code, caught.value.message) == (
        "device_busy", "npu-smi info -m cannot read the NPUs, since a program uses them: "
                       "'dcmi model initialized failed, because the device is used. ret is -8020'")


def test_unknown_state_is_not_taken_for_idle(monkeypatch):
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(Smi(processes=HccnError("timeout", "no answer within 60 s")), 8)
    assert (caught.value.code, caught.value.message) == ("busy_unknown", "cannot find out whether the NPUs are busy: no answer within 60 s")
    with pytest.raises(HccnError, match="npu-smi hangs"):
        busy.require_idle_host(Smi(chips=HccnError("timeout", "npu-smi hangs")), 8)


class Asked:
    """An npu-smi and an hccn_tool with one clock. Each call takes ``takes`` seconds. ``pairs``: the queue pairs of each call, the last one repeated."""

    def __init__(self, takes=0.0):
        self.time = 100.0
        self.takes = takes
        self.holders = {}
        self.pairs = [0]
        self.asked = []
        self.error = None
        self.timeout = None

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds

    def with_timeout(self, timeout):
        self.timeout = timeout
        return self

    def processes(self):
        self.asked.append("npu-smi")
        self.time += self.takes
        if self.error:
            raise self.error
        return tuple(Process(device, 0, pid, "python3", 1) for device, pid in self.holders.items())

    def query(self, device, *words):
        self.asked.append("qp %d" % device)
        count = self.pairs.pop(0) if len(self.pairs) > 1 else self.pairs[0]
        return Result(words, 0, "total_qp_count: %d\n" % count, "", False, 0.0, 0.0)

    def probe(self):
        there = host.Host((0, 1), "A2", "910B3", (Chip(0, 0, 0), Chip(1, 0, 1)))
        return busy.BusyProbe(self, self, there, self.now, self.sleep)


def refused(probe, device, own_test=False):
    with pytest.raises(HccnError) as caught:
        probe.require_idle(device, own_test)
    return caught.value.code, caught.value.message


def test_result_is_shared_by_all_devices_for_one_second():
    world = Asked()
    probe = world.probe()
    probe.require_idle(0)
    world.time += 1.0
    world.holders[1] = TOO_HIGH_FOR_A_PID
    probe.require_idle(1)
    assert world.asked == ["npu-smi", "qp 0", "qp 1"]
    world.time += 0.01
    assert refused(probe, 1) == ("device_busy", "device 1 is busy: pid %d (python3)" % TOO_HIGH_FOR_A_PID)
    assert (world.asked.count("npu-smi"), world.timeout) == (2, 10.0)


def test_threads_share_a_running_call_of_npu_smi():
    world = Asked()
    asking, answer = threading.Event(), threading.Event()
    processes = world.processes

    def slow():
        asking.set()
        assert answer.wait(30)
        return processes()

    world.processes = slow
    probe = world.probe()
    threads = [threading.Thread(target=probe.require_idle, args=(device, True)) for device in (0, 1)]
    threads[0].start()
    assert asking.wait(30)
    threads[1].start()
    answer.set()
    for thread in threads:
        thread.join(30)
    assert world.asked == ["npu-smi"]


def test_errors_are_cached_like_results():
    world = Asked(takes=10.0)
    world.error = HccnError("timeout", "no answer within 10 s")
    probe = world.probe()
    unknown = ("busy_unknown", "cannot find out whether the NPUs are busy: no answer within 10 s")
    assert [refused(probe, 0), refused(probe, 1)] == [unknown, unknown]
    assert world.asked == ["npu-smi"]


def test_queue_pairs_of_the_previous_test_are_waited_for():
    world = Asked()
    world.pairs = [4, 4, 0]
    world.probe().require_idle(0)
    world.pairs = [4]
    assert refused(world.probe(), 0) == ("device_busy", "device 0 is busy: 4 queue pairs")


def test_processes_of_this_run_are_ignored(monkeypatch):
    world = Asked()
    world.pairs = [4]
    world.probe().require_idle(0, own_test=True)
    world.holders[0] = 4711
    monkeypatch.setattr(busy, "belongs_to_run", lambda pid: pid == 4711)
    world.probe().require_idle(0, own_test=True)
    monkeypatch.setattr(busy, "belongs_to_run", lambda pid: False)
    assert refused(world.probe(), 0, own_test=True) == ("device_busy", "device 0 is busy: pid 4711 (python3)")


def test_job_that_starts_while_the_queue_pairs_settle_is_noticed():
    world = Asked()
    world.pairs = [4, 0]
    world.sleep = lambda seconds: (world.holders.update({0: TOO_HIGH_FOR_A_PID}), Asked.sleep(world, 2.0))
    assert refused(world.probe(), 0) == ("device_busy", "device 0 is busy: pid %d (python3)" % TOO_HIGH_FOR_A_PID)
    assert world.asked == ["npu-smi", "qp 0", "qp 0", "npu-smi"]


def test_processes_are_read_after_the_queue_pairs():
    """A query of queue pairs may wait for hccn_tool."""
    world = Asked()
    query = world.query

    def waiting(device, *words):
        world.holders[0] = TOO_HIGH_FOR_A_PID
        return query(device, *words)

    world.query = waiting
    assert {device: error["code"] for device, error in world.probe().refusals([0]).items()} == {0: "device_busy"}
    assert world.asked == ["qp 0", "npu-smi"]
