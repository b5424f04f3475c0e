"""The playbook tls on simulated hosts changes all hosts or none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.simulator.hccn_sim.node import Node
from tests.lib.hosts import node, set_state, tools, write_inventory
from tests.lib.playbook import recap, run_playbook, unfolded

OFF = "tls_enable_0=0\ntls_enable_1=0\n"
ON = OFF.replace("=0", "=1")


def made(folder: Path, *names: str) -> Path:
    """Make hosts with two NPUs whose TLS flag is off."""
    for number, name in enumerate(names, 1):
        root = node(folder / name, "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", devices=2)
        (root / "etc/hccn.conf").write_text(OFF)
    write_inventory(folder, {name: tools(folder / name) for name in names})
    return folder


def tls(cluster: Path, state: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = run_playbook("hccn.cluster.tls", cluster / "hosts", "-e", f"tls_state={state}", *arguments)
    done.stdout = unfolded(done.stdout)
    return done


def tls_flags(cluster: Path, *names: str) -> list[str]:
    return ["".join(sorted((cluster / name / "etc/hccn.conf").read_text().splitlines(True))) for name in names]


@pytest.mark.smoke("tls")
def test_tls_is_enabled_on_all_hosts(tmp_path: Path) -> None:
    cluster = made(tmp_path, "n1", "n2")
    done = tls(cluster, "enabled")
    assert done.returncode == 0, done.stdout
    assert tls_flags(cluster, "n1", "n2") == [ON] * 2
    assert "n2: TLS enabled on 2 of 2 NPUs, 2 of them set now" in done.stdout
    assert {host: counts["changed"] for host, counts in recap(tls(cluster, "enabled").stdout).items()} == {"localhost": 0, "n1": 0, "n2": 0}


def test_each_unfit_host_is_named_before_any_change(tmp_path: Path) -> None:
    """n1 is fit. The certificates of n6 are checked although its file has no TLS flag."""
    cluster = made(tmp_path, "n1", "n2", "n3", "n4", "n5", "n6")
    missing = "No certificate found, please set certs firstly! (set one: hccn_tool -i 1 -tls -s path FOLDER pri KEY.pem"
    unfit = {"n2": ("1.tls_nocert=1", missing), "n3": ("*.tls_end=Sat Sep 20 10:00:00 2025", "expired on device 0: pub cert, ca1 cert, ca2 cert"),
             "n4": ("1.process=4711:python3:100", "device 1 is busy: pid 4711 (python3)"), "n5": ("1.dead=1", "Command execute failed!"),
             "n6": ("1.tls_nocert=1", missing)}
    for name, (state, _message) in unfit.items():
        set_state(cluster / name, state)
    (cluster / "n6/etc/hccn.conf").write_text("")
    done = tls(cluster, "enabled")
    assert done.returncode == 2
    said = {name: done.stdout.split(f"fatal: [{name}]: FAILED! => ")[1].split("fatal: [")[0].split("PLAY RECAP")[0] for name in unfit}
    assert {name: message in said[name] for name, (_state, message) in unfit.items()} == dict.fromkeys(unfit, True), done.stdout
    assert "TASK [hccn.cluster.tls : Set the TLS flag" not in done.stdout
    assert tls_flags(cluster, "n1", "n2", "n3", "n4", "n5") == [OFF] * 5
    assert "=1" not in tls_flags(cluster, "n6")[0], "no more than a query writes"


def test_different_authorities_stop_all_before_any_change(tmp_path: Path) -> None:
    """The certificates of n2 are compared although its file has no TLS flag."""
    cluster = made(tmp_path, "n1", "n2", "n3")
    for name in ("n2", "n3"):
        set_state(cluster / name, "*.tls_issuer=/CN=other")
    (cluster / "n2/etc/hccn.conf").write_text("")
    done = tls(cluster, "enabled", "-e", "hccn_hosts=n1,n2")
    assert done.returncode == 2
    assert "The CA certificates differ between the hosts" in done.stdout and "Nothing was set." in done.stdout
    assert "TASK [hccn.cluster.tls : Set the TLS flag" not in done.stdout
    assert (tls_flags(cluster, "n1"), "=1" in tls_flags(cluster, "n2")[0]) == ([OFF], False)
    assert tls(cluster, "disabled", "-e", "hccn_hosts=n1,n3").returncode == 0


def test_unreachable_host_stops_all_before_any_change(tmp_path: Path) -> None:
    cluster = made(tmp_path, "n1")
    done = tls(cluster, "enabled", "-i", "lost,", "-e", "hccn_hosts=npu:lost", "--ssh-extra-args=-o ConnectTimeout=1")
    assert done.returncode in (2, 4)
    assert "lost" in done.stdout and "UNREACHABLE" in done.stdout
    assert tls_flags(cluster, "n1") == [OFF]


def test_failures_of_hosts_roll_back_all(tmp_path: Path) -> None:
    """n2 has an expired certificate, the file of n3 cannot be written, the tool of n4 is killed in the change and in the rollback."""
    cluster = made(tmp_path, "n1", "n2", "n3", "n4")
    set_state(cluster / "n2", "1.tls_badcert=-107")
    set_state(cluster / "n3", "1.conf_refused=1")
    set_state(cluster / "n4", "0.killed_late=9")
    done = tls(cluster, "enabled")
    assert done.returncode == 2
    assert tls_flags(cluster, "n1", "n2", "n3") == [OFF] * 3
    assert [Node(str(cluster / name)).state.get(device, "tls") for name in ("n1", "n3") for device in range(2)] == ["0"] * 4
    assert "n1: TLS put back as it was on 2 NPUs. Failed: n2, n3, n4" in done.stdout, done.stdout
    assert "n2: TLS put back as it was on 1 NPUs. 1 of 2 devices failed: NPU 1: The Certificate has expired! (set a valid certificate" in done.stdout
    assert "n3: TLS put back as it was on 2 NPUs. 1 of 2 devices failed: NPU 1: Write configurations to config file failed." in done.stdout, done.stdout
    assert "n4: TLS could not be put back as it was: 1 of 2 devices failed: NPU 0: hccn_tool was ended by signal 9" in done.stdout, done.stdout


def test_partial_change_is_kept_with_keep(tmp_path: Path) -> None:
    cluster = made(tmp_path, "n1", "n2")
    set_state(cluster / "n2", "1.tls_badcert=-107")
    done = tls(cluster, "enabled", "-e", "tls_on_partial=keep")
    assert done.returncode == 2
    assert tls_flags(cluster, "n1", "n2") == [ON, "tls_enable_0=1\ntls_enable_1=0\n"]
    assert "n1: TLS enabled on 2 of 2 NPUs, 2 of them set now. Failed: n2" in done.stdout
