"""check_reachability on simulated hosts: lost packets are attributed to the NPU, also while it works, and no work is disturbed."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.integration.evidence.history import findings, records
from tests.lib.playbook import run_playbook, unfolded
from tests.simulator.hccn_sim import layout

MAY_RUN = {"-h", "-ip", "-link", "-ping"}
"""Commands of hccn_tool that read, and the ping."""


class Hosts:
    """Simulated hosts whose calls of hccn_tool are logged."""

    def __init__(self, folder: Path, count: int, devices: int) -> None:
        self.folder = folder
        self.names = [f"n{number}" for number in range(1, count + 1)]
        hosts: dict[str, Any] = {}
        for number, name in enumerate(self.names, 1):
            root = folder / name
            layout.init(str(root), {"fabric": "loopback", "devices": devices}, address_template=f"10.70.{number}.1{{device}}", netmask="255.255.0.0",
                        state=[], conf_from_state=True)
            counted = root / "bin/counted"
            counted.write_text(f'#!/bin/sh\necho "$@" >> {root}/calls\nexec {root}/bin/hccn_tool "$@"\n')
            counted.chmod(0o755)
            hosts[name] = {"root": str(root)}
        common = {"ansible_connection": "local", "hccn_tool": "{{ root }}/bin/counted", "npu_smi": "{{ root }}/bin/npu-smi",
                  "hccn_conf": "{{ root }}/etc/hccn.conf"}
        (folder / "hosts.json").write_text(json.dumps({"npu": {"hosts": hosts, "vars": common}}))

    def set_state(self, name: str, *state: str) -> None:
        layout.set_state(str(self.folder / name), list(state))

    def calls(self, name: str) -> list[list[str]]:
        """Return the calls of hccn_tool, without the device."""
        lines = [line.split() for line in (self.folder / name / "calls").read_text().splitlines()]
        return [line[2:] if line[0] == "-i" else line for line in lines]

    def check(self, code: int, **variables: Any) -> str:
        kept = {"ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results", "HCCN_RESULTS_PATH": str(self.folder / "history")}
        done = run_playbook("hccn.cluster.check_reachability", self.folder / "hosts.json", "--forks", "4", "-e", json.dumps(variables), cwd=self.folder,
                            timeout=580, **kept)
        assert done.returncode == code, done.stdout + done.stderr
        return unfolded(done.stdout)


@pytest.mark.smoke("check_reachability")
def test_healthy_fabric_of_busy_npus(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 4, 2)
    for name in hosts.names:
        hosts.set_state(name, "*.process=4711:python3:100")
    output = hosts.check(0, check_reachability_partners=2)
    assert findings(tmp_path / "history") == {}
    assert "8 pairs of NPUs were pinged: 24 packets, 0 lost, median round-trip time 34 us" in output
    pings = records(tmp_path / "history", "ping")
    assert len(pings) == 8
    assert all(set(ping["target"]) == {"host", "device", "address"} and ping["target"]["host"] != ping["source"]["host"] for ping in pings)
    met = Counter((end["host"], end["device"]) for ping in pings for end in (ping["source"], ping["target"]))
    assert met == Counter({(name, device): 2 for name in hosts.names for device in (0, 1)})


def test_packets_that_a_busy_npu_loses_are_attributed_to_it(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 4, 2)
    hosts.set_state("n3", "1.ping=loss1", "1.process=4711:python3:100")
    hosts.set_state("n4", "0.link=0")
    hosts.check(2)
    found = findings(tmp_path / "history")
    assert list(found) == ["failed_npu n3 NPU 1", "link_down n4 NPU 0"]
    lost = found["failed_npu n3 NPU 1"]
    assert (lost["stage"], lost["severity"]) == ("check_reachability", "failed")
    assert lost["message"].startswith("it fails with 3 of 3 proven-good partners: ")
    pairs = [piece["message"].partition(": ")[2] for piece in lost["evidence"] if piece["code"] == "pair"]
    assert set(pairs) == {"packets_lost: 1 of 3 packets lost: recv time out"}


@pytest.mark.long
def test_cost_of_64_hosts_and_nothing_is_disturbed(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 64, 2)
    hosts.set_state("n9", "*.process=4711:python3:100")
    began = time.monotonic()
    output = hosts.check(0)
    seconds = time.monotonic() - began
    assert "256 pairs of NPUs were pinged: 768 packets, 0 lost" in output
    calls = {name: Counter(call[0] for call in hosts.calls(name)) for name in hosts.names}
    assert set().union(*calls.values()) <= MAY_RUN
    assert sum(found["-ping"] for found in calls.values()) == 256
    assert {(found["-ip"], found["-link"]) for found in calls.values()} == {(2, 2)}
    print(f"\n64 hosts, 128 NPUs, 256 pings: {seconds:.0f} s, {sum(sum(found.values()) for found in calls.values()) / 64:.1f} calls of hccn_tool a host")
