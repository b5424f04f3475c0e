from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import failures, hccn_tool, host, npu_smi


def run_result(rc=0, stdout="", stderr="", timed_out=False):
    return Result(("hccn_tool", "-i", "0", "-ip", "-g"), rc, stdout, stderr, timed_out, 0.0, 1.0)


class Script:
    """A runner that returns prepared results one after the other and records the calls."""

    def __init__(self, *results):
        self.results = list(results)
        self.calls = []

    def __call__(self, argv, timeout):
        self.calls.append(tuple(argv))
        return self.results.pop(0)


BUSY = run_result(11, "hccn_tool is busy, please try again.\n")


@pytest.mark.parametrize("result, code", [
    (run_result(0, "ipaddr:10.0.0.1\n"), None),
    (run_result(13, "", "Get ipconf failed, because no ip was preset there!\n"), "address_not_set"),
    (BUSY, "tool_busy"),
    (run_result(0, "Please add \"-tcp\"\n", "Cmd execute failed!\n"), "tcp_missing"),
    (run_result(2, "", "Roce perftest is doing, please try later.\nCmd execute failed!\n"), "roce_test_running"),
    (run_result(1, "", "Command execute failed!\n"), "device_failed"),
    (run_result(13, "", "The value of mtu you input is out of the valid range!\n"), "value_out_of_range"),
    (run_result(-9, timed_out=True), "timeout"),
    (run_result(-15), "tool_killed"),
    (run_result(234), "no_passwd_entry"),
    (run_result(77, "", "Something new!\n"), "tool_exit_77"),
    (run_result(78), "tool_exit_78"),
])
def test_failure_of_each_run(result, code):
    error = failures.failure_of(result)
    assert (error.code if error else None) == code


def test_unknown_failure_message_is_quoted():
    assert failures.failure_of(run_result(77, "Something new!\nmore\n")).message == "Something new!"


def test_long_output_is_cut():
    assert failures.failure_of(run_result(77, "x" * 1000000)).message == "(1000000 characters without a space)"
    assert failures.failure_of(run_result(77, "x y " * 1000000)).message == "x y " * 50 + "..."
    assert failures.failure_of(run_result(1, "", "Command execute failed!" + "x" * 1000000)).message == "Command execute ..."


def test_failure_texts_are_unique():
    texts = [failure.text for failure in failures.FAILURES]
    codes = [failure.code for failure in failures.FAILURES]
    assert len(set(texts)) == len(texts)
    assert sorted(code for code in codes if codes.count(code) > 1) == ["device_memory_low"] * 2, "two texts of roce_test"


@pytest.mark.parametrize("result, code", [
    (run_result(0, "Cmd executed successfully!\n"), None),
    (run_result(0, ""), "not_confirmed"),
    (run_result(4, "", "Write configurations to config file failed. User configurations cannot be persisted! pls check cmd run permission.\n"),
     "conf_not_persisted"),
])
def test_set_without_success_message_is_an_error(result, code):
    error = failures.set_failure_of(result)
    assert (error.code if error else None) == code


def test_busy_tool_is_retried():
    script, pauses = Script(BUSY, BUSY, run_result(0, "link status: UP\n")), []
    result = hccn_tool.HccnTool("hccn_tool", 5, script, pauses.append).query(3, "-link", "-g")
    assert result.stdout == "link status: UP\n"
    assert script.calls == [("hccn_tool", "-i", "3", "-link", "-g")] * 3
    assert pauses == [1.0, 1.0]


def test_retry_can_be_refused():
    def refuse():
        raise HccnError("device_busy", "a job has started")

    script = Script(BUSY)
    with pytest.raises(HccnError) as caught:
        hccn_tool.HccnTool("/x/hccn_tool", 5.0, script, lambda seconds: None).set(0, "-mtu", "-s", "size", "4200", before_retry=refuse)
    assert (caught.value.code, len(script.calls)) == ("device_busy", 1)


def test_tool_that_stays_busy_is_an_error():
    script = Script(*[BUSY] * 5)
    with pytest.raises(HccnError) as caught:
        hccn_tool.HccnTool("hccn_tool", 5, script, lambda pause: None).query(0, "-link", "-g")
    assert caught.value.code == "tool_busy"
    assert len(script.calls) == 5


def test_set_raises_the_failure_of_the_tool():
    script = Script(run_result(14, "", "No certificate found, please set certs firstly!\n"), run_result(0, "Cmd executed successfully!\n"))
    npu = hccn_tool.HccnTool("hccn_tool", 5, script)
    with pytest.raises(HccnError) as caught:
        npu.set(0, "-tls", "-s", "enable", "1")
    assert caught.value.code == "no_certificate"
    assert npu.set(0, "-tls", "-s", "enable", "1").rc == 0


@pytest.mark.parametrize("device", ["", "0", "00", None, True, -1, 1.0])
def test_invalid_id_is_refused(device):
    script = Script()
    with pytest.raises(InputError):
        hccn_tool.HccnTool("hccn_tool", 5, script).query(device, "-ip", "-g")
    assert script.calls == []


def test_lost_packets_are_a_result():
    text = "device 0 PING 10.0.0.2\nrecv time out seq=0\nrecv seq=1,time=0.090000ms\nrecv seq=2,time=0.110000ms\n"
    text += "3 packets transmitted, 2 received, 33.33% packet loss\n"
    ping = hccn_tool.ping_result(run_result(1, text, "Command execute failed!\n"))
    assert (ping.target, ping.sent, ping.received, ping.lost, ping.times_ms, ping.reasons) == (
        "10.0.0.2", 3, 2, 1, (0.09, 0.11), ("recv time out",))


def test_ping_that_was_not_sent_is_an_error():
    with pytest.raises(HccnError) as caught:
        hccn_tool.ping_result(run_result(22, "", "Execute failed: Link status is down.\n"))
    assert caught.value.code == "link_down"
    with pytest.raises(ParseError):
        hccn_tool.ping_result(run_result(0, "nothing of the kind"))


def test_program_is_searched_in_path_and_folders(tmp_path, monkeypatch):
    program = tmp_path / "hccn_tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert hccn_tool.find_program("hccn_tool", (str(tmp_path),)) == str(program)
    assert hccn_tool.find_program("/any/path", ()) == "/any/path"
    with pytest.raises(HccnError) as caught:
        hccn_tool.find_program("hccn_tool", ("/nowhere/either",))
    assert caught.value.message == "hccn_tool is neither in PATH nor in /nowhere/either"


@pytest.mark.parametrize("wanted, expected", [
    (["all"], [0, 1, 2]), (["0-2"], [0, 1, 2]), (["7", "0-1"], [7, 0, 1]), ([3], [3]), ([" 4 "], [4]),
])
def test_device_ranges_are_expanded(wanted, expected):
    assert host.expand(wanted, [0, 1, 2]) == expected


@pytest.mark.parametrize("wanted, message", [
    ([], "devices is empty: give ids such as 0-7, or all"),
    (["all", "1"], "devices: 'all' is neither an id, nor a range such as 0-7, nor all alone"),
    ([""], "devices: '' is neither an id, nor a range such as 0-7, nor all alone"),
    (["-1"], "devices: '-1' is neither an id, nor a range such as 0-7, nor all alone"),
    (["0;reboot"], "devices: '0;reboot' is neither an id, nor a range such as 0-7, nor all alone"),
    (["5-2"], "devices: the range '5-2' is descending or exceeds 63"),
    (["64"], "devices: the range '64' is descending or exceeds 63"),
    (["0-3", "2"], "devices: 2 named twice"),
])
def test_invalid_devices_are_refused(wanted, message):
    with pytest.raises(InputError) as caught:
        host.expand(wanted, [0])
    assert caught.value.message == message


CHIPS_A2 = """\tNPU ID                         Chip ID                        Chip Logic ID                  Chip Name
\t0                              0                              0                              Ascend 910B4
\t0                              1                              -                              Mcu
\t1                              0                              1                              Ascend 910B4
\t1                              1                              -                              Mcu
"""
CHIPS_A3 = """\tNPU ID      Chip ID      Chip Logic ID      Chip Phy-ID      Chip Name
\t0           0            0                  0                Ascend910
\t0           1            1                  1                Ascend910
\t0           2            -                  -                Mcu
\t1           0            2                  2                Ascend910
"""
CHIPS_910A = CHIPS_A2.replace("910B4", "910A")
CHIPS_950 = "NPU ID    Slot ID    Chip ID    Chip Phy-ID    Chip Name\n0         0          0          0              xyz\n"


@pytest.mark.parametrize("text, devices, product, dialect", [
    (CHIPS_A2, (0, 1), "A2", "910"), (CHIPS_A3, (0, 1, 2), "A3", "910"), (CHIPS_910A, (0, 1), "910A", "910"), (CHIPS_950, (0,), "950", "950"),
    (CHIPS_A2.replace("910B4", "310P3"), (0, 1), None, "910"),
])
def test_chips_determine_devices_and_product(text, devices, product, dialect):
    seen = host.probe(npu_smi.NpuSmi("/x/npu-smi", Script(run_result(0, text))))
    assert (seen.devices, seen.product, seen.dialect) == (devices, product, dialect)


def test_missing_npu_does_not_shift_physical_ids():
    """Logic ids have no gap for a missing NPU, but the physical ids of hccn_tool do."""
    rows = CHIPS_A2.replace("\t1 ", "\t3 ")
    seen = host.probe(npu_smi.NpuSmi("/x/npu-smi", Script(run_result(0, rows))))
    assert seen.devices == (0, 3)
    two_chips = CHIPS_A2.replace("910B4", "310P3").replace("\t1 ", "\t3 ")
    assert host.probe(npu_smi.NpuSmi("/x/npu-smi", Script(run_result(0, two_chips)))).devices == (0, 1)


@pytest.mark.parametrize("text", ["There is no NPU card on this server.\n", CHIPS_A2.splitlines()[0] + "\n"])
def test_host_without_npu_is_an_error(text):
    with pytest.raises(HccnError) as caught:
        host.probe(npu_smi.NpuSmi("/x/npu-smi", Script(run_result(0, text))))
    assert caught.value.code == "no_device"


def test_device_files_are_used_without_npu_smi(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(npu_smi, "FOLDERS", ("/nowhere",))
    for name in ("davinci10", "davinci2", "davinci_manager", "null"):
        (tmp_path / name).write_text("")
    assert host.probe(npu_smi.NpuSmi("npu-smi"), dev=str(tmp_path)).devices == (2, 10)
    with pytest.raises(HccnError) as caught:
        host.parse_device_files(["null"])
    assert caught.value.code == "no_device"


def test_npu_smi_has_a_timeout():
    assert host.probe(npu_smi.NpuSmi("/x/npu-smi", Script(run_result(0, CHIPS_A2)))).devices == (0, 1)
    with pytest.raises(HccnError) as caught:
        host.probe(npu_smi.NpuSmi("/x/npu-smi", Script(run_result(-9, timed_out=True))))
    assert caught.value.code == "timeout"


def test_other_errors_of_npu_smi_are_raised():
    def broken(argv, timeout):
        raise HccnError("tool_not_executable", "npu-smi: Permission denied")

    with pytest.raises(HccnError) as caught:
        host.probe(npu_smi.NpuSmi("/x/npu-smi", broken))
    assert caught.value.code == "tool_not_executable"


def test_remark_about_certificates_is_no_error():
    remark = "[Warning] The currently loaded is a preset certificate, which has security risks.\n"
    error = failures.failure_of(Result(("hccn_tool",), 1, remark + "Cmd executed successfully!\n", "", False, 0.0, 0.1))
    assert (error.code, error.message) == ("tool_exit_1", "hccn_tool reported success, but exited with 1")
    error = failures.failure_of(Result(("hccn_tool",), 1, remark + "something else\n", "", False, 0.0, 0.1))
    assert (error.code, error.message) == ("tool_exit_1", "something else")


def test_second_text_for_low_memory():
    text = "There is not enough memory to perform the requested, please decrease your parameters.\n"
    assert failures.failure_of(Result(("hccn_tool",), 3, text, "", False, 0.0, 0.1)).code == "device_memory_low"
