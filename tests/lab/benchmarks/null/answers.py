"""Write answers of modules on a thousand hosts: the real answers of one simulated node, with the addresses of each host."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record, utc
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import rounds_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.ping_plan import ping_plan
from tests.lab.benchmarks.null.connection.canned import answer_name
from tests.lib.hosts import node, tools
from tests.lib.module import call_module

DEVICES = 8
TOPICS: list[list[str]] = [["address", "link"], ["address", "super_pod"], ["address", "link", "processes", "speed", "optical", "counters", "link_changes"]]
"""The topics that the playbooks read from the devices with device_info."""
STATES: list[dict[str, Any]] = [
    {"gather": [], "tls_state": "disabled"},
    {"settings": {}, "config": [], "keep_previous": True,
     "gather": ["address", "gateway", "netdetect", "tls", "link", "health", "mtu", "speed", "versions", "network_version", "dscp_to_tc", "pfc", "lldp",
                "optical", "counters", "link_changes"]}]
"""The options with which bring_up calls device_state."""
NETWORK, SERIAL = "10.78.1.", "SIMREAL"
"""Prefixes of addresses and serial numbers of the simulated node."""


def network(number: int) -> str:
    return f"10.{100 + number // 250}.{number % 250}."


def names(count: int) -> list[str]:
    return [f"node{number:04d}" for number in range(count)]


def inventory(count: int) -> dict[str, Any]:
    hosts = {name: {"ansible_host": f"192.0.{number // 250}.{number % 250 + 1}"} for number, name in enumerate(names(count))}
    variables = {"ansible_connection": "canned", "ansible_python_interpreter": sys.executable, "bring_up_tls_state": "disabled"}
    return {"npu": {"hosts": hosts, "vars": variables}}


def idle() -> list[dict[str, Any]]:
    """Return a play of four tasks per host that do nothing, as many as bring_up has. Its cost is the cost of the tasks in Ansible."""
    sent: dict[str, Any] = {"name": "Send a module that does nothing", "ansible.builtin.ping": {}}
    printed = {"name": "Print nothing", "ansible.builtin.debug": {"msg": ""}}
    return [{"name": "Do nothing", "hosts": "npu", "gather_facts": False, "tasks": [sent, {**sent, "when": False}, printed, sent]}]


def write(folder: Path, count: int) -> None:
    """Write the answers below ``folder``: module.json for all hosts, HOST/module.json for one host."""
    real = node(folder / "real", "--address-template", f"{NETWORK}1{{device}}", "--netmask", "255.0.0.0", "--conf-from-state", devices=DEVICES)
    options = tools(real)
    tls = call_module("device_tls", {**options, "state": "disabled"})
    probed = {answer_name("device_info", topics): call_module("device_info", {**options, "fail_on": "none", "gather": topics}) for topics in TOPICS}
    probed.update((answer_name("device_state", state["gather"]), call_module("device_state", {**options, **state})) for state in STATES)
    shared = {"device_tls": {**tls, "changed": False},
              "rdma_perf": {"changed": False, "run_id": "r", "state": "running", "progress": {}, "measurements": []},
              "stat": {"changed": False, "stat": {"exists": False}}, "copy": {"changed": True, "dest": "/etc/hccl.json", "mode": "0640", "owner": "root"},
              "file": {"changed": False}, "nothing": {"changed": False}}
    for module, answer in shared.items():
        (folder / f"{module}.json").write_text(json.dumps({key: value for key, value in answer.items() if key not in ("ansible_facts", "invocation")}))
    of_host, pinged = measured(make_plan(hosts(count), "quick", compact=True)), _pinged(count)
    for number, name in enumerate(names(count)):
        (folder / name).mkdir()
        for kind, answer in probed.items():
            own = json.dumps({**answer, "machine": f"{number:016x}"}).replace(NETWORK, network(number)).replace(SERIAL, f"SIM{number}X")
            (folder / name / f"{kind}.json").write_text(own)
        (folder / name / "rdma_perf_info.json").write_text(json.dumps(_over(of_host[name], count)))
        (folder / name / "device_ping.json").write_text(json.dumps({"changed": False, "commands": [], "measurements": pinged[name]}))


def hosts(count: int) -> list[dict[str, Any]]:
    """Return the hosts as the filters for plans take them."""
    return [{"host": name, "control_address": name, "control_port": 1,
             "devices": [{"id": device, "address": f"{network(number)}1{device}"} for device in range(DEVICES)]} for number, name in enumerate(names(count))]


def _pinged(count: int) -> Mapping[str, list[dict[str, Any]]]:
    """Return the records of the pings of check_reachability by host."""
    return {host: [record("ping", f"r/ping/{one['device']}/{one['address']}", source={"device": one["device"]}, started_at=utc(), duration_s=0.1,
                          target={"address": one["address"], "host": one["host"], "device": one["target_device"]},
                          samples=[{"sent": 3, "received": 3, "loss_percent": 0.0, "latency_us": {"min": 34.0, "avg": 48.0, "max": 70.0}}])
                   for one in targets] for host, targets in ping_plan(hosts(count))["targets"].items()}


def measured(plan: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the records of a plan by host, the initiator of each record."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in plan["hosts"]}
    for pairs in rounds_of(plan):
        for pair in pairs:
            source, target = pair["source"], pair["target"]
            command = ["hccn_tool", "-i", str(source["device"]), "-roce_test", "ib_send_bw", "-s", "65536", "-n", "5000", "address", target["address"]]
            found[source["host"]].append(record(
                "rdma", f"r/{pair['id']}/forward/0", tool={"name": "roce_test", "version": "23.0"}, operation="write", measure="bandwidth", source=source,
                target=target, options={"qps": 1, "iterations": 5000}, context={"product": "A2", "rail": source["device"], "line_rate_gbit_s": 200.0},
                samples=[{"size_bytes": 65536, "iterations": 5000, "bandwidth_gbit_s": 195.0 + source["device"] / 10}], command=command,
                started_at=utc(), duration_s=8.2))
    return found


def _over(measurements: list[dict[str, Any]], count: int) -> dict[str, Any]:
    pairs = len(measurements)
    fabric = {"hosts": count, "hosts_heard": count, "hosts_over": count, "hosts_silent": 0, "silent": [], "pairs_done": count * DEVICES, "pairs_failed": 0,
              "round": 2, "over": True, "seconds": 17.0, "age": 0.1}
    return {"changed": False, "run_id": "r", "state": "finished", "alive": False, "progress": {"pairs": pairs, "done": pairs, "failed": 0},
            "measurements": measurements, "fabric": fabric}
