"""The state that bring_up saves on a host before it changes it, and the playbook restore, on simulated hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.adopt.cluster import DEADLINE, Cluster, Done, make
from tests.lib.waiting import happens
from tests.simulator.hccn_sim.node import Node
from tests.lib.hosts import set_state, tools
from tests.lib.module import call_module
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.project import ROOT

OLD = "mtu_0=4200\narp_1=-i eth0 -s 10.78.9.1 00:00:5e:00:53:01\n"
ADDRESSES = ("ip", "netmask", "gateway", "netdetect", "tls")

# Kills its caller, the module, as soon as a set has been made; "playbook" also stops the module so that the test can kill ansible-playbook instead.
KILLING = """#!/bin/sh
{tool} "$@"
code=$?
case "$*" in *" {words} "*)
    if [ -e {armed} ]; then rm {armed}; {action}; fi
esac
exit $code
"""


def network(third: int, *devices: int) -> list[dict[str, Any]]:
    """Return another network for these devices."""
    return [{"id": device, "address": f"10.79.{third}.1{device}", "netmask": "255.255.0.0", "gateway": "10.79.0.1", "netdetect": "10.79.0.1"}
            for device in devices]


def cluster_of(folder: Path, *hosts: str) -> Cluster:
    made = make(folder, {host: ["--state", "*.tls=0"] for host in hosts}, bring_up_backup=False, hccn_fail_on="never")
    for host in hosts:
        with made.conf(host).open("a") as file:
            file.write(OLD)
    return made


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return cluster_of(tmp_path, "npu1")


def settings(cluster: Cluster, host: str) -> list[str]:
    return sorted(cluster.conf(host).read_text().splitlines())


def addresses(cluster: Cluster, host: str) -> dict[int, dict[str, str]]:
    """Return the settings of the devices."""
    state = Node(str(cluster.nodes[host])).state
    return {device: {name: state.get(device, name) for name in ADDRESSES} for device in (0, 1)}


def gratuitous_arp(cluster: Cluster, host: str) -> dict[int, str]:
    """Return whether it is on for the devices, an empty text if it was never set."""
    state = Node(str(cluster.nodes[host])).state
    return {device: state.get(device, "send_arp") for device in (0, 1)}


def record(cluster: Cluster, host: str) -> Path:
    return cluster.nodes[host] / "etc/hccn.conf.restore.json"


def unfinished(cluster: Cluster, host: str) -> Path:
    return cluster.nodes[host] / "etc/hccn.conf.restore.unfinished"


def bring_up(cluster: Cluster, wanted: list[dict[str, Any]], **variables: Any) -> Done:
    return cluster.play("bring_up", "--limit", "npu1", "-e", json.dumps({"bring_up_network": wanted, "bring_up_tls_state": "unchanged", **variables}))


def declare(cluster: Cluster, host: str, **variables: Any) -> None:
    """Replace the variables of a host in the inventory."""
    cluster.host_vars(host).parent.mkdir(exist_ok=True)
    cluster.host_vars(host).write_text(json.dumps(variables))


def kill_at(cluster: Cluster, host: str, words: str, action: str = "kill -9 $PPID") -> None:
    """Run ``action`` after the next call of the host's tool with these words."""
    tool, armed = cluster.nodes[host] / "bin/hccn_tool", cluster.folder / f"armed-{host}"
    real = tool.with_name("hccn_tool.real")
    if not real.exists():
        tool.rename(real)
    tool.write_text(KILLING.format(tool=real, words=words, armed=armed, action=action))
    tool.chmod(0o755)
    armed.touch()


def bring_up_killed(cluster: Cluster, wanted: list[dict[str, Any]], words: str) -> None:
    """Kill ansible-playbook and all its workers right after the first such change. Processes that they started end by themselves."""
    reached = cluster.folder / "reached"
    kill_at(cluster, "npu1", words, f"touch {reached}; sleep 1; kill -9 $PPID")
    variables = {"bring_up_network": wanted, "bring_up_tls_state": "unchanged"}
    argv = [ANSIBLE_PLAYBOOK, "-i", str(cluster.inventory / "hosts"), str(ROOT / "playbooks/bring_up.yml"),
            "--limit", "npu1", "-e", json.dumps(variables)]
    play = subprocess.Popen(argv, cwd=cluster.folder, env=ansible_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    assert happens(reached.exists, DEADLINE), "the set was never made"
    os.killpg(play.pid, signal.SIGKILL)
    play.wait(DEADLINE)
    time.sleep(1.5)  # the wrapper of the tool kills the module meanwhile if it has left the process group of ansible-playbook


@pytest.mark.smoke("restore")
def test_state_before_the_change_is_restored(tmp_path: Path) -> None:
    """Also if the module was killed after the first device, whether the run was repeated or not. A host without a saved state keeps its state."""
    cluster = cluster_of(tmp_path, "changed", "killed", "repeated", "absent", "unrelated")
    texts = {host: cluster.conf(host).read_text() for host in cluster.nodes}
    before = {host: (addresses(cluster, host), settings(cluster, host)) for host in cluster.nodes}
    record(cluster, "unrelated").write_text('{"schema": "hccn.cluster/history/1"}')

    for third, host in (5, "killed"), (6, "repeated"):
        declare(cluster, host, bring_up_network=network(third, 0, 1))
        kill_at(cluster, host, "-ip -s")
    done = cluster.play("bring_up", "--limit", "killed,repeated")
    assert (done.code, done.count("failed")) == (2, {"killed": 1, "repeated": 1}), done.output
    for third, host in (5, "killed"), (6, "repeated"):
        half = addresses(cluster, host)
        assert (half[0]["ip"], half[1]["ip"]) == (f"10.79.{third}.10", before[host][0][1]["ip"]), "the kill struck at another time"
        assert unfinished(cluster, host).exists()

    # As the role calls it.
    again = {"network": network(8, 0, 1), "keep_previous": True, "complete": True}
    assert not call_module("device_state", {**tools(cluster.nodes["repeated"]), **again}).get("failed")
    assert addresses(cluster, "repeated")[1]["ip"] == "10.79.8.11"
    assert not unfinished(cluster, "repeated").exists()

    declare(cluster, "changed", bring_up_network=network(7, 0), bring_up_settings={"send_arp_status": 1}, bring_up_tls_state="enabled")
    done = cluster.play("bring_up", "--limit", "changed")
    assert done.code == 0, done.output
    changed = settings(cluster, "changed")
    assert gratuitous_arp(cluster, "changed") == {0: "1", 1: ""}, "hccn_tool applies it with the new address"
    assert {"address_0=10.79.7.10", "gateway_0=10.79.0.1", "tls_enable_1=1", "send_arp_status_0=1"} <= set(changed)

    saved = json.loads(record(cluster, "changed").read_text())
    assert saved.pop("saved_at").endswith("Z")
    assert saved == {
        "schema": "hccn.cluster/restore/2", "hccn_conf": texts["changed"], "tls": [{"id": 0, "enabled": False}, {"id": 1, "enabled": False}],
        "network": [{"id": 0, "address": "10.78.1.10", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1"}]}
    assert record(cluster, "changed").stat().st_mode & 0o777 == 0o600
    assert not unfinished(cluster, "changed").exists()

    done = cluster.play("restore", "--check", "--diff", "--limit", "changed")
    assert done.code == 0, done.output
    assert settings(cluster, "changed") == changed

    done = cluster.play("restore", "--limit", "npu")
    assert (done.code, done.count("failed")) == (2, {"changed": 0, "killed": 0, "repeated": 0, "absent": 1, "unrelated": 1}), done.output
    assert {host: (addresses(cluster, host), settings(cluster, host)) for host in cluster.nodes} == before
    assert gratuitous_arp(cluster, "changed") == {0: "0", 1: ""}
    assert (": addresses of 1 NPUs, TLS flag of 2, 12 settings of hccn.conf, 2 removed from it. Problems (1): NPU 1: gratuitous ARP stays as it is on the "
            "device until the next boot, since only a new address changes it\"") in done.output
    assert not unfinished(cluster, "killed").exists()
    missing = record(cluster, "absent")
    assert f"absent: nothing can be restored: {missing} does not exist on the host. bring_up writes it before it changes a host." in done.output
    assert "the saved state does not have the schema hccn.cluster/restore/2 (another version saved it, or it is another file)" in done.output
    assert {host: cluster.conf(host).read_text() for host in ("absent", "unrelated")} == {host: texts[host] for host in ("absent", "unrelated")}

    done = cluster.play("restore", "--limit", "changed")
    assert (done.code, done.count("changed")) == (0, {"changed": 0}), done.output
    assert json.loads(record(cluster, "changed").read_text())["hccn_conf"] == texts["changed"]


@pytest.mark.long
def test_run_without_changes_saves_nothing(cluster: Cluster) -> None:
    done = bring_up(cluster, [])
    assert (done.code, done.count("changed")) == (0, {"npu1": 0}), done.output
    assert not record(cluster, "npu1").exists()
    done = cluster.play("bring_up", "--check", "--limit", "npu1", "-e", json.dumps({"bring_up_network": network(7, 0)}))
    assert done.code == 0, done.output
    assert not record(cluster, "npu1").exists()


@pytest.mark.long
def test_repeated_run_after_a_kill_keeps_the_state_before_the_first(cluster: Cluster) -> None:
    """Also if ansible-playbook is killed, and not only the module."""
    conf, devices = settings(cluster, "npu1"), addresses(cluster, "npu1")
    bring_up_killed(cluster, network(7, 0, 1), "-ip -s")
    half = addresses(cluster, "npu1")
    assert (half[0]["ip"], half[1]["ip"]) == ("10.79.7.10", "10.78.1.11"), "the kill struck at another time"
    assert unfinished(cluster, "npu1").exists()

    done = bring_up(cluster, network(8, 0, 1))
    assert done.code == 0, done.output
    assert addresses(cluster, "npu1")[1]["ip"] == "10.79.8.11"
    assert not unfinished(cluster, "npu1").exists()
    done = cluster.play("restore", "--limit", "npu1")
    assert done.code == 0, done.output
    assert (addresses(cluster, "npu1"), settings(cluster, "npu1")) == (devices, conf)


@pytest.mark.long
def test_new_change_after_a_complete_run_restores_to_that_run(cluster: Cluster) -> None:
    for third in (7, 8):
        done = bring_up(cluster, network(third, 0, 1))
        assert done.code == 0, done.output
    done = cluster.play("restore", "--limit", "npu1")
    assert done.code == 0, done.output
    assert [one["ip"] for one in addresses(cluster, "npu1").values()] == ["10.79.7.10", "10.79.7.11"]


@pytest.mark.long
def test_failed_run_is_not_complete(cluster: Cluster) -> None:
    """The next run continues it, although the failed setting succeeds by then."""
    devices = addresses(cluster, "npu1")
    set_state(cluster.nodes["npu1"], "1.ip_set_ret=-1")
    assert bring_up(cluster, network(7, 0, 1)).code == 2
    set_state(cluster.nodes["npu1"], "1.ip_set_ret=")
    assert bring_up(cluster, network(8, 0, 1)).code == 0
    assert cluster.play("restore", "--limit", "npu1").code == 0
    assert addresses(cluster, "npu1") == devices


@pytest.mark.long
def test_missing_saved_address_fails_the_host_by_name(cluster: Cluster) -> None:
    assert bring_up(cluster, network(7, 0, 1)).code == 0
    saved = json.loads(record(cluster, "npu1").read_text())
    record(cluster, "npu1").write_text(json.dumps({**saved, "network": [entry for entry in saved["network"] if entry["id"] == 0]}))
    done = cluster.play("restore", "--limit", "npu1")
    assert done.code == 2, done.output
    assert ("npu1 NPU 1: its address was changed to 10.79.7.11, but the address that it had before was not saved (hccn.conf had 10.78.1.11). "
            "Set it with device_network.") in done.output
    assert [one["ip"] for one in addresses(cluster, "npu1").values()] == ["10.78.1.10", "10.79.7.11"], "the saved addresses are restored nevertheless"


@pytest.mark.long
def test_nothing_is_changed_if_the_state_cannot_be_saved(cluster: Cluster) -> None:
    devices = addresses(cluster, "npu1")
    record(cluster, "npu1").mkdir()
    done = bring_up(cluster, network(7, 0))
    assert done.code == 2
    assert f"the current settings cannot be saved in {record(cluster, 'npu1')}: " in done.output
    assert addresses(cluster, "npu1") == devices
    assert "bring_up_keep_previous: false" in done.output
    assert bring_up(cluster, network(7, 0), bring_up_keep_previous=False).code == 0
