"""Names and lines of history files."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import format as shape


def test_path_of_a_run_has_its_day_and_second() -> None:
    path = shape.part_path(Path("/h"), "2026-11-20T10:15:30.123Z", "awx-7")
    assert path == Path("/h/2026/11/20/20261120T101530Z-awx-7.jsonl.part")
    assert shape.final_path(path) == Path("/h/2026/11/20/20261120T101530Z-awx-7.jsonl")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("20261120T101530Z-awx-7.jsonl", ("20261120T101530Z", "awx-7", False)),
        ("20261120T101530Z-awx-7.jsonl.part", ("20261120T101530Z", "awx-7", True)),
        ("20261120T101530Z-a.jsonl.jsonl", ("20261120T101530Z", "a.jsonl", False)),
        ("20261120T101530Z-.jsonl", None),
        ("notes.jsonl", None),
        ("20261120T101530Z-awx-7.jsonl.gz", ("20261120T101530Z", "awx-7", False)),
        ("20261120T101530Z-awx-7.jsonl.zip", None),
    ],
)
def test_file_name_is_parsed(name: str, parts: tuple[str, str, bool] | None) -> None:
    assert shape.split_name(name) == parts


@pytest.mark.parametrize("text", ["awx-7", "a", "A.b_c-9", "0" * 64])
def test_valid_run_ids(text: str) -> None:
    assert shape.is_run_id(text)


@pytest.mark.parametrize("text", ["", "../x", "a/b", ".hidden", "-x", "a b", "0" * 65, "a\n"])
def test_invalid_run_ids(text: str) -> None:
    assert not shape.is_run_id(text)


def test_new_run_ids_are_valid_and_unique() -> None:
    made = {shape.new_run_id() for number in range(50)}
    assert len(made) == 50
    assert all(shape.is_run_id(run_id) and len(run_id.split("-")[1]) == 16 for run_id in made)


def test_line_is_compact_json_in_utf8() -> None:
    entry = {"id": "a", "samples": [{"x": 1.5}], "message": "网卡 \u2028"}
    assert shape.line(entry) == '{"id":"a","samples":[{"x":1.5}],"message":"网卡 \u2028"}\n'.encode()


def test_values_without_a_json_form_are_replaced() -> None:
    class Vaulted:
        def __str__(self) -> str:
            return "the secret"

    entry = {"nan": float("nan"), "list": [float("inf"), 1], "pair": (1.0, 2), "text": "x\udc80", "vaulted": Vaulted()}
    assert shape.line(entry) == b'{"nan":null,"list":[null,1],"pair":[1.0,2],"text":"x?","vaulted":"(not kept: Vaulted)"}\n'
