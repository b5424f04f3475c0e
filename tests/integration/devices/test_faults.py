"""All named faults of the simulator, through Ansible: messages, results of the other devices, no partial changes and no remaining processes.

The words of the faults are those of tests/simulator/README.md. Each test fails when its fault is not injected.
"""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.lib.processes import processes
from tests.lib.waiting import happens
from tests.simulator.hccn_sim import layout
from tests.simulator.hccn_sim.node import Node
from tests.lib.hosts import node, set_state, tools
from tests.lib.module import call_module

DEVICES = (0, 1, 2)
LEFT_SECONDS = 15
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
MAX_RESULT = 256 * 1024

OFF: dict[str, bool | None] = {"enabled": False, "persistent": False}
ON: dict[str, bool | None] = {"enabled": True, "persistent": True}
DEVICE_ONLY: dict[str, bool | None] = {"enabled": True, "persistent": False}
UNKNOWN: dict[str, bool | None] = {"enabled": None, "persistent": False}


class Host:
    """A simulated host with TLS off on the devices and in hccn.conf."""

    def __init__(self, root: Path, devices: int = len(DEVICES)) -> None:
        self.devices = devices
        self.root = node(root, "--address-template", "10.78.9.1{device}", "--netmask", "255.255.0.0", "--switch-address", "10.78.0.1",
                         "--state", "*.netdetect=10.78.0.1", "--state", "*.tls=0", devices=devices)
        self.conf = self.root / "etc/hccn.conf"
        self.before = self.conf.read_bytes()

    def fault(self, *words: str) -> None:
        set_state(self.root, *words)
        self.before = self.conf.read_bytes()

    def untouched(self) -> bool:
        return self.conf.read_bytes() == self.before

    def tls_flags(self) -> str:
        """Return the TLS flags of the devices."""
        state = Node(str(self.root)).state
        return "".join(state.get(device, "tls") for device in range(self.devices))

    def info(self, *topics: str, **options: Any) -> dict[str, Any]:
        return call_module("device_info", {**tools(self.root), "gather": list(topics), "fail_on": "any", **options})

    def tls(self, state: str = "enabled", **options: Any) -> dict[str, Any]:
        return call_module("device_tls", {**tools(self.root), "state": state, **options})

    def set_mtu(self, **options: Any) -> dict[str, Any]:
        return call_module("hccn_conf", {**tools(self.root), "settings": {"mtu": 4200}, **options})

    def left(self) -> list[str]:
        """Return the processes that have this host in their command line or environment."""
        return list(processes(str(self.root)).values())


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Return a function that makes a host with the given number of devices."""
    made: list[Host] = []

    def host(devices: int = len(DEVICES)) -> Host:
        made.append(Host(tmp_path / "npu9", devices))
        return made[-1]

    yield host
    for one in made:
        layout.stop(str(one.root))
    happens(lambda: not any(one.left() for one in made), LEFT_SECONDS)
    assert [one.left() for one in made] == [[]] * len(made), "something is still running"


@pytest.fixture
def host(make: Callable[..., Host]) -> Host:
    return make()


def errors(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (code, message) of each device, empty texts if it has no error."""
    return [(device["errors"][0]["code"], device["errors"][0]["message"]) if device["errors"] else ("", "") for device in result["devices"]]


NO_ERROR = ("", "")


UNREADABLE = (
    ("busy=1", "tool_busy", "hccn_tool is busy, please try again."),
    ("dead=1", "device_failed", "Command execute failed!"),
    ("killed=9", "tool_killed", "hccn_tool was ended by signal 9"),
    ("garbage=1", "unexpected_output", "-link -g printed unexpected output: "),
    ("flood=10", "unexpected_output", "-link -g printed unexpected output: '(1023 characters without a space)'"),
    ("fail.link=-67", "link_down", "Execute failed: Link status is down."),
)
TOO_SLOW = (
    ("hang=1", "timeout", "no answer within 1 s: {tool} -i 1 -link -g"),
    ("latency=3", "timeout", "no answer within 1 s: {tool} -i 2 -link -g"),
)


@pytest.mark.parametrize(("faults", "options", "named"), [
    (UNREADABLE, {}, ["NPU 1", "NPU 2", "NPU 3", "NPU 4", "NPU 5", "NPU 6"]), (TOO_SLOW, {"timeout": 1}, ["NPUs 1-2"])], ids=["unreadable", "too slow"])
def test_unreadable_devices_are_reported(make: Callable[..., Host], faults: tuple[tuple[str, str, str], ...], options: dict[str, Any],
                                         named: list[str]) -> None:
    """The devices from 1 on have one fault each, the first and the last device have none."""
    host = make(len(faults) + 2)
    host.fault(*(f"{device}.{words}" for device, (words, _code, _message) in enumerate(faults, 1)))
    result = host.info("link", **options)
    found = errors(result)
    assert ([device["link"] for device in result["devices"]], found[0], found[-1]) == (["up", *[None] * len(faults), "up"], NO_ERROR, NO_ERROR)
    assert result["msg"].startswith(f"{len(faults)} of {len(faults) + 2} devices failed: {named[0]}: link: ")
    assert [one for one in named if f"{one}: link: " not in result["msg"]] == []
    for device, (words, code, message) in enumerate(faults, 1):
        text = message.format(tool=host.root / "bin/hccn_tool")
        assert (found[device][0], found[device][1].startswith(text)) == (code, True), (words, found[device])
    assert (len(json.dumps(result)) < MAX_RESULT, host.untouched()) == (True, True)


def test_busy_tool_is_called_again(host: Host) -> None:
    host.fault("1.busy_for=2")
    result = host.info("link")
    assert ([device["link"] for device in result["devices"]], errors(result)) == (["up"] * 3, [NO_ERROR] * 3)
    assert Node(str(host.root)).state.get(1, "busy_for") == "0", "two calls were refused"


def test_absent_device_is_not_part_of_all(host: Host) -> None:
    host.fault("1.absent=1")
    assert [device["id"] for device in host.info("link")["devices"]] == [0, 2]


def test_requested_absent_device_is_reported(host: Host) -> None:
    host.fault("1.absent=1")
    result = host.info("link", devices=["0-2"])
    assert errors(result) == [NO_ERROR, ("no_such_device", "no such NPU on this host, which has NPUs 0, 2"), NO_ERROR]
    assert result["msg"].startswith("1 of 3 devices failed: NPU 1: no such NPU on this host, which has NPUs 0, 2 (")


def test_link_down_is_a_value(host: Host) -> None:
    host.fault("1.link=0", "*.speed=200000")
    devices = host.info("link", "health", "speed")["devices"]
    assert [(device["link"], device["health"], device["speed"], device["errors"]) for device in devices] == [
        ("up", "success", 200000, []), ("down", "unreachable", None, []), ("up", "success", 200000, [])]


def test_all_states_of_net_health(tmp_path: Path) -> None:
    root = node(tmp_path / "npu9", devices=10)
    set_state(root, *(f"{number}.net_health={number}" for number in range(10)))
    devices = call_module("device_info", {**tools(root), "gather": ["health"], "fail_on": "any"})["devices"]
    assert [device["health"] for device in devices] == [
        "success", "socket_fail", "receive_timeout", "unreachable", "time_exceeded", "fault", "init", "thread_error", "detect_ip_set", "unknown"]


def test_missing_tool_is_reported(host: Host) -> None:
    host.fault("tool_missing=1")
    result = host.info("link", "tls")
    assert errors(result) == [("tool_missing", f"{host.root}/bin/hccn_tool: no such program")] * 3
    assert host.untouched()


def test_missing_npu_smi_is_reported(host: Host) -> None:
    host.fault("npu_smi_missing=1")
    result = host.tls(devices=["0-2"])
    assert result["error"]["code"] == "no_device"
    assert result["msg"].startswith("no NPU on this host: npu-smi is missing and /dev contains no davinci device")
    assert (host.tls_flags(), host.untouched()) == ("000", True)


TLS_FAULTS: tuple[tuple[list[str], str, str, dict[str, bool | None]], ...] = (
    (["tls_nocert=1"], "no_certificate", "No certificate found, please set certs firstly!", UNKNOWN),
    (["tls_end=Sat Sep 20 10:00:00 2025", "tls_badcert=-107"], "certificate_expired", "expired on device 2: pub cert, ca1 cert, ca2 cert", OFF),
    (["tls_badcert=-108"], "certificate_illegal", "The certificates are illegal!", OFF),
    (["process=4711:python3:100"], "device_busy", "device 4 is busy: pid 4711 (python3)", OFF),
    (["qps=2"], "device_busy", "device 5 is busy: 2 queue pairs", OFF),
    (["set_refused=tls"], "device_failed", "Command execute failed!", OFF),
    (["dead=1"], "device_failed", "Command execute failed!", UNKNOWN),
    (["set_ignored=1"], "not_applied", "hccn_tool reported success, but the TLS flag is False and hccn.conf has False", OFF),
    (["killed_late=9"], "tool_killed", "hccn_tool was ended by signal 9", DEVICE_ONLY),
    (["conf_refused=1"], "conf_not_persisted",
     "Write configurations to config file failed. User configurations cannot be persisted! pls check cmd run permission.", DEVICE_ONLY),
)
"""Faults of the devices from 1 on, the code and message of the error, and the TLS flag that the result contains. The tool changed the device only."""


def test_devices_whose_tls_flag_cannot_be_set(make: Callable[..., Host]) -> None:
    """The first and the last device have no fault. The result contains the present state of each device."""
    host = make(len(TLS_FAULTS) + 2)
    host.fault(*(f"{device}.{words}" for device, (faults, *_expected) in enumerate(TLS_FAULTS, 1) for words in faults))
    result = host.tls()
    found, after, text = errors(result), [device["after"] for device in result["devices"]], host.conf.read_text()
    assert (found[0], found[-1], after[0], after[-1]) == (NO_ERROR, NO_ERROR, ON, ON)
    assert result["msg"].startswith(f"{len(TLS_FAULTS)} of {len(TLS_FAULTS) + 2} devices failed: NPU 1: ")
    for device, (faults, code, message, flag) in enumerate(TLS_FAULTS, 1):
        assert (found[device], after[device], message in result["msg"]) == ((code, message), flag, True), faults
        assert f"tls_enable_{device}=0\n" in text, faults
    assert host.tls_flags() == "100000000111"


def test_authority_of_a_device_is_reported_by_name(host: Host) -> None:
    host.fault("1.tls_ca=/CN=other")
    devices = host.tls("disabled")["devices"]
    assert [device["authorities"] == ["/CN=other"] for device in devices] == [False, True, False]
    assert host.untouched()


def without_override() -> None:
    """Drop the capability of root to write unwritable files, for this thread and its children. Other users do not have it."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def test_unwritable_file(host: Host) -> None:
    host.fault("conf_unwritable=1")
    with ThreadPoolExecutor(1, initializer=without_override) as pool:
        result = pool.submit(host.set_mtu).result()
    assert result["error"] == {"code": "conf_unwritable", "message": f"{host.conf}: Permission denied", "hint": "run as root (become: true)"}
    assert host.untouched()


def test_devices_are_unchanged_if_the_file_cannot_be_written(host: Host) -> None:
    host.fault("conf_unwritable=1")
    with ThreadPoolExecutor(1, initializer=without_override) as pool:
        result = pool.submit(host.tls).result()
    assert "conf_unwritable" in json.dumps(result)
    assert (host.tls_flags(), host.untouched()) == ("000", True)


def test_file_that_stays_locked_is_reported(host: Host) -> None:
    host.fault("conf_locked=600")
    result = host.set_mtu(timeout=1)
    holder = (host.root / "state/conf_holder").read_text().split()[0]
    assert result["error"]["code"] == "conf_locked"
    assert re.fullmatch(re.escape(f"{host.conf} stayed locked for 1 s by pid {holder} (python") + r"[\d.]*\)", result["error"]["message"])
    assert result["error"]["hint"] == "wait for that process, or end it if it hangs"
    read = host.info("link", "tls", timeout=1)
    assert [device["link"] for device in read["devices"]] == ["up"] * 3
    assert [error["code"] for device in read["devices"] for error in device["errors"]] == ["timeout"] * 3
    assert host.untouched()


def test_lock_that_is_released_is_waited_for(host: Host) -> None:
    host.fault("conf_locked=6")
    result = host.set_mtu()
    assert (result["changed"], "mtu_2=4200\n" in host.conf.read_text()) == (True, True)
    locked_at = (host.root / "state/conf_holder").stat().st_mtime
    assert host.conf.stat().st_mtime - locked_at > 5.9, "written after the lock was released"


def test_last_line_without_newline(host: Host) -> None:
    host.conf.write_bytes(host.conf.read_bytes().replace(b"tls_enable_1=0\n", b""))
    host.fault("conf_no_newline=1")
    result = host.info("link", "tls")
    assert errors(result)[1] == (
        "no_final_newline", f"{host.conf} has no final newline: the TLS query would append tls_enable_1 to its last line")
    assert [(device["link"], device["tls"]["enabled"]) for device in result["devices"]] == [("up", False), ("up", None), ("up", False)]
    assert host.untouched()


def test_new_key_is_not_joined_to_the_last_line(host: Host) -> None:
    host.fault("conf_no_newline=1")
    result = host.tls(devices=["0"])
    assert "no_final_newline" in json.dumps(result)
    assert (host.tls_flags(), host.untouched()) == ("000", True)
