from __future__ import annotations

import threading

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import hccn_tool, host, pings, device_session

ANSWERED = "device 0 PING 10.78.2.10\nrecv seq=0,time=0.090000ms\nrecv seq=1,time=0.030000ms\nrecv seq=2,time=0.060000ms\n"
GOOD = (0, ANSWERED + "3 packets transmitted, 3 received, 0.00% packet loss\n", "")
LOSSY = (1, "device 0 PING 10.78.2.10\nrecv time out seq=0\nrecv seq=1,time=0.100000ms\nrecv time out seq=2\n"
            "3 packets transmitted, 1 received, 33.33% packet loss\n", "Command execute failed!\n")
DEAD = (1, "Destination Host Unreachable seq=0\n3 packets transmitted, 0 received, 100.00% packet loss\n", "Command execute failed!\n")
DOWN = (22, "", "Execute failed: Link status is down.\n")
HCCS = (0, "This pkt ping success!\nrecv seq 0, time = 21.000us, L1 plane check result = 0x1\n"
           "2 packets transmitted, 1 received, 50.00% packets loss\nmax time 21.000us\nmin time 21.000us\n"
           "average time 21.000us\nTP95 time 21.000us\nCmd executed successfully!\n", "")


class Npus:
    def __init__(self):
        self.host = host.Host((0, 1), "A2", None)
        self.outputs = {}
        self.calls = []

    def __call__(self, argv, timeout):
        self.calls.append(" ".join(argv))
        rc, stdout, stderr = self.outputs.get(int(argv[2]), GOOD)
        return Result(tuple(argv), rc, stdout, stderr, False, 0.0, 0.1)


@pytest.fixture
def npus(monkeypatch):
    fake = Npus()
    monkeypatch.setattr(device_session, "start", lambda params: device_session.Session(
        hccn_tool.HccnTool("hccn_tool", 5, fake, lambda pause: None), fake.host, host.expand(params["devices"], fake.host.devices), "/etc/hccn.conf"))
    monkeypatch.setattr(pings, "utc", lambda moment=None: "2026-01-05T10:00:00.000Z")
    return fake


def ping(*targets, check_mode=False, **given):
    params = {"devices": ["all"], "targets": [{"device": device, "address": address} for device, address in targets], "method": "ping", "size": None,
              "count": None, "run_id": None, "fail_on": "any", "allow_busy": True}
    params.update(given)
    return pings.ping(params, check_mode)


def test_each_target_has_a_record_in_order(npus):
    result = ping((1, "10.78.2.11"), (0, "10.78.2.10"), (1, "10.78.2.12"), run_id="r7")
    assert [one["id"] for one in result["measurements"]] == ["r7/ping/1/10.78.2.11", "r7/ping/0/10.78.2.10", "r7/ping/1/10.78.2.12"]
    record = result["measurements"][1]
    assert record.pop("duration_s") >= 0
    assert record == {
        "schema": "hccn.cluster/measurement/1", "id": "r7/ping/0/10.78.2.10", "kind": "ping", "status": "ok", "tool": {"name": "hccn_tool"},
        "source": {"device": 0}, "target": {"address": "10.78.2.10"}, "options": {"method": "ping"}, "context": {"product": "A2"},
        "samples": [{"sent": 3, "received": 3, "loss_percent": 0.0, "latency_us": {"min": 30.0, "avg": 60.0, "max": 90.0}}],
        "command": ["hccn_tool", "-i", "0", "-ping", "-g", "address", "10.78.2.10"], "started_at": "2026-01-05T10:00:00.000Z"}
    assert "failed" not in result
    assert [call for call in npus.calls if call.startswith("hccn_tool -i 1")] == [
        "hccn_tool -i 1 -ping -g address 10.78.2.11", "hccn_tool -i 1 -ping -g address 10.78.2.12"]


def test_devices_ping_in_parallel(npus):
    both = threading.Barrier(2, timeout=20)
    first = npus.__class__.__call__

    class Together(Npus):
        def __call__(self, argv, timeout):
            both.wait()
            return first(self, argv, timeout)

    npus.__class__ = Together
    assert [one["status"] for one in ping((0, "10.78.2.10"), (1, "10.78.2.11"))["measurements"]] == ["ok", "ok"]


def test_run_id_defaults_to_the_time(npus):
    npus.host = host.Host((0, 1), None, None)
    record = ping((0, "10.78.2.10"))["measurements"][0]
    assert (record["id"], "context" in record) == ("2026-01-05T10:00:00.000Z/ping/0/10.78.2.10", False)


def test_lost_packets_are_a_failure_with_a_sample(npus):
    npus.outputs = {0: LOSSY}
    result = ping((0, "10.78.2.10"), (1, "10.78.2.11"))
    record = result["measurements"][0]
    assert record["samples"] == [{"sent": 3, "received": 1, "loss_percent": 66.67, "latency_us": {"min": 100.0, "avg": 100.0, "max": 100.0}}]
    assert (record["status"], record["error"]["code"]) == ("failed", "packets_lost")
    assert result["msg"] == "1 of 2 pings failed: NPU 0 to 10.78.2.10: 2 of 3 packets lost: recv time out"


def test_ping_without_replies_has_no_latency(npus):
    npus.outputs = {0: DEAD}
    record = ping((0, "10.78.2.10"))["measurements"][0]
    assert record["samples"] == [{"sent": 3, "received": 0, "loss_percent": 100.0}]
    assert record["error"]["message"] == "3 of 3 packets lost: Destination Host Unreachable"


def test_ping_without_sent_packets_is_a_failure(npus):
    npus.outputs = {0: (0, "0 packets transmitted, 0 received, 0.00% packet loss\n", "")}
    record = ping((0, "10.78.2.10"))["measurements"][0]
    assert (record["samples"], record["error"]["message"]) == ([{"sent": 0, "received": 0, "loss_percent": 0.0}], "0 of 0 packets lost")


def test_ping_that_was_not_sent_has_no_sample(npus):
    npus.outputs = {1: DOWN}
    record = ping((1, "10.78.2.10"))["measurements"][0]
    assert ("samples" in record, record["status"], record["error"]["code"]) == (False, "failed", "link_down")


@pytest.mark.parametrize("outputs, fail_on, failed", [
    ({}, "any", False), ({0: DOWN}, "any", True), ({0: DOWN}, "all", False), ({0: DOWN, 1: LOSSY}, "all", True), ({0: DOWN}, "none", False)])
def test_fail_on(npus, outputs, fail_on, failed):
    npus.outputs = outputs
    result = ping((0, "10.78.2.10"), (1, "10.78.2.11"), fail_on=fail_on)
    assert (result.get("failed", False), len(result["measurements"])) == (failed, 2)


def test_check_mode_sends_nothing(npus):
    result = ping((0, "fd00::1"), check_mode=True, size=100)
    assert result == {"measurements": [], "commands": [["hccn_tool", "-i", "0", "-ping", "-inet6", "-g", "ipv6_address", "fd00::1", "pkt", "100"]]}
    assert npus.calls == []


def test_no_targets(npus):
    assert ping() == {"measurements": [], "commands": []}
    assert ping((0, "10.78.2.10"), devices=["1"]) == {"measurements": [], "commands": []}


def test_hccs_ping(npus):
    npus.host, npus.outputs = host.Host((0, 1), "A3", None), {0: HCCS}
    record = ping((0, "192.2.3.199"), method="hccs_ping", size=1792, count=2, fail_on="none")["measurements"][0]
    assert record["command"] == ["hccn_tool", "-i", "0", "-hccs_ping", "-g", "address", "192.2.3.199", "pkt", "1792", "cnt", "2"]
    assert record["options"] == {"method": "hccs_ping", "size_bytes": 1792, "count": 2}
    assert record["samples"] == [{"sent": 2, "received": 1, "loss_percent": 50.0, "plane_faults": 1,
                                  "latency_us": {"min": 21.0, "avg": 21.0, "max": 21.0, "p95": 21.0}}]
    assert (record["status"], record["error"]["message"]) == ("failed", "1 of 2 packets lost")


def test_hccs_ping_without_replies(npus):
    npus.host, npus.outputs = host.Host((0, 1), None, None), {0: (0, "1 packets transmitted, 0 received, 100.00% packets loss\n", "")}
    assert ping((0, "192.2.3.199"), method="hccs_ping")["measurements"][0]["samples"] == [{"sent": 1, "received": 0, "loss_percent": 100.0}]


@pytest.mark.parametrize("product, method, code", [("950", "ping", "unsupported_dialect"), ("A2", "hccs_ping", "unsupported_on_product")])
def test_unsupported_products_are_refused(npus, product, method, code):
    npus.host = host.Host((0, 1), product, None)
    with pytest.raises(HccnError) as caught:
        ping((0, "10.78.2.10"), method=method)
    assert (caught.value.code, npus.calls) == (code, [])


@pytest.mark.parametrize("targets, given, message", [
    ([(0, "10.78.2.10"), (7, "host")], {"count": 3},
     "count: a ping always sends 3 packets, a count needs method: hccs_ping; targets[1].device: this host has no device 7, only 0-1; "
     "targets[1].address: 'host' is not an IP address"),
    ([(0, "10.78.2.10")] * 2, {}, "targets[1] is the same as targets[0]"),
    ([], {"size": 65508}, "size: 65508 is outside the 0 to 65507 bytes of ping"),
    ([(0, "fd00::1")], {"method": "hccs_ping", "size": 64, "count": 1001},
     "size: 64 is outside the 1792 to 3000 bytes of hccs_ping; count: 1001 is outside 1 to 1000; "
     "targets[0].address: fd00::1 is an IPv6 address, hccs_ping takes the IPv4 address of a vNIC"),
])
def test_all_faults_are_reported_at_once(npus, targets, given, message):
    npus.host = host.Host((0, 1), "A3", None)
    with pytest.raises(InputError) as caught:
        ping(*targets, **given)
    assert (caught.value.message, npus.calls) == (message, [])


def test_busy_device_is_not_pinged(npus, monkeypatch):
    error = {"code": "device_busy", "message": "device 1 is busy: pid 7 (python3)", "hint": "wait"}
    asked = []
    monkeypatch.setattr(device_session.Session, "refusals", lambda self, devices, allow: asked.append((devices, allow)) or {1: error})
    result = ping((1, "10.78.2.11"), (0, "10.78.2.10"), allow_busy=False)
    assert [(one["source"]["device"], one["status"]) for one in result["measurements"]] == [(1, "not_run"), (0, "ok")]
    assert result["measurements"][0]["error"] == error
    assert "command" not in result["measurements"][0]
    assert (asked, npus.calls) == ([([0, 1], False)], ["hccn_tool -i 0 -ping -g address 10.78.2.10"])
    assert result["msg"] == "1 of 2 pings failed: NPU 1 to 10.78.2.11: device 1 is busy: pid 7 (python3)"


def test_pings_start_no_faster_than_the_rate():
    now, slept = [100.0], []

    def sleep(seconds):
        slept.append(round(seconds, 3))
        now[0] += seconds

    pace = pings.Pace(4.0, lambda: now[0], sleep)
    for _ping in range(3):
        pace.wait()
    now[0] += 10
    pace.wait()
    assert slept == [0.0, 0.25, 0.25, 0.0]
    pings.Pace(None, lambda: 1 / 0, lambda seconds: 1 / 0).wait()
