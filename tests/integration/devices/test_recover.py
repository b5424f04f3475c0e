"""hccn_conf with recover as Ansible runs it, on a simulated host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lib.hosts import node, set_state, tools
from tests.lib.module import call_module

CONF = """address_0=10.78.9.10
netmask_0=255.255.0.0
send_arp_status_0=1
tls_enable_0=0
address_1=10.78.9.11
netmask_1=255.255.0.0
"""
XSFP = "xsfp_reset_max_times_{0}=0\nxsfp_reset_wait_times_{0}=7\n"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = node(tmp_path / "npu9", "--address-template", "10.78.9.1{device}", "--netmask", "255.255.0.0", "--retry-seconds", "0.05", devices=2)
    (root / "etc/hccn.conf").write_text(CONF)
    return root


def conf(host: Path) -> str:
    return (host / "etc/hccn.conf").read_text()


def settle(host: Path, check: bool = False, **options: Any) -> dict[str, Any]:
    return call_module("hccn_conf", {**tools(host), "recover": True, **options}, check=check)


def test_no_recovery_if_device_and_file_agree(host: Path) -> None:
    result = settle(host)
    assert [(one["id"], one["changed"], one["errors"]) for one in result["recovered"]] == [(0, False, []), (1, False, [])]
    assert (result["changed"], conf(host)) == (False, CONF)


def test_differing_device_is_recovered_from_the_file(host: Path) -> None:
    set_state(host, "0.ip=10.78.9.20", "0.tls=1")
    predicted = settle(host, check=True)
    assert (predicted["changed"], [one["changed"] for one in predicted["recovered"]], conf(host)) == (True, [True, False], CONF)
    result = settle(host)
    assert result["recovered"][0] == {
        "id": 0, "changed": True, "differences_after": [], "errors": [],
        "differences_before": [{"key": "address", "file": "10.78.9.10", "device": "10.78.9.20"}, {"key": "tls_enable", "file": "0", "device": "1"}]}
    assert conf(host) == CONF.replace("send_arp_status_0=1\n", "") + XSFP.format(0) + "send_arp_status_0=1\n"
    assert [setting["key"] for setting in result["settings"]][-3:] == ["xsfp_reset_max_times", "xsfp_reset_wait_times", "send_arp_status"]
    assert settle(host)["changed"] is False


def test_declared_key_is_set_on_the_device(host: Path) -> None:
    result = settle(host, config=[{"id": 1, "settings": {"mtu": 4200}}])
    assert [one["changed"] for one in result["recovered"]] == [False, True]
    assert call_module("device_info", {**tools(host), "gather": ["mtu"]})["devices"][1]["mtu"] == 4200
    assert conf(host) == CONF + "mtu_1=4200\n" + XSFP.format(1)


def test_refusing_device_is_reported_and_the_other_is_recovered(host: Path) -> None:
    set_state(host, "0.ip_set_ret=-1", "0.ip=10.78.9.20", "1.ip=10.78.9.21")
    result = settle(host)
    assert [(one["changed"], [error["code"] for error in one["errors"]]) for one in result["recovered"]] == [(False, ["recovery_failed"]), (True, [])]
    assert result["msg"].startswith("1 of 2 devices failed: NPU 0: Recovery failed.")


def test_invalid_file_is_not_replayed(host: Path) -> None:
    broken = CONF.replace("netmask_1=255.255.0.0\n", "netmask_1=255.0.255.0\n")
    (host / "etc/hccn.conf").write_text(broken)
    set_state(host, "1.ip=10.78.9.21")
    result = settle(host)
    assert result["recovered"][1]["errors"][0]["code"] == "conf_problem"
    assert (result["changed"], "msg" in result, conf(host)) == (False, True, broken)


def test_address_that_recovery_ignores_is_not_applied(host: Path) -> None:
    """Without its netmask, the recovery passes over the address and succeeds."""
    (host / "etc/hccn.conf").write_text(CONF.replace("netmask_1=255.255.0.0\n", ""))
    set_state(host, "1.ip=10.78.9.21")
    result = settle(host)
    assert [error["code"] for error in result["recovered"][1]["errors"]] == ["not_applied"]
    assert [problem["rule"] for problem in result["problems"] if problem["device"] == 1] == ["incomplete_address"]


def test_busy_device_is_not_changed(host: Path) -> None:
    set_state(host, "0.ip=10.78.9.20", "0.process=4711:python3:100")
    assert settle(host)["recovered"][0]["errors"][0]["message"] == "device 0 is busy: pid 4711 (python3)"
    assert conf(host) == CONF
    assert settle(host, allow_busy=True)["recovered"][0]["changed"] is True
