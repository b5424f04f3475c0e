# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf.sizes import parse_size


@pytest.mark.parametrize("text, size", [("1", 1), ("64K", 65536), (" 2m ", 2097152), ("1G", 1073741824), (65536, 65536)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "64KB", "1.5M", "K", "010", "6 4", "9" * 19, "9" * 5000])
def test_what_is_no_size(text):
    with pytest.raises(InputError):
        parse_size(text)
