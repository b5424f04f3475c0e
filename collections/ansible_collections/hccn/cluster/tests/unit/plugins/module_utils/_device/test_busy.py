# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of tools that take the NPUs of this host by number; that of single devices is tested with what asks it."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import busy, host
from ansible_collections.hccn.cluster.plugins.module_utils._device.parse_npu_smi import Chip, Chips, Process
from ansible_collections.hccn.cluster.plugins.module_utils._device.smi import NpuSmi

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
    busy.refuse_work_here(Smi(), 1)
    with pytest.raises(HccnError) as caught:
        busy.refuse_work_here(Smi(), 2)
    assert (caught.value.code, caught.value.message) == ("device_busy", "device 1 is at work: pid %d (python3)" % TOO_HIGH_FOR_A_PID)


def test_a_host_without_npus_has_none_to_disturb(monkeypatch):
    monkeypatch.setattr(host.os, "listdir", lambda folder: ["null"])
    busy.refuse_work_here(Smi(chips=HccnError("tool_missing", "npu-smi is nowhere")), 8)


def test_no_answer_of_npu_smi_makes_no_host_without_npus(tmp_path):
    (tmp_path / "davinci0").write_text("")
    smi = NpuSmi("/x/npu-smi", lambda argv, timeout: Result(tuple(argv), 0, "dcmi module initialize failed. ret is -8005\n", "", False, 0.0, 0.1))
    with pytest.raises(HccnError) as caught:
        busy.refuse_work_here(smi, 8, str(tmp_path))
    assert (caught.value.code, caught.value.message) == (
        "busy_unknown", "whether the NPUs are at work cannot be told: npu-smi info -m shows no NPU: 'dcmi module initialize failed. ret is -8005'")
    (tmp_path / "davinci0").rename(tmp_path / "davinci_manager")
    busy.refuse_work_here(smi, 8, str(tmp_path))


def test_npus_whose_holder_keeps_npu_smi_out(tmp_path):
    text = "dcmi model initialized failed, because the device is used. ret is -8020\n"
    with pytest.raises(HccnError) as caught:
        busy.refuse_work_here(NpuSmi("/x/npu-smi", lambda argv, timeout: Result(tuple(argv), 0, text, "", False, 0.0, 0.1)), 8, str(tmp_path))
    assert (caught.value.code, caught.value.message) == (
        "device_busy", "npu-smi info -m cannot look at the NPUs, since a program holds them: "
                       "'dcmi model initialized failed, because the device is used. ret is -8020'")


def test_npus_that_cannot_be_asked_are_not_taken_for_idle(monkeypatch):
    with pytest.raises(HccnError) as caught:
        busy.refuse_work_here(Smi(processes=HccnError("timeout", "no answer within 60 s")), 8)
    assert (caught.value.code, caught.value.message) == ("busy_unknown", "whether the NPUs are at work cannot be told: no answer within 60 s")
    with pytest.raises(HccnError, match="npu-smi hangs"):
        busy.refuse_work_here(Smi(chips=HccnError("timeout", "npu-smi hangs")), 8)
