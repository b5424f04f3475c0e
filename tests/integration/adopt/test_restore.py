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
from tests.lib.hosts import set_state
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.project import ROOT

HOSTS = {"npu1": ["--state", "*.tls=0"], "npu2": ["--state", "*.tls=0"]}
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


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = make(tmp_path, HOSTS, bring_up_backup=False, hccn_fail_on="never")
    for host in HOSTS:
        with made.conf(host).open("a") as file:
            file.write(OLD)
    return made


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


def bring_up(cluster: Cluster, wanted: list[dict[str, Any]], tls: str = "unchanged", **variables: Any) -> Done:
    return cluster.play("bring_up", "--limit", "npu1", "-e", json.dumps({"bring_up_network": wanted, "bring_up_tls_state": tls, **variables}))


def kill_at(cluster: Cluster, words: str, action: str = "kill -9 $PPID") -> None:
    """Run ``action`` after the next call of npu1's tool with these words."""
    tool, armed = cluster.nodes["npu1"] / "bin/hccn_tool", cluster.folder / "armed"
    real = tool.with_name("hccn_tool.real")
    if not real.exists():
        tool.rename(real)
    tool.write_text(KILLING.format(tool=real, words=words, armed=armed, action=action))
    tool.chmod(0o755)
    armed.touch()


def bring_up_killed(cluster: Cluster, wanted: list[dict[str, Any]], words: str) -> None:
    """Kill ansible-playbook and all its workers right after the first such change. Processes that they started end by themselves."""
    reached = cluster.folder / "reached"
    kill_at(cluster, words, f"touch {reached}; sleep 1; kill -9 $PPID")
    variables = {"bring_up_network": wanted, "bring_up_tls_state": "unchanged"}
    argv = [ANSIBLE_PLAYBOOK, "-i", str(cluster.inventory / "hosts"), str(ROOT / "playbooks/bring_up.yml"),
            "--limit", "npu1", "-e", json.dumps(variables)]
    play = subprocess.Popen(argv, cwd=cluster.folder, env=ansible_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    assert happens(reached.exists, DEADLINE), "the set was never made"
    os.killpg(play.pid, signal.SIGKILL)
    play.wait(DEADLINE)
    time.sleep(1.5)  # the wrapper of the tool kills the module meanwhile if it has left the process group of ansible-playbook


@pytest.mark.smoke("restore")
def test_state_before_the_change_is_restored(cluster: Cluster) -> None:
    text, before, devices = cluster.conf("npu1").read_text(), settings(cluster, "npu1"), addresses(cluster, "npu1")
    done = bring_up(cluster, network(7, 0), "enabled", bring_up_settings={"send_arp_status": 1})
    assert done.code == 0, done.output
    changed = settings(cluster, "npu1")
    assert gratuitous_arp(cluster, "npu1") == {0: "1", 1: ""}, "hccn_tool applies it with the new address"
    assert {"address_0=10.79.7.10", "gateway_0=10.79.0.1", "tls_enable_1=1", "send_arp_status_0=1"} <= set(changed)

    saved = json.loads(record(cluster, "npu1").read_text())
    assert saved.pop("saved_at").endswith("Z")
    assert saved == {
        "schema": "hccn.cluster/restore/2", "hccn_conf": text, "tls": [{"id": 0, "enabled": False}, {"id": 1, "enabled": False}],
        "network": [{"id": 0, "address": "10.78.1.10", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1"}]}
    assert record(cluster, "npu1").stat().st_mode & 0o777 == 0o600
    assert not unfinished(cluster, "npu1").exists()

    done = cluster.play("restore", "--check", "--diff", "--limit", "npu1")
    assert done.code == 0, done.output
    assert settings(cluster, "npu1") == changed

    done = cluster.play("restore", "--limit", "npu1")
    assert done.code == 0, done.output
    assert settings(cluster, "npu1") == before
    assert addresses(cluster, "npu1") == devices
    assert gratuitous_arp(cluster, "npu1") == {0: "0", 1: ""}
    assert (": addresses of 1 NPUs, TLS flag of 2, 12 settings of hccn.conf, 2 removed from it. Problems (1): NPU 1: gratuitous ARP stays as it is on the "
            "device until the next boot, since only a new address changes it\"") in done.output

    done = cluster.play("restore", "--limit", "npu1")
    assert (done.code, done.count("changed")) == (0, {"npu1": 0}), done.output
    assert json.loads(record(cluster, "npu1").read_text())["hccn_conf"] == text


@pytest.mark.long
def test_run_without_changes_saves_nothing(cluster: Cluster) -> None:
    done = bring_up(cluster, [])
    assert (done.code, done.count("changed")) == (0, {"npu1": 0}), done.output
    assert not record(cluster, "npu1").exists()
    done = cluster.play("bring_up", "--check", "--limit", "npu1", "-e", json.dumps({"bring_up_network": network(7, 0)}))
    assert done.code == 0, done.output
    assert not record(cluster, "npu1").exists()


@pytest.mark.parametrize("killed", ["module", pytest.param("ansible-playbook", marks=pytest.mark.long)])
def test_repeated_run_after_a_kill_keeps_the_state_before_the_first(cluster: Cluster, killed: str) -> None:
    """The same holds for a run that changed only the first device, repeated or not."""
    conf, devices = settings(cluster, "npu1"), addresses(cluster, "npu1")
    if killed == "module":
        kill_at(cluster, "-ip -s")
        assert bring_up(cluster, network(7, 0, 1)).code == 2
    else:
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


def test_killed_run_can_be_restored_at_once(cluster: Cluster) -> None:
    conf, devices = settings(cluster, "npu1"), addresses(cluster, "npu1")
    kill_at(cluster, "-ip -s")
    assert bring_up(cluster, network(7, 0, 1)).code == 2
    done = cluster.play("restore", "--limit", "npu1")
    assert done.code == 0, done.output
    assert (addresses(cluster, "npu1"), settings(cluster, "npu1")) == (devices, conf)
    assert not unfinished(cluster, "npu1").exists()


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


def test_missing_record_is_one_message(cluster: Cluster) -> None:
    before = cluster.conf("npu2").read_bytes()
    done = cluster.play("restore", "--limit", "npu2")
    assert done.code == 2
    path = record(cluster, "npu2")
    assert f"npu2: nothing can be restored: {path} does not exist on the host. bring_up writes it before it changes a host." in done.output
    assert cluster.conf("npu2").read_bytes() == before


def test_unrelated_record_is_refused(cluster: Cluster) -> None:
    record(cluster, "npu2").write_text('{"schema": "hccn.cluster/history/1"}')
    done = cluster.play("restore", "--limit", "npu2")
    assert done.code == 2
    assert "the saved state does not have the schema hccn.cluster/restore/2 (another version saved it, or it is another file)" in done.output
