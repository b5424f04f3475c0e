"""Measure time and memory of the diagnosis of a whole matrix. It runs in a separate process."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from tests.lab.fabric_simulation.records import SIZE, WHAT
from tests.lab.fabric_simulation.world import LINE, World

DROP = 0.8


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
    seconds = time.process_time() - start
    return Cost(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, [component["name"] for component in judged.components])


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
            rows.append({"id": f"sim/{host}/{device}/matrix", "kind": "matrix", "status": "ok", **WHAT, "source": {"host": host, "device": device},
                         "hosts": world.hosts, "samples": [{"size_bytes": SIZE, "bandwidth_gbit_s": worths}]})
        found[host] = {"run_id": "sim", "state": "finished", "measurements": rows}
    return found


def _share(fault: str, source: int, target: int, device: int, leaf: Sequence[str]) -> float:
    """Return the share of the bandwidth that a pair has with a fault."""
    hit = {"nothing": False, "node": 17 in (source, target), "rail": device == 1, "path": {leaf[source], leaf[target]} == {"L2", "L4"},
           "quarter": source % 4 == 1 or target % 4 == 1}[fault]
    return DROP if hit else 1.0
