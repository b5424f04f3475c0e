"""Trials: simulate a run on a world with known faults, diagnose it, and compare the diagnosis with the faults."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import Diagnosis, diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended, pairs_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.isolation import isolation_rounds
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from tests.lab.fabric_simulation.events import Done, Events, Pair
from tests.lab.fabric_simulation.records import results
from tests.lab.fabric_simulation.world import DEAD, DEVICE, HUNG, LEAF, NODE, PATH, RAIL, SLOW, Fault, World

MOST_ROUNDS = 6


@dataclass(frozen=True)
class Trial:
    """A trial. ``rounds``: of the plan and of isolation. ``run_seconds``: in virtual time."""

    world: World
    plan: Mapping[str, Any]
    rounds: int
    diagnosis: Diagnosis
    done: list[Done]
    run_seconds: float

    def named(self) -> set[str]:
        """Return kind and name of the components that the diagnosis names."""
        return {f"{found['kind']} {found['name']}" for found in self.diagnosis.components}

    def blamed(self) -> set[str]:
        """Return the hosts that are not good."""
        return {verdict.host for verdict in self.diagnosis.verdicts if verdict.verdict != "good"}

    def is_exact(self) -> bool:
        """Return True if exactly the components with a fault are named, and all other hosts are good."""
        return self.named() == truth(self.world) and self.blamed() == self.world.bad_hosts()

    def false_blames(self) -> set[str]:
        """Return components and hosts that are named without cause."""
        return (self.named() - truth(self.world)) | (self.blamed() - self.world.bad_hosts())

    def missed(self) -> set[str]:
        """Return components with a fault that are not named."""
        return truth(self.world) - self.named()

    def coverage(self) -> float:
        """Return the share of planned pairs between hosts without faults that were measured."""
        bad = self.world.bad_hosts()
        mine = [one for one in self.done if one.source.host not in bad and one.target.host not in bad]
        return sum(one.outcome is not None for one in mine) / max(1, len(mine))


def truth(world: World) -> set[str]:
    """Return the names that a correct diagnosis gives to the faults."""
    leaves = set(world.leaf.values())
    found = set()
    for fault in world.faults:
        if fault.kind == NODE:
            found.add(f"node {fault.where}" if world.devices > 1 else f"npu {fault.where} NPU 0")
        elif fault.kind == DEVICE:
            found.add(f"npu {Npu(*fault.where)}")
        elif fault.kind == RAIL:
            found.add(f"rail rail {fault.where}")
        elif fault.kind == LEAF and len(leaves) > 2:
            found.add(f"leaf leaf {fault.where}")
        else:
            one, other = fault.where if fault.kind == PATH else (fault.where, *(leaves - {fault.where}))
            one, other = (one, other) if fault.one_way else sorted((one, other))
            found.add(f"path path {one} to {other}" if fault.one_way else f"path path {one}-{other}")
    return found


def pairs(plan: Mapping[str, Any]) -> list[Pair]:
    """Return the pairs of a plan in either form."""
    return [(name, (Npu(*source), Npu(*target))) for name, (source, target) in pairs_of(plan)]


def run(world: World, plan: str = "quick", seed: int = 0, adaptive: bool = True) -> Trial:
    """Simulate a whole check. The plan ``quick`` continues with rounds of isolation while NPUs are open."""
    made = make_plan(world.entries(), plan, seed, adaptive=adaptive and plan == "quick", compact=True)
    ran = Events(world, pairs(made)).run()
    done, seconds = ran.done, ran.seconds
    rounds = int(made["summary"]["rounds"])
    whole: Mapping[str, Any] = made
    found = diagnose(world.hosts, results(world, done), plan=whole)
    states: dict[str, str] = {}
    while plan == "quick" and rounds < MOST_ROUNDS:
        for one in done[len(states):]:  # a decision stays: a value close to the gate must not cause a further round
            states[one.name] = found.states.get(one.name, "missing")
        further = isolation_rounds(whole, states, seed)
        if not any(further):
            break
        whole = extended(whole, further)
        ran = Events(world, pairs(whole)[len(done):], start=seconds).run()
        done, seconds, rounds = done + ran.done, seconds + ran.seconds, rounds + len(further)
        found = diagnose(world.hosts, results(world, done), plan=whole)
    return Trial(world, made, rounds, found, done, seconds)


def confirmed(world: World, plan: str, seed: int = 0) -> Diagnosis:
    """Return the diagnosis of a check as the role runs it: the rounds of the plan, then one confirmation run."""
    made = make_plan(world.entries(), plan, seed)
    ran = Events(world, pairs(made)).run()
    answers = results(world, ran.done)
    found = diagnose(world.hosts, answers, plan=made)
    further = plan_confirmation_run(made, found, answers, seed)
    if further is None:
        return found
    whole = extended(made, further.rounds)
    again = Events(world, pairs(whole)[len(ran.done):], start=ran.seconds).run()
    return diagnose(world.hosts, results(world, ran.done + again.done), plan=whole)


def npu_faults(world_seed: int, count: int, devices: int, share: float) -> list[Fault]:
    """Return faults of nodes and single NPUs: up to ``share`` of the NPUs of every rail is slow by 8 % to 80 %, dead or hung."""
    generator = random.Random(f"faults {world_seed}")  # noqa: S311
    width = len(str(count))
    hosts = [f"n{number:0{width}d}" for number in range(1, count + 1)]
    bad = generator.sample(hosts, max(1, int(share * count)))
    faults = []
    for host in bad:
        effect = generator.choices((SLOW, DEAD, HUNG), (8, 3, 1))[0]
        drop = generator.uniform(0.08, 0.8)
        if devices > 1 and generator.random() < 0.5:
            faults += [Fault(DEVICE, (host, device), effect, drop) for device in sorted(generator.sample(range(devices), generator.choice((1, 1, 2))))]
        else:
            faults.append(Fault(NODE, host, effect, drop))
    if devices != 2:
        return faults
    hit = Counter(fault.where[0] for fault in faults if fault.kind == DEVICE)
    return [fault for fault in faults if fault.kind == NODE or hit[fault.where[0]] == 1]


def fabric_fault(kind: str, seed: int, count: int, devices: int, leaf_size: int, one_way: bool = False) -> list[Fault]:
    """Return one fault of a random rail, leaf or path."""
    generator = random.Random(f"fabric {seed}")  # noqa: S311
    leaves: Sequence[str] = [f"L{number + 1}" for number in range(-(-count // leaf_size))]
    where: Any = generator.randrange(devices) if kind == RAIL else generator.choice(leaves) if kind == LEAF else tuple(sorted(generator.sample(leaves, 2)))
    return [Fault(kind, where, SLOW if generator.random() < 0.7 else DEAD, generator.uniform(0.08, 0.8), one_way=one_way)]
