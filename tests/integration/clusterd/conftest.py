"""Simulated ClusterD servers and certificates. A call that only the training process may make fails the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.clusterd.certificates import Authority
from tests.simulator.clusterd_sim.server import ClusterD

Start = Callable[..., ClusterD]


@pytest.fixture
def clusterd() -> Iterator[Start]:
    """Return a function that starts a simulated ClusterD at each call."""
    started: list[ClusterD] = []

    def start(*arguments: object, **options: object) -> ClusterD:
        started.append(ClusterD(*arguments, **options))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for one in started:
        one.close()
    assert [path for one in started for path in one.forbidden] == []


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "clusterd-test")


@pytest.fixture(scope="session")
def unknown_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A CA that the server does not know."""
    return Authority(tmp_path_factory.mktemp("unknown_authority"), "somebody-else")


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


def text_of(path: Path) -> bytes:
    return path.read_bytes()
