# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conclusion over runs of check_fabric that each measured a part of the pairs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record, utc
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import finding, of_npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import rounds_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import fabric_parts

OLDEST = datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)
PODS = {leaf: [f"{leaf}{number}" for number in range(1, 5)] for leaf in "abc"}
HOSTS = [host for hosts in PODS.values() for host in hosts]
Rate = Callable[[str, str], float]
"""Returns the bandwidth from one host to another in Gbit/s."""


def good(source: str, target: str) -> float:
    return 190.0


def slow_between_a_and_b(source: str, target: str) -> float:
    return 95.0 if {source[0], target[0]} == {"a", "b"} else 190.0


def slow_b2(source: str, target: str) -> float:
    return 95.0 if "b2" in (source, target) else 190.0


def run(folder: Path, minute: int, hosts: list[str], plan: str, rate: Rate = good, findings: Any = (), classes: dict[str, str] | None = None) -> str:
    """Write a run of ``hosts`` and return its id."""
    made = make_plan([{"host": host, "control_address": host, "control_port": 1, "leaf": host[0],
                       "devices": [{"id": 0, "address": f"10.0.{ord(host[0])}.{host[1:]}"}]} for host in hosts], plan)
    run_id = f"r{minute}"
    pairs = [record("rdma", f"{run_id}/{pair['id']}/forward/0", tool={"name": "roce_test"}, operation="write", measure="bandwidth", source=pair["source"],
                    target=pair["target"], options={"qps": 1}, context={"product": "A2", "rail": 0, "line_rate_gbit_s": 200.0},
                    samples=[{"size_bytes": 65536, "bandwidth_gbit_s": rate(pair["source"]["host"], pair["target"]["host"])}], started_at=utc())
             for pairs in rounds_of(made) for pair in pairs]
    path = folder / f"2026/11/20/20261120T10{minute}00Z-{run_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"schema": "hccn.cluster/history/1", "run_id": run_id, "started_at": "2026-11-20T10:15:30.000Z", "playbook": "check_fabric.yml"},
             plan_record(run_id, made), *pairs, *conclude(hosts, classes or {}, findings).as_records(),
             {"end": True, "finished_at": "2026-11-20T10:15:30.000Z", "records": 1, "hosts": {}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run_id


def found(folder: Path, hosts: list[str]) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """Return the runs, the hosts by class and the findings of the conclusion over ``hosts``."""
    seen = fabric_parts.of(folder, hosts, OLDEST)
    made = conclude(hosts, seen.classes, seen.findings)
    return seen.runs, made.hosts, [f"{one.cause} {one.component.name}: {one.message}" for one in made.findings]


def parts(folder: Path, rate: Rate) -> None:
    """Measure each pod in full, and then all hosts in the few rounds of ``leaves``."""
    for minute, hosts in enumerate(PODS.values(), 10):
        run(folder, minute, hosts, "full", rate)
    run(folder, 20, HOSTS, "leaves", rate)


def test_a_healthy_fabric_is_good(tmp_path: Path) -> None:
    parts(tmp_path, good)
    assert found(tmp_path, HOSTS) == (["r20", "r12", "r11", "r10"], {"good": HOSTS}, [])


def test_a_fault_between_pods_is_found(tmp_path: Path) -> None:
    parts(tmp_path, slow_between_a_and_b)
    # The pods are healthy, so only the pairs of all runs together show that the path is to blame, and no host.
    _runs, hosts, findings = found(tmp_path, HOSTS)
    assert (hosts, findings) == ({"good": HOSTS}, ["slow_fabric path a-b: 4 of its pairs are slow, 50 % below normal"])


def test_a_slow_host_is_named_once_by_its_pod_and_the_cross_pod_run(tmp_path: Path) -> None:
    parts(tmp_path, slow_b2)
    _runs, hosts, findings = found(tmp_path, HOSTS)
    assert hosts == {"slow": ["b2"], "good": [host for host in HOSTS if host != "b2"]}
    assert findings == ["slow_npu b2 NPU 0: it is slow with 6 of 6 proven-good partners: a3, b1, b3, b4 and 1 more, 50 % below normal"]


def test_a_host_without_a_run_is_not_measured(tmp_path: Path) -> None:
    run(tmp_path, 10, PODS["a"], "full")
    _runs, hosts, findings = found(tmp_path, [*PODS["a"], "b1"])
    assert hosts == {"not_measured": ["b1"], "good": PODS["a"]}
    assert findings == ["not_measured b1: no run of check_fabric since 2026-11-01 00:00 UTC concluded it"]


@pytest.mark.parametrize("repaired", [False, True])
def test_what_is_on_a_host_comes_from_its_newest_run(tmp_path: Path, repaired: bool) -> None:
    down = finding("link_down", of_npus([("a1", 0)]), "the link is down", devices=[("a1", 0)])
    run(tmp_path, 10, PODS["a"], "full", findings=[down])
    if repaired:
        run(tmp_path, 11, PODS["a"], "full")
    assert found(tmp_path, PODS["a"])[2] == ([] if repaired else ["link_down a1 NPU 0: the link is down"])
