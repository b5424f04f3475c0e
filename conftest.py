# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How tests are spread over processes (``pytest -n``): a file stays together, since its tests share nodes.

Files that run the demo's cluster stay together too: its nodes have the same loopback addresses and ports everywhere. So do those that share virtual
machines, which take longer to boot than to test.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any

import pytest

# What hypothesis keeps goes where the other tools' caches are.
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
