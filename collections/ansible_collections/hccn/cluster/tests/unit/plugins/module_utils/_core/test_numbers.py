"""Test values and texts that are numbers, and those that only resemble numbers."""

from __future__ import annotations

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.numbers import count_of, is_count, is_integer, is_number, parse_size


@pytest.mark.parametrize("value, integer, number", [
    (0, True, True), (-7, True, True), (1.5, False, True), (float("nan"), False, True), (True, False, False), ("7", False, False), (None, False, False)])
def test_numbers_of_json(value, integer, number):
    assert (is_integer(value), is_number(value)) == (integer, number)


@pytest.mark.parametrize("text", ["0", "007", "18446744073709551615"])
def test_valid_numbers(text: str) -> None:
    assert is_count(text)


@pytest.mark.parametrize("text", ["", " 1", "-1", "1.5", "0x1", "\u00b2", "\u0661", "9" * 21, "9" * 5000])
def test_invalid_numbers(text: str) -> None:
    assert not is_count(text)


def test_count_of_matched_digits():
    assert count_of("0042") == 42
    with pytest.raises(ParseError, match=r"^a number of 5000 digits: 99999999\.\.\.$"):
        count_of("9" * 5000)


@pytest.mark.parametrize("text, size", [("1", 1), ("64K", 65536), (" 2m ", 2097152), ("1G", 1073741824), (65536, 65536)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "64KB", "1.5M", "K", "010", "6 4", "9" * 19, "9" * 5000])
def test_invalid_sizes(text):
    with pytest.raises(InputError):
        parse_size(text)
