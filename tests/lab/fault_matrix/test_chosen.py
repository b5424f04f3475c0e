"""Run the few fault cases that are part of every test run; long_matrix.py runs all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future

import pytest

from tests.lab.fault_matrix.cells import Seen
from tests.lab.fault_matrix.matrix import Name, cells
from tests.lab.fault_matrix.table import differences, load

TABLE = load()
CHOSEN = [(playbook, fault) for playbook, row in TABLE.items() for fault, cell in row.items() if cell.chosen]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Name, Future[Seen]]]:
    with cells(TABLE, CHOSEN, tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.mark.parametrize(("playbook", "fault"), CHOSEN)
def test_a_fault(running: Mapping[Name, Future[Seen]], playbook: str, fault: str) -> None:
    seen = running[playbook, fault].result()
    assert differences(TABLE[playbook][fault], seen) == [], seen.output
