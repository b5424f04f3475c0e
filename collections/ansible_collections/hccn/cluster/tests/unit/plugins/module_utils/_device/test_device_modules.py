"""Test the logic of device_info, device_tls and hccn_conf."""

from __future__ import annotations

import dataclasses
import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import busy, declare, device_session, hccn_tool, host, info, npu_smi, read, tls_flag
from ansible_collections.hccn.cluster.plugins.module_utils._device.parse_npu_smi import Chip, Process

PRODUCT = host.Host((0, 1), "A2", "Ascend 910B4", (Chip(0, 0, 0), Chip(1, 0, 1)))
HEAD = "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |\n"
IDLE = HEAD + "| No running processes found in NPU 0       |\n| No running processes found in NPU 1       |\n"
AT_WORK = HEAD + "| 1       0                 | 4711          | python3                  | 19502                   |\n"
OK = (0, "Cmd executed successfully!\n", "")
NOT_WRITTEN = (4, "", "Write configurations to config file failed. User configurations cannot be persisted! pls check cmd run permission.\n")


class Npus:
    """Two devices with one hccn.conf. ``broken`` maps (device, command) to replacement output."""

    def __init__(self, path, switches):
        self.path = path
        self.switches = dict(switches)
        self.broken = {}
        self.calls = []
        self.unwritten = False
        self.smi = {"info": IDLE}

    def __call__(self, argv, timeout):
        device, words = int(argv[2]), " ".join(argv[3:])
        self.calls.append((device, words))
        rc, stdout, stderr = self.broken.get((device, words)) or self.answer(device, words)
        return Result(tuple(argv), rc, stdout, stderr, False, 0.0, 0.1)

    def npu_smi(self, argv, timeout):
        output = self.smi.get(" ".join(argv[1:]))
        return Result(tuple(argv), 0 if output else -9, output or "", "", output is None, 0.0, 0.1)

    def answer(self, device, words):
        if words == "-tls -g":
            if self.path.exists() and "tls_enable_%d=" % device not in self.path.read_text():
                self.path.write_text(self.path.read_text() + "tls_enable_%d=%d\n" % (device, self.switches[device]))
            return 0, "dev_id:%d, tls switch[%d](0:disable, 1:enable), tls alarm time threshold[60]days\n" % (device, self.switches[device]), ""
        if words.startswith("-tls -s enable"):
            self.switches[device] = int(words[-1])
            if self.unwritten:
                return NOT_WRITTEN
            lines = [line for line in self.path.read_text().splitlines(True) if not line.startswith("tls_enable_%d=" % device)]
            self.path.write_text("".join(lines) + "tls_enable_%d=%s\n" % (device, words[-1]))
            return OK
        return 0, {"-ip -g": "ipaddr:10.78.1.1%d\nnetmask:255.255.255.0\n" % device, "-gateway -g": "default gateway:10.78.1.1, Iface:eth0\n",
                   "-netdetect -g": "netdetect addr: 0.0.0.0\n", "-link -g": "link status: UP\n",
                   "-net_health -g": "net health status: Success\n", "-qp_info -g": "qpn status\ntotal_qp_count: 0\n"}[words], ""


@pytest.fixture
def npus(tmp_path, monkeypatch):
    path = tmp_path / "hccn.conf"
    path.write_text("tls_enable_0=0\ntls_enable_1=1\n")
    fake = Npus(path, {0: 0, 1: 1})

    def start(params):
        return device_session.Session(hccn_tool.HccnTool("hccn_tool", 5, fake, lambda pause: None), PRODUCT, host.expand(params["devices"], (0, 1)), str(path),
                                      npu_smi.NpuSmi("/x/npu-smi", fake.npu_smi))

    monkeypatch.setattr(device_session, "start", start)
    return fake


def look(fail_on="none", check_mode=False, gather=read.DEFAULT_TOPICS, devices=("all",)):
    params = {"devices": list(devices), "gather": list(gather), "fail_on": fail_on}
    return info.gather(device_session.start(params), params, check_mode)


def test_all_topics_are_read(npus):
    result = look()
    tls = {"enabled": True, "preset_certificate": None, "alarm_days": 60, "certificates": []}
    assert result["devices"][1] == {
        "id": 1, "address": "10.78.1.11", "netmask": "255.255.255.0", "gateway": "10.78.1.1", "netdetect": None, "tls": tls, "link": "up",
        "health": "success", "conf": {"tls_enabled": True}, "errors": [],
    }
    assert (result["product"], result["dialect"], result["side_effects"]) == ("A2", "910", [])
    assert len(npus.calls) == 12


def test_requested_devices_and_topics_in_order(npus):
    result = look(gather=["link"], devices=["1", "0"])
    assert result["devices"] == [{"id": 1, "link": "up", "errors": []}, {"id": 0, "link": "up", "errors": []}]
    assert sorted(npus.calls) == [(0, "-link -g"), (1, "-link -g")]


def test_each_device_has_a_record(npus):
    npus.broken[(0, "-link -g")] = (1, "", "Command execute failed!\n")
    records = look()["measurements"]
    assert [(entry["kind"], entry["status"], entry["source"]) for entry in records] == [
        ("device", "failed", {"device": 0, "address": "10.78.1.10"}), ("device", "ok", {"device": 1, "address": "10.78.1.11"})]
    assert records[0]["error"]["code"] == "device_failed"
    assert records[1]["samples"] == [{"address": "10.78.1.11", "netmask": "255.255.255.0", "gateway": "10.78.1.1", "netdetect": None, "link": "up",
                                      "health": "success", "tls": True}]
    assert records[1]["context"] == {"product": "A2", "chip": "Ascend 910B4"}


def test_unset_values_are_not_errors(npus):
    npus.broken[(0, "-ip -g")] = (13, "", "Get ipconf failed, because no ip was preset there!\n")
    npus.broken[(0, "-gateway -g")] = (2, "", "Get gateway failed, because no gateway was preset there!\n")
    device = look()["devices"][0]
    assert (device["address"], device["netmask"], device["gateway"], device["errors"]) == (None, None, None, [])


@pytest.mark.parametrize("broken, fail_on, failed", [
    (1, "none", False), (1, "any", True), (1, "all", False), (2, "all", True), (0, "any", False), (0, "all", False),
])
def test_fail_on(npus, broken, fail_on, failed):
    for device in range(broken):
        npus.broken[(device, "-link -g")] = (0, "link status: ODD\n", "")
    result = look(fail_on)
    assert result.get("failed", False) is failed
    assert len(result["devices"]) == 2
    if broken == 1 and failed:
        assert result["msg"] == "1 of 2 devices failed: NPU 0: link: -link -g printed unexpected output: 'link status: ODD'"


@pytest.mark.parametrize("fail_on, failed", [(None, True), ("any", True), ("all", False), ("none", False)])
def test_absent_npus_are_errors(npus, fail_on, failed):
    result = look(fail_on, gather=["link"], devices=["0-1", "8-15"])
    assert [device["id"] for device in result["devices"]] == [0, 1, 8, 9, 10, 11, 12, 13, 14, 15]
    assert [device["link"] for device in result["devices"][:2]] == ["up", "up"]
    assert result["devices"][2] == {"id": 8, "errors": [{"code": "no_such_device", "message": "no such NPU on this host, which has NPUs 0-1",
                                                         "hint": "see npu-smi info -m for the ids; they are physical ids"}]}
    assert {device for device, _words in npus.calls} == {0, 1}
    assert result.get("failed", False) is failed


def test_message_about_absent_npus(npus):
    result = look(None, gather=[], devices=["8-15"])
    assert result["msg"] == "NPUs 8-15 do not exist on this host, which has NPUs 0-1"
    assert result["error"] == {"code": "no_such_device", "message": result["msg"], "devices": [8, 9, 10, 11, 12, 13, 14, 15]}
    assert look(None, gather=[], devices=["7"])["msg"] == "NPU 7 does not exist on this host, which has NPUs 0-1"
    assert look("any", gather=[], devices=["7-9"])["msg"] == (
        "3 of 3 devices failed: NPUs 7-9: no such NPU on this host, which has NPUs 0-1 (see npu-smi info -m for the ids; they are physical ids)")


def test_other_errors_do_not_fail_by_default(npus):
    npus.broken[(0, "-link -g")] = npus.broken[(1, "-link -g")] = (1, "", "Command execute failed!\n")
    npus.smi.clear()
    result = look(None, gather=["link", "versions"])
    assert ("failed" in result, [[error["code"] for error in device["errors"]] for device in result["devices"]]) == (False, [["device_failed", "timeout"]] * 2)


def test_missing_npu_smi_does_not_fail_by_default(npus, monkeypatch):
    monkeypatch.setattr(npu_smi.NpuSmi, "board", lambda self, chip: (nothing for nothing in ()).throw(HccnError("tool_missing", "npu-smi is not there")))
    result = look(None, gather=["versions"])
    assert ("failed" in result, result["devices"][0]["errors"][0]["code"]) == (False, "tool_missing")


CONF = "address_0=10.78.1.10\nmtu_0=1500\nnetdetect_0=0.0.0.0\naddress_0=10.78.1.99\ntls_enable_0=1\nsend_arp_status_0=1\n"


def test_conf_values_of_each_npu(npus):
    npus.path.write_text(CONF)
    assert [device["conf"] for device in look(gather=["address"])["devices"]] == [
        {"address": "10.78.1.10", "netdetect": None, "mtu": 1500, "tls_enabled": True}, {}]
    assert all("conf" not in device for device in look(gather=["link", "health"])["devices"])
    assert all("conf" not in record["samples"][0] for record in look(gather=["address"])["measurements"])


def test_conf_values_after_the_tls_query(npus):
    npus.path.write_text("")
    assert [device["conf"] for device in look(gather=["tls"])["devices"]] == [{"tls_enabled": False}, {"tls_enabled": True}]
    assert [device["conf"] for device in look(gather=["tls"], check_mode=True)["devices"]] == [{"tls_enabled": False}, {"tls_enabled": True}]


def test_conf_is_none_without_the_file(npus):
    npus.path.unlink()
    assert [device["conf"] for device in look(gather=["gateway"])["devices"]] == [None, None]
    npus.path.mkdir()
    assert [(device["conf"], device["gateway"]) for device in look(gather=["gateway"])["devices"]] == [(None, "10.78.1.1")] * 2


def test_invalid_conf_values(npus):
    npus.path.write_text("mtu_0=many\ntls_enable_0=2\ngateway_0=\x1b[31m\naddress_1={{ 1 }}\nnetmask_1=%s\n" % ("9" * 200))
    first, second = look(gather=["address"])["devices"]
    assert first["conf"] == {"gateway": "?[31m", "mtu": "many", "tls_enabled": None}
    assert second["conf"] == {"address": None, "netmask": "9" * 61 + "..."}
    assert [(error["topic"], error["code"]) for error in second["errors"]] == [("conf", "template_in_name")]


def test_keys_written_by_the_query_are_returned(npus):
    npus.path.write_text("tls_enable_1=1\n")
    result = look()
    assert result["side_effects"] == [
        {"device": 0, "path": str(npus.path), "key": "tls_enable_0", "value": "0", "cause": "hccn_tool -tls -g"}]


def test_check_mode_skips_a_query_that_would_write(npus):
    npus.path.write_text("tls_enable_1=1\n")
    first, second = look(check_mode=True)["devices"]
    assert (first["tls"]["enabled"], first["tls"]["reason"], first["errors"], second["tls"]["enabled"]) == (None, "would_write", [], True)
    assert npus.path.read_text() == "tls_enable_1=1\n"


def test_query_is_skipped_without_final_newline(npus):
    npus.path.write_text("tls_enable_1=1")
    first = look()["devices"][0]
    assert (first["tls"]["enabled"], first["tls"]["reason"]) == (None, "no_final_newline")
    assert first["errors"][0]["code"] == "no_final_newline"
    assert npus.path.read_text() == "tls_enable_1=1"


def test_query_is_made_without_hccn_conf(npus):
    npus.path.unlink()
    assert [device["tls"]["enabled"] for device in look(check_mode=True)["devices"]] == [False, True]


def test_no_devices_no_results(npus):
    assert read.read_devices(None, [], ["link"], None, None) == []


def test_unreadable_certificates_are_an_error(npus):
    npus.broken[(0, "-tls -g")] = (14, "", "No certificate found, please set certs firstly!\n")
    first = look()["devices"][0]
    assert (first["tls"]["reason"], first["errors"][0]["topic"], first["errors"][0]["code"]) == ("no_certificate", "tls", "no_certificate")


def set_tls(state="disabled", check_mode=False, fail_on="any", allow_busy=False, validate_only=False):
    params = {"devices": ["all"], "state": state, "fail_on": fail_on, "allow_busy": allow_busy, "validate_only": validate_only}
    return tls_flag.set_flag(device_session.start(params), params, check_mode)


def test_carriage_return_belongs_to_the_flag(npus):
    """Recovery fails on ``1`` with a CR, so the file does not enable TLS."""
    npus.path.write_bytes(b"tls_enable_0=0\r\ntls_enable_1=1\n")
    result = set_tls(check_mode=True)
    assert (result["devices"][0]["before"], result["devices"][0]["changed"]) == ({"enabled": False, "persistent": None}, True)


def test_id_with_a_zero_in_front_is_no_key(npus):
    """The query would write ``tls_enable_0``, so check mode does not run it, and ``tls_enable_00`` wins nothing."""
    npus.path.write_text("tls_enable_00=1\ntls_enable_1=1\n")
    first = look(check_mode=True)["devices"][0]
    assert (first["tls"]["reason"], first["conf"]) == ("would_write", {})
    set_tls(check_mode=True)
    assert npus.path.read_text() == "tls_enable_00=1\ntls_enable_1=1\n"
    assert [one["errors"] for one in set_tls()["devices"]] == [[], []]
    npus.path.write_text("tls_enable_1=1\ntls_enable_00=1")
    assert look()["devices"][0]["tls"]["reason"] == "no_final_newline"
    assert npus.path.read_text() == "tls_enable_1=1\ntls_enable_00=1"


@pytest.mark.parametrize("value", ["00", "+0", " 0"])
def test_flag_that_recovery_reads_as_the_wanted_one_stays(npus, value):
    npus.path.write_text("tls_enable_0=%s\ntls_enable_1=0\n" % value)
    npus.switches[1] = 0
    assert set_tls(check_mode=True)["changed"] is False


def test_device_that_is_not_ready_is_asked_once(npus):
    asked = []

    def slow(argv, timeout):
        asked.append(argv[2])
        return Result(tuple(argv), -9, "", "", True, 0.0, 3.0) if argv[2] == "0" else npus(argv, timeout)

    tool = hccn_tool.HccnTool("hccn_tool", 3, slow, lambda pause: None)
    topics = ["address", "gateway", "netdetect", "link", "health", "tls"]
    first, second = read.read_devices(tool, [0, 1], topics, read.TlsReader(tool, npus.path.read_text(), str(npus.path), False),
                                      read.SmiReader(npu_smi.NpuSmi("/x/npu-smi", npus.npu_smi), PRODUCT, topics))
    assert (asked.count("0"), asked.count("1")) == (1, 6)
    assert [(error["topic"], error["code"]) for error in first["errors"]] == [(topic, "timeout") for topic in topics]
    assert [error["message"] for error in first["errors"][1:]] == ["not asked, since device 0 did not answer the query before"] * 5
    assert (first["address"], first["tls"]["reason"], second["errors"]) == (None, "timeout", [])


def test_tls_flag_is_set_where_it_differs(npus):
    result = set_tls()
    assert result["changed"] is True
    assert result["devices"] == [
        {"id": 0, "before": {"enabled": False, "persistent": False}, "after": {"enabled": False, "persistent": False}, "changed": False,
         "authorities": [], "errors": []},
        {"id": 1, "before": {"enabled": True, "persistent": True}, "after": {"enabled": False, "persistent": False}, "changed": True,
         "authorities": [], "errors": []},
    ]
    assert [call for call in npus.calls if "-s" in call[1]] == [(1, "-tls -s enable 0")]
    assert result["diff"]["before"] == "device 0: TLS off, after a boot off\ndevice 1: TLS on, after a boot on\n"
    assert result["diff"]["after"] == "device 0: TLS off, after a boot off\ndevice 1: TLS off, after a boot off\n"
    assert set_tls()["changed"] is False


def test_check_mode_predicts_and_sets_nothing(npus):
    result = set_tls(check_mode=True)
    assert (result["changed"], result["devices"][1]["after"]) == (True, {"enabled": False, "persistent": False})
    assert (npus.switches, npus.path.read_text()) == ({0: 0, 1: 1}, "tls_enable_0=0\ntls_enable_1=1\n")


def test_tls_flag_is_set_if_only_the_file_differs(npus):
    npus.path.write_text("tls_enable_0=1\ntls_enable_1=1\n")
    result = set_tls()
    assert result["devices"][0]["before"] == {"enabled": False, "persistent": True}
    assert npus.path.read_text() == "tls_enable_0=0\ntls_enable_1=0\n"


def test_missing_tls_key_is_a_change_in_check_mode(npus):
    npus.path.write_text("")
    result = set_tls(check_mode=True)
    assert (result["changed"], result["devices"][0]["before"], npus.path.read_text()) == (True, {"enabled": None, "persistent": None}, "")


def test_failed_tls_change_does_not_stop_the_others(npus):
    npus.switches[0] = 1
    npus.broken[(0, "-tls -s enable 0")] = (1, "", "Command execute failed!\n")
    result = set_tls()
    assert (result["failed"], result["changed"]) == (True, True)
    assert result["msg"] == (
        "1 of 2 devices failed: NPU 0: Command execute failed! (the device refused or did not answer: see npu-smi info and /var/log/hccn_tool/hccn.log)")
    assert result["devices"][0]["after"] == {"enabled": True, "persistent": False}
    assert result["devices"][1]["after"] == {"enabled": False, "persistent": False}


def test_tls_flag_that_was_not_applied_is_an_error(npus):
    npus.broken[(1, "-tls -s enable 0")] = OK
    result = set_tls()
    assert (result["changed"], result["devices"][1]["errors"][0]["code"]) == (False, "not_applied")


def test_unreadable_device_is_not_set(npus):
    npus.broken[(1, "-tls -g")] = (1, "", "Command execute failed!\n")
    result = set_tls(fail_on="none")
    assert ("failed" in result, result["changed"], result["devices"][1]["errors"][0]["code"]) == (False, False, "device_failed")
    assert not [call for call in npus.calls if "-s" in call[1]]


def test_tls_is_not_enabled_without_certificate(npus):
    npus.broken[(0, "-tls -g")] = (14, "", "No certificate found, please set certs firstly!\n")
    result = set_tls("enabled")
    assert result["devices"][0]["errors"][0]["hint"] == (
        "set one: hccn_tool -i 0 -tls -s path FOLDER pri KEY.pem pub CERTIFICATE.pem ca1 CA1.pem ca2 CA2.pem")
    assert not [call for call in npus.calls if "-s" in call[1]]


def test_keys_written_by_queries_are_returned_for_unset_devices(npus):
    """One device cannot be set and one is busy. The queries of both write their keys."""
    npus.path.write_text("mtu_0=1500\n")
    npus.broken[(0, "-tls -g")] = (14, "", "No certificate found, please set certs firstly!\n")
    npus.smi["info"] = AT_WORK
    result = set_tls("enabled")
    assert npus.path.read_text() == "mtu_0=1500\ntls_enable_1=1\n"
    assert (result["changed"], result["devices"][1]["before"], result["devices"][1]["after"]) == (
        True, {"enabled": True, "persistent": None}, {"enabled": True, "persistent": True})
    assert result["side_effects"] == [{"device": 1, "path": str(npus.path), "key": "tls_enable_1", "value": "1", "cause": "hccn_tool -tls -g"}]
    assert "device 1: TLS on, after a boot on\n" in result["diff"]["after"]


def test_session_finds_tool_and_devices(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "probe", lambda smi: PRODUCT)
    session = device_session.start({"hccn_tool": "/x/hccn_tool", "npu_smi": "npu-smi", "devices": ["1"], "timeout": 7, "hccn_conf": str(tmp_path / "none")})
    assert (session.tool.path, session.tool.timeout, session.devices, session.conf_text()) == ("/x/hccn_tool", 7.0, [1], None)
    with pytest.raises(InputError) as caught:
        device_session.start({"timeout": 0})
    assert caught.value.message == "timeout: 0 is too short: give 1 second or more"


@pytest.fixture
def conf(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "probe", lambda smi: PRODUCT)
    path = tmp_path / "hccn.conf"
    path.write_text("tls_enable_0=0")
    return path


def settle(path, check_mode=False, **given):
    params = {"path": str(path), "devices": ["all"], "npu_smi": "npu-smi", "settings": None, "config": None, "state": "present", "create": False,
              "backup": False, "timeout": 5, "fail_on": "any", "recover": False, "allow_busy": False,
              "pending_network": []}
    params.update(given)
    return declare.declare(params, check_mode, lambda name: name + ".backup")


def test_keys_of_all_devices_and_of_one(conf):
    result = settle(conf, settings={"send_arp_status": True}, config=[{"id": 1, "settings": {"send_arp_status": 0, "mtu": 4200}}])
    assert conf.read_text() == "tls_enable_0=0\nsend_arp_status_0=1\nsend_arp_status_1=0\nmtu_1=4200\n"
    assert [(problem["severity"], problem["device"]) for problem in result["problems"]] == [("error", 0), ("error", 1)], "no address to announce"
    assert result["changed"] is True
    assert result["settings"][-1] == {"device": 1, "key": "mtu", "value": "4200"}
    assert result["diff"]["before"] == result["previous"] == "tls_enable_0=0"
    assert settle(conf, settings={"send_arp_status": 1}, devices=["0"])["changed"] is False


def test_check_mode_writes_nothing_and_backup_copies(conf):
    assert settle(conf, check_mode=True)["changed"] is True
    assert conf.read_text() == "tls_enable_0=0"
    assert settle(conf, backup=True)["backup_file"] == str(conf) + ".backup"
    assert "backup_file" not in settle(conf, backup=True)


def test_only_exact_keys_are_removed(conf):
    conf.write_text("gateway_0=10.0.0.1\nIPv6gateway_0=fd00::1\n#gateway_0=old\n")
    settle(conf, state="absent", settings={"gateway": None})
    assert conf.read_text() == "IPv6gateway_0=fd00::1\n#gateway_0=old\n"


def test_missing_file_is_created_only_with_create(conf):
    conf.unlink()
    with pytest.raises(HccnError) as caught:
        settle(conf)
    assert caught.value.code == "conf_missing"
    assert settle(conf, check_mode=True, create=True, settings={"mtu": 1500})["changed"] is True
    assert not conf.exists()
    assert settle(conf, create=True, settings={"mtu": 1500})["changed"] is True
    assert conf.read_text() == "mtu_0=1500\nmtu_1=1500\n"


def test_created_empty_file_is_a_change(conf):
    conf.unlink()
    for check_mode in (True, False):
        result = settle(conf, check_mode=check_mode, create=True)
        assert (result["changed"], result["diff"]["before_header"], conf.exists()) == (True, "%s, which does not exist" % conf, not check_mode)
    assert settle(conf, create=True)["changed"] is False


def test_created_file_is_readable_with_any_umask(conf):
    conf.unlink()
    umask = os.umask(0o077)
    try:
        settle(conf, create=True)
    finally:
        os.umask(umask)
    assert conf.stat().st_mode & 0o777 == 0o644


def test_link_to_an_existing_file_is_followed(conf):
    link = conf.with_name("link.conf")
    link.symlink_to(conf)
    assert settle(link, create=True, settings={"mtu": 1500})["changed"] is True
    assert conf.read_text() == "tls_enable_0=0\nmtu_0=1500\nmtu_1=1500\n"


def test_remaining_problems_fail(conf):
    conf.write_text("mtu_0=4200 \naddress_0=10.0.0.1\n")
    result = settle(conf)
    assert (result["failed"], result["changed"]) == (True, False)
    assert [problem["severity"] for problem in result["problems"]] == ["error", "warning"]
    assert result["msg"].startswith("%s has 1 problem(s) left, the first: line 1, mtu_0: '4200 '" % conf)
    assert "failed" not in settle(conf, fail_on="none")


@pytest.mark.parametrize("given, rules", [({}, ["final_newline"]), ({"settings": {"tls_enable": 0}, "devices": ["0"]}, [])])
def test_check_mode_without_a_declaration_judges_the_file_as_it_is(conf, given, rules):
    """``tls_enable_0=0`` has no new line, so recovery joins another key to it; with a declaration, the newline is added."""
    result = settle(conf, check_mode=True, **given)
    assert ([problem["rule"] for problem in result["problems"]], result["changed"], conf.read_text()) == (rules, True, "tls_enable_0=0")


@pytest.mark.parametrize("key, value", [("mtu", "04200"), ("address", "192.168.1"), ("bw_limit", "0100000"), ("roce_port", "auto"), ("send_arp_period", 0),
                                        ("bitmap", "1,1,1,1,1,0,0,0"), ("dscp_tc", "33:4,"), ("mac_addr", "01:00:5e:00:00:01"), ("lldp_portid_type", "x"),
                                        ("dcqcn_cnp_dscp", 64), ("netdetect", "255.255.255.255"), ("tls_enable", "1 ")])
def test_value_that_recovery_does_not_apply_is_refused(conf, key, value):
    with pytest.raises(InputError, match="settings: %s: " % key):
        settle(conf, settings={key: value})
    assert conf.read_text() == "tls_enable_0=0"


def test_file_that_hccn_tool_cannot_write_is_repaired(conf):
    """hccn_tool reads a file of more than 1,023,999 bytes, but writes none; hccn_conf removes a line of it."""
    conf.write_text("mtu_0=4200\n" + ("#" * 300 + "\n") * 3402)
    problems = settle(conf, check_mode=True, fail_on="none")["problems"]
    assert [(problem["rule"], problem["severity"], problem["where"], problem["device"]) for problem in problems] == [
        ("too_large", "error", "the file", 0), ("too_large", "error", "the file", 1)]
    assert settle(conf, state="absent", settings={"mtu": None}, fail_on="none")["changed"] is True


def test_unknown_devices_require_explicit_ids(conf, monkeypatch):
    def broken(smi):
        raise HccnError("no_device", "no NPU")

    monkeypatch.setattr(host, "probe", broken)
    with pytest.raises(HccnError):
        settle(conf, settings={"mtu": 1500})
    assert settle(conf, settings={"mtu": 1500}, devices=["0"])["changed"] is True
    assert settle(conf)["changed"] is False


@pytest.mark.parametrize("given, message", [
    ({"settings": {"mtu": [1500, 4200]}},
     "settings: mtu has 2 values but takes only one; only arp, ip_rule, ip_route, IPv6neigh, IPv6route_address may be repeated"),
    ({"settings": {"mtu\n": 1}}, "settings: 'mtu\\n' is not a key of hccn.conf: give it without '=' and without the device's number"),
    ({"settings": {"": 1}}, "settings: '' is not a key of hccn.conf: give it without '=' and without the device's number"),
    ({"settings": {"mtu_0": 1500}}, "settings: 'mtu_0' is not a key of hccn.conf: give it without '=' and without the device's number"),
    ({"settings": {"mtu": "lots"}}, "settings: mtu: 'lots' is not a number of 68 to 9702"),
    ({"settings": {"arp": ["a\nb"]}}, "settings: the value of arp does not fit on one line of 383 bytes"),
    ({"settings": {"arp": "a" * 400}}, "settings: the value of arp does not fit on one line of 383 bytes"),
    ({"settings": {"arp": "a\ud800"}}, "settings: 'a\\ud800' of arp has a character that cannot be written into a file"),
    ({"config": [{"id": 0, "settings": {"address": "10.0.0.1/24"}}]}, "config[0].settings: address: '10.0.0.1/24' is not an IPv4 address"),
    ({"settings": {"bw_limit": None}}, "settings: the value None of bw_limit is neither a text nor a number"),
    ({"settings": {"bw_limit": {"a": 1}}}, "settings: the value {'a': 1} of bw_limit is neither a text nor a number"),
    ({"config": [{"id": -1, "settings": {"mtu": 1500}}]}, "config[0]: id -1 is not a physical id of 0 to 63"),
    ({"config": [{"id": 64, "settings": {"mtu": 1500}}]}, "config[0]: id 64 is not a physical id of 0 to 63"),
    ({"config": [{"id": 0, "settings": {}}, {"id": 0, "settings": {}}]}, "config[1]: device 0 is listed twice"),
])
def test_invalid_input_messages(conf, given, message):
    with pytest.raises(InputError) as caught:
        settle(conf, **given)
    assert caught.value.message == message
    assert conf.read_text() == "tls_enable_0=0"


def test_topic_with_several_values_is_a_dictionary(npus):
    npus.broken[(0, "-vnic -g")] = (0, "vnic link status: UP\nvnic ipaddr: 192.168.2.199\nvnic netmask: 255.255.255.0\n", "")
    assert look(gather=["vnic"], devices=["0"])["devices"] == [
        {"id": 0, "vnic": {"link": "up", "address": "192.168.2.199", "netmask": "255.255.255.0"}, "errors": []}]


def test_busy_device_keeps_its_tls_flag(npus):
    npus.smi["info"] = AT_WORK
    result = set_tls()
    assert result["msg"] == (
        "1 of 2 devices failed: NPU 1: device 1 is busy: pid 4711 (python3) (wait for the job to end, or set allow_busy: true)")
    assert (result["changed"], result["devices"][1]["errors"][0]["code"], npus.switches) == (False, "device_busy", {0: 0, 1: 1})
    assert set_tls(check_mode=True)["failed"] is True
    assert set_tls(allow_busy=True)["changed"] is True


def test_device_with_queue_pairs_is_busy(npus):
    npus.broken[(1, "-qp_info -g")] = (0, "total_qp_count: 12\n", "")
    assert set_tls()["devices"][1]["errors"][0]["message"] == "device 1 is busy: 12 queue pairs"


@pytest.mark.parametrize("answer", [(3, "", "Get invalid major cmd.\n"), (0, "total_qp_count: %s\n" % ("9" * 5000), "")])
def test_only_npu_smi_counts_without_queue_pair_support(npus, answer):
    npus.broken[(1, "-qp_info -g")] = answer
    assert set_tls()["changed"] is True


def test_unknown_state_is_refused(npus):
    npus.smi["info"] = "| 0 910B4 | OK |\n"
    error = set_tls()["devices"][1]["errors"][0]
    assert (error["code"], error["message"]) == ("busy_unknown", "cannot find out whether the NPUs are busy: npu-smi info shows no process table")
    npus.smi["info"] = AT_WORK.replace("| 1 ", "| 7 ")
    assert set_tls()["devices"][1]["errors"][0]["code"] == "busy_unknown"


def test_busy_check_is_skipped_without_changes(npus):
    npus.smi.clear()
    assert set_tls(fail_on="any", allow_busy=False)["failed"] is True
    npus.switches[1] = 0
    npus.path.write_text("tls_enable_0=0\ntls_enable_1=0\n")
    assert set_tls()["changed"] is False
    assert busy.probe(None, None, PRODUCT, []) == {}


BOARD = "\tSoftware Version               : 24.1.0\n\tFirmware Version               : 7.5.0.1\n"


SERIAL = "\tSerial Number                  : 102312345678\n"


def test_npu_smi_topics(npus):
    npus.smi.update({"info": AT_WORK, "info -t board -i 0": BOARD, "info -t board -i 1": BOARD + SERIAL,
                     "info -t spod-info -i 0 -c 0": "This device does not support querying spod-info.\n"})
    first, second = look(gather=["processes", "versions", "super_pod"])["devices"]
    assert first == {"id": 0, "processes": [], "versions": {"driver": "24.1.0", "firmware": "7.5.0.1"}, "serial": None, "super_pod": None,
                     "errors": []}
    assert second["serial"] == "102312345678"
    assert second["processes"] == [{"pid": 4711, "name": "python3", "memory_mb": 19502}]
    assert (second["super_pod"], second["errors"][0]["code"], second["errors"][0]["topic"]) == (None, "timeout", "super_pod")


def test_npu_smi_topics_that_cannot_be_read(npus, monkeypatch):
    npus.smi["info"] = "garbage"
    assert [device["errors"][0]["topic"] for device in look(gather=["processes"])["devices"]] == ["processes", "processes"]
    seen = read.SmiReader(npu_smi.NpuSmi("/x/npu-smi", npus.npu_smi), host.Host((0,), None, None), ["versions"]).read({"id": 0, "errors": []})
    assert seen["errors"][0]["message"] == "npu-smi does not show device 0"


CERTIFICATE = "dev_id:0, [%s] info:\n\t subject[%s]\n\t issuer[/CN=root]\n"


def test_tls_is_not_enabled_with_an_expired_certificate(npus):
    output = "dev_id:0, tls switch[0](0:disable, 1:enable)\n" + CERTIFICATE % ("pub cert", "/CN=n1") + CERTIFICATE % ("ca1 cert", "/CN=ca")
    npus.broken[(0, "-tls -g")] = (0, output, "\t tls expiration status[2](0:normal, 1:near expiration, 2:has expired)\n")
    first = set_tls("enabled")["devices"][0]
    assert (first["errors"][0]["code"], first["errors"][0]["message"]) == ("certificate_expired", "expired on device 0: pub cert, ca1 cert")
    assert first["authorities"] == ["/CN=ca, issued by /CN=root"]
    assert set_tls("disabled")["devices"][0]["errors"] == []


def test_dry_run_checks_certificates_without_tls_key(npus):
    npus.path.write_text("tls_enable_0=0\n")
    npus.broken[(1, "-tls -g")] = (14, "", "No certificate found, please set certs firstly!\n")
    assert "failed" not in set_tls("enabled", check_mode=True)
    assert [error["code"] for error in set_tls("enabled", validate_only=True)["devices"][1]["errors"]] == ["no_certificate"]
    del npus.broken[(1, "-tls -g")]
    result = set_tls("enabled", validate_only=True)
    assert (result["changed"], [effect["key"] for effect in result["side_effects"]], result["devices"][0]["after"]["enabled"]) == (True, ["tls_enable_1"], True)
    assert npus.switches == {0: 0, 1: 1}
    assert not [words for _device, words in npus.calls if "-s" in words]


def test_dry_run_of_disabling_does_not_change_the_file(npus):
    npus.path.write_text("tls_enable_0=0\n")
    result = set_tls(validate_only=True)
    assert (result["changed"], result["side_effects"], npus.path.read_text()) == (False, [], "tls_enable_0=0\n")


def test_set_device_is_changed_even_if_not_persisted(npus):
    npus.unwritten = True
    refused = set_tls()["devices"][1]
    assert ([error["code"] for error in refused["errors"]], refused["changed"], refused["after"]) == (
        ["conf_not_persisted"], True, {"enabled": False, "persistent": True})
    back = set_tls("enabled")["devices"][1]
    assert (back["errors"], back["changed"], back["after"]) == ([], True, {"enabled": True, "persistent": True}), "the file has this value already"


POD = "0::/kubepods/burstable/pod12345678-1234-1234-1234-123456789abc/%s\n" % ("a" * 64)
DOCKER = "0::/system.slice/docker-%s.scope\n" % ("b" * 64)


@pytest.mark.parametrize("cgroup, sentence", [
    (POD, "pid 4711 (python3, pod 12345678-1234-1234-1234-123456789abc)"), (DOCKER, "pid 4711 (python3, docker container bbbbbbbbbbbb)"),
    ("0::/user.slice\n", "pid 4711 (python3)"), (None, "pid 4711 (python3)"),
])
def test_process_is_named_with_its_pod(tmp_path, monkeypatch, cgroup, sentence):
    if cgroup is not None:
        (tmp_path / "4711").mkdir()
        (tmp_path / "4711/cgroup").write_text(cgroup)
    true = busy.container_of
    monkeypatch.setattr(busy, "container_of", lambda pid: true(pid, str(tmp_path)))
    assert busy.Usage((Process(0, 0, 4711, "python3", 1),), None).sentence == sentence
    assert busy.Usage((Process(0, 0, 12, "", 1),), None).sentence == "pid 12"


def test_950_is_refused(npus, monkeypatch):
    start = device_session.start
    monkeypatch.setattr(device_session, "start", lambda params: dataclasses.replace(start(params), host=host.Host((0,), "950", "x")))
    with pytest.raises(HccnError) as caught:
        set_tls()
    assert "950" in caught.value.message
    assert npus.calls == []
