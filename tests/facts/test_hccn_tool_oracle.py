# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device layer against recorded runs of the real hccn_tool front end: every run is judged, its value or error compared with a literal."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import failures, parse_network, parse_tls, tool
from tests.support import shared

GROUPS = ("ip", "gateway", "netdetect", "tls", "link", "net_health", "ping", "errors")
"""The groups whose runs must all stand in EXPECTED."""

# A string is an error code, "done" a set that the tool confirmed; anything else is the value that the query gives:
# (address, netmask); gateway; netdetect; link; health; (TLS on, preset, alarm days, expirations); (target, sent, received, times).
EXPECTED: dict[str, Any] = {
    "002": "done",
    "004": "done",
    "006": "done",
    "008": "address_conflict",
    "010": "done",
    "012": "invalid_address",
    "014": "done",
    "016": "done",
    "018": "invalid_address",
    "020": "done",
    "022": "unknown_option",
    "024": "wrong_argument_count",
    "026": "unknown_option",
    "028": "device_failed",
    "030": "device_failed",
    "032": "done",
    "034": "done",
    "036": "conf_inaccessible",
    "038": "conf_read_failed",
    "040": "no_passwd_entry",
    "042": "done",
    "044": "address_not_set",
    "046": ("fd00::10", "64"),
    "048": "invalid_address",
    "050": "invalid_address",
    "052": "address_conflict",
    "054": "address_conflict",
    "056": "done",
    "058": "done",
    "060": (False, True, 60, ["normal", "normal", "normal"]),
    "062": (True, True, 60, ["normal", "normal", "normal"]),
    "064": (False, True, 60, ["normal", "normal", "normal"]),
    "066": (True, True, 60, ["normal", "normal", "normal"]),
    "068": "done",
    "070": (True, False, 60, ["normal", "normal", "normal"]),
    "072": "no_certificate",
    "074": (False, True, 60, ["expired", "expired", "expired"]),
    "076": "certificate_expired",
    "078": "certificate_illegal",
    "080": "tool_busy",
    "082": "device_failed",
    "084": "invalid_enable_value",
    "086": "wrong_argument_count",
    "088": "conf_inaccessible",
    "090": "permission_denied",
    "092": "unsupported_in_vm",
    "094": "invalid_alarm_time",
    "096": "invalid_alarm_time",
    "098": "invalid_alarm_time",
    "100": "no_certificate",
    "102": "unsupported_in_vm",
    "104": (False, True, 60, ["normal", "normal", "normal"]),
    "106": (False, True, 60, ["normal", "normal", "normal"]),
    "108": (False, True, 60, ["normal", "normal", "normal"]),
    "110": (False, True, 60, ["normal", "normal", "normal"]),
    "112": "gateway_not_set",
    "114": "done",
    "116": "done",
    "118": "done",
    "120": "gateway_outside_network",
    "122": "done",
    "124": "unknown_option",
    "126": "done",
    "128": "tool_busy",
    "130": "10.0.0.1",
    "132": "gateway_not_set",
    "134": "done",
    "136": None,
    "138": "10.0.0.1",
    "140": "done",
    "142": "invalid_address",
    "144": "wrong_argument_count",
    "146": "conf_not_persisted",
    "148": "done",
    "150": None,
    "152": "down",
    "154": "down",
    "156": "aborted",
    "158": "done",
    "160": ("10.0.0.10", "255.255.255.0"),
    "162": "unknown_option",
    "164": "tool_busy",
    "166": "up",
    "168": "done",
    "170": "success",
    "172": "receive_timeout",
    "174": "time_exceeded",
    "176": "init",
    "178": "detect_ip_set",
    "180": "device_failed",
    "182": "wrong_argument_count",
    "184": ("10.0.0.11", 3, 3, (1.418, 0.034, 0.04)),
    "186": ("10.0.0.11", 3, 3, (1.418, 0.034, 0.04)),
    "188": "invalid_parameters",
    "190": ("10.0.0.11", 3, 2, (0.097, 0.066)),
    "192": ("10.0.0.11", 3, 0, ()),
    "194": "tool_busy",
    "196": "link_down",
    "198": "wrong_argument_count",
    "200": "wrong_argument_count",
    "202": ("0.0.0.0", 3, 3, (1.418, 0.034, 0.04)),
    "204": "invalid_address",
    "206": ("fd00::11", 3, 3, (1.418, 0.034, 0.04)),
    "208": "unknown_option",
    "262": "device_failed",
    "264": "tool_busy",
    "268": "invalid_parameters",
    "270": "done",
    "272": ("10.0.0.10", "255.255.255.0"),
    "276": "conf_inaccessible",
    "278": "recovery_failed",
    "280": "done",
    "282": "done",
    "284": "recovery_failed",
    "286": "recovery_failed",
    "294": "done",
    "296": "recovery_failed",
    "298": "wrong_argument_count",
    "300": "unknown_command",
    "302": "unknown_option",
    "304": "done",
    "306": "tool_busy",
    "326": "invalid_mac",
    "328": "invalid_mac",
    "330": "invalid_mac",
    "332": "invalid_mac",
    "338": "value_out_of_range",
    "340": "done",
    "342": "done",
    "344": "invalid_parameters",
    "346": "tool_busy",
    "350": "device_failed",
    "360": "unknown_option",
    "364": "fec_not_switchable",
    "368": "invalid_parameters",
    "374": "done",
    "376": "value_out_of_range",
    "382": "address_not_set",
    "386": "done",
    "388": "done",
    "390": "done",
    "392": "default_route",
    "394": "done",
    "396": "done",
    "402": "value_out_of_range",
    "404": "done",
    "408": "done",
    "410": "done",
    "414": "invalid_command_type",
    "416": "unknown_command",
    "418": "unknown_option",
    "420": "invalid_command_type",
    "422": "invalid_device",
    "424": "invalid_device",
    "426": "invalid_device",
    "428": "invalid_device",
    "430": "invalid_device",
    "432": "unknown_command",
    "434": "invalid_device",
    "436": ("1.2.3.4", "255.255.255.0"),
    "438": "device_failed",
    "440": "device_failed",
    "442": "tool_failed",
    "444": "timeout",
    "446": "tool_busy",
    "448": "tool_busy",
    "450": "tool_busy",
    "452": "tool_busy",
    "454": "tool_busy",
    "456": "device_failed",
    "458": "tool_busy",
    "460": "tool_busy",
    "462": "tool_busy",
    "464": "device_failed",
    "466": "device_failed",
    "468": "init",
    "470": "device_failed",
    "472": "device_failed",
    "474": "device_failed",
    "476": "device_failed",
    "478": "recovery_failed",
    "480": "device_failed",
    "482": "device_failed",
    "484": "permission_denied",
    "486": "device_failed",
    "488": "done",
    "490": (True, True, 60, ["normal", "normal", "normal"]),
    "492": "done",
    "494": "done",
    "496": "done",
    "498": "recovery_failed",
    "500": "recovery_failed",
}


@lru_cache
def runs() -> dict[str, dict[str, str]]:
    lines = shared("oracle/hccn_tool.jsonl").read_text().splitlines()
    return {run["id"]: run for run in map(json.loads, lines)}


def result_of(run: dict[str, str]) -> Result:
    killed = run["exit"] == "timeout"
    return Result(tuple(run["command"].split()), -9 if killed else int(run["exit"]), run["stdout"], run["stderr"], killed, 0.0, float(run["seconds"]))


def tls_values(result: Result) -> tuple[Any, ...]:
    tls = parse_tls.parse_tls(result.stdout, result.stderr)
    return tls.enabled, tls.preset_certificate, tls.alarm_days, [certificate.expiration for certificate in tls.certificates]


def address_values(result: Result) -> tuple[str, str]:
    address = parse_network.parse_address(result.stdout)
    return address.address, address.netmask


def ping_values(result: Result) -> tuple[Any, ...]:
    ping = tool.ping_of(result)
    return ping.target, ping.sent, ping.received, ping.times_ms


QUERIES = {
    "-ip": address_values, "-gateway": lambda result: parse_network.parse_gateway(result.stdout),
    "-netdetect": lambda result: parse_network.parse_netdetect(result.stdout), "-link": lambda result: parse_network.parse_link(result.stdout),
    "-net_health": lambda result: parse_network.parse_health(result.stdout), "-tls": tls_values,
}


def judge(run: dict[str, str]) -> Any:
    result = result_of(run)
    if "-ping" in result.argv:
        try:
            return ping_values(result)
        except HccnError as error:
            return error.code
    query = "-g" in result.argv
    error = (failures.failure_of if query else failures.set_failure_of)(result)
    if error is not None:
        return error.code
    command = next((word for word in result.argv if word in QUERIES), "")
    return QUERIES[command](result) if query else "done"


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_run_is_judged(number: str) -> None:
    run = runs()[number]
    assert judge(run) == EXPECTED[number], run["command"]


def test_every_run_of_the_groups_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    recorded = {number for number, run in runs().items() if run["group"] in GROUPS}
    assert recorded - set(EXPECTED) == {"412"}, "412 is the tool's help"
    with capsys.disabled():
        print(f"\nrecorded runs judged: {len(EXPECTED)}, of them {len(recorded & set(EXPECTED))} of the groups {', '.join(GROUPS)}")


def test_no_run_falls_into_a_catch_all() -> None:
    codes = {value for value in EXPECTED.values() if isinstance(value, str)}
    assert not [code for code in codes if code.startswith("tool_exit_") or code == "unexpected_output"]
