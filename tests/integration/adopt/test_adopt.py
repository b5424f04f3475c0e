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
HOSTS = {"npu1": ["--state", "*.tls=0"], "npu2": [], "npu3": [*A3, "--state", "*.tls=1"], "npu4": []}

CONFIG = [
    {"id": 0, "settings": {"send_arp_status": 1, "arp": ["-i eth0 -s 10.78.9.1 00:00:5e:00:53:01", "-i eth0 -s 10.78.9.2 00:00:5e:00:53:02"]}},
    {"id": 1, "settings": {"bitmap": "0,0,0,0,1,0,0,0"}}]
NPU1 = {
    "bring_up_tls_state": "disabled",
    "bring_up_network": [
        {"id": number, "address": f"10.78.1.1{number}", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1"} for number in (0, 1)],
    "bring_up_config": CONFIG,
}
NPU2 = {
    "bring_up_tls_state": "unchanged",
    "bring_up_network": [
        {"id": 0, "address": "10.78.2.10", "netmask": "255.255.0.0", "gateway": "10.78.0.1", "netdetect": "10.78.0.1"}, {"id": 1, "netdetect": "10.78.0.1"}],
    "bring_up_config": CONFIG,
}
OWN = {"npu2/site.yml": "rack: r2\n", "npu3.yml": "---\nansible_host: 192.0.2.13\n", "npu4.yaml": "rack: r4\n"}
"""Files of the site in host_vars. Ansible reads either the folder of a host or one file."""


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = make(tmp_path, HOSTS)
    for host in ("npu1", "npu2"):
        with made.conf(host).open("a") as file:
            file.write(MORE)
    return made


def confs(cluster: Cluster) -> dict[str, bytes]:
    return {host: cluster.conf(host).read_bytes() for host in HOSTS}


@pytest.mark.smoke("adopt")
def test_adopted_inventory_changes_nothing(cluster: Cluster) -> None:
    """Nor do files of the site change, except by force. A setting that differs between device and file is not adopted."""
    recoverable = confs(cluster)
    folder = cluster.host_vars("npu1").parent
    done = cluster.play("adopt", "--limit", "npu1,npu3,localhost")
    assert done.code == 0, done.output
    assert confs(cluster) == recoverable
    written = {host: yaml.safe_load(cluster.host_vars(host).read_text()) for host in ("npu1", "npu3")}
    assert written["npu1"] == NPU1
    assert [(entry["id"], entry["address"]) for entry in written["npu3"]["bring_up_network"]] == [(0, "10.78.3.10"), (1, "10.79.3.11")]
    assert written["npu3"]["bring_up_tls_state"] == "enabled"
    assert (f"npu1: 2 NPUs (A2), addresses of 2, 3 other settings, TLS disabled, {folder}/npu1.yml written. "
            "Problems (1): NPU 0: arp_0: recovery only sends the first entry, on line 13") in done.output.splitlines()

    for name, text in OWN.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    set_state(cluster.nodes["npu2"], "1.ip=10.78.2.99")
    with cluster.conf("npu2").open("a") as file:
        file.write(TEMPLATE)
    before = confs(cluster)
    done = cluster.play("adopt")
    assert (done.code, done.count("changed")) == (0, {"localhost": 0, "npu1": 0, "npu2": 1, "npu3": 0, "npu4": 0}), done.output
    assert confs(cluster) == before
    assert f"{folder}/npu1.yml up to date" in done.output
    assert f"{folder}/npu2/hccn_cluster.yml written" in done.output
    assert ("NPU 1: arp_1 is skipped: the inventory would read it as a template; "
            "NPU 1: address is 10.78.2.99 on the device and 10.78.2.11 in the file: not adopted") in done.output
    assert yaml.safe_load((folder / "npu2/hccn_cluster.yml").read_text()) == NPU2
    assert f"{folder}/npu3.yml kept: the file exists with other content (adopt_force replaces it)" in done.output
    assert (f"{folder}/npu4.yml not written: Ansible reads only one of {folder}/npu4.yaml and this file; "
            f"move {folder}/npu4.yaml to {folder}/npu4/vars.yml first. "
            "Problems (1): the TLS flag of NPU 0, 1 was not read: the query would write tls_enable into hccn.conf\n") in done.output
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.y*ml")} == {*OWN, "npu1.yml", "npu2/hccn_cluster.yml"}
    assert {name: (folder / name).read_text() for name in OWN} == OWN

    done = cluster.play("adopt", "--limit", "npu3", "-e", "adopt_force=true")
    assert (done.code, done.count("changed")) == (0, {"npu3": 1}), done.output
    assert yaml.safe_load(cluster.host_vars("npu3").read_text()) == written["npu3"]
    assert [path.read_text() for path in folder.iterdir() if path.name.startswith("npu3.yml.")] == [OWN["npu3.yml"]]

    cluster.conf("npu2").write_bytes(recoverable["npu2"])
    done = cluster.play("bring_up", "--check", "--diff", "--limit", "npu1,npu2,npu3")
    assert done.code == 0, done.output
    assert done.count("changed") == {"npu1": 0, "npu2": 0, "npu3": 0}
    assert confs(cluster) == recoverable
    assert list(cluster.folder.rglob("adopted-by-template")) == []


@pytest.mark.long
def test_other_folder_and_check_mode(cluster: Cluster) -> None:
    done = cluster.play("adopt", "--limit", "npu1", "--check", "-e", "adopt_inventory=copy")
    assert done.code == 0, done.output
    assert f"{cluster.folder}/copy/host_vars/npu1.yml to be written" in done.output
    assert not (cluster.folder / "copy").exists()
    done = cluster.play("adopt", "--limit", "npu1", "-e", "adopt_inventory=copy")
    assert yaml.safe_load((cluster.folder / "copy/host_vars/npu1.yml").read_text()) == NPU1
