"""hccn.cluster.rank_table in playbooks: files that it writes or leaves unchanged, refusals and their messages."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from tests.integration.rank_table.plays import device, keep, node, once, play

TABLE = "hccn.cluster.rank_table"

NODES = {
    "n2": node(device(10, "192.168.102.10"), device(2, "192.168.102.2")),
    "n1": node(device(0, "192.168.101.1"), device(1, "192.168.101.2", {"topic": "link", "code": "timeout", "message": "no answer"})),
}
HOSTS: dict[str, dict[str, Any]] = {"n1": {"ansible_host": "192.0.2.11"}, "n2": {"rank_table_server_id": "192.0.2.12", "ansible_host": "192.0.2.99"}}

TEXT = """{
  "status": "completed",
  "version": "1.0",
  "server_count": "2",
  "server_list": [
    {
      "server_id": "192.0.2.12",
      "device": [
        {"device_id": "2", "device_ip": "192.168.102.2", "rank_id": "0"},
        {"device_id": "10", "device_ip": "192.168.102.10", "rank_id": "1"}
      ]
    },
    {
      "server_id": "192.0.2.11",
      "device": [
        {"device_id": "0", "device_ip": "192.168.101.1", "rank_id": "2"},
        {"device_id": "1", "device_ip": "192.168.101.2", "rank_id": "3"}
      ]
    }
  ]
}
"""
SHA256 = hashlib.sha256(TEXT.encode()).hexdigest()
LINK = {"rule": "node", "severity": "warning", "host": "n1", "device": 1, "message": "device 1: no answer"}


def mode(path: Path) -> int:
    return os.stat(path).st_mode & 0o7777


def test_table_is_written_only_if_its_data_differs(tmp_path: Path) -> None:
    path = tmp_path / "hccl.json"
    options = {"nodes": NODES, "path": str(path)}
    compact = json.dumps(dict(reversed(json.loads(TEXT).items())))
    fewer = {"n1": node(device(1, "192.168.101.1"), device(2, "192.168.101.2"), device(3, "192.168.101.3"), device(0, "192.168.101.9"))}
    reformatted = {"ansible.builtin.copy": {"content": compact, "dest": str(path), "mode": "0644"}, "run_once": True}
    code, output, kept = play(
        tmp_path, HOSTS,
        [
            once("foreseen", TABLE, options, check_mode=True, diff=True),
            {"ansible.builtin.stat": {"path": str(path)}, "run_once": True, "register": "nothing"},
            once("first", TABLE, {**options, "return_content": True}),
            once("again", TABLE, {**options, "owner": getpass.getuser(), "version": 1.0}),
            reformatted,
            once("loose", TABLE, options, check_mode=True, diff=True),
            once("same", TABLE, options),
            once("still", TABLE, options),
            once("fewer", TABLE, {**options, "devices": ["0-2"], "nodes": fewer}, diff=True, check_mode=True),
            keep(tmp_path, "foreseen", "nothing", "first", "again", "loose", "same", "still", "fewer"),
        ])
    assert code == 0, output
    assert not kept["nothing"]["stat"]["exists"]

    first = kept["first"]
    assert {key: first[key] for key in ("changed", "path", "sha256", "server_count", "rank_count", "problems", "mode")} == {
        "changed": True, "path": str(path), "sha256": SHA256, "server_count": 2, "rank_count": 4, "problems": [LINK], "mode": "0640"}
    assert first["rank_table"] == json.loads(TEXT)
    assert list(first["rank_table"]) == ["status", "version", "server_count", "server_list"]
    assert "rank_table" not in kept["again"]

    foreseen = kept["foreseen"]
    assert (foreseen["changed"], foreseen["sha256"], foreseen["rank_count"]) == (True, SHA256, 4)
    assert (foreseen["diff"][0]["before"], foreseen["diff"][0]["after"]) == ("", TEXT)
    assert (kept["again"]["changed"], kept["again"]["sha256"]) == (False, SHA256)

    # The same data in another form is not rewritten; only the mode is corrected.
    assert kept["loose"]["changed"] is True
    assert (kept["loose"]["diff"]["before"]["mode"], kept["loose"]["diff"]["after"]["mode"]) == ("0644", "0640")
    assert (kept["same"]["changed"], kept["same"]["mode"]) == (True, "0640")
    assert kept["still"]["changed"] is False
    assert kept["still"]["sha256"] == hashlib.sha256(compact.encode()).hexdigest()
    assert path.read_text() == compact
    assert mode(path) == 0o640

    assert (kept["fewer"]["changed"], kept["fewer"]["rank_count"]) == (True, 3)
    assert kept["fewer"]["diff"][0]["before"] == compact
    assert '{"device_id": "0", "device_ip": "192.168.101.9", "rank_id": "0"},' in kept["fewer"]["diff"][0]["after"]


def test_file_that_is_not_a_table_is_replaced(tmp_path: Path) -> None:
    """A table that its reader cannot read is a warning."""
    path = tmp_path / "hccl.json"
    path.write_text("initializing")
    os.mkdir(tmp_path / "closed", 0o700)
    os.symlink(path, tmp_path / "link.json")
    code, output, kept = play(
        tmp_path, HOSTS,
        [
            once("table", TABLE, {"nodes": NODES, "path": str(path), "mode": "0600"}),
            once("link", TABLE, {"nodes": NODES, "path": str(tmp_path / "link.json")}),
            once("no_folder", TABLE, {"nodes": NODES, "path": str(tmp_path / "absent/hccl.json")}),
            once("closed", TABLE, {"nodes": NODES, "path": str(tmp_path / "closed/hccl.json"), "reader_uid": 64123, "reader_gid": 64124}),
            keep(tmp_path, "table", "link", "no_folder", "closed"),
        ])
    assert code == 0, output
    assert (kept["table"]["changed"], path.read_text(), mode(path)) == (True, TEXT, 0o600)
    assert kept["link"]["changed"] is True
    assert not (tmp_path / "link.json").is_symlink()
    assert kept["no_folder"]["failed"] is True
    assert "absent does not exist" in kept["no_folder"]["msg"]
    problem = kept["closed"]["problems"][-1]
    assert (problem["rule"], problem["severity"], problem["host"]) == ("reader_access", "warning", "n1")
    assert problem["message"].startswith("uid 64123 with gid 64124 cannot enter /")


def test_registered_results_of_all_hosts(tmp_path: Path) -> None:
    path = tmp_path / "hccl.json"
    hosts = {**HOSTS, "n3": {}}
    look = {"made_up_npus": {"devices": "{{ npus }}"}, "register": "npu"}
    for name, found in NODES.items():
        hosts[name] = {**hosts[name], "npus": found["devices"]}
    hosts["n3"] = {"npus": [device(0, "192.168.103.1")], "site": "192.0.2", "rank_table_server_id": "{{ site }}.13"}
    code, output, kept = play(
        tmp_path, hosts,
        [
            look,
            once("two", TABLE, {"hosts": ["n2", "n1"], "register_name": "npu", "path": str(path)}),
            once("three", TABLE, {"hosts": "{{ groups['all'] }}", "register_name": "npu", "path": str(tmp_path / "three.json"),
                                  "return_content": True, "server_ids": {"n1": "node-1"}}),
            keep(tmp_path, "two", "three"),
        ])
    assert code == 0, output
    assert (kept["two"]["changed"], path.read_text()) == (True, TEXT)
    assert [server["server_id"] for server in kept["three"]["rank_table"]["server_list"]] == ["node-1", "192.0.2.12", "192.0.2.13"]


def test_table_is_made_once_for_all_hosts(tmp_path: Path) -> None:
    """Only the host whose process made the table reports its problems."""
    everywhere = {"path": str(tmp_path / "{{ inventory_hostname }}.json"), "hosts": ["n2", "n1"], "register_name": "npu"}
    hosts = {name: {**HOSTS[name], "npu": found} for name, found in NODES.items()}
    code, output, kept = play(
        tmp_path, hosts,
        [
            {TABLE: everywhere, "register": "good"},
            {TABLE: {**everywhere, "devices": ["3"]}, "register": "bad", "ignore_errors": True},
            {"ansible.builtin.set_fact": {"all_of": {"good": "{{ [hostvars.n1.good, hostvars.n2.good] }}", "bad": "{{ [hostvars.n1.bad, hostvars.n2.bad] }}"}}},
            keep(tmp_path, "all_of"),
        ])
    assert code == 0, output
    assert [(tmp_path / f"{name}.json").read_text() for name in hosts] == [TEXT, TEXT]
    good, bad = kept["all_of"]["good"], kept["all_of"]["bad"]
    assert sorted(result["problems"] for result in good) == [[], [LINK]]
    assert [(result["rank_count"], result["sha256"]) for result in good] == [(4, SHA256)] * 2
    first, = [result for result in bad if result["problems"]]
    other, = [result for result in bad if not result["problems"]]
    assert first["msg"] == "2 of 2 hosts cannot be in the rank table: n2, n1 (has no device 3)"
    assert re.fullmatch("the rank table is not written, see the error of n[12]", other["msg"])


def test_other_formats_and_merged_tables(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "files")
    (tmp_path / "files/one.json").write_text(TEXT)
    other = {"status": "completed", "version": "1.0", "server_list": [{"server_id": "192.0.2.13", "device": [
        {"device_id": "0", "device_ip": "192.168.103.1", "rank_id": "0"}]}]}
    groups = [{"name": "coordinator", "hosts": ["n1"], "container_ips": {"n1": "10.244.0.9"}}, {"name": "controller", "hosts": ["n1"]},
              {"name": "prefill", "hosts": ["n1"]}, {"name": "decode", "hosts": ["n2"], "devices": ["2"]}]
    calls = {
        "mindie": {"nodes": NODES, "format": "mindie", "container_ips": {"n1": "10.244.0.1"}, "rank_order": "host", "readers": ["hccl", "mindie_llm"]},
        "motor": {"nodes": NODES, "format": "global", "groups": groups, "container_ips": {"n1": "10.244.0.1", "n2": "10.244.0.2"}},
        "vllm": {"nodes": NODES, "format": "vllm_pd", "groups": groups[2:], "device_ids": "logical"},
        "hixl": {"nodes": NODES, "hosts": ["n1"], "devices": ["1"], "format": "local_comm_res", "version": 1.3},
        "merged": {"tables": ["one.json", other, TEXT.replace("192.0.2.1", "192.0.2.2").replace("192.168.1", "192.168.2")],
                   "hosts": ["192.0.2.13", "192.0.2.11"], "host_devices": {"192.0.2.11": ["1"]}},
        "twice": {"tables": ["one.json", TEXT]},
        "absent": {"tables": ["two.json"]},
        "alone": {"nodes": {"n1": NODES["n1"]}, "format": "mindie"},
    }
    tasks = [once(name, TABLE, {"path": str(tmp_path / "t.json"), "write": False, "return_content": True, **options}) for name, options in calls.items()]
    code, output, kept = play(tmp_path, HOSTS, [*tasks, keep(tmp_path, *calls)])
    assert code == 0, output
    table = {name: found.get("rank_table") for name, found in kept.items()}
    assert [server["container_ip"] for server in table["mindie"]["server_list"]] == ["10.244.0.1", "192.0.2.12"]
    assert [(group["group_id"], [server["server_ip"] for server in group["server_list"]]) for group in table["motor"]["server_group_list"]] == [
        ("0", ["10.244.0.9"]), ("1", ["10.244.0.1"]), ("2", ["10.244.0.1"]), ("3", ["10.244.0.2"])]
    assert table["vllm"]["decode_device_list"] == [{"server_id": "192.0.2.12", "device_id": "0", "device_ip": "192.168.102.2", "cluster_id": "3"}]
    assert "HCCL requires the physical id" in kept["vllm"]["problems"][-1]["message"]
    assert table["hixl"] == {"version": "1.3", "endpoint_list": [{"protocol": "roce", "comm_id": "192.168.101.2", "placement": "device"}]}
    assert [(server["server_id"], server["device"]) for server in table["merged"]["server_list"]] == [
        ("192.0.2.13", [{"device_id": "0", "device_ip": "192.168.103.1", "rank_id": "0"}]),
        ("192.0.2.11", [{"device_id": "1", "device_ip": "192.168.101.2", "rank_id": "1"}])]
    assert kept["twice"]["msg"] == "device 2 of server 192.0.2.12 is in both one.json and tables[1]"
    assert kept["absent"]["msg"].startswith("two.json: cannot be read on the controller: ")
    assert kept["alone"]["msg"].startswith("the rank table is not written: server_list: the length of server_list is 1: MindIE-LLM accepts 2 to 60 servers")
    assert not (tmp_path / "t.json").exists()


def test_all_unfit_hosts_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "hccl.json"
    hosts = {
        "n1": {"npus": [device(0, "192.168.101.1"), device(1, None)], "ansible_host": "192.0.2.11"},
        "n2": {"npus": [device(0, "192.168.102.1")], "ansible_host": "192.0.2.12", "wanted": False},
        "n3": {"npus": [], "ansible_remote_tmp": "/proc/none"},
        "n4": {"npus": [], "ansible_host": "192.0.2.14"},
        "n5": {"npus": [], "broken": "hccn_tool is missing"},
        "n6": {"npus": [device(0, None, {"topic": "address", "code": "timeout", "message": "no answer"})]},
        "n7": {"npus": [device(0, "192.168.107.1")], "ansible_host": "name.invalid"},
    }
    tasks = [
        {"made_up_npus": {"devices": "{{ npus }}", "msg": "{{ broken | default(omit) }}"}, "register": "npu", "when": "wanted | default(true)",
         "ignore_unreachable": True, "ignore_errors": True},
        once("table", TABLE, {"hosts": ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"], "register_name": "npu", "path": str(path)}),
        once("yesterday", TABLE, {"hosts": ["n1", "n2"], "register_name": "npus_of_yesterday", "path": str(path)}),
        keep(tmp_path, "table", "yesterday"),
    ]
    code, output, kept = play(tmp_path, hosts, tasks)
    assert code == 0, output
    assert kept["table"]["failed"] is True
    assert kept["table"]["msg"] == (
        "9 of 9 hosts cannot be in the rank table: n1 (device 1 has no address); n2 (device_info was skipped); n3 (unreachable); "
        "n4 (has no devices); n5 (device_info failed: hccn_tool is missing); n6 (device 0: no answer); "
        "n7 (no server_id: neither ansible_host nor the host's name is an IP address or resolves to one; "
        "set the variable rank_table_server_id of the host, or the option server_ids); n8, n9 (not in the inventory)")
    assert [(problem["host"], problem["severity"]) for problem in kept["table"]["problems"]] == [(f"n{number}", "error") for number in range(1, 10)]
    assert kept["yesterday"]["msg"] == (
        "2 of 2 hosts cannot be in the rank table: n1, n2 (no result of device_info: unreachable, or not in that play)")
    assert not path.exists()


def test_table_that_hccl_refuses_is_not_written(tmp_path: Path) -> None:
    """Nor is any with conflicting options."""
    path = tmp_path / "hccl.json"
    path.write_text(TEXT)
    new = str(tmp_path / "new.json")
    wrong = {
        "nothing": {"path": new},
        "both": {"nodes": NODES, "hosts": ["n1"], "register_name": "npu", "path": new},
        "no_name": {"hosts": ["n1"], "path": new},
        "no_path": {"nodes": NODES},
        "format": {"nodes": NODES, "path": new, "format": "yaml"},
        "empty": {"nodes": {}, "path": new},
        "devices": {"nodes": NODES, "path": new, "devices": ["eth0"]},
    }
    bad = {"n1": node(device(0, "192.168.101.1"), device(16, "-.-.-.-")), "n2": node(device(0, "192.168.101.1"))}
    code, output, kept = play(
        tmp_path, HOSTS,
        [
            once("bad", TABLE, {"nodes": bad, "path": str(path)}),
            once("name", TABLE, {"nodes": NODES, "path": str(tmp_path / "hccl.txt")}),
            once("product", TABLE, {"nodes": {"n1": node(device(0, "192.168.101.1"), product="950")}, "path": str(path), "version": "1.0"}),
            once("layers", TABLE, {"nodes": {"n1": node(device(0, "192.168.101.1"), product="950")}, "path": str(path)}),
            *(once(name, TABLE, options) for name, options in wrong.items()),
            keep(tmp_path, "bad", "name", "product", "layers", *wrong),
        ])
    assert code == 0, output
    assert kept["bad"]["msg"] == (
        "the rank table is not written: n1: server_list[0].device[1].device_id: device_id 16 exceeds 15, the largest of A2 (rule device_id, EI0014), "
        "and 2 more problems")
    assert [(problem["rule"], problem["host"], problem["device"], problem["where"]) for problem in kept["bad"]["problems"]] == [
        ("device_id", "n1", 16, "server_list[0].device[1].device_id"),
        ("device_ip", "n1", 16, "server_list[0].device[1].device_ip"),
        ("device_ip_unique", "n2", 0, "server_list[1].device[0].device_ip")]
    assert kept["name"]["msg"].endswith("hccl.txt does not end in .json: HCCL does not read it (rule file_name, EI0004)")
    assert kept["product"]["msg"] == (
        "the rank table is not written: version: HCCL on Ascend 950 reads version 2.0 only, not 1.0 (rule version, EI0014)")
    assert kept["layers"]["msg"] == (
        "1 of 1 hosts cannot be in the rank table: n1 (version 2.0 requires the addresses of the network layers, which no tool reports: set the option levels)")
    wanted = {
        "nothing": "one of the following is required: nodes, hosts, tables, src", "both": "parameters are mutually exclusive: nodes|register_name",
        "no_name": "hosts requires register_name, nodes or tables", "no_path": "missing required arguments: path",
        "format": "value of format must be one of: hccl, global, mindie, vllm_pd, local_comm_res, got: yaml",
        "empty": "no hosts are given, so there is no rank table to write",
        "devices": "devices: 'eth0' is neither an id, nor a range such as 0-7, nor all alone",
    }
    assert [name for name in wrong if not kept[name]["failed"]] == []
    assert [(name, kept[name]["msg"]) for name, text in wanted.items() if text not in kept[name]["msg"]] == []
    assert path.read_text() == TEXT
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.suffix in (".json", ".txt")) == ["hccl.json", "results.json"]


def test_table_that_is_unknown_in_check_mode(tmp_path: Path) -> None:
    """Only the state of the host is checked then: whether the folder and the file exist."""
    (tmp_path / "there.json").write_text("{}")
    calls = {"new": tmp_path / "new.json", "there": tmp_path / "there.json", "nowhere": tmp_path / "nowhere/new.json"}
    tasks = [once(name, "hccn.cluster.rank_table", {"src": "", "path": str(path)}, check_mode=True) for name, path in calls.items()]
    tasks.append(once("for_real", "hccn.cluster.rank_table", {"src": "", "path": str(tmp_path / "new.json")}))
    code, output, kept = play(tmp_path, {"n1": {}}, [*tasks, keep(tmp_path, *calls, "for_real")])
    assert code == 0, output
    assert {name: (one["changed"], one["failed"]) for name, one in kept.items()} == {
        "new": (True, False), "there": (False, False), "nowhere": (False, True), "for_real": (False, True)}
    assert kept["nowhere"]["msg"] == f"the rank table cannot be written to {calls['nowhere']}: {tmp_path}/nowhere is not a folder on the host"
    assert "src is empty, which is allowed only in check mode" in kept["for_real"]["msg"]
    assert not (tmp_path / "new.json").exists()
