"""bring_up over hosts of which some differ: an old firmware, another QoS setting, swapped cables. Each is named with its numbers, nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.evidence.history import findings, piece
from tests.lib.hosts import node, set_state, tools, write_inventory
from tests.lib.playbook import run_playbook

RAILS = [f"{device}.lldp_system=leaf-{device}" for device in range(4)]


def made(folder: Path, *names: str) -> None:
    """Make hosts with four NPUs, each on the leaf of its rail, and CANN."""
    hosts = {}
    for number, name in enumerate(names, 1):
        root = node(folder / name, "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", devices=4)
        set_state(root, *RAILS, *(f"{device}.lldp_port=400GE1/1/{number}" for device in range(4)))
        install_cann(folder, name, "8.2.RC1")
        hosts[name] = {**tools(root), "bring_up_cann_home": str(folder / name / "cann")}
    write_inventory(folder, hosts)


def install_cann(folder: Path, name: str, version: str) -> None:
    path = folder / name / "cann/aarch64-linux/ascend_toolkit_install.info"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"package_name=Ascend-cann-toolkit\nversion={version}\ninnerversion=V100R001\n")


def bring_up(folder: Path, code: int) -> dict[str, dict[str, Any]]:
    kept = {"ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results", "HCCN_RESULTS_PATH": str(folder / "history")}
    done = run_playbook("hccn.cluster.bring_up", folder / "hosts", "-e", json.dumps({"bring_up_tls_state": "unchanged"}), **kept)
    assert done.returncode == code, done.stdout + done.stderr
    return findings(folder / "history")


@pytest.mark.long
def test_hosts_that_differ_are_named_and_later_changes_noted(tmp_path: Path) -> None:
    made(tmp_path, "n1", "n2", "n3", "n4")
    assert bring_up(tmp_path, 0) == {}
    set_state(tmp_path / "n2", "*.npu_firmware=1.0.old", "*.firmware_version=7.0.old")
    install_cann(tmp_path, "n4", "8.0.RC3")
    set_state(tmp_path / "n3", "1.lldp_system=leaf-2", "2.lldp_system=leaf-1", "0.bitmap=0,0,0,0,0,1,0,0", "3.dscp.26=3")
    found = bring_up(tmp_path, 2)
    degraded = {key: one["message"] for key, one in found.items() if one["severity"] == "degraded"}
    assert degraded.pop("cable_swapped n3 NPUs 1-2") == (
        "their cables are swapped: n3 NPU 1 is on leaf-2 port 400GE1/1/3, n3 NPU 2 is on leaf-1 port 400GE1/1/3")
    assert piece(found["cann_differs n4"], "differs")["values"] == {"setting": "CANN", "value": "8.0.RC3", "count": 12, "usual": "8.2.RC1"}
    assert sorted(degraded) == ["cann_differs n4", "firmware_differs n2", "qos_differs n3 NPU 0", "qos_differs n3 NPU 3"]
    assert degraded["qos_differs n3 NPU 0"] == "PFC is on for priority 5, that of 15 other NPUs is off for all priorities"
    changed = {key: sorted({one["values"]["setting"] for one in finding["evidence"]}) for key, finding in found.items() if finding["severity"] == "note"}
    assert changed == {"changed_since n2": ["firmware", "network_firmware"], "changed_since n3": ["dscp_to_tc", "pfc", "switch"],
                       "changed_since n4": ["cann"]}
