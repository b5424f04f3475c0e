from __future__ import annotations

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
    for name, said in (("iperf3", "iperf 3.12 (cJSON 1.7.15)"), ("ib_send_bw", "Version: 6.10")):
        (programs / name).write_text("#!/bin/sh\necho '%s'\n" % said)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return {
        "run_id": "r1", "state": "present", "plan": PLAN, "host": "a", "key": KEY, "tool": "iperf3", "operation": "send", "measure": "bandwidth",
        "size": None, "iterations": None, "duration": 5, "qps": None, "mtu": None, "gid_index": None, "traffic_class": None, "parallel": "rails",
        "server_start_delay": 4.0, "pair_timeout": 60.0, "meeting_timeout": 0.0, "wait": True, "state_dir": str(tmp_path / "state"), "purge": False,
        "devices": ["all"], "hccn_tool": "hccn_tool", "npu_smi": "npu-smi", "timeout": 5, "fail_on": "any", "allow_busy": False,
        "rdma_device": "auto", "cpu_governor": "keep", "bidirectional": False, "resume": None, "root": str(tmp_path),
        "reporters": [], "context": None,
    }


def test_iperf3_connects_to_the_port_of_the_other_device(params):
    assert session.perform(params, True)["commands"] == [
        ["iperf3", "-c", "10.0.0.2", "-J", "-p", "5203", "--connect-timeout", "3000", "-t", "5"]]
    assert session.perform({**params, "host": "b", "bidirectional": True}, True)["commands"] == [
        ["iperf3", "-s", "-1", "-J", "-B", "10.0.0.2", "-p", "5203"]]


def test_iperf3_tells_its_version(params):
    tool = request.ToolRequest.parse(params).make(parse_plan(PLAN, "a", "r1"))
    assert tool.describe()["tool"] == {"name": "iperf3", "version": "3.12"}


@pytest.mark.parametrize("changes, code, message", [
    ({"measure": "latency"}, "invalid_input", "iperf3 measures bandwidth only"),
    ({"gid_index": 3}, "invalid_input", "gid_index has no effect with iperf3, which measures TCP"),
    ({"rdma_device": "mlx5_0"}, "invalid_input", "rdma_device means nothing to iperf3"),
    ({"tool": "roce_test", "rdma_device": "mlx5_0"}, "invalid_input", "rdma_device means nothing to roce_test"),
    ({"tool": "perftest"}, "no_rdma_device", "this host has no RDMA device"),
    ({"tool": "perftest", "operation": "read"}, "tool_missing", "ib_read_bw is not in PATH"),
])
def test_what_cannot_be_measured_is_told_before_anything_is_done(params, changes, code, message):
    with pytest.raises(HccnError) as raised:
        session.perform({**params, **changes}, False)
    assert (raised.value.code, raised.value.message) == (code, message)
