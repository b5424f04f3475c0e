"""Print the results of all checks on simulated fabrics: ``python -m tests.lab.fabric_simulation``, or ``make simulate``."""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import sys
from collections.abc import Callable, Iterator
from functools import partial

from ansible_collections.hccn.cluster.plugins.module_utils._core.words import some
from tests.lab.fabric_simulation import checks
from tests.lab.fabric_simulation.checks import Figures, Row, timed
from tests.lab.fabric_simulation.cost import Cost, cost, cost_with_confirmation

FAULTS = ("nothing", "node", "rail", "path", "quarter")
MOST_SECONDS, MOST_SECONDS_WITH_CONFIRMATION, MOST_GIBIBYTES = 10.0, 15.0, 1.0


def rows(trials: int, fresh: int, largest: int) -> Iterator[Row]:
    """Run all checks, with the seeds 0 to ``trials`` - 1 and the seed ``fresh``."""
    seeds = [*range(trials), fresh]
    few = seeds[:max(3, trials // 10)] + [fresh]
    yield timed("rounds of the plans", lambda: checks.rounds_of_plans([size for size in (64, 65, 256, 1024, 4096) if size <= largest]))
    yield timed(f"quick, bad nodes and NPUs, up to 25 %, {checks.SIZES[0]} to {largest} hosts", lambda: checks.npus(seeds, largest))
    yield timed("leaves and full, a bad rail, leaf or path", lambda: checks.fabric(seeds))
    yield timed("full, a node that comes and goes, 64 hosts", lambda: checks.flapping(few))
    count = min(1024, largest)
    yield timed("one host that reports 0.1 to 10 times what it measures, 4 to 64 hosts", lambda: checks.claims(seeds))
    yield timed(f"quick, false blame, {count} hosts x 8", lambda: checks.false_blames(seeds, "quick", count))
    yield timed(f"full, false blame, {count} hosts x 2", lambda: checks.false_blames(few, "full", count, 2))
    yield timed("full, misses of a drop of 5 %, 64 hosts", lambda: checks.misses(seeds, "full", 64, 1, 0.05))
    yield timed("full, misses of a drop of 5 %, 256 hosts", lambda: checks.misses(few, "full", 256, 1, 0.05))
    yield timed("quick, adaptive, misses of the drop that it prints, 256 hosts x 4", lambda: checks.misses(seeds, "quick", 256, 4, None))
    yield timed("quick, two rounds at once, misses of the drop that it prints", lambda: checks.misses(seeds, "quick", 256, 4, None, adaptive=False))
    yield timed("full with one hung host, 64 hosts", lambda: checks.hung(few, 1))
    yield timed("full with three hung hosts, 64 hosts", lambda: checks.hung(few, 3))
    yield timed("full with one hung NPU, 64 hosts", lambda: checks.hung(few, 1, device_only=True))
    yield timed("full with late hosts, 64 hosts", lambda: checks.late(few))
    for fault in FAULTS:
        yield timed(f"diagnosis of a {count} x {count} x 8 matrix, bad: {fault}", partial(of_matrix, MOST_SECONDS, cost, count, 8, fault))
    yield timed(f"full with its confirmation run, {count} x {count} x 8, bad: a spine and some pairs",
                partial(of_matrix, MOST_SECONDS_WITH_CONFIRMATION, cost_with_confirmation, count, 8))


def of_matrix(most_seconds: float, function: Callable[..., Cost], *arguments: object) -> Figures:
    """Measure the cost of a diagnosis in a separate process, so that its memory can be measured."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(function, arguments)
    named = some(found.named, 1)
    return Figures(f"{found.seconds:.1f} s, {found.gibibytes:.2f} GiB with the input; named: {named or 'nothing'}",
                   f"{most_seconds:g} s, {MOST_GIBIBYTES:g} GiB", found.seconds <= most_seconds and found.gibibytes <= MOST_GIBIBYTES)


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if every check passed."""
    parser = argparse.ArgumentParser(prog="fabric_simulation", description="Check plans and diagnosis of the fabric check on simulated fabrics.")
    parser.add_argument("--trials", type=int, default=300, help="number of seeds, from 0 on (300)")
    parser.add_argument("--seed", type=int, default=None, help="one more seed (random)")
    parser.add_argument("--largest", type=int, default=4096, help="number of hosts of the largest fabric (4096)")
    options = parser.parse_args(arguments)
    fresh = secrets.randbelow(10**9) if options.seed is None else options.seed
    print(f"seeds 0 to {options.trials - 1}, and {fresh}", flush=True)
    good = True
    for row in rows(options.trials, fresh, options.largest):
        good = good and row.good
        print(f"{'good' if row.good else 'BAD '}  {row.check}: {row.found} (wanted: {row.wanted}) [{row.seconds:.0f} s]", flush=True)
        for line in row.details[:5]:
            print(f"      {line}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
