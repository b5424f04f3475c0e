from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.pair_protocol import slower_rate
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.host_state import TARGET, Outcome, Settings, SideError, as_fields
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Endpoint, Pair
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.request import EndRequest, RunRequest, device_context, expected_pair_seconds
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import ALL_SIZES, Options


@pytest.mark.parametrize("given, found", [
    (None, {0: {}, 3: {}}),
    ({"product": "A2", "driver": None, "firmware": "", "leaf": None, "line_rate_gbit_s": None}, {0: {"product": "A2"}, 3: {"product": "A2"}}),
    ({"line_rate_gbit_s": "200", "leaf": "L1"}, {0: {"line_rate_gbit_s": 200.0, "leaf": "L1"}, 3: {"line_rate_gbit_s": 200.0, "leaf": "L1"}}),
    ({"line_rate_gbit_s": {"0": 200, 3: 100.0}, "leaf": {3: "L2"}}, {0: {"line_rate_gbit_s": 200.0}, 3: {"line_rate_gbit_s": 100.0, "leaf": "L2"}}),
    ({"line_rate_gbit_s": {}}, {0: {}, 3: {}}),
])
def test_the_context_of_devices_is_read(given, found):
    assert device_context(given, (0, 3)) == found


@pytest.mark.parametrize("rate", [0, -1, "fast", True, [200], 1e9])
def test_an_invalid_line_rate_is_refused(rate):
    with pytest.raises(InputError) as raised:
        device_context({"line_rate_gbit_s": {0: rate}}, (0,))
    assert raised.value.message == "context: the line rate of device 0 is %r, which is not a number of Gbit/s" % (rate,)


@pytest.mark.parametrize("mine, other, found", [
    (200.0, 100, 100.0), (100.0, 200.0, 100.0), (None, 200.0, None), (200.0, None, None), (200.0, "200", None), (200.0, True, None), (200.0, -1, None),
    (200.0, float("nan"), None)])
def test_the_line_rate_of_a_pair_is_the_slower_one(mine, other, found):
    assert slower_rate(mine, other) == found


def test_the_context_of_a_record():
    pair = Pair("p1", 2, 1, Endpoint("a", 0, "10.0.0.1"), Endpoint("b", 0, "10.0.0.2"))
    about = {"product": "A2", "line_rate_gbit_s": 400.0}
    good = Outcome(1, [{"size_bytes": 1}], None, ("x",), 0.0, 1.0, 200.0)
    assert as_fields(pair, good, about)["context"] == {"product": "A2", "round": 2, "rail": 0, "line_rate_gbit_s": 200.0}
    traced = Outcome(1, [{"size_bytes": 1}], None, ("x",), 0.0, 1.0, routers=["10.1.0.1"])
    assert as_fields(pair, traced)["context"] == {"round": 2, "rail": 0, "routers": ["10.1.0.1"]}
    bad = Outcome(1, [], SideError(TARGET, HccnError("x", "y")), (), 0.0, 1.0)
    assert as_fields(pair, bad, about)["context"] == {"product": "A2", "round": 2, "rail": 0, "failed_end": "target"}


@pytest.mark.parametrize("expected, seconds", [(None, 60.0), (1.0, 10.0), (8.0, 32.0), (100.0, 60.0)])
def test_the_deadline_of_a_pair(expected, seconds):
    assert Settings(4.0, 60.0, 120.0, expected_s=expected).deadline == seconds


@pytest.mark.parametrize("tool, options, seconds", [
    ("roce_test", {}, 8.0 + 65536 * 5000 / 125e6), ("roce_test", {"duration_s": 10}, 18.0),
    ("roce_test", {"size_bytes": 2, "iterations": 100}, 8.0 + 200 / 125e6), ("roce_test", {"all_sizes": True, "iterations": 5}, 8.0 + 16777214 * 5 / 125e6),
    ("iperf3", {}, 18.0), ("roce_test", {"qps": 4}, 8.0 + 4 * 65536 * 5000 / 125e6),
])
def test_the_expected_time_of_a_pair(tool, options, seconds):
    assert sum(ALL_SIZES) == 16777214
    assert expected_pair_seconds(tool, Options(**options), 4) == pytest.approx(seconds)


@pytest.mark.parametrize("changes, seconds", [
    ({}, 60.0), ({"pair_timeout": 7.0}, 7.0), ({"iterations": None, "duration": 40}, 2 * (2 + 40.0)), ({"iterations": None, "duration": 20}, 60.0),
    ({"tool": "perftest", "iterations": 500000, "qps": 8}, 2 * (2 + 65536 * 8 * 500000 / 1.25e9)),
])
def test_a_large_test_gets_more_time(changes, seconds):
    assert RunRequest.parse({**PARAMETERS, "pair_timeout": None, **changes}).settings.pair_timeout_s == pytest.approx(seconds)


PARAMETERS = {
    "run_id": "r1", "host": "a", "key": "00112233445566778899AABBCCDDEEFF", "tool": "roce_test", "operation": "write", "measure": "bandwidth",
    "size": "64K", "iterations": 100, "duration": None, "qps": 2, "mtu": None, "gid_index": None, "traffic_class": None, "source_port": None,
    "parallel": "none",
    "server_start_delay": 1.0, "pair_timeout": 5.0, "meeting_timeout": 7.0, "wait": True, "state_dir": "/state", "purge": True, "devices": ["1"],
    "hccn_tool": "hccn_tool", "npu_smi": "npu-smi", "timeout": 5, "fail_on": "any", "allow_busy": True, "rdma_device": None, "rdma_port": None,
    "cpu_governor": "keep", "bidirectional": False, "resume": "last", "root": "/", "reporters": ["b", "a", "b"], "context": {"product": "A2"},
    "plan": {
        "hosts": {name: {"control_address": "127.0.0.1", "control_port": 18514} for name in "ab"},
        "rounds": [[{"id": "p%d" % device, "source": {"host": "a", "device": device, "address": "10.0.0.1"},
                     "target": {"host": "b", "device": device, "address": "10.0.0.2"}} for device in (0, 1)]],
    },
}


def test_the_request_of_a_run():
    request = RunRequest.parse(PARAMETERS)
    assert (request.run_id, [pair.id for pair in request.plan.pairs], request.reporters) == ("r1", ["p1"], ("b", "a"))
    assert request.tool.options == Options(size_bytes=65536, iterations=100, qps=2)
    assert request.settings == Settings(1.0, 5.0, 7.0, False, 2.0 + 65536 * 100 * 2 / 125e6)
    assert request.conditions == {"cpu_governor": "keep", "parallel": "none", "rdma_device": None, "rdma_port": None}
    assert (request.key, request.device_context) == (bytes.fromhex("00112233445566778899aabbccddeeff"), {1: {"product": "A2"}})
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.wait = False


def test_ending_a_run_needs_no_plan():
    given = {name: PARAMETERS[name] for name in ("run_id", "state_dir", "root", "purge", "hccn_tool", "timeout")}
    assert EndRequest.parse(given) == EndRequest("r1", "/state", "/", True, "hccn_tool", 5.0)
