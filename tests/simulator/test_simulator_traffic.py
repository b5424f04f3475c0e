"""Tests with real traffic between devices, and the process that represents a device."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from tests.simulator.bench import DEADLINE, LATENCY_ROW, ROW, SUCCESS, Bench, gone
from tests.simulator.hccn_sim import perf_process
from tests.simulator.hccn_sim.perf_device import record_path
from tests.simulator.hccn_sim.process import alive


@pytest.mark.parametrize("kind", ["ib_write_bw", "ib_send_bw", "ib_read_bw"])
def test_pair_measures_its_traffic(pair: Bench, kind: str) -> None:
    server, client = pair.pair(f"{kind} -s 4096 -n 1000")
    assert (server.code, client.code, server.err + client.err) == (0, 0, "")
    assert "Dsmi start roce perftest end. (out=1)\n" in client.out
    size, iterations, peak, average, _rate = ROW.findall(client.out)[0]
    assert (size, iterations, float(average) > 0) == ("4096", "1000", True)
    own = ROW.findall(server.out)[0]
    assert (own[2], own[3]) == ("0.00" if kind == "ib_send_bw" else peak, average)
    assert "* Waiting for client to connect... *" in server.out
    sender = "b" if kind != "ib_read_bw" else "a"
    assert "mac_tx_total_oct_num:4096000\n" in pair.run(sender, "-i 0 -stat -g").out


def test_bidirectional_test_of_all_sizes_in_gbit(pair: Bench) -> None:
    server, client = pair.pair("ib_write_bw -b -a -n 5 -report_gbits")
    assert (server.code, client.code) == (0, 0)
    assert [int(row[0]) for row in ROW.findall(client.out)] == [2**power for power in range(1, 24)]
    assert "Bidirectional BW Test" in client.out
    assert "BW average[Gb/sec]" in client.out


def test_test_by_duration_has_no_peak(pair: Bench) -> None:
    _server, client = pair.pair("ib_write_bw -D 2 -s 1048576")
    assert ROW.findall(client.out)[0][2] == "0.00"


@pytest.mark.parametrize(("kind", "rows"), [("ib_write_lat", 1), ("ib_read_lat", 0)])
def test_latency_of_a_ping_pong(pair: Bench, kind: str, rows: int) -> None:
    server, client = pair.pair(f"{kind} -n 20")
    size, iterations, values = LATENCY_ROW.findall(client.out)[0]
    least, most, typical, average = [float(value) for value in values.split()[:4]]
    assert (size, iterations) == ("2", "20")
    assert 0 < least <= typical <= most
    assert least <= average <= most
    assert len(LATENCY_ROW.findall(server.out)) == rows


def test_slow_device_is_slow_in_both_directions(pair: Bench) -> None:
    pair.set("b", "1.rate_mbit=40", "0.rate_mbit=400")
    rates = {}
    for device in (0, 1):
        for server, client in (("a", "b"), ("b", "a")):
            ran = pair.pair("ib_write_bw -n 20000 -report_gbits", server, client, device)[1]
            rates[device, server] = float(ROW.findall(ran.out)[0][3])
    assert 3 < rates[0, "a"] / rates[1, "a"] < 30
    assert 3 < rates[0, "b"] / rates[1, "b"] < 30


def test_reported_bandwidth_is_scaled(bench: Bench) -> None:
    for number, host in enumerate("ab", start=1):
        bench.make(host, template=f"10.78.{number}.{{device}}", rate_scale=1000.0)
        bench.set(host, "0.rate_mbit=40")
    ran = bench.pair("ib_write_bw -n 20000 -report_gbits", "a", "b", 0)[1]
    assert 25 < float(ROW.findall(ran.out)[0][3]) < 45


def test_missing_server_fails_the_test(pair: Bench) -> None:
    ran = pair.run("a", "-i 0 -roce_test ib_write_bw address 10.78.2.0 -tcp")
    assert (ran.code, ran.err) == (255, "Cmd execute failed!\n")
    assert ran.out.endswith("(status=3)\nroce_report:\n Couldn't connect to 10.78.2.0:18515\n\n")


def test_server_without_client_ends_at_its_deadline(bench: Bench) -> None:
    bench.make("a", server_seconds=0.1)
    ran = bench.run("a", "-i 0 -roce_test ib_write_bw -tcp")
    assert (ran.code, "Waiting for client" in ran.out) == (255, True)
    assert gone(bench.record("a", 0))


@pytest.mark.parametrize("state", ["a 0.link=0", "b 0.link=0", "b 0.ip="])
def test_dead_link_fails_the_test(pair: Bench, state: str) -> None:
    node, item = state.split()
    pair.set(node, item)
    waiting = pair.start("a", "-i 0 -roce_test ib_write_bw -tcp")
    pair.until_ready("a", 0)
    assert "Couldn't connect to 10.78.1.0:18515" in pair.run("b", "-i 0 -roce_test ib_write_bw address 10.78.1.0 -tcp").out
    assert pair.run("a", "-i 0 -roce_test reset").out == SUCCESS
    waiting.communicate(timeout=DEADLINE)


def test_different_tests_do_not_connect(pair: Bench) -> None:
    waiting = pair.start("a", "-i 0 -roce_test ib_send_bw -tcp")
    pair.until_ready("a", 0)
    client = pair.run("b", "-i 0 -roce_test ib_write_bw address 10.78.1.0 -tcp")
    assert (client.code, "Failed to exchange data" in client.out) == (255, True)
    assert waiting.wait(timeout=DEADLINE) == 255
    waiting.communicate()


def test_device_keeps_testing_after_a_killed_tool_until_reset(bench: Bench) -> None:
    bench.make("a")
    tool = bench.start("a", "-i 0 -roce_test ib_send_bw -tcp")
    record = bench.until_ready("a", 0)
    tool.send_signal(signal.SIGKILL)
    tool.communicate(timeout=DEADLINE)
    assert alive(record)
    assert "total_qp_count: 1\n" in bench.run("a", "-i 0 -qp_info -g").out
    assert Path(f"/proc/{record['pid']}/environ").read_bytes() == b""
    assert os.getsid(record["pid"]) != os.getsid(0)
    busy = bench.run("a", "-i 0 -roce_test ib_send_bw -tcp")
    assert (busy.code, busy.err) == (2, "Roce perftest is doing, please try later.\nCmd execute failed!\n")
    assert bench.run("a", "-i 0 -roce_test reset") == (0, SUCCESS, "")
    assert "total_qp_count: 0\n" in bench.run("a", "-i 0 -qp_info -g").out
    assert not alive(record)
    assert not Path(record_path(str(bench.root("a") / "state"), 0)).exists()
    assert bench.run("a", "-i 0 -roce_test reset").code == 0


def test_dead_device_process_is_an_error(bench: Bench) -> None:
    bench.make("a")
    tool = bench.start("a", "-i 0 -roce_test ib_send_bw -tcp")
    os.kill(bench.until_ready("a", 0)["pid"], signal.SIGKILL)
    assert tool.communicate(timeout=DEADLINE)[1] == "Cmd execute failed!\n"
    assert tool.returncode == 255


def test_early_reset_prevents_the_test(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    perf_process.main(str(tmp_path / "state/roce_test_0.json"))
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["lock"]


def order(peer: str, **more: object) -> dict:
    """Return the order for the process of a device."""
    own = "10.99.0.2" if peer else "10.99.0.1"
    values = {"operation": "write", "measure": "bw", "peer": peer, "size": 4096, "iterations": 50, "duration": 0, "all_sizes": False}
    values.update(bidirectional=False, gbits=False, port=18599, qps=1, gid_index=3, device=0, own=own, own_socket="127" + own[2:])
    values.update(peer_socket="127" + peer[2:], link=True, tx_mbit=0.0, rx_mbit=0.0, server_seconds=10.0, measure_seconds=0.2)
    return {**values, "measure_bytes": 1 << 20, "rate_scale": 1.0, "deadline_seconds": DEADLINE, **more}


@pytest.mark.parametrize(
    "more", [{}, {"bidirectional": True}, {"measure": "lat", "size": 2}, {"operation": "read", "duration": 1}, {"operation": "send"}]
)
def test_device_processes_connect(tmp_path: Path, more: dict) -> None:
    reports: dict[str, str] = {}
    listening = threading.Event()
    state = {"state": str(tmp_path / "state"), **more}
    server = threading.Thread(target=lambda: reports.update(server=perf_process.run(order("", **state), listening.set)), daemon=True)
    server.start()
    assert listening.wait(DEADLINE)
    reports["client"] = perf_process.run(order("10.99.0.1", **state), lambda: None)
    server.join(DEADLINE)
    assert " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:99:00:01" in reports["client"]
    assert " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:99:00:02" in reports["server"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"own_socket": ""}, " Couldn't listen to port 18599\n"),
        ({"own_socket": "192.0.2.77"}, " Couldn't listen to port 18599\n"),
    ],
)
def test_server_that_cannot_listen(more: dict, text: str) -> None:
    with pytest.raises(perf_process.Failed) as failure:
        perf_process.run(order("", **more), lambda: None)
    assert str(failure.value) == text


def test_fixed_fabric_is_deterministic(bench: Bench) -> None:
    bench.make("a", fabric="fixed", poll_seconds=0.01)
    first, second = (bench.run("a", "-i 0 -roce_test ib_read_lat address 10.78.9.9 -tcp").out.splitlines() for _time in range(2))
    polls = "Dsmi get perftest status end."  # the number of polls depends on the machine
    assert [line for line in first if not line.startswith(polls)] == [line for line in second if not line.startswith(polls)]
    assert LATENCY_ROW.findall("\n".join(first))[0][:2] == ("2", "1000")
    bench.set("a", "0.perf_report=gone\\n", "0.perf_end_status=3")
    assert bench.run("a", "-i 0 -roce_test ib_read_bw address 10.78.9.9 -tcp").out.endswith("roce_report:\ngone\n\n")


def test_endless_test_times_out(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.make("a", fabric="fixed", poll_seconds=0.0001)
    monkeypatch.setattr("tests.simulator.hccn_sim.roce_test.MAX_POLLS", 0)
    ran = bench.run("a", "-i 0 -roce_test ib_write_bw -D 500 -tcp")
    assert (ran.code, ran.err) == (1, "The cmd line execute timeout!\n")
