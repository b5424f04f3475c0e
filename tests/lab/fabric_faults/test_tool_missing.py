"""A host without the measurement tool: it is named with the command that installs the tool, and no host waits for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import testbed
from tests.lab.fabric_faults.check import check, records, verdicts
from tests.lib.project import skip
from tests.lab.testbed import Lab, Unavailable, packages

ADDRESSES = {"check_fabric_addresses": ["{{ ansible_host | replace('10.77.0.', '10.78.') }}.10", "{{ ansible_host | replace('10.77.0.', '10.78.') }}.11"]}
WITH_IPERF3 = {"check_fabric_tool": "iperf3", "check_fabric_duration_s": 1, "check_fabric_size": "64K", "check_fabric_relative_floor": 0.5}
MISSING = "iperf3 is not installed (apt-get install --yes iperf3)"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    if not shutil.which("apt-get"):
        skip("testbed", "no apt-get, which the message names")
    try:
        packages.ensure({"iperf3": "iperf3"}, "the test")
        with testbed.lab(3, npus=2, link_rate="50mbit", variables=ADDRESSES) as up:
            up.exec("node1", ["rm", shutil.which("iperf3")], check=True)
            yield up
    except Unavailable as reason:
        skip("testbed", str(reason))


def test_a_host_without_the_tool_is_not_measured(lab: Lab, tmp_path: Path) -> None:
    play = check(lab, tmp_path, **WITH_IPERF3)
    assert play.end() == 2, play.output
    assert f"\nLeft out: node1 port 0: {MISSING}\n" in play.output
    assert f"failed node1 ports 0-1: {MISSING} -> ansible-playbook hccn.cluster.perf_tools -e hccn_hosts=node1\n" in play.output
    found = verdicts(play)
    assert found["node1"] == ("not_measured", f"NPU 0, 1 were left out: {MISSING}")
    assert {name: verdict for name, (verdict, _message) in found.items() if name != "node1"} == {"node2": "good", "node3": "good"}
    assert {record["status"] for record in records(play, "rdma")} == {"ok"}
