# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook bring_up on simulated hosts that have no address yet: planned, set, kept, refused where two are the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ansible_environment, node, set_state, tools

HOSTS = ("n1", "n2")
SUBNETS = {"bring_up_subnets": [{"cidr": "10.79.0.0/16", "gateway": "10.79.0.1"}], "bring_up_tls_state": "disabled"}
OTHER_SUBNETS = {"bring_up_subnets": [{"cidr": "10.80.0.0/16", "gateway": "10.80.0.1"}]}
PLANNED = """address_0=10.79.0.10
netmask_0=255.255.0.0
gateway_0=10.79.0.1
netdetect_0=10.79.0.1
address_1=10.79.0.11
netmask_1=255.255.0.0
gateway_1=10.79.0.1
netdetect_1=10.79.0.1
tls_enable_0=0
tls_enable_1=0
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return made(tmp_path, *HOSTS)


@pytest.fixture
def cluster_of_three(tmp_path: Path) -> Path:
    return made(tmp_path, *HOSTS, "n3")


def made(tmp_path: Path, *names: str) -> Path:
    lines = ["[npu]"]
    for name in names:
        root = node(tmp_path / name, devices=2)
        lines.append(" ".join([name, *(f"{option}={path}" for option, path in tools(root).items())]))
    lines += ["[npu:vars]", "ansible_connection=local", f"ansible_python_interpreter={sys.executable}", ""]
    (tmp_path / "hosts").write_text("\n".join(lines))
    return tmp_path


def play(cluster: Path, playbook: str, variables: dict[str, object], *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(cluster / "hosts"), f"hccn.cluster.{playbook}", "-e", json.dumps(variables)]
    done = subprocess.run([*argv, *arguments], env=ansible_environment(), capture_output=True, text=True, timeout=120)
    done.stdout = re.sub(r"\n {8}", " ", done.stdout)
    return done


def bring_up(cluster: Path, variables: dict[str, object], *arguments: str) -> subprocess.CompletedProcess[str]:
    return play(cluster, "bring_up", variables, *arguments)


def changed(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"changed=(\d+)", done.stdout.split("PLAY RECAP")[1])


def conf(cluster: Path, name: str) -> str:
    return (cluster / name / "etc/hccn.conf").read_text()


def test_bare_hosts_get_planned_addresses_and_keep_them(cluster: Path) -> None:
    predicted = bring_up(cluster, SUBNETS, "--check")
    assert predicted.returncode == 0, predicted.stdout
    assert [conf(cluster, name) for name in HOSTS] == ["", ""]
    done = bring_up(cluster, SUBNETS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(conf(cluster, "n2").splitlines()) == sorted(PLANNED.splitlines())
    assert "address_0=10.79.0.2\n" in conf(cluster, "n1")
    assert changed(bring_up(cluster, SUBNETS)) == ["0", "0"]


def test_addresses_do_not_move_to_others_where_a_host_is_lost(cluster: Path) -> None:
    """Without digits in their names, and with no number, hosts would have the addresses of their place among those that are left."""
    inventory = (cluster / "hosts").read_text().replace("n1 ", "alpha ", 1).replace("n2 ", "beta ", 1)
    (cluster / "hosts").write_text(inventory)
    done = bring_up(cluster, SUBNETS)
    assert done.returncode == 2
    assert "alpha npu 0: it has no number: its name has no digits at its end, and its place among the hosts of a run may change" in done.stdout + done.stderr
    assert [conf(cluster, name) for name in HOSTS] == ["", ""]
    done = bring_up(cluster, {**SUBNETS, "bring_up_numbers": {"alpha": 1, "beta": 2}}, "--limit", "beta")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "address_0=10.79.0.10\n" in conf(cluster, "n2")


def test_a_host_without_tools_stops_no_other(cluster_of_three: Path) -> None:
    cluster = cluster_of_three
    inventory = (cluster / "hosts").read_text()
    (cluster / "hosts").write_text(inventory.replace(str(cluster / "n3/bin"), str(cluster / "nowhere")))
    (cluster / "n2/etc/hccn.conf").write_text("address_0=10.79.0.10netmask_0=255.255.0.0\n")
    done = bring_up(cluster, {"bring_up_network": [], "bring_up_fail_on": "none"})
    assert done.returncode == 2
    assert re.findall(r"(n\d) +: .*failed=(\d)", done.stdout) == [("n1", "0"), ("n2", "1"), ("n3", "1")], done.stdout
    assert "undefined" not in done.stdout + done.stderr


def test_an_address_that_two_have_stops_all_before_any_set(cluster: Path) -> None:
    twice = [{"id": 0, "address": "10.79.0.9", "netmask": "255.255.0.0"}]
    done = bring_up(cluster, {"bring_up_network": twice})
    assert done.returncode == 2
    assert "n2 npu 0 (config[0]): 10.79.0.9 is also the address of n1 NPU 0" in done.stdout + done.stderr
    assert [conf(cluster, name) for name in HOSTS] == ["", ""]


def test_a_host_at_work_is_left_alone_and_the_others_are_done(cluster: Path) -> None:
    set_state(cluster / "n2", "1.process=4711:python3:100")
    done = bring_up(cluster, {**SUBNETS, "bring_up_tls_state": "unchanged"})
    assert done.returncode == 2
    assert "device 1 is at work: pid 4711 (python3)" in done.stdout
    assert "address_1" not in conf(cluster, "n2") and "address_1=10.79.0.3\n" in conf(cluster, "n1")


def test_no_switch_is_touched_where_a_host_was_lost_before(cluster_of_three: Path) -> None:
    cluster = cluster_of_three
    set_state(cluster / "n2", "1.process=4711:python3:100")
    done = bring_up(cluster, {**SUBNETS, "bring_up_tls_state": "enabled"})
    assert done.returncode == 2
    assert "TLS left as it was, since not every host can follow. Failed: n2" in done.stdout, done.stdout
    assert ["tls_enable_0=0\n" in conf(cluster, name) for name in (*HOSTS, "n3")] == [True, False, True]
    assert not re.search(r"TASK \[[^]]*Make the TLS switch[^]]*\] \*+\s+(ok|changed)", done.stdout), done.stdout


def test_in_batches(cluster: Path) -> None:
    done = bring_up(cluster, {**SUBNETS, "bring_up_tls_state": "unchanged", "hccn_serial": 1})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PLAY [Bring up the NPU network]") == 2
    assert "address_0=10.79.0.10\n" in conf(cluster, "n2")


def test_batches_in_which_a_switch_would_change_are_refused(cluster_of_three: Path) -> None:
    cluster = cluster_of_three
    assert bring_up(cluster, SUBNETS).returncode == 0
    done = bring_up(cluster, {**SUBNETS, "hccn_serial": 2, "bring_up_settings": {"send_arp_status": 1}})
    assert done.returncode == 0, done.stdout + done.stderr
    assert ["send_arp_status_0=1\n" in conf(cluster, name) for name in (*HOSTS, "n3")] == [True, True, True]
    done = bring_up(cluster, {**OTHER_SUBNETS, "hccn_serial": 2, "bring_up_tls_state": "enabled"})
    assert done.returncode == 2
    assert "The TLS switch would change on n1, n2 while hosts of later batches keep theirs. Nothing was set." in done.stdout, done.stdout
    assert ["tls_enable_0=1\n" in conf(cluster, name) for name in (*HOSTS, "n3")] == [False, False, False]
    # What was there before is kept, also on the host that the refusal did not come from.
    assert ["address_0=10.80." in conf(cluster, name) for name in HOSTS] == [True, True]
    done = play(cluster, "restore", {}, "--limit", "n1,n2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ["address_0=10.79." in conf(cluster, name) for name in HOSTS] == [True, True]


def test_what_was_there_before_comes_back(cluster: Path) -> None:
    first = {**SUBNETS, "bring_up_settings": {"send_arp_status": 1}}
    assert bring_up(cluster, first).returncode == 0
    before = [sorted(conf(cluster, name).splitlines()) for name in HOSTS]
    second = {**OTHER_SUBNETS, "bring_up_settings": {"send_arp_status": 0}}
    assert bring_up(cluster, second).returncode == 0
    assert "address_0=10.80.0.2" in conf(cluster, "n1") and "send_arp_status_0=0" in conf(cluster, "n1")
    done = play(cluster, "restore", {})
    assert done.returncode == 0, done.stdout + done.stderr
    assert [sorted(conf(cluster, name).splitlines()) for name in HOSTS] == before
    assert changed(play(cluster, "restore", {})) == ["0", "0"]


LEFTOVER = "gateway_0=10.99.0.1\n"
"""Of another network; hccn_tool refuses it by hand, so a file from elsewhere brought it."""


def test_a_leftover_gateway_outside_of_the_declared_network_is_healed(cluster: Path) -> None:
    assert bring_up(cluster, SUBNETS).returncode == 0
    path = cluster / "n2/etc/hccn.conf"
    path.write_text(path.read_text().replace("gateway_0=10.79.0.1\n", LEFTOVER))
    set_state(cluster / "n2", "0.gateway=10.99.0.1")
    predicted = bring_up(cluster, SUBNETS, "--check")
    assert (predicted.returncode, LEFTOVER in conf(cluster, "n2")) == (0, True), predicted.stdout
    done = bring_up(cluster, SUBNETS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(conf(cluster, "n2").splitlines()) == sorted(PLANNED.splitlines())
    assert "hccn.conf with 0 problems" in done.stdout
    assert changed(done) == ["0", "1"]
    assert changed(bring_up(cluster, SUBNETS)) == ["0", "0"]


def test_a_move_to_a_network_without_gateway_leaves_no_old_one(cluster: Path) -> None:
    (cluster / "n2/etc/hccn.conf").write_text("address_0=10.79.0.10\nnetmask_0=255.255.0.0\n" + LEFTOVER)
    set_state(cluster / "n2", "0.ip=10.79.0.10", "0.netmask=255.255.0.0", "0.gateway=10.99.0.1")
    done = bring_up(cluster, {"bring_up_subnets": [{"cidr": "10.80.0.0/16"}]})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "address_0=10.80.0." in conf(cluster, "n2") and "gateway_0" not in conf(cluster, "n2")


def test_problems_that_no_declared_address_replaces_still_fail_the_host(cluster: Path) -> None:
    (cluster / "n2/etc/hccn.conf").write_text("send_arp_status_0=7\n" + LEFTOVER)
    done = bring_up(cluster, SUBNETS)
    assert done.returncode == 2
    assert "has 1 problem(s) left, the first: line 1, send_arp_status_0: '7' is neither 0 nor 1" in done.stdout, done.stdout
    assert "address_0" not in conf(cluster, "n2")
