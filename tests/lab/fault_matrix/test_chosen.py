"""Run the few fault cases that are part of every test run; long_matrix.py runs all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future

import pytest

from tests.lab.fault_matrix.cases import Observed
from tests.lab.fault_matrix.matrix import Name, running_cases
from tests.lab.fault_matrix.table import differences, load

TABLE = load()
CHOSEN = [(playbook, fault) for playbook, row in TABLE.items() for fault, case in row.items() if case.chosen]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Name, Future[Observed]]]:
    with running_cases(TABLE, CHOSEN, tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.mark.parametrize(("playbook", "fault"), CHOSEN)
def test_fault_case(running: Mapping[Name, Future[Observed]], playbook: str, fault: str) -> None:
    seen = running[playbook, fault].result()
    assert differences(TABLE[playbook][fault], seen) == [], seen.output
