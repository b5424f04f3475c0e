"""perftest between RDMA cards of a made-up sysfs: the options of the role arrive in the tool, and the port of a card is chosen by its number."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from tests.integration.check_fabric.cluster import KEY
from tests.integration.check_fabric.play import read_results
from tests.lib.module import call_module
from tests.lib.playbook import run_playbook
from tests.lib.ports import free_port
from tests.lib.project import SIMULATOR
from tests.simulator.perftest_sim.card import make_card, open_card

PLAYBOOK = """
- hosts: npu
  gather_facts: false
  module_defaults:
    hccn.cluster.perf_tools_info: {root: "{{ root }}"}
    hccn.cluster.rdma_perf: {root: "{{ root }}"}
  environment:
    PATH: "{{ programs }}:{{ lookup('ansible.builtin.env', 'PATH') }}"
    PERFTEST_SIM_ROOT: "{{ root }}"
    PERFTEST_SIM_ADDRESS: "{{ check_fabric_addresses[0] }}"
  roles: [hccn.cluster.check_fabric]
  post_tasks:
    - ansible.builtin.copy:
        content: "{{ {'result': check_fabric_result, 'verdict': check_fabric_verdict} | to_json }}"
        dest: "{{ root }}/results.json"
        mode: "0600"
"""
PROGRAMS = [f"ib_{operation}_{kind}" for operation in ("write", "read", "send") for kind in ("bw", "lat")]
NETWORK = f"127.{10 + os.getpid() % 200}.2"
INFINIBAND = {1: {"link_layer": "InfiniBand", "rate": "200", "state": "DOWN"}, 2: {"link_layer": "InfiniBand", "rate": "200"}}
LARGE = {"check_fabric_size": 65536, "check_fabric_qps": 8, "check_fabric_iterations": 500000}
"""-s 65536 -q 8 -n 500000"""


def programs(folder: Path) -> Path:
    """Return a new folder with the programs of perftest."""
    made = folder / "programs"
    made.mkdir()
    for program in PROGRAMS:
        (made / program).symlink_to(SIMULATOR / "bin/perftest_program")
    return made


def hosts_with(folder: Path, cards: dict[str, Any], count: int = 2) -> None:
    """Make hosts, each with these cards, and the programs of perftest. ``{address}`` in a card stands for the address of the host."""
    programs(folder)
    for number in range(1, count + 1):
        for device, ports in cards.items():
            own = {port: {key: text.format(address=f"{NETWORK}.{number}") for key, text in given.items()} for port, given in ports.items()}
            make_card(folder / f"n{number}", device, own)


def play(folder: Path, code: int = 0, of_hosts: Mapping[str, Mapping[str, Any]] | None = None, **variables: Any) -> str:
    """Run the role on all hosts, each with its further variables, and return the output."""
    hosts = {f"n{number}": {"root": str(folder / f"n{number}"), "check_fabric_addresses": [f"{NETWORK}.{number}"], "check_fabric_control_port": free_port(),
                            "check_fabric_state_dir": str(folder / f"n{number}/runs"), **(of_hosts or {}).get(f"n{number}", {})}
             for number in range(1, 1 + len(list(folder.glob("n?"))))}
    common = {"ansible_connection": "local", "programs": str(folder / "programs"), "check_fabric_control_address": "127.0.0.1", "check_fabric_tool": "perftest",
              "check_fabric_plan": "full", "check_fabric_confirm": False, "check_fabric_rdma_device": "mlx5_0", **variables}
    (folder / "hosts.json").write_text(json.dumps({"npu": {"hosts": hosts, "vars": common}}))
    (folder / "play.yml").write_text(PLAYBOOK)
    done = run_playbook("play.yml", "hosts.json", cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    return re.sub(r"\n {8}", " ", done.stdout + done.stderr)


def measured(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Return the hosts that are good, and the only record of the run."""
    results = [read_results(folder / f"n{number}/results.json") for number in (1, 2)]
    (record,) = [record for found in results for record in found["result"]["measurements"]]
    return results[0]["verdict"]["hosts"]["good"], record


def calls(folder: Path, host: str) -> list[str]:
    """Return the command lines that the stand-in received on a host."""
    path = folder / host / "perftest_calls"
    return path.read_text().splitlines() if path.exists() else []


def test_ports_of_a_card(tmp_path: Path) -> None:
    """n1 and n2 are measured by their second port, with eight queue pairs. n3 does not say which port it uses, and the port of n4 is down."""
    hosts_with(tmp_path, {"mlx5_0": INFINIBAND}, 4)
    output = play(tmp_path, code=2, of_hosts={"n1": {"check_fabric_rdma_port": 2}, "n2": {"check_fabric_rdma_port": 2}, "n4": {"check_fabric_rdma_port": 1}},
                  **LARGE)
    good, record = measured(tmp_path)
    source, target = record["source"]["host"], record["target"]
    server = "ib_write_bw -d mlx5_0 -i 2 -F -p 18515 -s 65536 -n 500000 -q 8 --report_gbits"
    assert (good, calls(tmp_path, target["host"]), calls(tmp_path, source)) == (["n1", "n2"], [server], [f"{server} {target['address']}"])
    assert " ".join(record["command"]) == f"{server} {target['address']}"
    assert record["options"] == {"size_bytes": 65536, "iterations": 500000, "qps": 8}
    assert record["samples"] == [{"size_bytes": 65536, "iterations": 4000000, "bandwidth_gbit_s": 194.0}]
    assert "1 pair of ports over 2 hosts in 1 round, " in output
    assert "write bandwidth, 65536 bytes, about 1.4 minutes of measuring, 1.9 minutes in all without a confirmation run" in output
    assert "slowest 194 Gbit/s (n2 port 0 to n1 port 0), finished" in output or "slowest 194 Gbit/s (n1 port 0 to n2 port 0), finished" in output
    assert re.findall(r"\bNPUs?\b", output) == []
    assert f"{NETWORK}.3 does not identify one of the InfiniBand ports mlx5_0 port 1, mlx5_0 port 2 (choose one with rdma_device and rdma_port)" in output
    assert "mlx5_0 port 1 is DOWN (LinkUp) (check cable, optical module and switch port)" in output
    assert (calls(tmp_path, "n3"), calls(tmp_path, "n4")) == ([], [])


@pytest.mark.long
def test_card_that_a_process_uses_is_not_measured(tmp_path: Path) -> None:
    hosts_with(tmp_path, {"mlx5_0": INFINIBAND})
    open_card(tmp_path / "n2", 4711, "python3")
    output = play(tmp_path, check_fabric_rdma_port=2, check_fabric_cpu_governor="performance", hccn_fail_on="failed")
    _good, record = measured(tmp_path)
    assert (record["status"], record["error"]["code"]) == ("not_run", "device_busy")
    assert "mlx5_0 is busy: pid 4711 (python3)" in record["error"]["message"]
    assert (calls(tmp_path, "n1"), calls(tmp_path, "n2")) == ([], [])
    assert "cpu_governor is performance, but this host has no CPU frequency governor" in " ".join(output.split())
    play(tmp_path, check_fabric_rdma_port=2, check_fabric_allow_busy=True)
    assert measured(tmp_path)[1]["status"] == "ok"


@pytest.mark.long
def test_all_options_of_a_roce_port(tmp_path: Path) -> None:
    hosts_with(tmp_path, {"mlx5_0": {1: {"link_layer": "Ethernet", "rate": "100", "address": "10.0.0.9"}, 2: {
        "link_layer": "Ethernet", "rate": "100", "address": "{address}"}}})
    play(tmp_path, check_fabric_operation="read", check_fabric_qps=4, check_fabric_mtu=1024, check_fabric_gid_index=3, check_fabric_bidirectional=True,
         check_fabric_traffic_class="132", check_fabric_rdma_port=2)
    good, record = measured(tmp_path)
    assert (good, " ".join(record["command"])) == (["n1", "n2"], (
        "ib_read_bw -d mlx5_0 -i 2 -x 3 -F -p 18515 -b -s 65536 -n 5000 -q 4 -m 1024 --tclass 132 --report_gbits " + record["target"]["address"]))
    assert record["options"] == {"size_bytes": 65536, "iterations": 5000, "qps": 4, "mtu": 1024, "gid_index": 3, "traffic_class": 132, "bidirectional": True}
    assert record["samples"] == [{"size_bytes": 65536, "iterations": 20000, "bandwidth_gbit_s": 194.0}]


def test_options_that_a_tool_does_not_have_are_refused_before_any_host_is_probed(tmp_path: Path) -> None:
    hosts_with(tmp_path, {"mlx5_0": INFINIBAND})
    output = play(tmp_path, code=2, check_fabric_tool="roce_test", check_fabric_rdma_port=2)
    assert "check_fabric_tool is roce_test: rdma_device does not apply to roce_test (omit it: only perftest uses the RDMA device of a host)" in output
    assert ("TASK [hccn.cluster.check_fabric : Validate the options of the measurement]" in output, "Probe the tool" in output) == (True, False)


def test_source_port_needs_a_release_with_flow_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts_with(tmp_path, {"mlx5_0": {1: {"link_layer": "Ethernet", "rate": "100", "address": "{address}"}}})
    hosts = [{"host": f"n{number}", "control_address": "127.0.0.1", "control_port": free_port(), "devices": [{"id": 0, "address": f"{NETWORK}.{number}"}]}
             for number in (1, 2)]
    monkeypatch.setenv("PATH", f"{tmp_path}/programs:{os.environ['PATH']}")
    monkeypatch.setenv("PERFTEST_SIM_ROOT", str(tmp_path / "n1"))
    refused = call_module("rdma_perf", {"run_id": "r1", "plan": make_plan(hosts, "full"), "host": "n1", "key": KEY, "tool": "perftest", "rdma_device": "mlx5_0",
                                        "source_port": 50001, "root": str(tmp_path / "n1"), "state_dir": str(tmp_path / "n1/runs")})
    assert refused["failed"] is True
    assert refused["msg"].startswith("source_port needs the option --flow_label, which ib_write_bw 6.06 of this host does not have")
    assert calls(tmp_path, "n1") == []
