"""Measure time and memory of the diagnosis of a whole matrix, also with a confirmation run. It runs in a separate process."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import Diagnosis, diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended
from tests.lab.fabric_simulation.clos import RAILS, Clos, Shape, Weakness
from tests.lab.fabric_simulation.records import SIZE, WHAT, results
from tests.lab.fabric_simulation.world import LINE, World

DROP, HALF = 0.8, 0.5
SPINES, BAD_ALONE = 16, 10
"""Of the fabric of cost_with_confirmation(): its spines, and about how many pairs inside of leaves are bad by chance."""


class Cost(NamedTuple):
    """CPU seconds, and the largest resident set of the process including its input in GiB."""

    seconds: float
    gibibytes: float
    named: Sequence[str]


def cost(count: int, devices: int, fault: str, seed: int = 0) -> Cost:
    """Diagnose a matrix in which both directions of every pair were measured."""
    world = World(count, devices, max(2, count // 32))
    found = measured(world, fault, seed)
    start = time.process_time()
    judged = diagnose(world.hosts, found, plan={"topology": world.topology()})
    return _cost(time.process_time() - start, judged)


def cost_with_confirmation(count: int, devices: int, seed: int = 0) -> Cost:
    """Diagnose the plan ``full`` on rails with a bad spine and some other bad pairs, plan the confirmation run, and diagnose both runs.

    The simulation of the runs does not count.
    """
    fabric = Clos(Shape(count, devices, max(4, count // 16), RAILS, SPINES), seed, [Weakness((side, None, 0, None), HALF) for side in ("up", "down")])
    plan, answers = make_plan(fabric.entries(), "full", seed, compact=True), _full(fabric, seed)
    start = time.process_time()
    found = diagnose(fabric.hosts, answers, plan=plan)
    further = plan_confirmation_run(plan, found, answers, seed)
    seconds = time.process_time() - start
    assert further is not None
    for host, more in results(fabric, fabric.measure(further.rounds)).items():
        answers[host]["measurements"] += (more or {})["measurements"]
    start = time.process_time()
    judged = diagnose(fabric.hosts, answers, plan=extended(plan, further.rounds))
    return _cost(seconds + time.process_time() - start, judged)


def _cost(seconds: float, judged: Diagnosis) -> Cost:
    return Cost(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, [component["name"] for component in judged.components])


def _full(fabric: Clos, seed: int) -> dict[str, dict[str, Any]]:
    """Return rows in both directions, which Clos.measure() would take minutes to draw."""
    generator = random.Random(f"full {seed}")  # noqa: S311
    stock = [LINE * (1 + fabric.spread * generator.gauss(0.0, 1.0)) for _value in range(4 * fabric.count + 1000)]
    alone = BAD_ALONE / (fabric.count * fabric.devices * fabric.shape.leaf_hosts)
    found: dict[str, dict[str, Any]] = {}
    for host in fabric.hosts:
        rows = []
        for device in range(fabric.devices):
            leaf, first = fabric.leaf(Npu(host, device)), generator.randrange(len(stock) - fabric.count)
            bad = [alone if fabric.leaf(Npu(other, device)) == leaf else 1 / SPINES for other in fabric.hosts]
            worths = [None if other == host else float(f"{value * (HALF if generator.random() < chance else 1.0):.3g}")
                      for other, value, chance in zip(fabric.hosts, stock[first:], bad)]
            rows.append(_row(host, device, fabric.hosts, worths))
        found[host] = {"run_id": "sim", "state": "finished", "measurements": rows}
    return found


def measured(world: World, fault: str, seed: int) -> dict[str, dict[str, Any]]:
    """Return rows with noise from a limited stock, since drawing eight million values takes longer than diagnosing them."""
    generator = random.Random(f"matrix {seed}")  # noqa: S311
    stock = [LINE * (1 + world.spread * generator.gauss(0.0, 1.0)) for _value in range(4 * world.count + 1000)]
    leaf = [world.leaf[host] for host in world.hosts]
    found: dict[str, dict[str, Any]] = {}
    for place, host in enumerate(world.hosts):
        rows = []
        for device in range(world.devices):
            first = generator.randrange(len(stock) - world.count)
            worths: list[float | None] = [float(f"{value * _share(fault, place, other, device, leaf):.3g}")
                                          for other, value in enumerate(stock[first:first + world.count])]
            worths[place] = None
            rows.append(_row(host, device, world.hosts, worths))
        found[host] = {"run_id": "sim", "state": "finished", "measurements": rows}
    return found


def _row(host: str, device: int, hosts: Sequence[str], worths: Sequence[float | None]) -> dict[str, Any]:
    return {"id": f"sim/{host}/{device}/matrix", "kind": "matrix", "status": "ok", **WHAT, "source": {"host": host, "device": device},
            "hosts": hosts, "samples": [{"size_bytes": SIZE, "bandwidth_gbit_s": worths}]}


def _share(fault: str, source: int, target: int, device: int, leaf: Sequence[str]) -> float:
    """Return the share of the bandwidth that a pair has with a fault."""
    hit = {"nothing": False, "node": 17 in (source, target), "rail": device == 1, "path": {leaf[source], leaf[target]} == {"L2", "L4"},
           "quarter": source % 4 == 1 or target % 4 == 1}[fault]
    return DROP if hit else 1.0
