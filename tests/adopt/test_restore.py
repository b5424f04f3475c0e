# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is saved around a change, and the playbook restore, on simulated nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adopt.cluster import Cluster, make

HOSTS = {"npu1": ["--state", "*.tls=0"], "npu2": ["--state", "*.tls=0"]}
OLD = "mtu_0=4200\narp_1=-i eth0 -s 10.78.9.1 00:00:5e:00:53:01\n"
NEW = [{"id": 0, "address": "10.78.7.10", "netmask": "255.255.0.0", "gateway": "10.78.0.2", "netdetect": "10.78.0.2"}]

# What a role does that changes hosts: it keeps the file's text, changes, and saves what the modules returned.
CHANGE: list[dict[str, Any]] = [{
    "hosts": "npu",
    "gather_facts": False,
    "module_defaults": {"group/hccn.cluster.devices": {name: f"{{{{ {name} }}}}" for name in ("hccn_tool", "npu_smi", "hccn_conf")}},
    "tasks": [
        {"ansible.builtin.slurp": {"src": "{{ hccn_conf }}"}, "register": "text"},
        {"hccn.cluster.hccn_conf": {"settings": {"send_arp_status": 1}}},
        {"hccn.cluster.device_network": {"config": NEW}, "register": "network"},
        {"hccn.cluster.device_tls": {"state": "enabled", "devices": ["1"]}, "register": "tls"},
        {"ansible.builtin.include_role": {"name": "hccn.cluster.restore", "tasks_from": "save"},
         "vars": {"restore_saved_network": "{{ network.previous }}", "restore_saved_tls": "{{ tls.devices }}",
                  "restore_saved_hccn_conf": "{{ text.content | b64decode }}"}},
    ],
}]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = make(tmp_path, HOSTS)
    for host in HOSTS:
        with made.conf(host).open("a") as file:
            file.write(OLD)
    (tmp_path / "change.yml").write_text(yaml.safe_dump(CHANGE, sort_keys=False))
    return made


def settings(cluster: Cluster, host: str) -> list[str]:
    return sorted(cluster.conf(host).read_text().splitlines())


def test_what_was_there_before_the_change_is_put_back(cluster: Cluster) -> None:
    before = {host: (cluster.conf(host).read_text(), settings(cluster, host)) for host in HOSTS}
    done = cluster.play(cluster.folder / "change.yml", "--limit", "npu1")
    assert done.code == 0, done.said
    changed = settings(cluster, "npu1")
    assert {"address_0=10.78.7.10", "gateway_0=10.78.0.2", "tls_enable_1=1", "send_arp_status_0=1"} <= set(changed)

    path = cluster.inventory / ".restore/npu1.json"
    saved = json.loads(path.read_text())
    assert saved.pop("saved_at").endswith("Z")
    assert saved == {
        "schema": "hccn.cluster/restore/1", "host": "npu1", "hccn_conf": before["npu1"][0], "tls": [{"id": 1, "enabled": False}],
        "network": [{"id": 0, "address": "10.78.1.10", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1"}]}
    assert path.stat().st_mode & 0o777 == 0o600

    done = cluster.play("restore", "--check", "--diff", "--limit", "npu1")
    assert done.code == 0, done.said
    assert settings(cluster, "npu1") == changed

    done = cluster.play("restore", "--limit", "npu1")
    assert done.code == 0, done.said
    assert settings(cluster, "npu1") == before["npu1"][1]
    assert ": addresses of 1 NPUs, TLS switch of 1, 12 settings of hccn.conf, 2 removed from it\"" in done.said
    done = cluster.play("bring_up", "--check", "--limit", "npu1", "-e", json.dumps({"bring_up_network": saved["network"], "bring_up_tls_state": "disabled"}))
    assert (done.code, done.count("changed")) == (0, {"npu1": 0}), done.said

    done = cluster.play("restore", "--limit", "npu1")
    assert (done.code, done.count("changed")) == (0, {"npu1": 0}), done.said


def test_each_inventory_keeps_what_its_hosts_had(cluster: Cluster) -> None:
    other = cluster.folder / "other"
    other.mkdir()
    content = yaml.safe_load((cluster.inventory / "hosts").read_text())
    second = {"npu": {"hosts": {"npu2": content["npu"]["hosts"].pop("npu2")}}}
    (cluster.inventory / "hosts").write_text(yaml.safe_dump(content))
    (other / "hosts").write_text(yaml.safe_dump(second))
    done = cluster.play(cluster.folder / "change.yml", "-i", str(other / "hosts"), "-e", json.dumps({"ansible_connection": "local"}))
    # The two have the same address then, which no module asks.
    assert done.code == 0, done.said
    assert [path.relative_to(cluster.folder) for path in (cluster.inventory, other) for path in path.rglob(".restore/*.json")] == [
        Path("site/.restore/npu1.json"), Path("other/.restore/npu2.json")]


def test_without_a_file_there_is_one_sentence(cluster: Cluster) -> None:
    before = cluster.conf("npu2").read_bytes()
    done = cluster.play("restore", "--limit", "npu2", "-e", "restore_dir=elsewhere")
    assert done.code == 2
    assert (f"npu2: there is nothing to put back: {cluster.folder}/elsewhere/npu2.json does not exist. It is written where bring_up changes a host; "
            "give restore_dir if it lies elsewhere.") in done.said
    assert cluster.conf("npu2").read_bytes() == before


def test_a_file_that_is_none_is_told(cluster: Cluster) -> None:
    (cluster.folder / "npu2.json").write_text('{"schema": "hccn.cluster/history/1"}')
    done = cluster.play("restore", "--limit", "npu2", "-e", "restore_dir=.")
    assert done.code == 2
    assert "what was saved is not of the schema hccn.cluster/restore/1 (it was made by another version, or is another file)" in done.said
