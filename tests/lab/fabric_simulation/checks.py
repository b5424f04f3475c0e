"""Requirements on plans and diagnosis of the fabric check. Each check runs trials on simulated fabrics and returns a row of the table."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import rounds_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from tests.lab.fabric_simulation.events import Events, Pair, with_barriers
from tests.lab.fabric_simulation.records import matrix
from tests.lab.fabric_simulation.trials import Trial, npu_faults, confirmed, fabric_fault, pairs, run
from tests.lab.fabric_simulation.world import DEVICE, FLAPPING, HUNG, LEAF, NODE, PATH, RAIL, SLOW, Claim, Fault, World

SIZES = (64, 128, 256, 512, 1024)
LARGE = (2048, 4096)
LARGE_EVERY = 25
"""Every n-th seed has one of the large sizes."""

DEVICES = (8, 4, 2, 1)
SHARES = (0.01, 0.05, 0.1, 0.25)
"""Shares of bad hosts."""

LEAVES = ((64, 32), (64, 8), (128, 32), (64, 16), (96, 12))
"""Numbers of hosts, and of hosts per leaf."""


@dataclass(frozen=True)
class Row:
    """A row of the table. ``good``: whether ``found`` meets ``wanted``. ``details``: of trials that did not."""

    check: str
    found: str
    wanted: str
    good: bool
    seconds: float
    details: Sequence[str] = ()


class Figures(NamedTuple):
    """The result of a check."""

    found: str
    wanted: str
    good: bool
    details: Sequence[str] = ()


def timed(check: str, measured: Callable[[], Figures]) -> Row:
    """Run a check and return its row."""
    start = time.monotonic()
    figures = measured()
    return Row(check, figures.found, figures.wanted, figures.good, time.monotonic() - start, figures.details)


def size_of(seed: int, largest: int) -> int:
    """Return the number of hosts for a seed. All sizes occur in turn."""
    sizes = [size for size in SIZES if size <= largest]
    large = [size for size in LARGE if size <= largest]
    return large[seed // LARGE_EVERY % len(large)] if large and seed % LARGE_EVERY == LARGE_EVERY - 1 else sizes[seed % len(sizes)]


def npu_trial(seed: int, largest: int) -> Trial:
    """Run an adaptive quick plan with bad nodes and NPUs."""
    count, devices, share = size_of(seed, largest), DEVICES[seed // 5 % 4], SHARES[seed // 20 % 4]
    return run(World(count, devices, seed=seed, faults=npu_faults(seed, count, devices, share)), "quick", seed)


def npus(seeds: Iterable[int], largest: int = LARGE[-1]) -> Figures:
    """Check that two adaptive rounds name every bad node and NPU, and nothing else."""
    rounds: Counter[int] = Counter()
    wrong, trials, covered = [], 0, 1.0
    for seed in seeds:
        trial = npu_trial(seed, largest)
        trials += 1
        rounds[trial.rounds] += 1
        covered = min(covered, trial.coverage())
        if not trial.is_exact():
            wrong.append(described(seed, trial))
    found = f"exact in {trials - len(wrong)} of {trials}; rounds: " + ", ".join(f"{count} x {number}" for number, count in sorted(rounds.items()))
    return Figures(f"{found}; coverage {100 * covered:.4g} %", "exact in all, 2 rounds; coverage 99 %", not wrong and covered >= 0.99, wrong)


def described(seed: int, trial: Trial) -> str:
    """Return a line about a trial that went wrong."""
    return f"seed {seed}, {trial.world.count} hosts: named without cause {sorted(trial.false_blames())[:4]}, missed {sorted(trial.missed())[:4]}"


def fabric_trial(seed: int) -> Trial:
    """Run the plan leaves or full with a fault of a rail, a leaf or a path."""
    plan, kind = ("leaves", "full")[seed % 2], (RAIL, LEAF, PATH)[seed // 2 % 3]
    count, leaf_size = LEAVES[seed // 6 % len(LEAVES)]
    devices = 2 if kind == RAIL or plan == "leaves" else 1
    one_way = kind != RAIL and seed // 6 % 3 == 2
    return run(World(count, devices, leaf_size, seed=seed, faults=fabric_fault(kind, seed, count, devices, leaf_size, one_way)), plan, seed)


def fabric(seeds: Iterable[int]) -> Figures:
    """Check that the plans leaves and full name rails, leaves and paths; of two leaves, the path between them."""
    found: Counter[str] = Counter()
    wrong, trials = [], 0
    for seed in seeds:
        trial = fabric_trial(seed)
        trials += 1
        found.update(name.split()[0] for name in trial.named())
        if not trial.is_exact():
            wrong.append(described(seed, trial))
    names = ", ".join(f"{count} x {name}" for name, count in sorted(found.items()))
    return Figures(f"exact in {trials - len(wrong)} of {trials}: {names}", "exact in all", not wrong, wrong)


def flapping(seeds: Iterable[int], count: int = 64) -> Figures:
    """Check that the plan full names a node that comes and goes, and nothing else."""
    wrong, trials, named = [], 0, 0
    for seed in seeds:
        generator = random.Random(f"flapping {seed}")  # noqa: S311
        host = generator.choice(World(count).hosts)
        trial = run(World(count, 1, seed=seed, faults=[Fault(NODE, host, FLAPPING, period=generator.uniform(4, 12))]), "full", seed)
        trials += 1
        named += trial.is_exact()
        if not trial.is_exact():
            wrong.append(described(seed, trial))
    return Figures(f"named in {named} of {trials}", "all, nothing else", not wrong, wrong)


def claims(seeds: Iterable[int], counts: Sequence[int] = (4, 8, 16, 33, 64)) -> Figures:
    """Check that a host that reports a multiple of what it measures does not change the verdict of another host, after the confirmation run."""
    wrong, trials, named = [], 0, 0
    for seed in seeds:
        generator = random.Random(f"claims {seed}")  # noqa: S311
        count, plan, devices = counts[seed % len(counts)], ("quick", "leaves", "full")[seed % 3], generator.choice((1, 2, 8))
        claim = Claim(generator.choice(World(count).hosts), 10 ** generator.uniform(-1, 1))
        kind: dict[str, Any] = generator.choice(({"line_rate": 200.0}, {}, {"latency": True}))
        world = World(count, devices, 4 if plan == "leaves" else generator.choice((0, 4)), seed=seed, claim=claim, **kind)
        classes = {verdict.host: verdict.verdict for verdict in confirmed(world, plan, seed).verdicts}
        trials += 1
        named += classes.pop(claim.host) != "good"
        bad = [host for host, one in classes.items() if one != "good"]
        if bad and bad != [verdict.host for verdict in confirmed(replace(world, claim=None), plan, seed).verdicts if verdict.verdict != "good"]:
            wrong.append(f"seed {seed}, {plan} of {count} hosts x {devices}, {claim}, {kind}: {bad[:4]}")
    return Figures(f"{len(wrong)} of {trials} runs in which another verdict changed; its own did in {named}", "none", not wrong, wrong)


def rounds_of_plans(sizes: Iterable[int]) -> Figures:
    """Check that plans have the minimum number of rounds."""
    wrong, plans = [], 0
    for count in sizes:
        devices, leaf_size = 8, 32
        world = World(count, devices, leaf_size)
        leaves = -(-count // leaf_size)
        least = {"full": count - 1 + count % 2, "devices": count * devices - devices, "leaves": leaves}
        for plan, wanted in least.items():
            plans += 1
            rounds = make_plan(world.entries(), plan, 0, compact=True)["summary"]["rounds"]
            if rounds != wanted and not (plan == "leaves" and abs(rounds - wanted) < 2):
                wrong.append(f"{plan} of {count} hosts: {rounds} rounds, not {wanted}")
    return Figures(f"{plans - len(wrong)} of {plans} plans", "full N-1 (odd N: N), devices N R - R, leaves about L", not wrong, wrong)


def false_blames(seeds: Iterable[int], plan: str = "quick", count: int = 1024, devices: int = 8) -> Figures:
    """Count runs of a healthy fabric in which anything is named."""
    wrong, trials = [], 0
    for seed in seeds:
        trials += 1
        world = World(count, devices, seed=seed)
        if plan == "quick":
            blames = run(world, plan, seed).false_blames()
        else:
            found = diagnose(world.hosts, matrix(world), plan={"topology": world.topology()})
            blames = {component["name"] for component in found.components} | {verdict.host for verdict in found.verdicts if verdict.verdict != "good"}
        if blames:
            wrong.append(f"seed {seed}: {sorted(blames)[:4]}")
    return Figures(f"{len(wrong)} of {trials} runs", "at most 1 in 100", 100 * len(wrong) <= trials, wrong)


def misses(seeds: Iterable[int], plan: str, count: int, devices: int, drop: float | None, adaptive: bool = True, faults: int = 4) -> Figures:
    """Count NPUs that lost ``drop``, or as much as the detection limit of the run, and were not named."""
    wrong, missed, blamed, trials = [], 0, 0, 0
    for seed in seeds:
        size = drop
        if size is None:
            size = run(World(count, devices, seed=seed), plan, seed, adaptive).diagnosis.detection_limit["smallest_drop_percent"]["npu"] / 100
        generator = random.Random(f"misses {seed}")  # noqa: S311
        bad = [Fault(DEVICE, (host, generator.randrange(devices)), SLOW, size) for host in generator.sample(World(count).hosts, faults)]
        trial = run(World(count, devices, seed=seed, faults=bad), plan, seed, adaptive)
        trials += faults
        blamed += len(trial.false_blames())
        missed += len(trial.missed())
        if trial.missed():
            wrong.append(described(seed, trial))
    found = f"{missed} of {trials} missed, {blamed} named without cause"
    if drop is not None:
        return Figures(found, "none", missed == 0, wrong)
    return Figures(found, "at most 1 in 100", 100 * missed <= trials, wrong)


def hung(seeds: Iterable[int], hosts: int, count: int = 64, device_only: bool = False) -> Figures:
    """Compare the time of the plan full with and without hosts that hang."""
    ratios, barriers, covered, without = [], [], [], []
    for seed in seeds:
        generator = random.Random(f"hung {seed}")  # noqa: S311
        bad = generator.sample(World(count).hosts, hosts)
        faults = [Fault(DEVICE, (host, 0), HUNG) if device_only else Fault(NODE, host, HUNG) for host in bad]
        sound, world = World(count, 1, seed=seed), World(count, 1, seed=seed, faults=faults)
        plan = make_plan(world.entries(), "full", seed, compact=True)
        every = pairs(plan)
        healthy = Events(sound, every).run().seconds
        ran = Events(world, every).run()
        mine = [done for done in ran.done if not {done.source.host, done.target.host} & set(bad)]
        covered.append(sum(done.outcome is not None for done in mine) / len(mine))
        ratios.append(ran.seconds / healthy)
        without.append(Events(world, every, suspend=False).run().seconds / healthy)
        barriers.append(with_barriers(world, _rounds(plan)) / healthy)
    most = {1: 1.4}.get(hosts, 2.0)
    found = (f"{max(ratios):.2f} x at most, {sum(ratios) / len(ratios):.2f} x in the mean; without suspension {sum(without) / len(without):.2f} x, "
             f"with barriers and 120 s {sum(barriers) / len(barriers):.1f} x; coverage {100 * min(covered):.4g} %")
    return Figures(found, f"at most {most:g} x; coverage 99 %", max(ratios) <= most and min(covered) >= 0.99)


def _rounds(plan: dict) -> Iterable[Sequence[Pair]]:
    for one in rounds_of(plan):
        yield [(entry["id"], (Npu(entry["source"]["host"], entry["source"]["device"]), Npu(entry["target"]["host"], entry["target"]["device"])))
               for entry in one]


def late(seeds: Iterable[int], count: int = 64) -> Figures:
    """Check that hosts that start late are measured, and cost only the time that they are late."""
    ratios, covered = [], []
    for seed in seeds:
        generator = random.Random(f"late {seed}")  # noqa: S311
        world = World(count, 1, seed=seed)
        plan = make_plan(world.entries(), "full", seed, compact=True)
        healthy = Events(world, pairs(plan)).run().seconds
        world = World(count, 1, seed=seed, late={host: generator.uniform(0, 60) for host in generator.sample(world.hosts, count // 4)})
        ran = Events(world, pairs(plan)).run()
        ratios.append((ran.seconds - 60) / healthy)
        covered.append(sum(done.outcome is not None for done in ran.done) / len(ran.done))
    return Figures(f"a quarter of the hosts up to 60 s late: those 60 s and {max(ratios):.2f} x at most; coverage {100 * min(covered):.4g} %",
                   "60 s and 1.2 x; coverage 99 %", max(ratios) <= 1.2 and min(covered) >= 0.99)
