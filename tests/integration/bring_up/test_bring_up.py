"""The playbook bring_up on simulated hosts without addresses: addresses are planned, set and kept, and duplicates are refused.

It also finds problems of hosts whose addresses are not declared.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._device.info import MACHINE_ID_PATHS

from tests.lib.hosts import node, set_state, tools, write_inventory
from tests.lib.playbook import recap, run_playbook, unfolded

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


def made(tmp_path: Path, *names: str, options: tuple[str, ...] = (), devices: int = 2) -> Path:
    """Make hosts. ``options``: of the simulator, with ``{server}`` for the number of a host."""
    write_inventory(tmp_path, {name: tools(node(tmp_path / name, *(option.replace("{server}", str(server)) for option in options), devices=devices))
                               for server, name in enumerate(names, 1)})
    return tmp_path


def play(cluster: Path, playbook: str, variables: dict[str, object], *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = run_playbook(f"hccn.cluster.{playbook}", cluster / "hosts", "-e", json.dumps(variables), *arguments, **environment)
    done.stdout = unfolded(done.stdout)
    return done


def bring_up(cluster: Path, variables: dict[str, object], *arguments: str) -> subprocess.CompletedProcess[str]:
    return play(cluster, "bring_up", variables, *arguments)


def changed(output: str) -> list[int]:
    """Return the number of changes of each host. Tasks on the controller change nothing."""
    counts = {host: counts["changed"] for host, counts in recap(output).items()}
    assert counts.pop("localhost", 0) == 0
    return list(counts.values())


def conf(cluster: Path, name: str) -> str:
    return (cluster / name / "etc/hccn.conf").read_text()


def test_planned_addresses_are_set_and_kept(cluster: Path) -> None:
    predicted = bring_up(cluster, {**SUBNETS, "hccn_hosts": "n2"}, "--check")
    assert (predicted.returncode, conf(cluster, "n2")) == (0, ""), predicted.stdout
    done = bring_up(cluster, SUBNETS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(conf(cluster, "n2").splitlines()) == sorted(PLANNED.splitlines())
    assert "address_0=10.79.0.2\n" in conf(cluster, "n1")
    again = ended(cluster, SUBNETS)
    assert (again.code, again.recap, again.screen, again.findings) == (0, ALL_WELL, ["Result: good. 2 hosts: 2 good."], []), again.output
    assert changed(again.output) == [0, 0]


def test_addresses_stay_if_a_host_is_unreachable(tmp_path: Path) -> None:
    """Hosts without digits in their names and without numbers would get addresses by their position among the reachable hosts."""
    cluster = made(tmp_path, *HOSTS, devices=1)
    subnets: dict[str, object] = {"bring_up_subnets": SUBNETS["bring_up_subnets"]}
    inventory = (cluster / "hosts").read_text().replace("n1 ", "alpha ", 1).replace("n2 ", "beta ", 1)
    (cluster / "hosts").write_text(inventory)
    done = bring_up(cluster, subnets)
    assert done.returncode == 2
    assert "alpha, beta NPU 0: it has no number: its name has no digits at its end, and its place among the hosts of a run may change" in done.stdout
    assert [conf(cluster, name) for name in HOSTS] == ["", ""]
    done = bring_up(cluster, {**subnets, "bring_up_numbers": {"alpha": 1, "beta": 2}}, "--limit", "beta")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "address_0=10.79.0.10\n" in conf(cluster, "n2")


def test_duplicate_address_stops_all_hosts_before_any_change(cluster: Path) -> None:
    twice = [{"id": 0, "address": "10.79.0.9", "netmask": "255.255.0.0"}]
    done = bring_up(cluster, {"bring_up_network": twice})
    assert done.returncode == 2
    assert "n2 NPU 0: 10.79.0.9 is also the address of n1 NPU 0" in done.stdout
    assert "PLAY [Bring up the NPU network]" not in done.stdout
    assert [conf(cluster, name) for name in HOSTS] == ["", ""]


def test_failed_hosts_stop_no_other_host_but_any_change_of_tls(tmp_path: Path) -> None:
    """n2 is busy, n4 has a problem that no declared address solves, n5 has no npu-smi."""
    cluster = made(tmp_path, "n1", "n2", "n3", "n4", "n5")
    set_state(cluster / "n2", "1.process=4711:python3:100")
    (cluster / "n4/etc/hccn.conf").write_text("send_arp_status_0=7\n" + LEFTOVER)
    inventory = (cluster / "hosts").read_text()
    (cluster / "hosts").write_text(inventory.replace(str(cluster / "n5/bin/npu-smi"), "/opt/nowhere/npu-smi"))
    done = bring_up(cluster, {**SUBNETS, "bring_up_tls_state": "enabled"})
    assert done.returncode == 2
    assert "device 1 is busy: pid 4711 (python3)" in done.stdout
    assert "n4/etc/hccn.conf has 1 problem(s) left, the first: line 1, send_arp_status_0: '7' is none of 0, 1" in done.stdout, done.stdout
    assert ["address_1=10.79.0.3\n" in conf(cluster, "n1"), "address_1=10.79.0.19\n" in conf(cluster, "n3")] == [True, True]
    assert ("address_1" in conf(cluster, "n2"), "address_0" in conf(cluster, "n4"), conf(cluster, "n5")) == (False, False, "")
    assert "n1: TLS left as it was, since not every host can change. Failed: n2, n4, n5" in done.stdout, done.stdout
    assert "failed cluster: TLS was left or put back as it was on n1, n3, since it could not be set on n2, n4, n5 -> " in done.stdout, done.stdout
    assert ["tls_enable_0=0\n" in conf(cluster, name) for name in ("n1", "n2", "n3", "n4", "n5")] == [True, False, True, False, False]
    assert not re.search(r"TASK \[[^]]*Set the TLS flag[^]]*\] \*+\s+(ok|changed)", done.stdout), done.stdout


@pytest.mark.long
def test_batches(cluster: Path) -> None:
    done = bring_up(cluster, {**SUBNETS, "bring_up_tls_state": "unchanged", "hccn_serial": 1})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PLAY [Bring up the NPU network]") == 2
    assert "address_0=10.79.0.10\n" in conf(cluster, "n2")


@pytest.mark.long
def test_batches_that_would_change_the_tls_flag_are_refused(cluster_of_three: Path) -> None:
    cluster = cluster_of_three
    assert bring_up(cluster, SUBNETS).returncode == 0
    done = bring_up(cluster, {**SUBNETS, "hccn_serial": 2, "bring_up_settings": {"send_arp_status": 1}})
    assert done.returncode == 0, done.stdout + done.stderr
    assert ["send_arp_status_0=1\n" in conf(cluster, name) for name in (*HOSTS, "n3")] == [True, True, True]
    done = bring_up(cluster, {**OTHER_SUBNETS, "hccn_serial": 2, "bring_up_tls_state": "enabled"})
    assert done.returncode == 2
    assert "The TLS flag would change on n1, n2 while hosts of later batches keep theirs. Nothing was set." in done.stdout, done.stdout
    assert ["tls_enable_0=1\n" in conf(cluster, name) for name in (*HOSTS, "n3")] == [False, False, False]
    # The previous state is saved on all hosts, not only on the one that caused the refusal.
    assert ["address_0=10.80." in conf(cluster, name) for name in HOSTS] == [True, True]
    done = play(cluster, "restore", {}, "--limit", "n1,n2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ["address_0=10.79." in conf(cluster, name) for name in HOSTS] == [True, True]


@pytest.mark.long
def test_previous_state_is_restored(cluster: Path) -> None:
    first = {**SUBNETS, "bring_up_settings": {"send_arp_status": 1}}
    assert bring_up(cluster, first).returncode == 0
    before = [sorted(conf(cluster, name).splitlines()) for name in HOSTS]
    second = {**OTHER_SUBNETS, "bring_up_settings": {"send_arp_status": 0}}
    assert bring_up(cluster, second).returncode == 0
    assert "address_0=10.80.0.2" in conf(cluster, "n1") and "send_arp_status_0=0" in conf(cluster, "n1")
    done = play(cluster, "restore", {})
    assert done.returncode == 0, done.stdout + done.stderr
    assert [sorted(conf(cluster, name).splitlines()) for name in HOSTS] == before
    assert changed(play(cluster, "restore", {}).stdout) == [0, 0]


LEFTOVER = "gateway_0=10.99.0.1\n"
"""A gateway of another network. hccn_tool refuses to set it, so it can only come from a copied file."""


@pytest.mark.long
def test_gateway_outside_the_declared_network_is_replaced(cluster: Path) -> None:
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
    assert changed(done.stdout) == [0, 1]
    assert changed(bring_up(cluster, SUBNETS).stdout) == [0, 0]


@pytest.mark.long
def test_move_to_a_network_without_gateway_removes_the_old_gateway(cluster: Path) -> None:
    (cluster / "n2/etc/hccn.conf").write_text("address_0=10.79.0.10\nnetmask_0=255.255.0.0\n" + LEFTOVER)
    set_state(cluster / "n2", "0.ip=10.79.0.10", "0.netmask=255.255.0.0", "0.gateway=10.99.0.1")
    done = bring_up(cluster, {"bring_up_subnets": [{"cidr": "10.80.0.0/16"}]})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "address_0=10.80.0." in conf(cluster, "n2") and "gateway_0" not in conf(cluster, "n2")


class Ended(NamedTuple):
    """``screen``: the lines after the recap without that of the report; ``findings``: the samples of the history, worst first."""

    code: int
    recap: dict[str, tuple[int, int]]
    screen: list[str]
    findings: list[dict[str, Any]]
    output: str


def ended(cluster: Path, variables: dict[str, object], *arguments: str) -> Ended:
    """Run bring_up with a history. ``recap``: unreachable and failed tasks by host."""
    history = cluster / "history"
    done = play(cluster, "bring_up", variables, *arguments, ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results", HCCN_RESULTS_PATH=str(history))
    screen = re.split(r"^(?=Result: )", done.stdout.split("PLAY RECAP")[1], maxsplit=1, flags=re.MULTILINE)[1:]
    counts = {host: (counts["unreachable"], counts["failed"]) for host, counts in recap(done.stdout).items()}
    shown = "".join(screen).strip().splitlines()
    (run,) = history.glob("*/*/*/*.jsonl")
    assert shown[-1:] == [f"Report: {history}/reports/{run.stem.split('-', 1)[1]}.html"], done.stdout + done.stderr
    records = [json.loads(line) for line in run.read_text().splitlines()]
    findings = [record["samples"][0] for record in records if record.get("kind") == "finding"]
    return Ended(done.returncode, counts, shown[:-1], findings, done.stdout)


def addressed(tmp_path: Path, *names: str) -> Path:
    """Make hosts with undeclared addresses that are the same in hccn.conf and on the devices."""
    return made(tmp_path, *names, options=("--address-template", "10.78.{server}.1{device}", "--netmask", "255.255.0.0"))


ALL_WELL = {"localhost": (0, 0), "n1": (0, 0), "n2": (0, 0)}
JOB_FAILED = {**ALL_WELL, "localhost": (0, 1)}


def test_each_host_without_declared_addresses_is_judged_by_its_own_state(tmp_path: Path) -> None:
    """n1 is good; the address of n2 differs between device and file; n3 and n4 have the same address; n5 lacks hccn_tool, n6 all tools; n7 has a bad file."""
    cluster = addressed(tmp_path, "n1", "n2", "n3", "n4", "n5", "n6", "n7")
    set_state(cluster / "n2", "0.ip=10.78.2.99")
    path = cluster / "n4/etc/hccn.conf"
    path.write_text(path.read_text().replace("address_1=10.78.4.11\n", "address_1=10.78.3.10\n"))
    set_state(cluster / "n4", "1.ip=10.78.3.10")
    (cluster / "n5/bin/hccn_tool").unlink()
    inventory = (cluster / "hosts").read_text()
    (cluster / "hosts").write_text(inventory.replace(str(cluster / "n6/bin"), str(cluster / "nowhere")))
    (cluster / "n7/etc/hccn.conf").write_text("address_0=10.79.0.10netmask_0=255.255.0.0\nnetmask_0=255.255.0.0\n")
    done = ended(cluster, {"bring_up_network": []})
    differs = "the device has 10.78.2.99, hccn.conf has 10.78.2.10, which the next reboot sets"
    step = "ansible-playbook hccn.cluster.bring_up --check --diff -e hccn_hosts="
    assert (done.code, done.recap) == (2, {"localhost": (0, 1), **dict.fromkeys(("n1", "n2", "n3", "n4", "n5", "n6", "n7"), (0, 0))}), done.output
    assert done.screen == [
        "Result: failed. 7 hosts: 5 failed, 1 degraded, 1 good.",
        f"failed n3 NPU 0, n4 NPU 1: both have the address 10.78.3.10 -> {step}n3,n4",
        f"failed n5: {cluster}/n5/bin/hccn_tool: no such program (install it or give its path)"
        " -> Install the driver on n5, or set hccn_tool and npu_smi to the paths of the tools",
        "failed n6: no NPU on this host: npu-smi is missing and /dev contains no davinci device (check that the driver is installed) -> On n6: npu-smi info -m",
        f"failed n7: Set and verify hccn.conf and the addresses, and read the NPUs: {cluster}/n7/etc/hccn.conf has 1 problem(s) left, the first: line 1, "
        "netmask_0 is joined to the value of address_0 on one line -> Read the message of the task above",
        f"degraded n2 NPU 0: {differs} -> {step}n2"]
    found = {one["cause"]: one for one in done.findings}
    assert len(found) == len(done.findings) == 5, done.findings
    assert found["conf_differs"] == {
        "component": {"kind": "npu", "name": "n2 NPU 0"}, "cause": "conf_differs", "severity": "degraded", "message": differs, "hosts": ["n2"],
        "devices": [{"host": "n2", "device": 0}], "next_step": f"{step}n2", "stage": "bring_up"}
    conflict = found["address_conflict"]
    assert (conflict["component"], conflict["devices"]) == (
        {"kind": "npu", "name": "n3 NPU 0, n4 NPU 1"}, [{"host": "n3", "device": 0}, {"host": "n4", "device": 1}])
    assert found["tool_missing"]["component"] == {"kind": "host", "name": "n5"}
    assert "undefined" not in done.output


@pytest.mark.long
def test_machine_that_is_listed_twice(tmp_path: Path) -> None:
    cluster = addressed(tmp_path, *HOSTS)
    inventory = (cluster / "hosts").read_text().splitlines(True)
    (first,) = [line for line in inventory if line.startswith("n1 ")]
    (cluster / "hosts").write_text("".join([inventory[0], first.replace("n1 ", "n9 ", 1), *inventory[1:]]))
    done = ended(cluster, {})
    # A machine without ids is identified by its NPUs.
    why = "the id of the machine" if any(Path(path).exists() for path in MACHINE_ID_PATHS) else "the serial numbers of all NPUs"
    assert (done.code, done.recap) == (2, {**JOB_FAILED, "n9": (0, 0)}), done.output
    assert done.screen == ["Result: failed. 3 hosts: 2 failed, 1 good.", f"failed n1, n9: they are the same machine according to {why}"
                           " -> Remove one of n1,n9 from the inventory"]
    assert [(one["cause"], one["hosts"]) for one in done.findings] == [("machine_listed_twice", ["n1", "n9"])]


def test_tls_error_of_all_npus_is_reported_once(tmp_path: Path) -> None:
    cluster = addressed(tmp_path, *HOSTS)
    set_state(cluster / "n2", "*.tls_nocert=1")
    done = ended(cluster, {"bring_up_tls_state": "enabled"})
    assert (done.code, done.recap) == (2, JOB_FAILED), done.output
    assert done.screen == ["Result: failed. 2 hosts: 1 failed, 1 good.",
                           "failed n2 NPUs 0-1: tls: No certificate found, please set certs firstly!"
                           " -> On n2: hccn_tool -i 0 -tls -s path FOLDER pri KEY.pem pub CERTIFICATE.pem ca1 CA1.pem ca2 CA2.pem"]
    assert ["tls_enable_0=1\n" in conf(cluster, name) for name in HOSTS] == [False, False]
