"""Run random sequences of operations, kills, faults, locks and jobs on simulated nodes, each generated from a seed.

HCCN_SEQUENCES (8) is the number of sequences, HCCN_SEED (1) the first seed; ``make soak`` runs 500. A failure prints the seed and the shortest sequence that
fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor

import pytest

from tests.lab.campaign.play import Outcome, outcome, start

FIRST = int(os.environ.get("HCCN_SEED", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("HCCN_SEQUENCES", "8")))
PROCESSES = 2


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[int, Future[Outcome]]]:
    with ProcessPoolExecutor(PROCESSES, initializer=start, initargs=(str(tmp_path_factory.mktemp("campaign")),)) as pool:
        yield {seed: pool.submit(outcome, seed) for seed in SEEDS}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_invariant_holds(outcomes: Mapping[int, Future[Outcome]], seed: int) -> None:
    found = outcomes[seed].result()
    assert not found.violations, str(found)
