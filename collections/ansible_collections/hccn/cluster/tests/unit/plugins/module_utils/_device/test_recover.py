from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import conf, declare, hccn_tool, host, npu_smi, device_session
from ansible_collections.hccn.cluster.plugins.module_utils._device.parse_npu_smi import Chip

HEAD = "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |\n"
IDLE = HEAD + "| No running processes found in NPU 0       |\n"
AT_WORK = HEAD + "| 1       0                 | 4711          | python3                  | 19502                   |\n"
OK = (0, "Cmd executed successfully!\n", "")
FAILED = (1, "Recovery failed. Check '/var/log/hccn_tool/hccn_config.log' for details.\n", "Cmd execute failed!\n")
NO_CERTIFICATE = (14, "", "No certificate found, please set certs firstly!\n")
TEXT = """address_0=10.78.1.10
netmask_0=255.255.255.0
gateway_0=10.78.1.1
netdetect_0=10.78.1.1
tls_enable_0=0
mtu_0=1500
send_arp_status_0=1
mtu_1=1500
"""


class Npus:
    """Two devices with the settings of TEXT. A recovery applies the file to a device and adds a key to the file."""

    def __init__(self, path):
        self.path = path
        self.host = host.Host((0, 1), "A2", None, (Chip(0, 0, 0), Chip(1, 0, 1)))
        self.values = {0: {"address": "10.78.1.10", "netmask": "255.255.255.0", "gateway": "10.78.1.1", "netdetect": "10.78.1.1", "tls_enable": "0",
                           "mtu": "1500"}, 1: {"mtu": "1500"}}
        self.broken = {}
        self.calls = []
        self.timeouts = set()
        self.table = IDLE

    def __call__(self, argv, timeout):
        device, words = int(argv[2]), " ".join(argv[3:])
        self.calls.append((device, words))
        if words == "-cfg recovery":
            self.timeouts.add(timeout)
        rc, stdout, stderr = self.broken.get((device, words)) or self.answer(device, words)
        return Result(tuple(argv), rc, stdout, stderr, False, 0.0, 0.1)

    def npu_smi(self, argv, timeout):
        return Result(tuple(argv), 0, self.table, "", False, 0.0, 0.1)

    def answer(self, device, words):
        has = self.values[device]
        if words == "-cfg recovery":
            has.update((setting.key, setting.value) for setting in conf.settings(self.path.read_text()) if setting.device == device)
            self.path.write_text(self.path.read_text() + "xsfp_reset_max_times_%d=0\n" % device)
            return OK
        return 0, {"-ip -g": "ipaddr:%(address)s\nnetmask:%(netmask)s\n", "-gateway -g": "default gateway:%(gateway)s, Iface:eth0\n",
                   "-netdetect -g": "netdetect addr: %(netdetect)s\n", "-mtu -g": "mtu:%(mtu)s\n", "-qp_info -g": "total_qp_count: 0\n",
                   "-tls -g": "dev_id:0, tls switch[%(tls_enable)s](0:disable, 1:enable)\n"}[words] % has, ""

    @property
    def recoveries(self):
        return [device for device, words in self.calls if words == "-cfg recovery"]


@pytest.fixture
def npus(tmp_path, monkeypatch):
    path = tmp_path / "hccn.conf"
    path.write_text(TEXT)
    fake = Npus(path)

    def start(params):
        return device_session.Session(hccn_tool.HccnTool("hccn_tool", params["timeout"], fake, lambda pause: None), fake.host,
                                      host.expand(params["devices"], fake.host.devices), params["hccn_conf"], npu_smi.NpuSmi("/x/npu-smi", fake.npu_smi))

    monkeypatch.setattr(device_session, "start", start)
    monkeypatch.setattr(host, "probe", lambda npu_smi: fake.host)
    return fake


def settle(npus, check_mode=False, **given):
    params = {"path": str(npus.path), "devices": ["all"], "npu_smi": "npu-smi", "settings": None, "config": None, "state": "present", "create": False,
              "backup": False, "timeout": 30, "fail_on": "any", "recover": True, "allow_busy": False,
              "pending_network": []}
    params.update(given)
    return declare.declare(params, check_mode, lambda name: name + ".backup")


MTU = {"settings": {"mtu": 4200}}
DIFFERENCE = [{"key": "mtu", "file": "4200", "device": "1500"}]


def test_nothing_is_run_without_differences(npus):
    result = settle(npus)
    assert result["recovered"] == [
        {"id": device, "changed": False, "differences_before": [], "differences_after": [], "errors": []} for device in (0, 1)]
    assert (result["changed"], npus.recoveries, npus.path.read_text()) == (False, [], TEXT)
    assert sorted(npus.calls) == [(0, "-gateway -g"), (0, "-ip -g"), (0, "-mtu -g"), (0, "-netdetect -g"), (0, "-tls -g"), (1, "-mtu -g")]


def test_unset_netdetect_is_no_difference(npus):
    npus.path.write_text(TEXT.replace("netdetect_0=10.78.1.1", "netdetect_0=0.0.0.0"))
    npus.values[0]["netdetect"] = "0.0.0.0"
    assert (settle(npus)["changed"], npus.recoveries) == (False, [])
    npus.values[0]["netdetect"] = "10.78.1.1"
    assert settle(npus, True)["recovered"][0]["differences_before"] == [{"key": "netdetect", "file": "0.0.0.0", "device": "10.78.1.1"}]


def test_devices_are_not_read_without_recover(npus):
    assert "recovered" not in settle(npus, recover=False, **MTU)
    assert npus.calls == []


def test_differing_devices_are_recovered_one_after_the_other(npus):
    result = settle(npus, **MTU)
    assert result["recovered"] == [
        {"id": device, "changed": True, "differences_before": DIFFERENCE, "differences_after": [], "errors": []} for device in (0, 1)]
    assert (result["changed"], npus.recoveries, npus.timeouts) == (True, [0, 1], {120.0})
    assert result["settings"][-1] == {"device": 1, "key": "xsfp_reset_max_times", "value": "0"}
    assert result["diff"]["after"].endswith("mtu_1=4200\nxsfp_reset_max_times_0=0\nxsfp_reset_max_times_1=0\n")
    again = settle(npus, **MTU)
    assert (again["changed"], npus.recoveries) == (False, [0, 1])


def test_only_differing_device_is_recovered(npus):
    npus.values[1]["mtu"] = "9000"
    result = settle(npus, timeout=200)
    assert (result["changed"], npus.recoveries, npus.timeouts) == (True, [1], {200.0})
    assert result["recovered"][1]["differences_before"] == [{"key": "mtu", "file": "1500", "device": "9000"}]


def test_each_compared_key_is_a_difference(npus):
    npus.values[0] = {"address": "10.78.1.11", "netmask": "255.255.0.0", "gateway": "10.78.1.2", "netdetect": "0.0.0.0", "tls_enable": "1",
                      "mtu": "68"}
    before = settle(npus, check_mode=True)["recovered"][0]["differences_before"]
    assert [(one["key"], one["device"]) for one in before] == [
        ("address", "10.78.1.11"), ("netmask", "255.255.0.0"), ("gateway", "10.78.1.2"), ("netdetect", None), ("mtu", "68"), ("tls_enable", "1")]


def test_check_mode_predicts_and_runs_nothing(npus):
    result = settle(npus, check_mode=True, **MTU)
    assert [(one["changed"], one["differences_before"], one["differences_after"]) for one in result["recovered"]] == [(True, DIFFERENCE, [])] * 2
    assert (result["changed"], npus.recoveries, npus.path.read_text()) == (True, [], TEXT)


def test_check_mode_skips_a_tls_query_that_would_write(npus):
    result = settle(npus, check_mode=True, devices=["1"], settings={"tls_enable": 0})
    assert result["recovered"][0]["differences_before"] == [{"key": "tls_enable", "file": "0", "device": None}]
    assert (1, "-tls -g") not in npus.calls


def test_devices_of_both_options_are_recovered(npus):
    config = [{"id": 0, "settings": {"mtu": 4200}}, {"id": 1, "settings": {}}, {"id": 9, "settings": {"mtu": 4200}}]
    result = settle(npus, devices=["1"], config=config, fail_on="none")
    assert [one["id"] for one in result["recovered"]] == [1, 0]
    assert npus.recoveries == [0]


@pytest.mark.parametrize("line, blocked, message", [
    ("bw_limit_0=1\n", [0], "not recovered: line 9, bw_limit_0: '1' is not a number of 10000 to 200000"),
    ("roce_port_1=x\n", [1], "not recovered: line 9, roce_port_1: 'x' is not a number of 4097 to 65535"),
])
def test_file_with_errors_is_not_applied(npus, line, blocked, message):
    npus.path.write_text(TEXT + line)
    npus.values[1].update(address="10.78.1.11", netmask="255.255.255.0")
    result = settle(npus, **MTU)
    assert {one["id"]: error["message"] for one in result["recovered"] for error in one["errors"]} == dict.fromkeys(blocked, message)
    assert npus.recoveries == [device for device in (0, 1) if device not in blocked]
    assert result["msg"].startswith("%s has 1 problem(s) left" % npus.path)


def test_errors_of_the_file_are_ignored_without_differences(npus):
    npus.path.write_text(TEXT + "bw_limit_0=1\n")
    assert [one["errors"] for one in settle(npus)["recovered"]] == [[], []]


def test_warning_does_not_prevent_recovery(npus):
    npus.path.write_text(TEXT + "what is this\n")
    settle(npus, **MTU)
    assert npus.recoveries == [0, 1]


def test_failed_recovery_does_not_stop_the_others(npus):
    npus.broken[(0, "-cfg recovery")] = FAILED
    result = settle(npus, **MTU)
    first, second = result["recovered"]
    assert (first["changed"], first["differences_after"], first["errors"][0]["code"]) == (False, DIFFERENCE, "recovery_failed")
    assert (second["changed"], second["errors"], result["failed"]) == (True, [], True)
    assert result["msg"].startswith("1 of 2 devices failed: NPU 0: Recovery failed.")
    assert "failed" not in settle(npus, fail_on="none", **MTU)


def test_recovery_that_was_not_applied_is_an_error(npus):
    npus.broken[(0, "-cfg recovery")] = OK
    error = settle(npus, **MTU)["recovered"][0]["errors"][0]
    assert (error["code"], error["message"]) == ("not_applied", "the recovery reported success, but the device still differs in mtu")


def test_unreadable_device_is_not_recovered(npus):
    npus.broken[(0, "-mtu -g")] = (1, "", "Command execute failed!\n")
    result = settle(npus, **MTU)
    assert (result["recovered"][0]["errors"][0]["topic"], result["recovered"][0]["changed"], npus.recoveries) == ("mtu", False, [1])


@pytest.mark.parametrize("value, recovered", [(0, True), (1, False)])
def test_device_without_certificate(npus, value, recovered):
    npus.broken[(0, "-tls -g")] = NO_CERTIFICATE
    result = settle(npus, settings={"tls_enable": value, "mtu": 4200}, devices=["0"])
    assert (npus.recoveries, result["recovered"][0]["errors"] == []) == ([0] if recovered else [], recovered)


def test_busy_device_is_not_recovered(npus):
    npus.table = AT_WORK
    result = settle(npus, **MTU)
    assert result["recovered"][1]["errors"][0]["code"] == "device_busy"
    assert npus.recoveries == [0]
    settle(npus, allow_busy=True, **MTU)
    assert npus.recoveries == [0, 1]


def test_950_is_refused_before_the_file_is_changed(npus):
    npus.host = host.Host((0, 1), "950", None)
    with pytest.raises(HccnError) as caught:
        settle(npus, **MTU)
    assert (caught.value.code, npus.path.read_text()) == ("unsupported_dialect", TEXT)


def test_recovery_with_a_created_file_in_check_mode(npus):
    npus.path.unlink()
    result = settle(npus, check_mode=True, create=True)
    assert [one["differences_before"] for one in result["recovered"]] == [[], []]
