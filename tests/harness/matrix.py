# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A row of the fault matrix at once: its cells mostly wait for hosts that do not answer, so a few run side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support import skip
from tests.testbed import Unavailable, require

from tests.harness.cells import Job, Seen, run
from tests.harness.faults import FAULTS, TWO_OPERATORS

SIDE_BY_SIDE = 3


def row(job: Job, folder: Path, again: Iterable[str] = (), faults: Iterable[str] = (*FAULTS, TWO_OPERATORS)) -> Mapping[str, Seen]:
    """Every fault's cell by name; ``again``: those after which the playbook is run once more on the hosts that live."""
    try:
        require()
    except Unavailable as reason:
        skip("testbed", str(reason))
    repeated = set(again)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        cells = {fault: pool.submit(run, job, fault, folder / fault.replace(" ", "-"), fault in repeated) for fault in faults}
        return {fault: cell.result() for fault, cell in cells.items()}
