# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pings that are lost or slow are attributed to the fewest components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.reachability import Reachability, diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.ping_plan import ping_plan

Rtt = Callable[[tuple[str, int], tuple[str, int]], float | None]
HOSTS = [f"n{number}" for number in range(1, 9)]


def plan(devices: int = 2, partners: int = 4) -> dict[str, Any]:
    return ping_plan([{"host": host, "control_address": host, "control_port": 0,
                       "devices": [{"id": device, "address": f"10.0.{host[1:]}.{device}"} for device in range(devices)]} for host in HOSTS], partners)


def ping(source: tuple[str, int], target: dict[str, Any], rtt: float | None) -> dict[str, Any]:
    """Return a record of device_ping. rtt None: one of three packets is lost."""
    record = {"schema": "hccn.cluster/measurement/1", "id": f"r/{source[1]}/{target['address']}", "kind": "ping", "status": "ok",
              "source": {"device": source[1]}, "target": {"address": target["address"]},
              "samples": [{"sent": 3, "received": 3 if rtt else 2, "loss_percent": 0.0 if rtt else 33.33, "latency_us": {"min": rtt or 40.0, "avg": 500.0}}]}
    return record if rtt else {**record, "status": "failed", "error": {"code": "packets_lost", "message": "1 of 3 packets lost"}}


def pinged(rtt: Rtt, made: dict[str, Any]) -> dict[str, Any]:
    return {host: {"measurements": [ping((host, target["device"]), target, rtt((host, target["device"]), (target["host"], target["target_device"])))
                                    for target in targets]} for host, targets in made["targets"].items()}


def found(rtt: Rtt, **replaced: Any) -> Reachability:
    made = plan()
    return diagnose(HOSTS, {**pinged(rtt, made), **replaced}, made["plan"])


def test_a_good_fabric() -> None:
    good = found(lambda _source, _target: 34.0)
    assert good.diagnosis.by_class() == {"good": HOSTS, **dict.fromkeys(("slow", "failed", "busy", "unreachable", "not_measured"), [])}
    assert (good.sent, good.received, good.median_rtt_us) == (96, 96, 34.0)
    assert good.lines() == ["32 pairs of NPUs were pinged: 96 packets, 0 lost, median round-trip time 34 us"]
    cells = [cell for row in good.matrix.values() for cell in row.values()]
    assert cells == [{"sent": 3, "received": 3, "rtt_us": 34.0}] * 32, "the sender of a pair alternates between rails"


def test_packets_lost_by_one_npu_in_both_directions() -> None:
    lossy = found(lambda source, target: None if ("n3", 1) in (source, target) else 34.0)
    assert [(one["kind"], one["name"], one["class"]) for one in lossy.diagnosis.components] == [("npu", "n3 NPU 1", "failed")]
    assert (lossy.sent - lossy.received, lossy.diagnosis.suspects()) == (4, ["n3"])


def test_a_long_round_trip_time_is_slow() -> None:
    slow = found(lambda source, target: 900.0 if "n5" in (source[0], target[0]) else 34.0)
    assert [(one["kind"], one["hosts"], one["class"]) for one in slow.diagnosis.components] == [("node", ["n5"], "slow")]
    assert found(lambda source, _target: 100.0 if source[0] == "n5" else 34.0).diagnosis.components == [], "three times as long is load"


def test_a_host_without_an_answer_is_unreachable() -> None:
    lost = found(lambda _source, _target: 34.0, n2={"unreachable": True, "msg": "no route"})
    assert lost.diagnosis.by_class()["unreachable"] == ["n2"]


ODD = [7, {"kind": "ping", "source": 5, "target": "x"}, {"kind": "ping", "source": {"device": 0}, "target": {"address": "10.9.9.9"}}]


@pytest.mark.parametrize("odd", [None, "x", {"measurements": "x"}, {"measurements": ODD}])
def test_odd_answers_are_skipped(odd: Any) -> None:
    assert "n2" not in found(lambda _source, _target: 34.0, n2=odd).matrix
