# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import natural, some


@pytest.mark.parametrize("names, shown, count, text", [
    ([], 8, None, ""), (["a", "b"], 2, None, "a, b"), (["a", "b", "c"], 2, None, "a, b and 1 more"), (["a", "b"], 8, 5, "a, b and 3 more"),
    (["a", "b"], 8, 2, "a, b"), (["a", "b"], 8, 1, "a, b"), (["a", "b", "c"], 1, 7, "a and 6 more"),
])
def test_the_first_and_how_many_more(names, shown, count, text):
    assert some(names, shown, count) == text


def test_natural_order() -> None:
    assert sorted(["n10", "n2", "n02b", "10", "2", "a", ""], key=natural) == ["", "2", "10", "a", "n2", "n02b", "n10"]
