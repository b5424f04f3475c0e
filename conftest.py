# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How tests are spread over processes (``pytest -n``): a file stays together, since its tests share nodes.

Files that run the demo's cluster stay together too: its nodes have the same loopback addresses and ports everywhere.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ONE_AT_A_TIME = {"tests/demo": "demo's cluster", "tests/awx": "demo's cluster", "tests/testbed": "namespaces", "tests/harness": "namespaces"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(root)
        item.add_marker(pytest.mark.xdist_group(ONE_AT_A_TIME.get(str(path.parent), str(path))))
