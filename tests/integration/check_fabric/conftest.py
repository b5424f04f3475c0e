from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_fabric.cluster import Cluster


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Return a function that makes a cluster, which is removed after the test."""
    made: list[Cluster] = []

    def cluster(*arguments: Any, **settings: Any) -> Cluster:
        made.append(Cluster(tmp_path / "cluster", *arguments, **settings))
        return made[-1]

    yield cluster
    for entry in made:
        entry.close()
