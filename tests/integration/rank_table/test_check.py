"""hccn.cluster.rank_table_check in playbooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.rank_table.plays import device, keep, node, once, play

CHECK = "hccn.cluster.rank_table_check"
HOSTS: dict[str, dict[str, Any]] = {"n1": {}}

TABLE = {"status": "completed", "version": "1.0", "server_list": [
    {"server_id": "node-1", "device": [{"device_id": "0", "device_ip": "192.168.101.1", "rank_id": "0"}]},
    {"server_id": "node-2", "device": [{"device_id": "0", "device_ip": "192.168.102.1", "rank_id": "1"}]}]}
NUMBERS = {**TABLE, "server_count": 2}
IGNORED = {**TABLE, "super_pod_list": []}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rings-config-resnet"},
              "data": {"jobName": "resnet", "hccl.json": json.dumps(NUMBERS), "total": "1"}}
PREFILL_DECODE = {"prefill_device_list": [{"server_id": "192.0.2.11", "device_id": "0", "device_ip": "192.168.101.1", "cluster_id": "1"}]}
NODES = {"node-1": node(device(0, "192.168.101.1")), "node-2": node(device(0, "192.168.102.9"))}


@pytest.mark.long
def test_content_path_and_failures(tmp_path: Path) -> None:
    path = tmp_path / "hccl.json"
    path.write_text(json.dumps(IGNORED))
    (tmp_path / "map.json").write_text(json.dumps(CONFIG_MAP))
    (tmp_path / "map.json").chmod(0o640)
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
        "map_file": {"path": str(tmp_path / "map.json"), "readers": ["hccl", "mindie_llm"], "fail_on": "never"},
        "map_data": {"content": CONFIG_MAP["data"], "fail_on": "never"},
        "motor": {"content": TABLE, "readers": ["mindie_motor"]},
        "vllm": {"content": PREFILL_DECODE, "readers": ["vllm"]},
        "hosts": {"content": TABLE, "nodes": NODES},
        "same_hosts": {"content": TABLE, "nodes": {"a": NODES["node-1"], "b": node(device(0, "192.168.102.1"))}},
        "nothing": {"readers": ["hccl"]},
        "reader": {"content": TABLE, "readers": ["torch"]},
    }
    code, output, kept = play(tmp_path, HOSTS, [once(name, CHECK, options) for name, options in calls.items()] + [keep(tmp_path, *calls)], "--check")
    assert code == 0, output
    assert {name: (kept[name]["failed"], kept[name]["changed"]) for name in calls} == {
        "text": (False, False), "data": (False, False), "numbers": (True, False), "numbers_as_data": (True, False), "never": (False, False),
        "warning_passes": (False, False), "warning_fails": (True, False), "mindie": (False, False), "product": (False, False),
        "map_file": (False, False), "map_data": (False, False), "motor": (True, False), "vllm": (True, False), "hosts": (True, False),
        "same_hosts": (False, False), "absent": (True, False), "nothing": (True, False), "reader": (True, False)}
    assert kept["text"]["problems"] == kept["data"]["problems"] == []
    number = {"rule": "string_values", "severity": "error", "where": "server_count", "reader": "hccl", "error_code": "EI0017", "hint": 'write "2"',
              "message": "server_count is not a string but 2: HCCL then treats it as missing"}
    assert kept["numbers"]["problems"] == kept["numbers_as_data"]["problems"] == kept["never"]["problems"] == [number]
    assert kept["numbers"]["msg"] == (
        "the rank table has problems: server_count: server_count is not a string but 2: HCCL then treats it as missing (rule string_values, EI0017)")
    assert [problem["rule"] for problem in kept["warning_passes"]["problems"]] == ["super_pod_list"]
    assert kept["warning_fails"]["problems"] == kept["warning_passes"]["problems"]
    assert [problem["rule"] for problem in kept["mindie"]["problems"]] == ["file_mode", "server_count", "container_ip", "container_ip"]
    assert [problem["rule"] for problem in kept["product"]["problems"]] == ["version"]
    assert (kept["text"]["format"], kept["text"]["error_codes"], "job_name" in kept["text"]) == ("hccl", {}, False)
    assert kept["numbers"]["error_codes"] == {"EI0017": "Config %s is missing in the ranktable file."}

    assert kept["map_data"]["problems"] == [number]
    assert [(problem["reader"], problem["rule"]) for problem in kept["map_file"]["problems"]] == [
        ("hccl", "string_values"), ("mindie_llm", "server_count"), ("mindie_llm", "container_ip"), ("mindie_llm", "container_ip")]
    assert kept["map_data"]["job_name"] == kept["map_file"]["job_name"] == "resnet"
    assert kept["motor"]["problems"] == [{
        "rule": "format", "severity": "error", "reader": "mindie_motor",
        "message": "this is a table with server_list, which HCCL and MindIE-LLM read: MindIE-Motor does not accept it"}]
    assert kept["vllm"]["format"] == "vllm_pd"
    assert kept["vllm"]["msg"] == (
        "the rank table has problems: decode_device_list: decode_device_list is missing: the connector requires both lists (rule device_lists)")
    assert kept["hosts"]["problems"] == [{
        "rule": "drift_address", "severity": "error", "host": "node-2", "device": 0,
        "message": "device 0 has the address 192.168.102.9, but 192.168.102.1 in the table"}]
    assert kept["same_hosts"]["problems"] == []
    assert kept["absent"]["msg"].endswith("absent.json: No such file or directory")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
