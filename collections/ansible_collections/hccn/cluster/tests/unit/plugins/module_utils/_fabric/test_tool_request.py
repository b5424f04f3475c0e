from __future__ import annotations

import socket

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import request, session
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import parse_plan

KEY = "0123456789abcdef0123456789ABCDEF"


def end(host, device, address):
    return {"host": host, "device": device, "address": address}


PLAN = {
    "hosts": {name: {"control_address": "127.0.0.1", "control_port": 18514} for name in "ab"},
    "rounds": [[{"id": "p0001", "source": end("a", 1, "10.0.0.1"), "target": end("b", 2, "10.0.0.2")}]],
}


@pytest.fixture
def params(tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, output in (("iperf3", "iperf 3.12 (cJSON 1.7.15)"), ("ib_send_bw", "Version: 6.10")):
        (programs / name).write_text("#!/bin/sh\necho '%s'\n" % output)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return {
        "run_id": "r1", "state": "present", "plan": PLAN, "host": "a", "key": KEY, "tool": "iperf3", "operation": "send", "measure": "bandwidth",
        "size": None, "iterations": None, "duration": 5, "qps": None, "mtu": None, "gid_index": None, "traffic_class": None, "source_port": None,
        "parallel": "rails",
        "server_start_delay": 4.0, "pair_timeout": 60.0, "meeting_timeout": 0.0, "wait": True, "state_dir": str(tmp_path / "state"), "purge": False,
        "devices": ["all"], "hccn_tool": "hccn_tool", "npu_smi": "npu-smi", "timeout": 5, "fail_on": "any", "allow_busy": False,
        "rdma_device": None, "rdma_port": None, "cpu_governor": "keep", "bidirectional": False, "resume": None, "root": str(tmp_path),
        "reporters": [], "context": None,
    }


def test_iperf3_connects_to_the_port_of_the_other_device(params):
    assert session.perform(params, True)["commands"] == [
        ["iperf3", "-c", "10.0.0.2", "-J", "-p", "5203", "--connect-timeout", "3000", "-t", "5"]]
    assert session.perform({**params, "host": "b", "bidirectional": True}, True)["commands"] == [
        ["iperf3", "-s", "-1", "-J", "-B", "10.0.0.2", "-p", "5203"]]


def test_the_version_of_iperf3_is_recorded(params):
    tool = request.ToolRequest.parse(params).make(parse_plan(PLAN, "a", "r1"))
    assert tool.describe()["tool"] == {"name": "iperf3", "version": "3.12"}


def two_ports(root, layer):
    """Make a card with two ports: port 1 has 10.0.0.9 on Ethernet, port 2 10.0.0.1, both as GID 3. The address of InfiniBand is not a GID."""
    for number, last in ((1, "0009"), (2, "0001")):
        port = root / "sys/class/infiniband/mlx5_0/ports" / str(number)
        files = {"state": "4: ACTIVE", "link_layer": layer, "gids/3": "0000:0000:0000:0000:0000:ffff:0a00:" + last, "gid_attrs/types/3": "RoCE v2"}
        for name, text in files.items():
            (port / name).parent.mkdir(parents=True, exist_ok=True)
            (port / name).write_text(text + "\n")
    (root / "sys/class/infiniband_verbs/uverbs0").mkdir(parents=True)
    (root / "sys/class/infiniband_verbs/uverbs0/ibdev").write_text("mlx5_0\n")
    (root / "dev/infiniband").mkdir(parents=True)
    (root / "dev/infiniband/uverbs0").write_text("")


LARGE = {"size": "65536", "qps": 8, "iterations": 500000, "duration": None}
"""-s 65536 -q 8 -n 500000"""
ALL = {"size": "64K", "qps": 8, "mtu": 1024, "gid_index": 3, "traffic_class": 132, "bidirectional": True, "iterations": 500, "duration": None}
PERFTEST = {"tool": "perftest", "rdma_device": "mlx5_0"}


@pytest.mark.parametrize("layer, changes, argv", [
    ("InfiniBand", {**PERFTEST, **LARGE, "rdma_port": 2}, "ib_send_bw -d mlx5_0 -i 2 -F -p 18517 -s 65536 -n 500000 -q 8 --report_gbits 10.0.0.2"),
    ("InfiniBand", {**PERFTEST, **LARGE, "rdma_port": 1}, "ib_send_bw -d mlx5_0 -i 1 -F -p 18517 -s 65536 -n 500000 -q 8 --report_gbits 10.0.0.2"),
    ("Ethernet", {**PERFTEST, **LARGE}, "ib_send_bw -d mlx5_0 -i 2 -x 3 -F -p 18517 -s 65536 -n 500000 -q 8 --report_gbits 10.0.0.2"),
    ("Ethernet", {"tool": "perftest", "rdma_port": 1, **ALL},
     "ib_send_bw -d mlx5_0 -i 1 -x 3 -F -p 18517 -b -s 65536 -n 500 -q 8 -m 1024 --tclass 132 --report_gbits 10.0.0.2"),
    ("Ethernet", {"tool": "roce_test", "hccn_tool": "iperf3", **ALL},
     "-i 1 -roce_test ib_send_bw -b -s 65536 -n 500 -q 8 -m 1024 -x 3 -tclass 132 address 10.0.0.2 -tcp"),
    ("Ethernet", {"bidirectional": True, "qps": 8, "size": "64K"},
     "iperf3 -c 10.0.0.2 -J -p 5203 --connect-timeout 3000 --bidir -t 5 -P 8 -l 65536"),
    ("Ethernet", {"source_port": 50000}, "iperf3 -c 10.0.0.2 -J -p 5203 --connect-timeout 3000 -t 5 --cport 50000"),
])
def test_options_reach_the_command_line(params, tmp_path, layer, changes, argv):
    two_ports(tmp_path, layer)
    (command,) = session.perform({**params, **changes}, True)["commands"]
    assert (command[1:] if changes.get("tool") == "roce_test" else command) == argv.split()


@pytest.mark.parametrize("changes", [{"tool": "perftest"}, {"tool": "iperf3"}])
def test_an_rdma_device_with_a_process_is_not_measured(params, tmp_path, changes):
    two_ports(tmp_path, "Ethernet")
    (tmp_path / "proc/4711/fd").mkdir(parents=True)
    (tmp_path / "proc/4711/comm").write_text("python3\n")
    (tmp_path / "proc/4711/fd/3").symlink_to("/dev/infiniband/uverbs0")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hosts = {name: {"control_address": "127.0.0.1", "control_port": port} for name in "ab"}
    params.update(changes, plan={**PLAN, "hosts": hosts}, fail_on="none")
    (entry,) = session.perform(params, False)["measurements"]
    assert (entry["status"], entry["error"]["code"], entry["error"]["message"]) == ("not_run", "device_busy", "mlx5_0 is busy: pid 4711 (python3)")


def test_a_host_without_frequency_governor_is_named(params, tmp_path):
    given = {**params, "cpu_governor": "performance"}
    assert session.perform(given, True)["warnings"] == [
        "cpu_governor is performance, but this host has no CPU frequency governor (no policy in /sys/devices/system/cpu/cpufreq), so none was set: the "
        "firmware or the hypervisor controls the frequency"]
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_governor").write_text("schedutil")
    assert "warnings" not in session.perform(given, True)
    assert "warnings" not in session.perform(params, True)


def test_perftest_without_flow_labels_cannot_set_a_source_port(params, tmp_path):
    two_ports(tmp_path, "Ethernet")
    given = {**params, **PERFTEST, "source_port": 50000}
    with pytest.raises(HccnError) as raised:
        session.perform(given, True)
    assert (raised.value.code, raised.value.sentence()) == ("bad_option", (
        "source_port needs the option --flow_label, which ib_send_bw 6.10 of this host does not have (install perftest 23.10 or newer, or omit source_port)"))
    (tmp_path / "bin/ib_send_bw").write_text("#!/bin/sh\necho 'Version: 6.24 --flow_label=<fl0,fl1,...>'\n")
    assert "--flow_label=848" in session.perform(given, True)["commands"][0]


def test_an_infiniband_card_with_two_ports_needs_a_port(params, tmp_path):
    two_ports(tmp_path, "InfiniBand")
    with pytest.raises(HccnError) as raised:
        session.perform({**params, **PERFTEST}, True)
    assert raised.value.sentence() == ("10.0.0.1 does not identify one of the InfiniBand ports mlx5_0 port 1, mlx5_0 port 2 "
                                       "(choose one with rdma_device and rdma_port)")


@pytest.mark.parametrize("changes, code, message", [
    ({"tool": "roce_test", "rdma_port": 2}, "invalid_input", "rdma_port does not apply to roce_test"),
    ({"rdma_port": 1}, "invalid_input", "rdma_port does not apply to iperf3"),
    ({"mtu": 4096}, "invalid_input", "mtu has no effect with iperf3, which measures TCP"),
    ({"duration": None, "iterations": 500000}, "invalid_input", "iterations has no effect with iperf3, which measures TCP"),
    ({"qps": 129}, "invalid_input", "qps is 129, but iperf3 accepts 1 to 128 (-P)"),
    ({"tool": "roce_test", "duration": None, "iterations": 500000}, "invalid_input", "iterations is 500000, but roce_test accepts 5 to 20000 (-n)"),
    ({"tool": "roce_test", "gid_index": 6}, "invalid_input", "gid_index is 6, but roce_test accepts 0 to 5 (-x)"),
    ({"tool": "perftest", "measure": "latency", "qps": 8}, "invalid_input", "latency can only be measured with one queue pair"),
    ({"tool": "perftest", "duration": None, "iterations": 4}, "invalid_input", "iterations is 4, but perftest accepts 5 to 100000000 (-n)"),
    ({"measure": "latency"}, "invalid_input", "iperf3 measures bandwidth only"),
    ({"gid_index": 3}, "invalid_input", "gid_index has no effect with iperf3, which measures TCP"),
    ({"rdma_device": "mlx5_0"}, "invalid_input", "rdma_device does not apply to iperf3"),
    ({"tool": "roce_test", "rdma_device": "mlx5_0"}, "invalid_input", "rdma_device does not apply to roce_test"),
    ({"tool": "perftest"}, "no_rdma_device", "this host has no RDMA device"),
    ({"tool": "perftest", "operation": "read"}, "tool_missing", "ib_read_bw is not in PATH"),
])
def test_impossible_measurements_are_refused_before_any_action(params, changes, code, message):
    with pytest.raises(HccnError) as raised:
        session.perform({**params, **changes}, False)
    assert (raised.value.code, raised.value.message) == (code, message)
