"""Random faults of a fabric by seed, and the verdicts that the check must reach. The playbook does not know the faults."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.lab.testbed import Lab

HOSTS, NPUS, LEAF_SIZE, LINK_RATE = 16, 8, 4, "200mbit"
SLOW_MBIT = (20, 80)
"""Rate of a slow port."""
UPLINK_MBIT = (40, 80)
"""Rate of a slow leaf's links to the others, which 32 NPUs share. It is less than a single NPU could use, in case the machine is too busy for two tests at
once."""
PLANS = {"quick": 14, "leaves": 4, "full": 2}
"""Weights of the plans."""

SLOW_NPU, SLOW_HOST, DEAD, HUNG, SLOW_UPLINK = "slow npu", "slow host", "dead host", "hung host", "slow uplink"
AFTER_START = (DEAD, HUNG)
"""Faults that strike while the host measures. The others are present from the start."""
LOST = "failed or unreachable"
"""Depends on whether its partners or Ansible noticed it first."""


@dataclass(frozen=True)
class Fault:
    """``target``: a host, or ``leaf:2``. ``npu``: of a fault of a single NPU. ``mbit``: rate of a slow target."""

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
class Scenario:
    seed: int
    plan: str
    faults: tuple[Fault, ...]
    classes: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    """Beginning of the message about each slow host."""
    fabric: tuple[str, ...] = ()
    """The components of the fabric that the check must name."""


def draw(seed: int) -> Scenario:
    chance = random.Random(seed)
    plan = chance.choices(list(PLANS), list(PLANS.values()))[0]
    names = [f"node{number}" for number in range(1, HOSTS + 1)]
    classes = dict.fromkeys(names, "good")
    if plan != "quick":
        leaf = chance.randrange(HOSTS // LEAF_SIZE)
        return Scenario(seed, plan, (Fault(SLOW_UPLINK, f"leaf:{leaf}", mbit=chance.randint(*UPLINK_MBIT)),), classes, {}, (f"leaf leaf{leaf}",))
    kinds = chance.sample([SLOW_NPU, SLOW_NPU, SLOW_HOST, DEAD, HUNG], chance.randint(1, 3))
    faults = tuple(_fault(kind, target, chance) for kind, target in zip(kinds, chance.sample(names, len(kinds))))
    classes.update({fault.target: LOST if fault.kind in AFTER_START else "slow" for fault in faults})
    named = {fault.target: f"NPU {fault.npu} is slow with" for fault in faults if fault.kind == SLOW_NPU}
    named.update({fault.target: f"all {NPUS} NPUs are slow with" for fault in faults if fault.kind == SLOW_HOST})
    return Scenario(seed, plan, faults, classes, named)


def _fault(kind: str, target: str, chance: random.Random) -> Fault:
    if kind in AFTER_START:
        return Fault(kind, target)
    return Fault(kind, target, chance.randrange(NPUS) if kind == SLOW_NPU else None, chance.randint(*SLOW_MBIT))
