"""The playbook tls on four simulated hosts changes all hosts or none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.simulator.hccn_sim.node import Node
from tests.lib.hosts import node, set_state, tools, write_inventory
from tests.lib.playbook import run_playbook, unfolded

HOSTS = ("n1", "n2", "n3", "n4")
OFF = "".join(f"tls_enable_{device}=0\n" for device in range(2))
ON = OFF.replace("=0", "=1")


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    for number, name in enumerate(HOSTS, 1):
        root = node(tmp_path / name, "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", devices=2)
        (root / "etc/hccn.conf").write_text(OFF)
    write_inventory(tmp_path, {name: tools(tmp_path / name) for name in HOSTS})
    return tmp_path


def tls(cluster: Path, *arguments: str, playbook: str = "tls") -> subprocess.CompletedProcess[str]:
    done = run_playbook(f"hccn.cluster.{playbook}", cluster / "hosts", *arguments)
    done.stdout = unfolded(done.stdout)
    return done


def tls_flags(cluster: Path) -> list[str]:
    return ["".join(sorted((cluster / name / "etc/hccn.conf").read_text().splitlines(True))) for name in HOSTS]


@pytest.mark.smoke("tls")
def test_tls_is_enabled_on_all_hosts(cluster: Path) -> None:
    done = tls(cluster, "-e", "tls_state=enabled")
    assert done.returncode == 0, done.stdout
    assert tls_flags(cluster) == [ON] * 4
    assert "n4: TLS enabled on 2 of 2 NPUs, 2 of them set now" in done.stdout
    assert "changed=0" in tls(cluster, "-e", "tls_state=enabled").stdout.split("RECAP")[1].splitlines()[1]


@pytest.mark.parametrize(("state", "message"), [
    ("1.tls_nocert=1", "No certificate found, please set certs firstly! (set one: hccn_tool -i 1 -tls -s path FOLDER pri KEY.pem"),
    ("*.tls_end=Sat Sep 20 10:00:00 2025", "expired on device 0: pub cert, ca1 cert, ca2 cert"),
    ("1.process=4711:python3:100", "device 1 is busy: pid 4711 (python3)"),
    ("1.dead=1", "Command execute failed!"),
])
def test_unfit_host_stops_all_before_any_change(cluster: Path, state: str, message: str) -> None:
    set_state(cluster / "n3", state)
    done = tls(cluster, "-e", "tls_state=enabled")
    assert done.returncode == 2
    assert message in done.stdout, done.stdout
    assert tls_flags(cluster) == [OFF] * 4


@pytest.mark.parametrize(("host", "state", "message"), [
    ("n3", "1.tls_nocert=1", "No certificate found, please set certs firstly!"),
    ("n2", "*.tls_issuer=/CN=other", "The CA certificates differ between the hosts"),
])
def test_certificates_are_checked_if_the_file_has_no_tls_flag(cluster: Path, host: str, state: str, message: str) -> None:
    for name in HOSTS:
        (cluster / name / "etc/hccn.conf").write_text("")
    set_state(cluster / host, state)
    done = tls(cluster, "-e", "tls_state=enabled")
    assert (done.returncode, message in done.stdout) == (2, True), done.stdout
    assert "TASK [hccn.cluster.tls : Set the TLS flag" not in done.stdout
    assert "=1" not in "".join(tls_flags(cluster)), "no more than a query writes"


def test_different_authorities_stop_all_before_any_change(cluster: Path) -> None:
    set_state(cluster / "n2", "*.tls_issuer=/CN=other")
    done = tls(cluster, "-e", "tls_state=enabled")
    assert done.returncode == 2
    assert "The CA certificates differ between the hosts" in done.stdout and "Nothing was set." in done.stdout
    assert tls_flags(cluster) == [OFF] * 4
    assert tls(cluster, "-e", "tls_state=disabled").returncode == 0


def test_unreachable_host_stops_all_before_any_change(cluster: Path) -> None:
    done = tls(cluster, "-e", "tls_state=enabled", "-i", "lost,", "-e", "hccn_hosts=npu:lost", "--ssh-extra-args=-o ConnectTimeout=1")
    assert done.returncode in (2, 4)
    assert "lost" in done.stdout and "UNREACHABLE" in done.stdout
    assert tls_flags(cluster) == [OFF] * 4


def test_failure_of_one_host_rolls_back_the_others(cluster: Path) -> None:
    set_state(cluster / "n2", "1.tls_badcert=-107")
    done = tls(cluster, "-e", "tls_state=enabled")
    assert done.returncode == 2
    assert tls_flags(cluster) == [OFF] * 4
    for name in ("n1", "n3", "n4"):
        assert f"{name}: TLS put back as it was on 2 NPUs. Failed: n2" in done.stdout, done.stdout
    assert "n2: TLS put back as it was on 1 NPUs. 1 of 2 devices failed: NPU 1: The Certificate has expired! (set a valid certificate" in done.stdout


def test_device_whose_file_was_not_written_is_rolled_back(cluster: Path) -> None:
    set_state(cluster / "n2", "1.conf_refused=1")
    done = tls(cluster, "-e", "tls_state=enabled")
    assert done.returncode == 2
    assert tls_flags(cluster) == [OFF] * 4
    assert [Node(str(cluster / name)).state.get(device, "tls") for name in HOSTS for device in range(2)] == ["0"] * 8
    assert "n1: TLS put back as it was on 2 NPUs. Failed: n2" in done.stdout, done.stdout
    assert "n2: TLS put back as it was on 2 NPUs. 1 of 2 devices failed: NPU 1: Write configurations to config file failed." in done.stdout, done.stdout


def test_failed_rollback_is_reported(cluster: Path) -> None:
    set_state(cluster / "n2", "1.tls_badcert=-107")
    set_state(cluster / "n3", "0.killed_late=9")
    done = tls(cluster, "-e", "tls_state=enabled")
    assert done.returncode == 2
    assert "n3: TLS could not be put back as it was: 1 of 2 devices failed: NPU 0: hccn_tool was ended by signal 9" in done.stdout, done.stdout
    assert "Failed: n2, n3" in done.stdout and "n1: TLS put back as it was on 2 NPUs" in done.stdout


def test_partial_change_is_kept_with_keep(cluster: Path) -> None:
    set_state(cluster / "n2", "1.tls_badcert=-107")
    done = tls(cluster, "-e", "tls_state=enabled", "-e", "tls_on_partial=keep")
    assert done.returncode == 2
    assert tls_flags(cluster) == [ON, "tls_enable_0=1\ntls_enable_1=0\n", ON, ON]
    assert "n1: TLS enabled on 2 of 2 NPUs, 2 of them set now. Failed: n2" in done.stdout


def test_host_that_fails_earlier_in_bring_up_leaves_tls_of_all_unchanged(cluster: Path) -> None:
    inventory = cluster / "hosts"
    inventory.write_text(inventory.read_text().replace(str(cluster / "n3/bin/npu-smi"), "/opt/nowhere/npu-smi"))
    done = tls(cluster, "-e", "bring_up_tls_state=enabled", playbook="bring_up")
    assert done.returncode == 2
    assert tls_flags(cluster) == [OFF] * 4
    assert "n1: TLS left as it was, since not every host can change. Failed: n3" in done.stdout, done.stdout + done.stderr
    assert "failed cluster: TLS was left or put back as it was on n1, n2, n4, since it could not be set on n3 -> " in done.stdout, done.stdout + done.stderr
