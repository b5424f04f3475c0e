# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cables compared with the pattern of most hosts and with the inventory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.cabling import of_neighbours
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Finding


def fabric(switches: Mapping[str, str], product: str = "A2") -> dict[str, Any]:
    """Return results of device_info. ``switches``: by host, the letter of the switch of each NPU."""
    return {host: {"product": product, "devices": [
        {"id": number, "lldp": {"system_name": f"leaf-{letter}", "port": f"1/{host[1:]}:{number}", "chassis": letter}}
        for number, letter in enumerate(letters)]} for host, letters in switches.items()}


def found(switches: Mapping[str, str], declared: Mapping[str, Any] | None = None) -> list[Finding]:
    return of_neighbours(fabric(switches), (declared or {}).get, "bring_up")


def test_cables_of_one_host_are_swapped() -> None:
    (one,) = found({"n1": "ABCD", "n2": "ABCD", "n3": "ACBD", "n4": "ABCD"})
    assert (one.cause, one.severity, one.component.name, one.message) == (
        "cable_swapped", "degraded", "n3 NPUs 1-2", "their cables are swapped: n3 NPU 1 is on leaf-C port 1/3:1, n3 NPU 2 is on leaf-B port 1/3:2")
    assert [piece.code for piece in one.evidence] == ["switch_port", "expected_switch"] * 2
    assert [dict(piece.place) for piece in one.evidence[:2]] == [
        {"host": "n3", "device": 1, "switch": "leaf-C", "port": "1/3:1"}, {"host": "n3", "device": 1, "switch": "leaf-B"}]
    assert one.evidence[1] == "NPU 1 of n3 is expected on leaf-B: NPU 1 of 3 other hosts is on it"


def test_cables_of_two_hosts_are_swapped() -> None:
    (one,) = found({"n1": "ABCD", "n2": "ABCD", "n3": "CBCD", "n4": "ABAD", "n5": "ABCD"})
    assert (one.cause, one.component.name) == ("cable_swapped", "n3 NPU 0, n4 NPU 2")


def test_one_cable_on_a_wrong_switch() -> None:
    (one,) = found({"n1": "ABCD", "n2": "ABCD", "n3": "ABCA"})
    assert (one.cause, one.component.name, one.message) == ("cabling_differs", "n3 NPU 3", "it is connected to leaf-A, but expected on leaf-D")


@pytest.mark.parametrize("switches", [
    {"n1": "ABCD", "n2": "ABCD", "n3": "ABCD"},
    {"n1": "AAAA", "n2": "AAAA", "n3": "BBBB", "n4": "BBBB"},
    {"n1": "ABCD", "n2": "ABCD", "n3": "EFGH", "n4": "EFGH", "n5": "IJKL"},
    {"n1": "AAAA", "n2": "BBBB", "n3": "CCCC"},
    {"n1": "ABCD", "n2": "BACD"},
    {"n1": "ABCD", "n2": "ABCD", "n3": "BADC"},
    {"n1": "ABCD", "n2": "ABCD", "n3": "AB"},
    {},
], ids=["rails", "one leaf a host", "several pods", "one host a leaf", "two hosts", "as many agree as differ", "fewer NPUs", "no LLDP"])
def test_regular_and_unclear_fabrics_are_silent(switches: Mapping[str, str]) -> None:
    assert found(switches) == []


def test_the_inventory_takes_precedence_over_the_pattern() -> None:
    rails = {"n1": "ABCD", "n2": "ABCD", "n3": "ABCA"}
    assert found(rails, {"n3": {"3": "leaf-A"}}) == []
    (one,) = found({"n1": "AAAA", "n2": "AAAB", "n3": "BBBB"}, {"n2": "leaf-A"})
    assert (one.component.name, one.evidence[1]) == ("n2 NPU 3", "NPU 3 of n2 is expected on leaf-A: the inventory says so")
    assert found(rails | {"n3": "ABCD"}, {"n3": "rack 7"}) == [], "a label that is no name of a switch"


def test_switches_with_one_name_are_told_apart_by_their_chassis() -> None:
    results = fabric({"n1": "AA", "n2": "AA", "n3": "AA"})
    for host, chassis in (("n1", "xy"), ("n2", "xy"), ("n3", "yx")):
        for device, letter in zip(results[host]["devices"], chassis):
            device["lldp"]["chassis"] = letter
    assert of_neighbours(results, lambda _host: None, "bring_up") == [], "as many agree as differ"


@pytest.mark.parametrize("odd", [None, "x", {"devices": [{"id": 0, "lldp": 5}, {"id": 1, "lldp": {"system_name": 7}}, {"id": 2}]}])
def test_odd_answers_are_skipped(odd: Any) -> None:
    assert of_neighbours({"n1": odd}, lambda _host: {"x": 1}, "bring_up") == []
