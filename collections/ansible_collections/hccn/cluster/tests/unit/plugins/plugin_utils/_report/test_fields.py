"""Access to fields of any type."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import fields


@pytest.mark.parametrize(
    ("value", "found"),
    [(1, 1.0), (2.5, 2.5), (True, None), ("3", None), (None, None), (float("nan"), None), (float("inf"), None)],
)
def test_numbers(value: Any, found: float | None) -> None:
    assert fields.number(value) == found


@pytest.mark.parametrize(("value", "found"), [({"a": 1}, {"a": 1}), (None, {}), ([], {}), ("x", {})])
def test_mappings(value: Any, found: dict[str, Any]) -> None:
    assert fields.mapping(value) == found


@pytest.mark.parametrize(("value", "found"), [([{"a": 1}, 7, {}], [{"a": 1}, {}]), (None, []), ({"a": 1}, [])])
def test_samples(value: Any, found: list[dict[str, Any]]) -> None:
    assert fields.samples({"samples": value}) == found


@pytest.mark.parametrize(("value", "found"), [(True, "enabled"), (False, "disabled"), (None, ""), ("enabled", "enabled")])
def test_flag(value: Any, found: str) -> None:
    assert fields.flag(value) == found


@pytest.mark.parametrize(
    ("end", "name"),
    [
        ({"host": "n1", "device": 3, "address": "192.0.2.1"}, "n1 NPU 3"),
        ({"host": "n1", "device": 0}, "n1 NPU 0"),
        ({"host": "n1", "device": "mlx5_0"}, "n1 mlx5_0"),
        ({"host": "n1"}, "n1"),
        ({"address": "192.0.2.1"}, "192.0.2.1"),
        (None, ""),
    ],
)
def test_endpoints(end: Any, name: str) -> None:
    assert fields.endpoint(end) == name


def test_hosts_of_a_record() -> None:
    assert fields.hosts_of({"source": {"host": "n1"}, "target": {"host": "n2"}, "hosts": ["n3", "", None]}) == ["n1", "n2", "n3"]
    assert fields.hosts_of({"hosts": "n1", "source": "n2"}) == []


def test_tools() -> None:
    assert fields.tool_of({"tool": {"name": "ib_write_bw", "version": "6.29"}}) == "ib_write_bw 6.29"
    assert fields.tool_of({"tool": "ib_write_bw"}) == ""


def test_unique_names_in_natural_order() -> None:
    assert fields.unique(["n10", "n2", "a", "n2", "10", "9"]) == ["9", "10", "a", "n2", "n10"]


def test_times() -> None:
    assert fields.moment("2026-11-20T10:15:30.500Z") == datetime.datetime(2026, 11, 20, 10, 15, 30, 500000, tzinfo=datetime.timezone.utc)
    assert [fields.moment(value) for value in (None, "soon", "2026-11-20T10:15:30")] == [None, None, None]


def test_integer_beyond_the_range_of_float_is_none() -> None:
    assert fields.number(10**400) is None and fields.number(-(10**400)) is None
