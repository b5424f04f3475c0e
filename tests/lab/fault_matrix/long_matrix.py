"""Run the whole fault matrix: every playbook under every fault (`make fault-matrix`, part of `make soak`).

HCCN_FAULTS selects a part: ``tls,bring_up`` or ``tls/ssh cut``. HCCN_SIDE_BY_SIDE is the number of concurrent fault cases.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future

import pytest

from tests.lab.fault_matrix.cases import Observed
from tests.lab.fault_matrix.matrix import Name, running_cases
from tests.lab.fault_matrix.table import differences, load

TABLE = load()
WANTED = [part.strip() for part in os.environ.get("HCCN_FAULTS", "").split(",") if part.strip()]
ALL = [(playbook, fault) for playbook, row in TABLE.items() for fault, case in row.items()
       if case.is_run and (not WANTED or playbook in WANTED or f"{playbook}/{fault}" in WANTED)]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Name, Future[Observed]]]:
    with running_cases(TABLE, ALL, tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.mark.parametrize(("playbook", "fault"), ALL)
def test_fault_case(running: Mapping[Name, Future[Observed]], playbook: str, fault: str) -> None:
    seen = running[playbook, fault].result()
    print(f"{seen.seconds:.0f} s")
    assert differences(TABLE[playbook][fault], seen) == [], seen.output
