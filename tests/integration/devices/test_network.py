"""device_network as Ansible runs it, on a simulated host."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lib.hosts import node, set_state, tools
from tests.lib.module import call_module

CONF = """address_0=10.78.9.10
netmask_0=255.255.0.0
gateway_0=10.78.0.1
route_address_20.0.0.0_netmask_255.0.0.0_0=gateway_10.78.0.7
address_1=10.78.9.11
netmask_1=255.255.0.0
gateway_1=10.78.0.1
"""
NEW = {"id": 1, "address": "10.79.1.5", "netmask": "255.255.255.0", "gateway": "10.79.1.1", "netdetect": "10.79.1.1", "mtu": 4200,
       "ipv6_address": "FD00::0010", "ipv6_prefix": 64, "ipv6_gateway": "fd00::1", "ipv6_netdetect": "fd00::1", "roce_port": 5000,
       "pfc": [0, 0, 0, 0, 1, 0, 0, 0], "dscp_to_tc": {"33": 2, "34": 1}, "prio_tc": [0, 1, 2, 3, 0, 0, 0, 0], "shaping": 100000}
NEW_CONF = """address_1=10.79.1.5
netmask_1=255.255.255.0
gateway_1=10.79.1.1
netdetect_1=10.79.1.1
mtu_1=4200
IPv6address_1=fd00::10
IPv6netmask_1=64
IPv6gateway_1=fd00::1
IPv6netdetect_1=fd00::1
roce_port_1=5000
bitmap_1=0,0,0,0,1,0,0,0
dscp_tc_1=33:2,34:1,
prio_tc_1=0,1,2,3,0,0,0,0
bw_limit_1=100000
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = node(tmp_path / "npu9", "--address-template", "10.78.9.1{device}", "--netmask", "255.255.0.0", "--state", "0.gateway=10.78.0.1",
                "--state", "1.gateway=10.78.0.1", devices=2)
    (root / "etc/hccn.conf").write_text(CONF)
    return root


def conf(host: Path) -> str:
    return (host / "etc/hccn.conf").read_text()


def configure(host: Path, *config: dict[str, Any], check: bool = False, **options: Any) -> dict[str, Any]:
    return call_module("device_network", {**tools(host), "config": list(config), **options}, check=check)


def says(host: Path, device: int, *query: str) -> str:
    return subprocess.run([str(host / "bin/hccn_tool"), "-i", str(device), *query], timeout=30, capture_output=True, text=True).stdout


def test_all_options_are_predicted_set_and_restored(host: Path) -> None:
    predicted = configure(host, NEW, check=True)
    assert (predicted["changed"], conf(host)) == (True, CONF)
    first = configure(host, NEW)
    assert (first["commands"], first["devices"]) == (predicted["commands"], predicted["devices"])
    assert [command[3] for command in first["commands"]] == [
        "-ip", "-gateway", "-netdetect", "-mtu", "-ip", "-gateway", "-netdetect", "-udp", "-pfc", "-dscp_to_tc", "-dscp_to_tc", "-prio_tc",
        "-shaping"]
    assert conf(host) == CONF[:CONF.index("address_1")] + NEW_CONF
    assert says(host, 1, "-ip", "-g") == "ipaddr:10.79.1.5\nnetmask:255.255.255.0\n"
    assert says(host, 1, "-udp", "-g") == "udp_port:5000\nstatus:custom\n"
    again = configure(host, NEW)
    assert (again["changed"], again["commands"], again["previous"]) == (False, [], [])
    back = configure(host, *first["previous"])
    assert (back["changed"], back["devices"][0]["errors"]) == (True, [])
    assert says(host, 1, "-gateway", "-g") == "default gateway:10.78.0.1, Iface:eth1\n"
    assert says(host, 1, "-mtu", "-g") == "mtu:1500\n"


def test_value_missing_in_the_file_is_written(host: Path) -> None:
    result = configure(host, {"id": 0, "mtu": 1500})
    assert result["devices"] == [{"id": 0, "before": {"mtu": 1500, "persistent": {"mtu": None}}, "after": {"mtu": 1500, "persistent": {"mtu": 1500}},
                                  "changed": True, "errors": []}]
    assert conf(host) == CONF + "mtu_0=1500\n"


def test_side_effects_of_a_network_change_are_reported(host: Path) -> None:
    result = configure(host, {"id": 0, "address": "10.79.9.10", "netmask": "255.255.0.0"})
    assert [(one["key"], one["value"], one["cause"]) for one in result["side_effects"]] == [
        ("gateway_0", "10.78.0.1", "hccn_tool -ip -s"), ("route_address_20.0.0.0_netmask_255.0.0.0_0", "gateway_10.78.0.7", "hccn_tool -ip -s")]
    assert (result["devices"][0]["before"]["gateway"], result["devices"][0]["after"]["gateway"]) == ("10.78.0.1", None)
    assert result["previous"] == [{"id": 0, "address": "10.78.9.10", "netmask": "255.255.0.0", "gateway": "10.78.0.1"}]


def test_invalid_input_is_reported_before_any_command(host: Path) -> None:
    result = configure(host, {"id": 0, "mtu": 1279}, {"id": 1, "address": "10.78.9.10", "netmask": "255.255.0.0"}, {"id": 2, "pfc": [1] * 8})
    assert result["msg"] == (
        "config[2].id: this host has no device 2, only 0-1; config[0].mtu: 1279 is below 1280: the device would lose its IPv6 addresses, and "
        "hccn_tool asks for confirmation; run it by hand; config[2].pfc: 8 priorities are enabled, at most 4 are allowed; "
        "config[1].address: 10.78.9.10 is taken, device 0 has it in " + str(host / "etc/hccn.conf"))
    assert (result["devices"], conf(host)) == ([], CONF)


def test_refusal_of_one_device_does_not_stop_the_others(host: Path) -> None:
    set_state(host, "0.ip_set_ret=-1")
    result = configure(host, {"id": 0, "address": "10.78.9.20", "netmask": "255.255.0.0", "mtu": 4200}, {"id": 1, "mtu": 4200})
    assert result["msg"].startswith("1 of 2 devices failed: NPU 0: address: Command execute failed!")
    assert [(device["changed"], device["after"]["mtu"]) for device in result["devices"]] == [(False, 1500), (True, 4200)]
    assert conf(host) == CONF + "mtu_1=4200\n"


def test_device_is_changed_although_the_file_could_not_be_written(host: Path) -> None:
    set_state(host, "*.conf_unwritable=1")
    result = configure(host, {"id": 0, "netdetect": "10.78.0.1"})
    device = result["devices"][0]
    assert (device["changed"], device["errors"][0]["code"], "msg" in result) == (True, "conf_not_persisted", True)
    assert device["after"] == {"netdetect": "10.78.0.1", "persistent": {"netdetect": None}}
    assert conf(host) == CONF


def test_file_without_final_newline_is_not_written(host: Path) -> None:
    (host / "etc/hccn.conf").write_text(CONF.rstrip("\n"))
    result = configure(host, {"id": 0, "mtu": 4200})
    assert result["devices"][0]["errors"][0]["code"] == "no_final_newline"
    assert (result["changed"], conf(host), says(host, 0, "-mtu", "-g")) == (False, CONF.rstrip("\n"), "mtu:1500\n")


def test_busy_device_is_not_changed(host: Path) -> None:
    set_state(host, "1.process=4711:python3:100")
    result = configure(host, {"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200})
    assert result["devices"][1]["errors"][0]["message"] == "device 1 is busy: pid 4711 (python3)"
    assert conf(host) == CONF + "mtu_0=4200\n"
    assert configure(host, {"id": 1, "mtu": 4200}, allow_busy=True)["changed"] is True


def test_reserved_network_is_refused_with_the_message_of_the_tool(host: Path) -> None:
    result = configure(host, {"id": 0, "address": "192.168.1.5", "netmask": "255.255.255.0"})
    assert (result["devices"][0]["errors"][0]["code"], result["changed"], conf(host)) == ("address_conflict", False, CONF)


def test_busy_tool_is_called_again(host: Path) -> None:
    set_state(host, "0.busy_for=2")
    assert configure(host, {"id": 0, "netdetect": "10.78.0.1"})["devices"][0]["after"]["netdetect"] == "10.78.0.1"


@pytest.mark.parametrize(("module", "options"), [
    ("device_network", {"config": [{"id": 0, "mtu": 4200}]}),
    ("device_ping", {"targets": [{"device": 0, "address": "10.78.2.10"}]}),
    ("hccn_conf", {"recover": True, "settings": {"mtu": 4200}}),
])
def test_other_dialect_is_refused(tmp_path: Path, module: str, options: dict[str, Any]) -> None:
    root = node(tmp_path / "npu950", "--product", "950", devices=2)
    result = call_module(module, {**tools(root), **options})
    assert result["msg"] == "the NPUs of this host are of the 950, whose hccn_tool has a different command line: nothing was done (run hccn_tool by hand)"
    assert conf(root) == ""
