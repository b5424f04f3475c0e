"""The playbook adopt on simulated hosts: the inventory that it writes, with which bring_up changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.integration.adopt.cluster import Cluster, make
from tests.lib.hosts import set_state

MORE = """# of the site
send_arp_status_0=1
arp_0=-i eth0 -s 10.78.9.1 00:00:5e:00:53:01
arp_0=-i eth0 -s 10.78.9.2 00:00:5e:00:53:02
bitmap_1=0,0,0,0,1,0,0,0
"""
TEMPLATE = "arp_1={{ lookup('ansible.builtin.pipe', 'touch adopted-by-template') }}\n"
A3 = ["--product", "A3", "--address-template", "10.79.3.1{device}", "--state", "1.gateway=10.79.0.1", "--state", "1.netdetect=10.79.0.1"]
HOSTS = {"npu1": ["--state", "*.tls=0"], "npu2": [], "npu3": [*A3, "--state", "*.tls=1"]}

NPU1 = {
    "bring_up_tls_state": "disabled",
    "bring_up_network": [
        {"id": number, "address": f"10.78.1.1{number}", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1"} for number in (0, 1)],
    "bring_up_config": [
        {"id": 0, "settings": {"send_arp_status": 1, "arp": ["-i eth0 -s 10.78.9.1 00:00:5e:00:53:01", "-i eth0 -s 10.78.9.2 00:00:5e:00:53:02"]}},
        {"id": 1, "settings": {"bitmap": "0,0,0,0,1,0,0,0"}}],
}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = make(tmp_path, HOSTS)
    with made.conf("npu1").open("a") as file:
        file.write(MORE)
    return made


def variables(cluster: Cluster, host: str) -> dict:
    return yaml.safe_load(cluster.host_vars(host).read_text())


@pytest.mark.smoke("adopt")
def test_adopted_inventory_changes_nothing(cluster: Cluster) -> None:
    before = {host: cluster.conf(host).read_bytes() for host in HOSTS}
    done = cluster.play("adopt")
    assert done.code == 0, done.output
    assert {host: cluster.conf(host).read_bytes() for host in HOSTS} == before
    assert variables(cluster, "npu1") == NPU1
    assert [(entry["id"], entry["address"]) for entry in variables(cluster, "npu3")["bring_up_network"]] == [(0, "10.78.3.10"), (1, "10.79.3.11")]
    assert {host: variables(cluster, host)["bring_up_tls_state"] for host in HOSTS} == {"npu1": "disabled", "npu2": "unchanged", "npu3": "enabled"}
    assert (f"npu1: 2 NPUs (A2), addresses of 2, 3 other settings, TLS disabled, {cluster.host_vars('npu1')} written. "
            "Problems (1): NPU 0: arp_0: recovery only sends the first entry, on line 13") in done.output.splitlines()
    assert "written. Problems (1): the TLS flag of NPU 0, 1 was not read: the query would write tls_enable into hccn.conf\n" in done.output

    done = cluster.play("bring_up", "--check", "--diff")
    assert done.code == 0, done.output
    assert done.count("changed") == dict.fromkeys(["localhost", *HOSTS], 0)
    assert {host: cluster.conf(host).read_bytes() for host in HOSTS} == before

    done = cluster.play("adopt")
    assert (done.code, done.count("changed")) == (0, dict.fromkeys(["localhost", *HOSTS], 0)), done.output
    assert f"{cluster.host_vars('npu1')} up to date" in done.output


def test_existing_variables_are_kept(cluster: Cluster) -> None:
    """Ansible reads either the folder of a host or one file."""
    folder = cluster.host_vars("npu1").parent
    for name, text in (("npu1/site.yml", "rack: r1\n"), ("npu2.yaml", "rack: r2\n")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    done = cluster.play("adopt")
    assert done.code == 0, done.output
    assert f"{folder}/npu1/hccn_cluster.yml written" in done.output
    assert (f"{folder}/npu2.yml not written: Ansible reads only one of {folder}/npu2.yaml and this file; "
            f"move {folder}/npu2.yaml to {folder}/npu2/vars.yml first") in done.output
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.y*ml")) == ["npu1/hccn_cluster.yml", "npu1/site.yml", "npu2.yaml", "npu3.yml"]
    assert yaml.safe_load((folder / "npu1/hccn_cluster.yml").read_text()) == NPU1


def test_difference_between_device_and_file_is_reported_and_not_adopted(cluster: Cluster) -> None:
    set_state(cluster.nodes["npu1"], "1.ip=10.78.1.99")
    recoverable = cluster.conf("npu1").read_text()
    cluster.conf("npu1").write_text(recoverable + TEMPLATE)
    done = cluster.play("adopt", "--limit", "npu1")
    assert done.code == 0, done.output
    assert ("Problems (4): NPU 1: arp_1 is skipped: the inventory would read it as a template; "
            "NPU 1: address is 10.78.1.99 on the device and 10.78.1.11 in the file: not adopted") in done.output
    assert variables(cluster, "npu1") == {**NPU1, "bring_up_network": [
        NPU1["bring_up_network"][0], {"id": 1, "netdetect": "10.78.0.1"}]}
    cluster.conf("npu1").write_text(recoverable)
    done = cluster.play("bring_up", "--check", "--diff", "--limit", "npu1")
    assert (done.code, done.count("changed")) == (0, {"npu1": 0}), done.output
    assert list(cluster.folder.rglob("adopted-by-template")) == []


def test_existing_file_is_replaced_only_with_force(cluster: Cluster) -> None:
    own = "---\nansible_host: 192.0.2.11\n"
    cluster.host_vars("npu1").parent.mkdir()
    cluster.host_vars("npu1").write_text(own)
    done = cluster.play("adopt", "--limit", "npu1")
    assert (done.code, done.count("changed")) == (0, {"npu1": 0}), done.output
    assert f"{cluster.host_vars('npu1')} kept: the file exists with other content (adopt_force replaces it)" in done.output
    assert cluster.host_vars("npu1").read_text() == own

    done = cluster.play("adopt", "--limit", "npu1", "-e", "adopt_force=true")
    assert (done.code, done.count("changed")) == (0, {"npu1": 1}), done.output
    assert variables(cluster, "npu1") == NPU1
    copies = [path.read_text() for path in cluster.host_vars("npu1").parent.iterdir() if path.name.startswith("npu1.yml.")]
    assert copies == [own]


@pytest.mark.long
def test_other_folder_and_check_mode(cluster: Cluster) -> None:
    done = cluster.play("adopt", "--limit", "npu1", "--check", "-e", "adopt_inventory=copy")
    assert done.code == 0, done.output
    assert f"{cluster.folder}/copy/host_vars/npu1.yml to be written" in done.output
    assert not (cluster.folder / "copy").exists()
    done = cluster.play("adopt", "--limit", "npu1", "-e", "adopt_inventory=copy")
    assert yaml.safe_load((cluster.folder / "copy/host_vars/npu1.yml").read_text()) == NPU1
