"""device_info, device_tls and hccn_conf as Ansible runs them, on a simulated host."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.lib.hosts import node, set_state, tools
from tests.lib.module import call_module

CONF = """address_0=10.78.9.10
netmask_0=255.255.0.0
gateway_0=10.78.0.1
netdetect_0=10.78.0.1
address_1=10.78.9.11
netmask_1=255.255.0.0
gateway_1=10.78.0.1
netdetect_1=10.78.0.1
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = node(tmp_path / "npu9", "--address-template", "10.78.9.1{device}", "--netmask", "255.255.0.0", "--switch-address", "10.78.0.1",
                "--state", "*.gateway=10.78.0.1", "--state", "*.netdetect=10.78.0.1", devices=2)
    (root / "etc/hccn.conf").write_text(CONF)
    return root


def conf(host: Path) -> str:
    return (host / "etc/hccn.conf").read_text()


def test_host_is_read(host: Path) -> None:
    result = call_module("device_info", tools(host))
    device = result["devices"][1]
    tls = device.pop("tls")
    assert device == {"id": 1, "address": "10.78.9.11", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1", "link": "up",
                      "health": "success", "errors": [],
                      "conf": {"address": "10.78.9.11", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1", "tls_enabled": False}}
    assert (tls["enabled"], tls["preset_certificate"], [certificate["name"] for certificate in tls["certificates"]]) == (
        False, True, ["pub cert", "ca1 cert", "ca2 cert"])
    assert (result["product"], result["dialect"], result["changed"]) == ("A2", "910", False)
    assert [effect["key"] for effect in result["side_effects"]] == ["tls_enable_0", "tls_enable_1"]
    assert conf(host) == CONF + "tls_enable_0=0\ntls_enable_1=0\n"


def test_unrequested_facts_leave_no_record(host: Path) -> None:
    result = call_module("device_info", {**tools(host), "gather": []})
    assert (result["devices"], result["measurements"]) == ([{"id": 0, "errors": []}, {"id": 1, "errors": []}], [])
    (record, _) = call_module("device_info", {**tools(host), "gather": ["link"]})["measurements"]
    assert (record["status"], record["source"], record["samples"]) == ("ok", {"device": 0}, [{"link": "up"}])


def test_check_mode_does_not_change_the_file(host: Path) -> None:
    result = call_module("device_info", tools(host), check=True)
    assert [device["tls"]["reason"] for device in result["devices"]] == ["would_write", "would_write"]
    assert conf(host) == CONF


def test_tls_flags_are_set_and_persistent(host: Path) -> None:
    set_state(host, "1.tls=1")
    options = {**tools(host), "state": "disabled"}
    predicted = call_module("device_tls", options, check=True, diff=True)
    assert (predicted["changed"], conf(host)) == (True, CONF)
    first = call_module("device_tls", options)
    assert [device["after"] for device in first["devices"]] == [{"enabled": False, "persistent": False}] * 2
    assert conf(host) == CONF + "tls_enable_0=0\ntls_enable_1=0\n"
    assert call_module("device_tls", options)["changed"] is False


def test_missing_tool_is_named(host: Path) -> None:
    options = {**tools(host), "hccn_tool": str(host / "none")}
    result = call_module("device_info", options)
    assert (result["failed"], result["msg"]) == (True, f"{host}/none: no such program (install it or give its path)")
    assert (result["error"]["code"], result["devices"]) == ("tool_missing", [])
    assert call_module("device_info", {**options, "gather": []})["error"]["code"] == "tool_missing", "also if no facts are requested"
    kept = call_module("device_info", {**options, "fail_on": "none"})
    assert ("failed" in kept, kept["devices"][0]["errors"][0]["message"]) == (False, f"{host}/none: no such program")


def test_missing_npus_are_named_once(host: Path) -> None:
    options = {**tools(host), "devices": ["0-15"], "gather": ["link"]}
    result = call_module("device_info", options)
    assert (result["failed"], result["msg"]) == (True, "NPUs 2-15 do not exist on this host, which has NPUs 0-1")
    assert (result["error"]["code"], [device.get("link") for device in result["devices"]]) == ("no_such_device", ["up", "up"] + [None] * 14)
    assert "failed" not in call_module("device_info", {**options, "fail_on": "none"})


def test_common_error_of_all_npus_is_reported_once(host: Path) -> None:
    set_state(host, "*.tls_nocert=1")
    result = call_module("device_tls", {**tools(host), "state": "enabled"})
    assert result["msg"] == ("2 of 2 devices failed: NPUs 0-1: tls: No certificate found, please set certs firstly! (set one: hccn_tool -i N -tls -s path "
                             "FOLDER pri KEY.pem pub CERTIFICATE.pem ca1 CA1.pem ca2 CA2.pem)")
    assert [device["errors"][0]["hint"][:24] for device in result["devices"]] == ["set one: hccn_tool -i 0 ", "set one: hccn_tool -i 1 "]


def test_differing_device_and_file_are_both_read(host: Path) -> None:
    set_state(host, "1.ip=10.78.9.99")
    second = call_module("device_info", {**tools(host), "gather": ["address"]})["devices"][1]
    assert (second["address"], second["conf"]["address"]) == ("10.78.9.99", "10.78.9.11")


def test_serial_numbers_and_machine_identify_hosts(host: Path, tmp_path: Path) -> None:
    other = node(tmp_path / "npu8", "--state", "0.serial=SIMNPU90001", devices=2)
    first, second = (call_module("device_info", {**tools(root), "gather": ["versions"]}) for root in (host, other))
    assert [device["serial"] for device in first["devices"] + second["devices"]] == ["SIMNPU90000", "SIMNPU90001", "SIMNPU90001", "SIMNPU80001"]
    assert (first["machine"] == call_module("device_info", {**tools(host), "gather": []})["machine"], first["machine"] == second["machine"]) == (True, False)
    assert [record["samples"] for record in first["measurements"]] == [[{"versions": {"driver": "24.1.rc3", "firmware": "7.5.0.1.129"}}]] * 2


def test_file_is_completed_and_verified_in_place(host: Path) -> None:
    path = host / "etc/hccn.conf"
    path.write_text(CONF.rstrip("\n"))
    inode = path.stat().st_ino
    result = call_module("hccn_conf", {**tools(host), "config": [{"id": 1, "settings": {"address": "10.78.9.21"}}]})
    assert (result["changed"], result["problems"], path.stat().st_ino) == (True, [], inode)
    assert conf(host) == CONF.replace("10.78.9.11", "10.78.9.21")


def test_simulated_tool_reads_the_file(host: Path) -> None:
    call_module("hccn_conf", {**tools(host), "settings": {"mtu": 4200}, "devices": ["0"]})
    subprocess.run([str(host / "bin/hccn_tool"), "-i", "0", "-cfg", "recovery"], check=True, timeout=30, stdout=subprocess.DEVNULL)
    ran = subprocess.run([str(host / "bin/hccn_tool"), "-i", "0", "-mtu", "-g"], check=True, timeout=30, capture_output=True, text=True)
    assert ran.stdout == "mtu:4200\n"


def test_host_with_950_is_read_as_far_as_supported(tmp_path: Path) -> None:
    root = node(tmp_path / "n950", "--product", "950", devices=2)
    set_state(root, "1.port.5=0", "1.port.6=partial", "1.stat.crc_error_sum=9")
    before = conf(root)
    result = call_module("device_info", {**tools(root), "gather": ["address", "tls", "link", "speed", "counters"], "fail_on": "any"})
    healthy, degraded = result["devices"]
    assert (result["product"], result["dialect"], result["side_effects"], conf(root)) == ("950", "950", [], before)
    assert (healthy["link"], healthy["address"], healthy["unread"], healthy["errors"]) == ("up", None, ["address", "tls"], [])
    assert [(port["udie"], port["port"], port["link"], port["speed"]["mbit_s"]) for port in degraded["ports"]] == [
        (0, 4, "up", 400000), (0, 5, "down", 400000), (0, 6, "partial", 400000)]
    assert (degraded["link"], degraded["ports"][0]["counters"]["crc_error_sum"]) == ("partial", 9)
