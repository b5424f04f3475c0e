"""One host that reports too much or too little about its own measurements changes no other host's verdict, on simulated fabrics."""

from __future__ import annotations

import pytest

from tests.lab.fabric_simulation.trials import confirmed
from tests.lab.fabric_simulation.world import NODE, SLOW, Claim, Fault, World

FACTORS = (0.1, 0.5, 0.8, 0.95, 1.05, 1.2, 2.0, 10.0)
KINDS = ({"line_rate": 200.0}, {}, {"latency": True})


@pytest.mark.parametrize("plan, count, devices", [
    ("quick", 4, 1), ("quick", 5, 8), ("quick", 8, 1), ("quick", 16, 8), ("quick", 64, 2), ("leaves", 16, 2), ("leaves", 64, 1), ("full", 4, 8), ("full", 9, 2),
    ("full", 32, 1)])
def test_a_host_that_reports_multiples_changes_no_other_verdict(plan, count, devices):
    wrong = []
    for kind in KINDS:
        for seed, factor in enumerate(FACTORS):
            hosts = World(count).hosts
            claim = Claim(hosts[seed * 5 % count], factor)
            found = confirmed(World(count, devices, 4 if plan == "leaves" or seed % 2 else 0, seed=seed, claim=claim, **kind), plan, seed)
            hit = [verdict.host for verdict in found.verdicts if verdict.host != claim.host and verdict.verdict != "good"]
            wrong += [(kind, factor, hit)] if hit else []
    assert wrong == []


def test_a_host_that_reports_more_than_the_line_rate_is_not_good():
    for factor in (1.2, 2.0, 10.0):
        found = confirmed(World(16, 8, claim=Claim("n03", factor), line_rate=200.0), "quick")
        assert {verdict.host: verdict.verdict for verdict in found.verdicts} == {**dict.fromkeys(World(16).hosts, "good"), "n03": "not_measured"}


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("plan", ["quick", "full"])
def test_a_slow_host_among_four_is_still_found(plan, devices):
    """Also if a single healthy host reports the good pairs: then the confirmation run measures the two others."""
    for kind in KINDS:
        for seed in range(8):
            slow = f"n{seed % 4 + 1}"
            found = confirmed(World(4, devices, 0, seed=seed, faults=[Fault(NODE, slow, SLOW, 0.3)], **kind), plan, seed)
            assert {verdict.host: verdict.verdict for verdict in found.verdicts if verdict.verdict != "good"} == {slow: "slow"}, (seed, kind)
