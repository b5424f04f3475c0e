"""A job that starts on an NPU while a module works: the module checks for jobs right before the first change of an NPU and skips busy ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lib.hosts import node, set_state, set_state_after, tools
from tests.lib.module import call_module

CONF = """address_0=10.78.9.10
netmask_0=255.255.0.0
tls_enable_0=0
address_1=10.78.9.11
netmask_1=255.255.0.0
tls_enable_1=0
"""
JOB = "1.process=4711:python3:100"
BUSY = {"code": "device_busy", "message": "device 1 is busy: pid 4711 (python3)", "hint": "wait for the job to end, or set allow_busy: true"}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = node(tmp_path / "npu9", "--address-template", "10.78.9.1{device}", "--netmask", "255.255.0.0", "--retry-seconds", "0.05",
                "--state", "*.tls=0", devices=2)
    (root / "etc/hccn.conf").write_text(CONF)
    return root


def values(host: Path, key: str) -> list[Any]:
    return [device[key] for device in call_module("device_info", {**tools(host), "gather": ["mtu", "tls", "address"]})["devices"]]


def errors(result: dict[str, Any], key: str = "devices") -> list[list[dict[str, Any]]]:
    return [[{name: error[name] for name in ("code", "message", "hint")} for error in one["errors"]] for one in result[key]]


def test_device_network_checks_for_jobs_before_the_first_change_of_each_device(host: Path) -> None:
    set_state_after(host, 1, JOB, matching="-i 0 -mtu -s")
    result = call_module("device_network", {**tools(host), "config": [{"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200}]})
    assert errors(result) == [[], [BUSY]]
    assert [(one["changed"], one["after"]["mtu"]) for one in result["devices"]] == [(True, 4200), (False, 1500)]
    assert ([command[1:] for command in result["commands"]], [entry["id"] for entry in result["previous"]]) == (
        [["-i", "0", "-mtu", "-s", "size", "4200"]], [0])
    assert ((host / "etc/hccn.conf").read_text(), values(host, "mtu")) == (CONF + "mtu_0=4200\n", [4200, 1500])


def test_started_changes_of_a_device_are_completed(host: Path) -> None:
    """A job that starts between two changes of a device is already affected, so the changes are completed."""
    set_state_after(host, 1, JOB, matching="-i 1 -ip -s")
    wanted = {"id": 1, "address": "10.78.9.21", "netmask": "255.255.0.0", "mtu": 4200}
    result = call_module("device_network", {**tools(host), "config": [wanted]})
    assert (result["devices"][0]["errors"], result["devices"][0]["after"]["address"], result["devices"][0]["after"]["mtu"]) == ([], "10.78.9.21", 4200)


def test_device_tls_checks_for_jobs_before_each_change(host: Path) -> None:
    set_state_after(host, 1, JOB, matching="-i 0 -tls -s")
    result = call_module("device_tls", {**tools(host), "state": "enabled"})
    assert (errors(result), result["msg"].startswith("1 of 2 devices failed: NPU 1: device 1 is busy")) == ([[], [BUSY]], True)
    assert [one["after"]["enabled"] for one in result["devices"]] == [True, False]
    assert (host / "etc/hccn.conf").read_text() == CONF.replace("tls_enable_0=0\n", "") + "tls_enable_0=1\n"


def test_recovery_checks_for_jobs_before_each_device(host: Path) -> None:
    set_state(host, "*.mtu=4200", "0.ip=10.78.9.20", "1.ip=10.78.9.21")
    set_state_after(host, 1, JOB, matching="-i 0 -cfg recovery")
    result = call_module("hccn_conf", {**tools(host), "recover": True})
    assert errors(result, "recovered") == [[], [BUSY]]
    assert [one["changed"] for one in result["recovered"]] == [True, False]
    assert [device["address"] for device in call_module("device_info", tools(host))["devices"]] == ["10.78.9.10", "10.78.9.21"]


@pytest.mark.parametrize(("module", "options", "key", "first_set"), [
    ("device_network", {"config": [{"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200}]}, "devices", "-i 1 -mtu -s"),
    ("device_tls", {"state": "enabled"}, "devices", "-i 1 -tls -s"),
    ("hccn_conf", {"recover": True}, "recovered", "-i 1 -cfg recovery"),
])
def test_job_that_starts_while_the_tool_is_busy_is_noticed(host: Path, module: str, options: dict[str, Any], key: str, first_set: str) -> None:
    """Another caller of hccn_tool delays the change, and a job starts meanwhile."""
    if module == "hccn_conf":
        set_state(host, "*.mtu=4200", "0.ip=10.78.9.20", "1.ip=10.78.9.21")
    set_state_after(host, 1, JOB, matching=first_set)
    set_state_after(host, 1, "1.busy_for=2", matching="-i 1 -qp_info -g")
    assert errors(call_module(module, {**tools(host), **options}), key) == [[], [BUSY]]


@pytest.mark.parametrize(("module", "options", "first_set"), [
    ("device_network", {"config": [{"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200}]}, "-i 0 -mtu -s"),
    ("device_tls", {"state": "enabled"}, "-i 0 -tls -s"),
])
def test_allow_busy_changes_busy_devices(host: Path, module: str, options: dict[str, Any], first_set: str) -> None:
    set_state_after(host, 1, JOB, matching=first_set)
    result = call_module(module, {**tools(host), **options, "allow_busy": True})
    assert [(one["changed"], one["errors"]) for one in result["devices"]] == [(True, []), (True, [])]
