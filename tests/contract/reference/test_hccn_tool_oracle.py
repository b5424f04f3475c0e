"""Compare the results of the device layer for recorded runs of the real hccn_tool front end with literals: a value or an error code per run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, is_dataclass
from functools import lru_cache
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import failures, hccn_tool, parse_network, parse_port, parse_qos, parse_tls
from tests.lib.project import shared

# A string is an error code, or "done" for a set that the tool confirmed. Anything else is the value that the query returns: (address, netmask); gateway;
# netdetect; link; health; (TLS on, preset, alarm days, expirations); (target, sent, received, times).
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
    "266": (None, "bc:1e:85:00:00:01", "bc:1e:85:00:00:01"),
    "268": "invalid_parameters",
    "270": "done",
    "272": ("10.0.0.10", "255.255.255.0"),
    "274": 4200,
    "276": "conf_inaccessible",
    "278": "recovery_failed",
    "280": "done",
    "282": "done",
    "284": "recovery_failed",
    "286": "recovery_failed",
    "288": "config status:NONE",
    "290": "config status:FAIL",
    "292": "config status:FAULT",
    "294": "done",
    "296": "recovery_failed",
    "298": "wrong_argument_count",
    "300": "unknown_command",
    "302": "unknown_option",
    "304": "done",
    "306": "tool_busy",
    "308": "tx_pfc0_duration_time=0.000ms",
    "310": "[devid 0] pd_alloc: 0",
    "312": "qpn    status    type   dst_qpn          ip                                  src_port     send_psn        recv_psn",
    "314": (False, None, None, 21),
    "316": (True, 45.0, 1.0275, 46),
    "318": (True, 45.0, 1.0275, 46),
    "320": "============================================================================================",
    "322": "bc:1e:85:00:00:00",
    "324": "bc:1e:85:aa:bb:01",
    "326": "invalid_mac",
    "328": "invalid_mac",
    "330": "invalid_mac",
    "332": "invalid_mac",
    "334": 1500,
    "336": 4200,
    "338": "value_out_of_range",
    "340": "done",
    "342": "done",
    "344": "invalid_parameters",
    "346": "tool_busy",
    "348": ("down", "192.168.1.199", "255.255.255.0"),
    "350": "device_failed",
    "352": (2, 1, (("Sun Oct  5 10:13:51 2025", "up"), ("Sun Oct  5 10:13:50 2025", "down"), ("Sun Oct  5 10:13:35 2025", "up"))),
    "354": (0, 0, ()),
    "356": 200000,
    "358": 400000,
    "360": "unknown_option",
    "362": "Duplex: Half",
    "364": "fec_not_switchable",
    "366": "Bandwidth TX: 12345.67 MB/sec",
    "368": "invalid_parameters",
    "370": "device hccp process: exist",
    "372": "Netdev status:Settings for eth0:",
    "374": "done",
    "376": "value_out_of_range",
    "378": "The setting of the gratuitous arp:",
    "380": "The setting of the gratuitous arp:",
    "382": "address_not_set",
    "384": "arp table:",
    "386": "done",
    "388": "done",
    "390": "done",
    "392": "default_route",
    "394": "done",
    "396": "done",
    "398": {str(dscp): dscp // 16 for dscp in range(64)},
    "400": "dscp      tc",
    "402": "value_out_of_range",
    "404": "done",
    "406": [0, 0, 0, 0, 0, 0, 0, 0],
    "408": "done",
    "410": "done",
    "412": "hccn_tool -i devid -ip",
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
    ping = hccn_tool.ping_result(result)
    return ping.target, ping.sent, ping.received, ping.times_ms


def optical_values(result: Result) -> tuple[Any, ...]:
    optical = parse_port.parse_optical(result.stdout)
    return optical["present"], optical.get("temperature_c"), optical.get("tx_power0_mw"), len(optical)


def neighbour_values(result: Result) -> tuple[Any, ...]:
    neighbour = parse_port.parse_neighbour(result.stdout)
    return neighbour.system_name, neighbour.port, neighbour.chassis


def plain(parse: Callable[[str], Any]) -> Callable[[Result], Any]:
    """Return a function for a parser whose value is a word, a number, a dictionary, or a dataclass, which becomes a tuple."""
    def values(result: Result) -> Any:
        value = parse(result.stdout)
        return astuple(value) if is_dataclass(value) else value
    return values


QUERIES: dict[str, Callable[[Result], Any]] = {
    "-ip": address_values, "-gateway": plain(parse_network.parse_gateway), "-netdetect": plain(parse_network.parse_netdetect),
    "-link": plain(parse_network.parse_link), "-net_health": plain(parse_network.parse_health), "-tls": tls_values,
    "-optical": optical_values, "-local_lldp": neighbour_values, "-mac": plain(parse_port.parse_mac), "-mtu": plain(parse_port.parse_mtu),
    "-vnic": plain(parse_port.parse_vnic), "-link_stat": plain(parse_port.parse_link_changes), "-speed": plain(parse_port.parse_speed),
    "-prio_tc": plain(parse_qos.parse_prio_tc), "-dscp_to_tc": plain(parse_qos.parse_dscp_to_tc),
}

ANSWERS = {"-pfc_stat", "-hw_stats", "-qp_info", "-duplex", "-bandwidth", "-status", "-send_arp", "-arp", "-process", "v2", "dscp", "status", "-h"}
"""Queries that the product does not read, or reads for one number only. The first line of their output and the absence of an error are checked."""


def first_line(result: Result) -> str:
    return result.stdout.splitlines()[0]


def judge(run: dict[str, str]) -> Any:
    result = result_of(run)
    if "-ping" in result.argv:
        try:
            return ping_values(result)
        except HccnError as error:
            return error.code
    read_only = not {"-g", "status", "-h"}.isdisjoint(result.argv)
    error = (failures.failure_of if read_only else failures.set_failure_of)(result)
    if error is not None:
        return error.code
    if not read_only:
        return "done"
    if not ANSWERS.isdisjoint(result.argv):
        return first_line(result)
    return QUERIES[next(word for word in result.argv if word in QUERIES)](result)


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_run_is_judged(number: str) -> None:
    run = runs()[number]
    assert judge(run) == EXPECTED[number], run["command"]


def test_every_run_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    roce_tests = {number for number, run in runs().items() if run["group"] == "roce_test"}
    assert set(runs()) - roce_tests == set(EXPECTED), "test_roce_oracle.py checks the runs of the group roce_test"
    with capsys.disabled():
        print(f"\nrecorded runs of hccn_tool judged: {len(EXPECTED)} here and {len(roce_tests)} of roce_test")
    assert len(EXPECTED) + len(roce_tests) >= 250


def test_no_run_has_a_generic_error() -> None:
    codes = {value for value in EXPECTED.values() if isinstance(value, str)}
    assert not [code for code in codes if code.startswith("tool_exit_") or code == "unexpected_output"]
