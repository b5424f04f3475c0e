"""Run fault cases in parallel, because they spend most of their time waiting for hosts that do not answer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.lab.fault_matrix.cases import Observed, run
from tests.lab.fault_matrix.table import Table
from tests.lib.project import skip
from tests.lab.testbed import Unavailable, require

SIDE_BY_SIDE = int(os.environ.get("HCCN_SIDE_BY_SIDE", "3"))

Name = tuple[str, str]


@contextmanager
def running_cases(table: Table, names: Iterable[Name], folder: Path) -> Iterator[Mapping[Name, Future[Observed]]]:
    """Yield the future result of each playbook and fault. Cases that have not started when the context exits are canceled."""
    try:
        require()
    except Unavailable as reason:
        skip("testbed", str(reason))
    pool = ThreadPoolExecutor(SIDE_BY_SIDE)
    try:
        yield {(playbook, fault): pool.submit(run, playbook, fault, folder / playbook / fault.replace(" ", "-"), table[playbook][fault].again is not None)
               for playbook, fault in names}
    finally:
        pool.shutdown(cancel_futures=True)
