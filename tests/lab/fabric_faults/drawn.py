"""Random faults of a fabric, generated from a seed, and the findings that the check must report."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.lab.testbed import Lab

HOSTS, NPUS, LEAF_SIZE, LINK_RATE = 16, 8, 4, "200mbit"
SLOW_MBIT = (20, 80)
"""Range of rates of a slow port."""
UPLINK_MBIT = (40, 80)
"""Range of rates of the slow uplinks of a leaf, which 32 NPUs share. They are below the rate of one NPU, in case a busy machine runs one test at a time."""
PLANS = {"quick": 14, "leaves": 4, "full": 2}
"""Weights of the plans."""

SLOW_NPU, SLOW_HOST, DEAD, HUNG, SLOW_UPLINK = "slow npu", "slow host", "dead host", "hung host", "slow uplink"
AFTER_START = (DEAD, HUNG)
"""Faults that occur during the measurement; the others exist from the start."""
LOST = "failed or unreachable"
"""The class depends on whether its partners or Ansible noticed the fault first; both name the host."""


@dataclass(frozen=True)
class Fault:
    """``target``: a host, or a leaf such as ``leaf:2``. ``npu``: None for a whole host or leaf. ``mbit``: the rate of a slow target."""

    kind: str
    target: str
    npu: int | None = None
    mbit: int = 0

    def inject(self, lab: Lab) -> None:
        if self.kind in AFTER_START:
            lab.fault(self.target, "kill" if self.kind == DEAD else "pause")
        else:
            lab.fault(self.target, npu=self.npu, rate=f"{self.mbit}mbit")


@dataclass(frozen=True)
class Drawn:
    seed: int
    plan: str
    faults: tuple[Fault, ...]
    classes: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    """The beginning of the message about each slow host."""
    fabric: tuple[str, ...] = ()
    """The components of the fabric that the check must name."""


def draw(seed: int) -> Drawn:
    chance = random.Random(seed)
    plan = chance.choices(list(PLANS), list(PLANS.values()))[0]
    names = [f"node{number}" for number in range(1, HOSTS + 1)]
    classes = dict.fromkeys(names, "good")
    if plan != "quick":
        leaf = chance.randrange(HOSTS // LEAF_SIZE)
        return Drawn(seed, plan, (Fault(SLOW_UPLINK, f"leaf:{leaf}", mbit=chance.randint(*UPLINK_MBIT)),), classes, {}, (f"leaf leaf{leaf}",))
    kinds = chance.sample([SLOW_NPU, SLOW_NPU, SLOW_HOST, DEAD, HUNG], chance.randint(1, 3))
    faults = tuple(_fault(kind, target, chance) for kind, target in zip(kinds, chance.sample(names, len(kinds))))
    classes.update({fault.target: LOST if fault.kind in AFTER_START else "slow" for fault in faults})
    named = {fault.target: f"npu {fault.npu} is slow with" for fault in faults if fault.kind == SLOW_NPU}
    named.update({fault.target: f"all {NPUS} NPUs are slow with" for fault in faults if fault.kind == SLOW_HOST})
    return Drawn(seed, plan, faults, classes, named)


def _fault(kind: str, target: str, chance: random.Random) -> Fault:
    if kind in AFTER_START:
        return Fault(kind, target)
    return Fault(kind, target, chance.randrange(NPUS) if kind == SLOW_NPU else None, chance.randint(*SLOW_MBIT))
