# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that are numbers, and texts that only look so."""

from __future__ import annotations

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._core.numbers import is_count


@pytest.mark.parametrize("text", ["0", "007", "18446744073709551615"])
def test_a_number(text: str) -> None:
    assert is_count(text)


@pytest.mark.parametrize("text", ["", " 1", "-1", "1.5", "0x1", "\u00b2", "\u0661", "9" * 21, "9" * 5000])
def test_none(text: str) -> None:
    assert not is_count(text)
