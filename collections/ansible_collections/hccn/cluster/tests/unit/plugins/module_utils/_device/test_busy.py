"""The guard of tools that take the NPUs of this host by number; that of single devices is tested with what asks it."""

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
    """Two NPUs, the second of them at work; or what an error leaves."""

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


def test_only_the_devices_that_would_take_part_count():
    busy.require_idle_host(Smi(), 1)
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(Smi(), 2)
    assert (caught.value.code, caught.value.message) == ("device_busy", "device 1 is busy: pid %d (python3)" % TOO_HIGH_FOR_A_PID)


def test_a_host_without_npus_has_none_to_disturb(monkeypatch):
    monkeypatch.setattr(host.os, "listdir", lambda folder: ["null"])
    busy.require_idle_host(Smi(chips=HccnError("tool_missing", "npu-smi is nowhere")), 8)


def test_no_answer_of_npu_smi_makes_no_host_without_npus(tmp_path):
    (tmp_path / "davinci0").write_text("")
    smi = NpuSmi("/x/npu-smi", lambda argv, timeout: Result(tuple(argv), 0, "dcmi module initialize failed. ret is -8005\n", "", False, 0.0, 0.1))
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(smi, 8, str(tmp_path))
    assert (caught.value.code, caught.value.message) == (
        "busy_unknown", "cannot find out whether the NPUs are busy: npu-smi info -m shows no NPU: 'dcmi module initialize failed. ret is -8005'")
    (tmp_path / "davinci0").rename(tmp_path / "davinci_manager")
    busy.require_idle_host(smi, 8, str(tmp_path))


def test_npus_whose_holder_keeps_npu_smi_out(tmp_path):
    text = "dcmi model initialized failed, because the device is used. ret is -8020\n"
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(NpuSmi("/x/npu-smi", lambda argv, timeout: Result(tuple(argv), 0, text, "", False, 0.0, 0.1)), 8, str(tmp_path))
    assert (caught.value.code, caught.value.message) == (
        "device_busy", "npu-smi info -m cannot read the NPUs, since a program uses them: "
                       "'dcmi model initialized failed, because the device is used. ret is -8020'")


def test_npus_that_cannot_be_asked_are_not_taken_for_idle(monkeypatch):
    with pytest.raises(HccnError) as caught:
        busy.require_idle_host(Smi(processes=HccnError("timeout", "no answer within 60 s")), 8)
    assert (caught.value.code, caught.value.message) == ("busy_unknown", "cannot find out whether the NPUs are busy: no answer within 60 s")
    with pytest.raises(HccnError, match="npu-smi hangs"):
        busy.require_idle_host(Smi(chips=HccnError("timeout", "npu-smi hangs")), 8)


class Asked:
    """An npu-smi and an hccn_tool over one clock; each answer takes ``takes`` seconds. ``pairs``: queue pairs as they are told, the last for good."""

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


def test_an_answer_serves_all_devices_for_a_second_and_no_longer():
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


def test_who_asks_while_npu_smi_answers_shares_the_answer():
    world = Asked()
    asking, answer = threading.Event(), threading.Event()
    told = world.processes

    def slow():
        asking.set()
        assert answer.wait(30)
        return told()

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


def test_no_answer_is_kept_as_long_as_an_answer():
    world = Asked(takes=10.0)
    world.error = HccnError("timeout", "no answer within 10 s")
    probe = world.probe()
    unknown = ("busy_unknown", "cannot find out whether the NPUs are busy: no answer within 10 s")
    assert [refused(probe, 0), refused(probe, 1)] == [unknown, unknown]
    assert world.asked == ["npu-smi"]


def test_queue_pairs_of_the_test_before_may_take_a_moment_to_go():
    world = Asked()
    world.pairs = [4, 4, 0]
    world.probe().require_idle(0)
    world.pairs = [4]
    assert refused(world.probe(), 0) == ("device_busy", "device 0 is busy: 4 queue pairs")


def test_what_this_run_has_there_is_no_other_work(monkeypatch):
    world = Asked()
    world.pairs = [4]
    world.probe().require_idle(0, own_test=True)
    world.holders[0] = 4711
    monkeypatch.setattr(busy, "belongs_to_run", lambda pid: pid == 4711)
    world.probe().require_idle(0, own_test=True)
    monkeypatch.setattr(busy, "belongs_to_run", lambda pid: False)
    assert refused(world.probe(), 0, own_test=True) == ("device_busy", "device 0 is busy: pid 4711 (python3)")
