"""Select tests, distribute them over processes and summarize skips.

Every test below tests/integration has the mark ``integration`` and every test below tests/lab the mark ``lab``, so that ``make test`` can leave them out. The
mark ``smoke`` includes the one test of a playbook again.

All tests of a file run in one process (``pytest -n``) because they share hosts. Files that use the demo's cluster also share a process, since its hosts always
have the same loopback addresses and ports. So do files that share virtual machines, which take longer to boot than to test.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

# Keep hypothesis' database with the caches of the other tools.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", ".cache/hypothesis")

ONE_AT_A_TIME = {"tests/integration/demo": "the demo's cluster", "tests/integration/awx": "the demo's cluster", "tests/lab/roce": "the virtual machines",
                 "tests/contract/docs": "the tutorial's cluster"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByCluster(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.split("::", 1)[0]
            return ONE_AT_A_TIME.get(str(PurePosixPath(path).parent), path)

    return ByCluster(config, log)


TESTS = Path(__file__).parent / "tests"
BY_FOLDER = ("integration", "lab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(TESTS):
            folder = item.path.relative_to(TESTS).parts[0]
            if folder in BY_FOLDER:
                item.add_marker(folder)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line for each reason for which tests are skipped, with their number."""
    skipped = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", []))
    for reason, number in sorted(skipped.items()):
        terminalreporter.write_line(f"SKIPPED {number}: {reason}")
