"""The playbook rank_table on simulated A3 servers of one super pod: the files, the number of tasks and the messages of failures."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.lib.hosts import node, tools, write_inventory
from tests.lib.playbook import recap, run_playbook

HOSTS = ("n1", "n2", "n10")
SERVER_INDEX = {"n1": 9, "n2": 8, "n10": 40}

Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    hosts = {}
    for place, name in enumerate(HOSTS, 1):
        root = node(folder / name, "--product", "A3", "--server-index", str(SERVER_INDEX[name]), "--super-pod-id", "3",
                    "--address-template", f"10.78.{place}.1{{device}}", devices=2)
        hosts[name] = {**tools(root), "rank_table_path": root / "hccl.json", "rank_table_server_id": f"192.0.2.{place}"}
    write_inventory(folder, hosts)
    return folder


def play(cluster: Path, *arguments: str, **variables: object) -> Done:
    return run_playbook("hccn.cluster.rank_table", cluster / "hosts", "-e", json.dumps(variables), *arguments)


def tasks(done: Done, word: str) -> dict[str, int]:
    """Return the number of tasks by host; those of localhost validate and conclude the run."""
    return {host: counts[word] for host, counts in recap(done.stdout).items()}


def test_check_mode_and_written_table(cluster: Path) -> None:
    # The access of a reader is checked folder by folder, on one host.
    (cluster / "reader").write_text("n1 rank_table_reader_uid=4711\n")
    reader = ("-i", str(cluster / "reader"))
    foreseen = play(cluster, "--check", "--diff", *reader, hccn_hosts="n1:n2")
    assert foreseen.returncode == 0, foreseen.stdout + foreseen.stderr
    assert foreseen.stdout.count('+  "version": "1.2",') == 2
    assert [(cluster / name / "hccl.json").exists() for name in ("n1", "n2")] == [False, False]

    done = play(cluster, *reader, rank_table_rank_order="super_pod")
    assert done.returncode == 0, done.stdout + done.stderr
    texts = {(cluster / name / "hccl.json").read_text() for name in HOSTS}
    assert len(texts) == 1
    table = json.loads(texts.pop())
    assert [server["server_id"] for server in table["server_list"]] == ["192.0.2.2", "192.0.2.1", "192.0.2.3"]
    assert table["server_list"][2]["device"][1] == {"device_id": "1", "device_ip": "10.78.3.11", "super_device_id": "167837697", "rank_id": "5"}
    assert table["super_pod_list"] == [{"super_pod_id": "3", "server_list": [{"server_id": f"192.0.2.{place}"} for place in (2, 1, 3)]}]
    assert os.stat(cluster / "n10/hccl.json").st_mode & 0o7777 == 0o640
    # Each host runs two tasks: probe and table. Tasks that run once use the first host.
    assert tasks(done, "ok") == {"localhost": 5, "n1": 4, "n2": 2, "n10": 2}
    assert tasks(done, "changed") == {"localhost": 0, "n1": 1, "n2": 1, "n10": 1}


def test_shared_storage(cluster: Path) -> None:
    path = cluster / "shared.json"
    done = play(cluster, rank_table_path=str(path), rank_table_shared=True, rank_table_hosts=["n10", "n1"], rank_table_format="vllm_pd",
                rank_table_groups=[{"name": "prefill", "hosts": ["n10"]}, {"name": "decode", "hosts": ["n1"], "devices": ["1"]}])
    assert done.returncode == 0, done.stdout + done.stderr
    assert tasks(done, "changed") == {"localhost": 0, "n1": 1, "n2": 0, "n10": 0}
    table = json.loads(path.read_text())
    assert [device["device_ip"] for device in table["prefill_device_list"]] == ["192.40.2.199", "192.40.3.198"]
    assert table["decode_device_list"] == [
        {"server_id": "192.0.2.1", "device_id": "1", "device_ip": "192.9.3.198", "super_pod_id": "3", "super_device_id": "37814273", "cluster_id": "3"}]


def test_all_problems_are_reported_once(cluster: Path) -> None:
    path = cluster / "n1/hccl.json"
    before = path.read_text() if path.exists() else None
    done = play(cluster, rank_table_devices=["0-2"])
    assert done.returncode == 2
    output = re.sub(r"\s+", " ", done.stdout)
    # The run fails on localhost, where it is concluded.
    assert re.findall(r"fatal: \[(\w+)\]: FAILED!", output) == ["n1", "localhost"]
    assert tasks(done, "failed") == {"localhost": 1, "n1": 0, "n2": 0, "n10": 0}
    assert "n1, n2, n10 (has no device 2)" in output
    assert (path.read_text() if path.exists() else None) == before
