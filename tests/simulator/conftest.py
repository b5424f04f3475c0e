"""Fixtures for the tests of the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.bench import Bench
from tests.simulator.hccn_sim import layout


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for root in tmp_path.iterdir():
        if (root / "sim.json").exists():
            layout.stop(str(root))


@pytest.fixture
def pair(bench: Bench) -> Bench:
    bench.make("a")
    bench.make("b", template="10.78.2.{device}")
    return bench
