# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn.cluster.rank_table_check as a playbook calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.rank_table.plays import keep, once, play

CHECK = "hccn.cluster.rank_table_check"
HOSTS: dict[str, dict[str, Any]] = {"n1": {}}

TABLE = {"status": "completed", "version": "1.0", "server_list": [
    {"server_id": "node-1", "device": [{"device_id": "0", "device_ip": "192.168.101.1", "rank_id": "0"}]},
    {"server_id": "node-2", "device": [{"device_id": "0", "device_ip": "192.168.102.1", "rank_id": "1"}]}]}
NUMBERS = {**TABLE, "server_count": 2}
IGNORED = {**TABLE, "super_pod_list": []}


def test_content_path_and_how_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "hccl.json"
    path.write_text(json.dumps(IGNORED))
    before = path.read_bytes(), path.stat().st_mtime_ns
    calls = {
        "text": {"content": json.dumps(TABLE)},
        "data": {"content": TABLE},
        "numbers": {"content": json.dumps(NUMBERS)},
        "numbers_as_data": {"content": NUMBERS},
        "never": {"content": json.dumps(NUMBERS), "fail_on": "never"},
        "warning_passes": {"path": str(path)},
        "warning_fails": {"path": str(path), "fail_on": "warning"},
        "mindie": {"path": str(path), "readers": ["mindie_llm"], "fail_on": "never"},
        "product": {"content": TABLE, "product": 950, "fail_on": "never"},
        "absent": {"path": str(tmp_path / "absent.json"), "fail_on": "never"},
        "nothing": {"readers": ["hccl"]},
        "reader": {"content": TABLE, "readers": ["torch"]},
    }
    code, output, kept = play(tmp_path, HOSTS, [once(name, CHECK, options) for name, options in calls.items()] + [keep(tmp_path, *calls)], "--check")
    assert code == 0, output
    assert {name: (kept[name]["failed"], kept[name]["changed"]) for name in calls} == {
        "text": (False, False), "data": (False, False), "numbers": (True, False), "numbers_as_data": (True, False), "never": (False, False),
        "warning_passes": (False, False), "warning_fails": (True, False), "mindie": (False, False), "product": (False, False),
        "absent": (True, False), "nothing": (True, False), "reader": (True, False)}
    assert kept["text"]["problems"] == kept["data"]["problems"] == []
    number = {"rule": "string_values", "severity": "error", "where": "server_count", "reader": "hccl", "error_code": "EI0017", "hint": 'write "2"',
              "message": "server_count is no string but 2: HCCL then takes it as missing"}
    assert kept["numbers"]["problems"] == kept["numbers_as_data"]["problems"] == kept["never"]["problems"] == [number]
    assert kept["numbers"]["msg"] == (
        "the rank table has problems: server_count: server_count is no string but 2: HCCL then takes it as missing (rule string_values, EI0017)")
    assert [problem["rule"] for problem in kept["warning_passes"]["problems"]] == ["super_pod_list"]
    assert kept["warning_fails"]["problems"] == kept["warning_passes"]["problems"]
    assert [problem["rule"] for problem in kept["mindie"]["problems"]] == ["file_mode", "server_count", "container_ip", "container_ip"]
    assert [problem["rule"] for problem in kept["product"]["problems"]] == ["version"]
    assert kept["absent"]["msg"].endswith("absent.json: No such file or directory")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
