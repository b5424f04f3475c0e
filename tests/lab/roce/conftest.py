"""Four machines, two of each release, shared by all tests of this folder because booting takes most of the time; or two, if no test needs more."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf.rdma_device import RdmaDevice
from tests.lab.roce.machines import Machine, machines
from tests.lab.roce.pairs import RELEASES, end_of, install
from tests.lib.project import skip
from tests.lab.testbed.plan import Unavailable
from tests.lib.waiting import happens

TWO = RELEASES[1:3]


@pytest.fixture(scope="session")
def booted(request: pytest.FixtureRequest) -> Iterator[list[Machine]]:
    if os.geteuid() != 0:
        skip("roce-machines", "not root")
    needs_all = any("four" in item.fixturenames for item in request.session.items)
    try:
        with machines(*(RELEASES if needs_all else TWO)) as up:
            for machine in up:
                install(machine)
            yield up
    except Unavailable as error:
        skip("roce-machines", str(error))


@pytest.fixture(scope="session")
def four(booted: list[Machine]) -> list[Machine]:
    return booted


@pytest.fixture(scope="session")
def two(booted: list[Machine]) -> list[Machine]:
    """Return a machine of each release."""
    return booted[:2] if len(booted) == len(TWO) else booted[1:3]


@pytest.fixture(scope="session")
def ends(four: list[Machine]) -> dict[str, RdmaDevice]:
    return {machine.name: end_of(machine) for machine in four}


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Assert after each test that no perftest and no iperf3 runs on any machine."""
    yield
    if "booted" not in request.fixturenames:
        return
    names = [f"ib_{operation}_{kind}" for operation in ("write", "read", "send") for kind in ("bw", "lat")] + ["iperf3"]
    booted = request.getfixturevalue("booted")
    assert happens(lambda: not any(process.communicate(timeout=60)[0] for process in [machine.start_command("pidof", *names) for machine in booted]), 10)
