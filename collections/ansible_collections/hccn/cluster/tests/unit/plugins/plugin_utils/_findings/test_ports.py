# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about ports, and the evidence that they attach to other findings."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Finding, finding, of_npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.ports import Ports, attached, of_readings

LIMITS = {"rxpower_low_thres_mw": 0.1445, "rxpower_high_thres_mw": 3.5481, "txpower_low_thres_mw": 0.2818, "txpower_high_thres_mw": 3.5481,
          "temp_high_thres_c": 70.0, "vcc_low_thres_mv": 3135.0, "vcc_high_thres_mv": 3465.0}
GOOD = {"rx_power0_mw": 1.0, "tx_power0_mw": 1.1, "temperature_c": 45.0, "vcc_mv": 3300.0, **LIMITS}


def result(*devices: dict[str, Any], product: str = "A2") -> dict[str, Any]:
    return {"product": product, "devices": [{"id": number, "errors": [], **device} for number, device in enumerate(devices)]}


def read(*results: dict[str, Any]) -> Ports:
    """Return what successive readings of the host n1 say."""
    return of_readings([("check_fabric", {"n1": one}) for one in results])


def summary(found: Ports) -> list[tuple[str, str, str]]:
    return [(one.cause, one.severity, one.component.name) for one in found.findings]


@pytest.mark.parametrize(("optical", "codes", "message"), [
    ({"rx_power0_mw": 0.0054}, ["rx_power_low"], "its optical module is out of range: lane 0 receives 0.0054 mW, the module's lower limit is 0.1445 mW"),
    ({"rx_power2_mw": 4.0}, ["rx_power_high"], "its optical module is out of range: lane 2 receives 4.0 mW, the module's upper limit is 3.5481 mW"),
    ({"tx_power0_mw": 0.0}, ["tx_power_low"], "its optical module is out of range: lane 0 sends 0.0 mW, the module's lower limit is 0.2818 mW"),
    ({"temperature_c": 71.0, "vcc_mv": 3000.0}, ["optics_hot", "optics_voltage"],
     "its optical module is out of range: the optical module has 71.0 °C, its upper limit is 70.0 °C"),
])
def test_a_module_beyond_its_limits(optical: dict[str, float], codes: list[str], message: str) -> None:
    (found,) = read(result({"optical": {**GOOD, **optical}})).findings
    assert (found.cause, found.severity, found.message, [piece.code for piece in found.evidence]) == ("optics_out_of_range", "degraded", message, codes)


@pytest.mark.parametrize("optical", [
    GOOD, None, "x", [], {}, {"rx_power0_mw": 0.0}, {**GOOD, "rx_power0_mw": None}, {**GOOD, "rx_power0_mw": float("nan")}, {**GOOD, "rx_power0_mw": True},
    {**GOOD, "rx_power0_mw": 0.0, **dict.fromkeys(LIMITS, 0.0)}, {"rx_power_mw": 0.5, **LIMITS}])
def test_a_good_module_and_one_without_limits_or_values_are_silent(optical: Any) -> None:
    assert read(result({"optical": optical})).findings == []


def test_a_dim_lane_is_compared_with_other_npus_of_the_product() -> None:
    devices = [{"optical": {"rx_power0_mw": power}} for power in (1.0, 0.9, 1.1, 1.0, 0.2)]
    (found,) = read(result(*devices)).findings
    assert (found.cause, found.severity, found.message) == (
        "optics_dim", "note", "its optical module receives little light: lane 0 receives 0.2 mW, 7.0 dB less than the median of 4 other NPUs (1.0 mW)")
    assert read(result(*devices[1:])).findings == [], "too few to compare with"
    others = of_readings([("check_fabric", {"n1": result(*devices[:4]), "n2": result(devices[4], product="A3")})])
    assert others.findings == []


def test_growing_errors_are_a_finding_and_high_ones_are_not() -> None:
    before, after = ({"counters": {"mac_rx_fcs_err_pkt_num": count, "mac_rx_pfc_pkt_num": pfc}} for count, pfc in ((900, 5), (907, 5)))
    (found,) = read(result(before), result(after)).findings
    assert (found.cause, found.message) == ("errors_growing", "mac_rx_fcs_err_pkt_num grew by 7 during the run")
    assert [dict(piece.values) for piece in found.evidence] == [{"counter": "mac_rx_fcs_err_pkt_num", "growth": 7, "before": 900, "after": 907}]
    assert read(result(after)).findings == read(result(after), result(after)).findings == []
    assert read(result(after), result(before)).findings == [], "the counters were cleared meanwhile"


def test_flow_control_and_retransmissions_are_evidence_but_no_finding() -> None:
    before, after = ({"counters": {"mac_rx_pfc_pkt_num": count, "roce_new_pkt_rty_num": count}} for count in (1, 4))
    found = read(result(before), result(after))
    assert (found.findings, [piece.values["counter"] for piece in found.grown["n1", 0]]) == ([], ["roce_new_pkt_rty_num", "mac_rx_pfc_pkt_num"])


def test_link_failures() -> None:
    quiet, flapping = ({"link_changes": {"ups": downs + 1, "downs": downs, "records": [["Sun Oct  5 10:13:51 2025", "up"]]}} for downs in (1, 6))
    (found,) = read(result(quiet), result(flapping)).findings
    assert (found.cause, found.severity, found.message) == ("link_flaps", "degraded", "its link went down 5 times during the run")
    assert found.evidence[1] == "NPU 0 of n1: the link last changed to up at Sun Oct  5 10:13:51 2025"
    (noted,) = read(result(quiet, quiet, quiet, quiet, flapping)).findings
    assert (noted.severity, noted.devices, noted.message) == (
        "note", (("n1", 4),), "its link went down 6 times since its counters were cleared, those of other NPUs once")
    assert read(result(flapping, flapping, flapping, flapping, flapping)).findings == []
    assert read(result({"link_changes": {"ups": 2, "downs": None, "records": "x"}})).findings == []


def test_a_port_explains_a_slow_npu_and_is_no_finding_of_its_own() -> None:
    lldp = {"system_name": "leaf-1", "port": "400GE1/1/5:1", "chassis": None}
    ports = read(result({"optical": {**GOOD, "rx_power0_mw": 0.01}, "lldp": lldp, "versions": {"driver": "24.1", "firmware": "7.3"}}))
    slow = finding("slow_npu", of_npus([("n1", 0)]), "it is slow", devices=[("n1", 0)], evidence=["n1 NPU 0 to n2 NPU 0: 50 Gbit/s"])
    (found,) = conclude(["n1"], {"n1": "slow"}, [slow, *ports.findings], ports=ports).findings
    assert [piece.code for piece in found.evidence] == ["text", "quote", "rx_power_low", "switch_port", "versions"]
    assert dict(found.evidence[3].place) == {"host": "n1", "device": 0, "switch": "leaf-1", "port": "400GE1/1/5:1"}


def test_switch_ports_survive_the_limit_of_pieces_and_are_not_attached_to_many_npus() -> None:
    ports = read(result({"lldp": {"system_name": "leaf-1", "port": "1"}}))
    full = finding("slow_npu", of_npus([("n1", 0)]), "slow", devices=[("n1", 0)], evidence=[f"pair {number}" for number in range(16)])
    (one,) = attached([full], ports)
    assert (len(one.evidence), one.evidence[-1].code, one.evidence[14]) == (16, "switch_port", "pair 14")
    many = finding("slow_host", of_npus([("n1", number) for number in range(8)]), "slow", devices=[("n1", number) for number in range(8)])
    other: Finding = finding("busy_npu", of_npus([("n1", 0)]), "busy", devices=[("n1", 0)])
    assert attached([many, other], ports) == [many, other]


@pytest.mark.parametrize("odd", [None, 7, {"devices": "x"}, {"devices": [{"id": 0, "counters": 5, "lldp": [], "link_changes": {"downs": "x"}, "versions": 3}]}])
def test_odd_answers_are_skipped(odd: Any) -> None:
    assert summary(of_readings([("check_fabric", {"n1": odd}), ("check_fabric", {"n1": odd})])) == []
