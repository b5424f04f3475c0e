"""Fault classes of a Clos fabric, each with the names that a correct diagnosis gives: ``python -m tests.lab.fabric_simulation.fault_classes``.

A run counts as exact if exactly the bad components are named and exactly the hosts with a fault of their own are bad. It prints a line for each class and plan.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import Diagnosis, diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended, pairs_of, rounds_of
from tests.lab.fabric_simulation.clos import (BACKGROUND, CEILING, LINE_RATE, LOGNORMAL, NIC93, OUTLIERS, RAILS, TAIL, TOR, Clos, Resource, Shape,
                                              Weakness)
from tests.lab.fabric_simulation.records import joined, results

SHAPES = {(16, RAILS): Shape(16, 8, 4, RAILS), (16, TOR): Shape(16, 8, 4, TOR), (64, RAILS): Shape(64, 8, 16, RAILS), (64, TOR): Shape(64, 8, 8, TOR)}

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "gauss": {}, "quiet": {"spread": 0.002}, "ceiling": {"noise": CEILING}, "tail": {"noise": TAIL}, "lognormal": {"noise": LOGNORMAL},
    "nic at 93 %": {"noise": NIC93, "line_rate": LINE_RATE}, "outliers": {"noise": OUTLIERS}, "background": {"noise": BACKGROUND}, "long": {"long": True},
    "latency, 3 tiers": {"latency": True, "pods": 2}}
"""Ten kinds of healthy fabrics."""

PLANS = ("quick", "leaves", "full")


@dataclass
class Truth:
    """The faults of a run. ``accepted``: for each fault the names that count; ``bad_hosts``: those with a fault of their own."""

    weak: list[Weakness] = field(default_factory=list)
    leaf_pairs: dict[frozenset[str], float] = field(default_factory=dict)
    accepted: list[frozenset[str]] = field(default_factory=list)
    bad_hosts: set[str] = field(default_factory=set)

    def add(self, names: Sequence[str], where: Sequence[Resource] = (), drop: float = 0.0, hosts: Sequence[str] = ()) -> None:
        """Add a fault. One that is named already, since it is a part of another, adds no name."""
        self.weak += [Weakness(resource, drop) for resource in where]
        self.accepted += [frozenset(names)] if not any(names[0] in accepted for accepted in self.accepted) else []
        self.bad_hosts.update(hosts)


class Faults:
    """Random faults of a fabric."""

    def __init__(self, fabric: Clos, seed: int) -> None:
        self.fabric, self.random, self.truth = fabric, random.Random(f"faults {seed}"), Truth()  # noqa: S311
        self.npus = fabric.npus()
        self.leaves = sorted({fabric.leaf(npu) for npu in self.npus})

    def drop(self) -> float:
        return self.random.uniform(0.2, 0.6)

    def npu(self, npu: Npu | None = None) -> Npu:
        npu = npu or self.random.choice(self.npus)
        self.truth.add([f"npu {npu}"], [("npu", npu, None)], self.drop(), [npu.host])
        return npu

    def one_way(self) -> None:
        npu, side = self.random.choice(self.npus), self.random.choice(("source", "target"))
        self.truth.add([f"npu {npu}"], [("npu", npu, side)], self.drop(), [npu.host])

    def node(self) -> str:
        host, drop = self.random.choice(self.fabric.hosts), self.drop()
        self.truth.add([f"node {host}"], [("npu", Npu(host, device), None) for device in range(self.fabric.devices)], drop, [host])
        return host

    def rail(self) -> None:
        rail, drop = self.random.randrange(self.fabric.devices), self.drop()
        self.truth.add([f"rail rail {rail}"], [("npu", Npu(host, rail), None) for host in self.fabric.hosts], drop)

    def leaf(self) -> None:
        leaf = self.random.choice(self.leaves)
        self.truth.add([f"leaf leaf {leaf}"], [("up", leaf, None, None), ("down", leaf, None, None)], self.drop())

    def uplink(self, leaf: str | None = None) -> None:
        leaf, spine = leaf or self.random.choice(self.leaves), self.random.randrange(self.fabric.shape.uplinks)
        self.truth.add([f"uplink uplink of leaf {leaf}", f"leaf leaf {leaf}"], [("up", leaf, spine, None), ("down", leaf, spine, None)], self.drop())

    def leaf_pair(self) -> None:
        rails: dict[str, list[str]] = {}
        for leaf in self.leaves:
            rails.setdefault(leaf.split("G")[0], []).append(leaf)
        one, other = sorted(self.random.sample(rails[self.random.choice(sorted(rails))], 2))
        self.truth.leaf_pairs[frozenset((one, other))] = self.drop()
        self.truth.add([f"path path {one}-{other}"])

    def spine(self) -> None:
        spine, pod = self.random.randrange(self.fabric.shape.uplinks), self.random.randrange(self.fabric.shape.pods)
        self.truth.add(["spine spine"], [("up", None, spine, pod), ("down", None, spine, pod)], self.drop())

    def twice(self, one: Callable[[], Any], other: Callable[[], Any]) -> None:
        one()
        other()

    def stacked(self) -> None:
        """Add two faults on one component or one inside the other."""
        kind = self.random.randrange(3)
        if kind == 0:
            self.npu(Npu(self.node(), self.random.randrange(self.fabric.devices)))
            self.truth.accepted = self.truth.accepted[:1]
        elif kind == 1:
            self.uplink(self.fabric.leaf(self.npu()))
        else:
            leaf = self.random.choice(self.leaves)
            self.uplink(leaf)
            self.uplink(leaf)


CLASSES: Mapping[str, Callable[[Faults], Any]] = {
    "npu": Faults.npu, "npu one-way": Faults.one_way, "node": Faults.node, "rail": Faults.rail, "leaf": Faults.leaf, "uplink": Faults.uplink,
    "leaf pair": Faults.leaf_pair, "spine": Faults.spine,
    "npu + node": lambda faults: faults.twice(faults.npu, faults.node), "npu + uplink": lambda faults: faults.twice(faults.npu, faults.uplink),
    "node + spine": lambda faults: faults.twice(faults.node, faults.spine), "uplink + uplink": lambda faults: faults.twice(faults.uplink, faults.uplink),
    "stacked": Faults.stacked}


class Result(NamedTuple):
    """The result of one run. ``sure``: for each name, how sure the diagnosis is and whether it is right. The path of a pair is also right if a link
    on it is bad, although it is not the exact name. ``routers``: for each router that a message names,
    whether it is at the end of a bad link."""

    exact: bool
    innocents: int
    alarm: bool
    sure: list[tuple[str, bool]]
    rounds: int
    named: Sequence[str]
    wanted: Sequence[str]
    routers: Sequence[bool]


def check(fabric: Clos, plan: str, seed: int) -> tuple[Diagnosis, int]:
    """Return the diagnosis of a check as the role runs it, with its confirmation run, and the rounds of the latter."""
    made = make_plan(fabric.entries(), plan, seed, compact=True)
    done = fabric.measure(rounds_of(made))
    answers = results(fabric, done)
    found = diagnose(fabric.hosts, answers, plan=made)
    further = plan_confirmation_run(made, found, answers, seed)
    if further is None:
        return found, 0
    whole = extended(made, further.rounds)
    names = [name for name, _npus in pairs_of(whole)]
    assert len(set(names)) == len(names), "hosts refuse a plan in which a pair occurs twice"
    both = joined(answers, results(fabric, fabric.measure(further.rounds)))
    return diagnose(fabric.hosts, both, plan=whole), len(further.rounds)


def trial(shape: Shape, plan: str, seed: int, faults: str = "", **profile: Any) -> Result:
    """Run a check on a fabric with faults of a class, "" for none."""
    pods = profile.pop("pods", shape.pods)
    fabric = Clos(Shape(shape.hosts, shape.devices, shape.leaf_hosts, shape.wiring, shape.uplinks, pods), seed, **profile)
    made = Faults(fabric, seed)
    if faults:
        CLASSES[faults](made)
    truth = made.truth
    fabric.weak, fabric.leaf_pairs = truth.weak, truth.leaf_pairs
    bad = {router for weakness in truth.weak for router in fabric.routers(weakness.where)}
    found, rounds = check(fabric, plan, seed)
    named = [f"{component['kind']} {component['name']}" for component in found.components]
    blamed = {verdict.host for verdict in found.verdicts if verdict.verdict in ("slow", "failed")}
    right = [any(name in names for names in truth.accepted) for name in named]
    true = [good or _is_bad_path(fabric, name) for name, good in zip(named, right)]
    complete = all(any(name in names for name in named) for names in truth.accepted)
    sure = [(str(component.get("certainty", "certain" if component["certain"] else "possible")), good) for component, good in zip(found.components, true)]
    return Result(complete and all(right) and blamed == truth.bad_hosts, len(blamed - truth.bad_hosts), bool(named or blamed), sure, rounds, named,
                  [min(names) for names in truth.accepted],
                  [not bad.isdisjoint(group) for component in found.components for group in _routers(component["message"])])


def _is_bad_path(fabric: Clos, name: str) -> bool:
    """Return whether a name is that of the path of a pair, and a link on it is bad."""
    pair = re.fullmatch(r"pair path (\S+) NPU (\d+) to (\S+) NPU (\d+)", name)
    return pair is not None and fabric.is_path_bad(Npu(pair[1], int(pair[2])), Npu(pair[3], int(pair[4])))


def _routers(message: str) -> list[list[str]]:
    """Return the routers that a message names, those together that are on the same paths."""
    passed = re.search(r"each bad measurement that was traced passed (?:one of )?(.+), and no good one did", message)
    return [group.split("/") for group in re.sub(r" and \d+ more$", "", passed[1]).split(", ")] if passed else []


def lines(options: argparse.Namespace) -> Iterator[str]:
    """Return a line for each class and plan, and one for each word of certainty."""
    sure: Counter[tuple[str, bool]] = Counter()
    for hosts, wiring in ((hosts, wiring) for hosts in options.hosts for wiring in options.wiring):
        for name in [*(() if options.healthy_only else options.classes), *(PROFILES if options.healthy or options.healthy_only else ())]:
            for plan in options.plans:
                healthy, start = name in PROFILES, time.process_time()
                profile = {**(PROFILES[name] if healthy else {}), **({"source_port": options.source_port} if options.source_port else {})}
                found = [trial(SHAPES[hosts, wiring], plan, options.seed + run, "" if healthy else name, **profile) for run in range(options.runs)]
                sure.update(one for result in found for one in result.sure)
                exact, innocents = (sum(getattr(result, key) for result in found) for key in ("exact", "innocents"))
                figures = f"exact {100 * exact / len(found):.0f} %" if not healthy else (
                    f"alarms {100 * sum(result.alarm for result in found) / len(found):.1f} %, "
                    f"blaming {100 * sum(result.innocents > 0 for result in found) / len(found):.1f} %")
                routers = [right for result in found for right in result.routers]
                if options.source_port:
                    figures += f", a router in {sum(bool(result.routers) for result in found)} runs, {sum(routers)} of {len(routers)} right"
                yield (f"{hosts:3d} {wiring:5s} {name:16s} {plan:6s} {figures}, innocents {innocents / len(found):.2f}, "
                       f"rounds <= {max(result.rounds for result in found)}, {(time.process_time() - start) / len(found):.2f} s")
                if options.verbose:
                    yield from (f"      seed {options.seed + run}: wanted {result.wanted}, named {result.named[:6]}, {result.innocents} innocents"
                                for run, result in enumerate(found) if not result.exact)
    for word in sorted({word for word, _good in sure}):
        total = sure[word, True] + sure[word, False]
        yield f"{word}: {100 * sure[word, True] / total:.1f} % of {total} right"


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="fault_classes", description="Print how often each class of faults of a Clos fabric is named exactly.")
    parser.add_argument("--runs", type=int, default=20, help="runs for each line (20)")
    parser.add_argument("--seed", type=int, default=1000, help="the first seed (1000)")
    parser.add_argument("--hosts", type=int, nargs="+", default=[16, 64], choices=(16, 64))
    parser.add_argument("--wiring", nargs="+", default=[RAILS, TOR], choices=(RAILS, TOR))
    parser.add_argument("--plans", nargs="+", default=PLANS, choices=PLANS)
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), choices=list(CLASSES))
    parser.add_argument("--healthy", action="store_true", help="healthy fabrics with ten noise profiles as well")
    parser.add_argument("--healthy-only", action="store_true", help="these only")
    parser.add_argument("--source-port", type=int, help="a source port that the run sets, so that paths stay and are traced")
    parser.add_argument("--verbose", action="store_true", help="show the runs that are not exact")
    for line in lines(parser.parse_args(arguments)):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
