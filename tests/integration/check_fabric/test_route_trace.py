"""The routers that the packets of a pair pass, in a network of two hosts with two routers between them, which the source port chooses between."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.check_fabric.test_perftest import PLAYBOOK, calls, programs
from tests.lab import testbed
from tests.lib.playbook import ANSIBLE_PLAYBOOK, BYTECODE, ansible_environment, unfolded
from tests.lib.project import ROOT, skip
from tests.simulator.perftest_sim.card import make_card

NETWORK = Path(__file__).with_name("routed_network.sh")
TRACE = """
import json, sys
from ansible_collections.hccn.cluster.plugins.module_utils._perf.route_trace import routers
print(json.dumps([routers(*one) for one in json.loads(sys.argv[1])]))
"""


def on_host_a(*argv: str | Path, code: int = 0) -> str:
    """Run a command in the network, and return its output."""
    try:
        testbed.require()
    except testbed.Unavailable as error:
        skip("testbed", str(error))
    done = subprocess.run(["unshare", "--net", "--mount", "bash", "-eu", str(NETWORK), *map(str, argv)], cwd=ROOT, stdin=subprocess.DEVNULL,
                          env=ansible_environment(PYTHONPATH=f"{BYTECODE}:{ROOT / 'collections'}"), capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def traced(*wanted: tuple[str, str, int, str | None]) -> list[list[str]]:
    """Return the routers from a to b for each source address, target, source port and interface of a."""
    found: list[list[str]] = json.loads(on_host_a(sys.executable, "-c", TRACE, json.dumps(wanted)))
    return found


@pytest.mark.parametrize("target", ["10.9.0.8", "10.9.0.9"])
def test_router_is_that_of_the_source_port(target: str) -> None:
    """The second target does not answer, like an RDMA card."""
    assert traced(*(("10.9.0.1", target, port, None) for port in (50000, 50001, 50000))) == [["10.9.11.2"], ["10.9.12.2"], ["10.9.11.2"]]


def test_packets_leave_from_the_given_interface() -> None:
    assert traced(*(("10.9.0.1", "10.9.0.8", 50001, interface) for interface in ("r2", "r1", "r3"))) == [["10.9.12.2"], ["10.9.11.2"], []]


def test_nothing_is_found_without_a_route_or_the_source_address() -> None:
    assert traced(("10.9.0.1", "192.0.2.1", 50000, None), ("192.0.2.9", "10.9.0.8", 50000, None)) == [[], []]


def test_router_of_one_bad_link_of_two_is_named(tmp_path: Path) -> None:
    """n1 and n3 are on a, n2 on b. Between n1 and n2, the stand-in for perftest is slow with odd source ports, whose packets pass r2. The confirmation run
    measures with other source ports too."""
    addresses = {"n1": "10.9.0.1", "n2": "10.9.0.8", "n3": "10.9.0.3"}
    python = tmp_path / "python_on_b"
    python.write_text(f'#!/bin/sh\nexec ip netns exec b {sys.executable} "$@"\n')
    python.chmod(0o755)
    slow = {"n1": addresses["n2"], "n2": addresses["n1"], "n3": addresses["n3"]}
    for host, address in addresses.items():
        make_card(tmp_path / host, "mlx5_0", {1: {"link_layer": "Ethernet", "rate": "100", "address": address}})
        (tmp_path / host / "perftest_newer").touch()
        (tmp_path / host / "perftest_slow_paths").write_text(slow[host])
    hosts = {host: {"root": str(tmp_path / host), "check_fabric_addresses": [address], "check_fabric_control_address": address,
                    "check_fabric_state_dir": str(tmp_path / host / "runs"), "check_fabric_control_port": 18500 + place,
                    **({"ansible_python_interpreter": str(python)} if host == "n2" else {})} for place, (host, address) in enumerate(addresses.items())}
    common = {"ansible_connection": "local", "programs": str(programs(tmp_path)), "check_fabric_tool": "perftest", "check_fabric_plan": "full",
              "check_fabric_rdma_device": "mlx5_0", "check_fabric_source_port": 50001, "hccn_fail_on": "slow"}
    (tmp_path / "hosts.json").write_text(json.dumps({"npu": {"hosts": hosts, "vars": common}}))
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    output = unfolded(on_host_a(ANSIBLE_PLAYBOOK, "-i", tmp_path / "hosts.json", tmp_path / "play.yml", code=2))
    assert ("slow, 40 % below normal: good with another source port or number of queue pairs, bad again as before: one of several links of the path is bad, "
            "not the host; each bad measurement that was traced passed 10.9.22.2, and no good one did") in output
    labels = [re.findall("--flow_label=([0-9]+)", call) for host in hosts for call in calls(tmp_path, host)]
    assert {int(label) % 2 for (label,) in labels} == {0, 1}
