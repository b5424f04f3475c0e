"""A simulated cluster for a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kubernetes_jobs.cluster import Cluster, needs_kubernetes_core


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    needs_kubernetes_core()
    made = Cluster(tmp_path / "cluster")
    made.folder.mkdir()
    yield made
    made.close()
