"""Measure time and memory of the diagnosis of a whole matrix, also with a confirmation run. It runs in a separate process."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import Diagnosis, diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended
from tests.lab.fabric_simulation.clos import RAILS, Clos, Shape, Weakness
from tests.lab.fabric_simulation.records import SIZE, WHAT, joined, results
from tests.lab.fabric_simulation.world import LINE, World
from tests.lib.processes import peak_mib

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
    both = joined(answers, results(fabric, fabric.measure(further.rounds)))
    start = time.process_time()
    judged = diagnose(fabric.hosts, both, plan=extended(plan, further.rounds))
    return _cost(seconds + time.process_time() - start, judged)


def _cost(seconds: float, judged: Diagnosis) -> Cost:
    return Cost(seconds, peak_mib() / 1024, [component["name"] for component in judged.components])


def _full(fabric: Clos, seed: int) -> dict[str, dict[str, Any]]:
    generator = random.Random(f"full {seed}")  # noqa: S311
    alone = BAD_ALONE / (fabric.count * fabric.devices * fabric.shape.leaf_hosts)
    leaves = [[fabric.leaf(Npu(host, device)) for host in fabric.hosts] for device in range(fabric.devices)]
    return _rows(fabric, generator, lambda source, target, device: HALF if generator.random() < (
        alone if leaves[device][source] == leaves[device][target] else 1 / SPINES) else 1.0)


def measured(world: World, fault: str, seed: int) -> dict[str, dict[str, Any]]:
    leaf = [world.leaf[host] for host in world.hosts]
    return _rows(world, random.Random(f"matrix {seed}"), lambda source, target, device: _share(fault, source, target, device, leaf))  # noqa: S311


def _rows(world: World | Clos, generator: random.Random, share: Callable[[int, int, int], float]) -> dict[str, dict[str, Any]]:
    """Return rows with both directions of every pair. Their noise is from a limited stock, since drawing eight million takes longer than diagnosing them.

    ``share``: of the line rate that a pair has, by the numbers of its hosts and the device.
    """
    stock = [LINE * (1 + world.spread * generator.gauss(0.0, 1.0)) for _value in range(4 * world.count + 1000)]
    found: dict[str, dict[str, Any]] = {}
    for place, host in enumerate(world.hosts):
        rows = []
        for device in range(world.devices):
            first = generator.randrange(len(stock) - world.count)
            worths = [None if other == place else float(f"{value * share(place, other, device):.3g}")
                      for other, value in enumerate(stock[first:first + world.count])]
            rows.append({"id": f"sim/{host}/{device}/matrix", "kind": "matrix", "status": "ok", **WHAT, "source": {"host": host, "device": device},
                         "hosts": world.hosts, "samples": [{"size_bytes": SIZE, "bandwidth_gbit_s": worths}]})
        found[host] = {"run_id": "sim", "state": "finished", "measurements": rows}
    return found


def _share(fault: str, source: int, target: int, device: int, leaf: Sequence[str]) -> float:
    """Return the share of the bandwidth that a pair has with a fault."""
    hit = {"nothing": False, "node": 17 in (source, target), "rail": device == 1, "path": {leaf[source], leaf[target]} == {"L2", "L4"},
           "quarter": source % 4 == 1 or target % 4 == 1}[fault]
    return DROP if hit else 1.0
