"""The real perftest of Debian 12, of Debian 13 and of both, over software RoCE between virtual machines: command lines, readiness, reports, failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record
from ansible_collections.hccn.cluster.plugins.module_utils._perf import iperf3, perftest_report
from ansible_collections.hccn.cluster.plugins.module_utils._perf.iperf3 import Iperf3
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import Options
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_report import RequestedTest
from ansible_collections.hccn.cluster.plugins.module_utils._perf.rdma_device import RdmaDevice, pinned
from tests.lab.roce.images import PERFTEST
from tests.lab.roce.machines import Machine
from tests.lab.roce.pairs import DEVICE, RELEASES, Pair, Running, rdma_info, perftest_pair, wait_for_traffic
from tests.lib.project import ROOT
from tests.lab.testbed.kernel import running, start_time
from tests.lib.waiting import happens

pytestmark = pytest.mark.long

PAIRS = {"old": (1, 2), "new": (3, 4), "old-to-new": (2, 3), "new-to-old": (4, 1)}
BANDWIDTH = {"size_bytes": 8192, "iterations": 40}
LATENCY = {"measure": "latency", "size_bytes": 8, "iterations": 40}
ENDLESS = Options(size_bytes=65536, iterations=1000000)
HANG_SECONDS = 8.0
# Runs a command with a limit for locked memory in bytes.
POOR = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_MEMLOCK, (int(sys.argv[1]),) * 2)
os.setuid(65534)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def test_rdma_info_of_the_machines(four: list[Machine], ends: dict[str, RdmaDevice]) -> None:
    for machine, release in zip(four, RELEASES):
        found = rdma_info(machine)
        (device,) = found["rdma_devices"]
        assert (device["device"], device["port"], device["netdev"], device["state"], device["physical_state"], device["link_layer"]) == (
            "rxe0", 1, "eth0", "ACTIVE", "LinkUp", "Ethernet")
        assert (device["rate_gbit_s"], device["verbs"], found["problems"], found["memlock"]["enforced"]) == (2.5, "/dev/infiniband/uverbs0", [], False)
        assert (machine.address, "RoCE v2", 1) in [(gid["address"], gid["type"], gid["index"]) for gid in device["gids"]]
        assert ends[machine.name].gid_index == 1
        assert perftest_report.parse_version(machine.run("ib_write_bw", "--version").stdout) == PERFTEST[release]


@pytest.mark.parametrize("measure", [BANDWIDTH, LATENCY], ids=["bandwidth", "latency"])
@pytest.mark.parametrize("operation", ["write", "read", "send"])
@pytest.mark.parametrize("pair", sorted(PAIRS))
def test_all_programs_between_all_releases(four: list[Machine], ends: dict[str, RdmaDevice], pair: str, operation: str, measure: dict) -> None:
    source, target = (four[number - 1] for number in PAIRS[pair])
    test = perftest_pair(source, target, ends, Options(operation, **measure))
    client, server = test.run()
    samples = test.client_tool.samples(client, DEVICE)
    assert test.server_tool.failure(server) is None
    whole = record("rdma", f"roce/{pair}/forward/1", samples=samples, command=list(client.argv), **test.client_tool.describe())
    (sample,) = whole["samples"]
    assert (sample["size_bytes"], sample["iterations"]) == (measure["size_bytes"], 40)
    if measure is BANDWIDTH:
        assert (whole["tool"]["name"], sample["bandwidth_gbit_s"] > 0) == (f"ib_{operation}_bw", True)
    else:
        latency = sample["latency_us"]
        assert (whole["tool"]["name"], 0 < latency["min"] <= latency["typical"] <= latency["max"]) == (f"ib_{operation}_lat", True)


@pytest.mark.parametrize("options", [
    Options(size_bytes=8192, iterations=20, qps=4, mtu=1024), Options("send", size_bytes=8192, iterations=20, bidirectional=True),
    Options(size_bytes=8192, duration_s=2), Options("send", "latency", duration_s=2),
], ids=["qps-mtu", "both-directions", "duration", "latency-duration"])
def test_options_are_applied(four: list[Machine], ends: dict[str, RdmaDevice], options: Options) -> None:
    test = perftest_pair(four[2], four[1], ends, options)
    client, server = test.run()
    (sample,) = test.client_tool.samples(client, DEVICE)
    assert sample["iterations"] == (options.iterations or 0) * (options.qps or 1) or options.duration_s
    report = perftest_report.parse(client.stdout)
    assert (report.number("Number of qps"), report.number("Mtu"), report.bidirectional) == (options.qps or 1, options.mtu or 4096, options.bidirectional)
    assert test.server_tool.failure(server) is None


@pytest.mark.parametrize("pair", ["old", "new"])
def test_differing_options_with_exit_status_0(four: list[Machine], ends: dict[str, RdmaDevice], pair: str) -> None:
    source, target = (four[number - 1] for number in PAIRS[pair])
    wanted = Options(size_bytes=65536, iterations=40)
    test = perftest_pair(source, target, ends, Options(size_bytes=8192, iterations=20), wanted)
    client, server = test.run()
    assert (client.rc, server.rc) == (0, 0)
    found = perftest_report.differing(perftest_report.parse(server.stdout), RequestedTest(wanted, "rxe0", 1, "Ethernet"))
    assert found == ["sizes 8192, not 65536", "20 iterations, not 40"]


@pytest.mark.parametrize("pair", ["old", "new"])
def test_server_killed_during_a_run(four: list[Machine], ends: dict[str, RdmaDevice], pair: str) -> None:
    source, target = (four[number - 1] for number in PAIRS[pair])
    test = perftest_pair(source, target, ends, ENDLESS)
    with test.serving() as server:
        port = test.server_tool.port(DEVICE)
        assert (server.listens(port), server.listens(port + 1)) == (True, False)
        client = test.client(HANG_SECONDS)
        wait_for_traffic(source, 200)
        server.kill()
        failure = test.server_tool.failure(server.result())
        assert (failure.code, failure.message) == ("tool_killed", "ib_write_bw was ended by signal 9")
        hung = test.client_tool.failure(client.result())
    assert (hung.code, test.client_tool.of_one_side(hung)) == ("perftest_timeout", False)


@pytest.mark.parametrize("pair", ["old", "new"])
def test_client_killed_during_a_run(four: list[Machine], ends: dict[str, RdmaDevice], pair: str) -> None:
    source, target = (four[number - 1] for number in PAIRS[pair])
    test = perftest_pair(source, target, ends, ENDLESS)
    with test.serving() as server:
        client = test.client(60)
        wait_for_traffic(source, 200)
        client.kill()
        assert test.client_tool.failure(client.result()).code == "tool_killed"
        failure = test.server_tool.failure(server.result())
    assert (failure.code, test.server_tool.of_one_side(failure)) == ("peer_ended", False)


def test_paused_machine(four: list[Machine], ends: dict[str, RdmaDevice]) -> None:
    test = perftest_pair(four[2], four[3], ends, ENDLESS)
    with test.serving() as server:
        client = test.client(HANG_SECONDS)
        wait_for_traffic(four[2], 200)
        with four[3].paused():
            hung = test.client_tool.failure(client.result())
            late = test.client_tool.failure(test.client(HANG_SECONDS).result())
        assert (hung.code, late.code) == ("perftest_timeout", "perftest_timeout")
        server.leave()
    client_after, _server = perftest_pair(four[2], four[3], ends, Options(size_bytes=8192, iterations=20)).run()
    assert client_after.rc == 0


@pytest.mark.parametrize("number", [1, 3], ids=["old", "new"])
def test_failures_of_the_real_tool(four: list[Machine], ends: dict[str, RdmaDevice], number: int) -> None:
    machine, other = four[number - 1], four[number]
    options = Options(size_bytes=8192, iterations=20)
    test = perftest_pair(machine, other, ends, options)

    def fails(*argv: str) -> str:
        error = test.client_tool.failure(Running(machine, argv, 60).result())
        return error.code if error else "none"

    client = test.client_tool.client(DEVICE, other.address, DEVICE)
    assert fails(*client) == "connection_refused"
    assert fails("ib_write_bw", "-d", "mlx5_7", other.address) == "no_rdma_device"
    assert fails("ib_write_bw", "-d", "rxe0", "-i", "2", other.address) == "no_rdma_port"
    assert fails("ib_write_bw", "-d", "rxe0", "-n", "4", other.address) == "bad_option"
    assert fails(*client[:-1], "--ipv6-addr", client[-1]) == ("bad_option" if number == 1 else "unknown_address")
    with test.serving():
        second = Running(other, test.server_tool.server(DEVICE, other.address), 60).result()
        assert test.server_tool.failure(second).code == "port_in_use"
        assert fails("python3", "-c", POOR, str(pinned(options) - 4096), *client) == "memory_registration"
    with test.serving():
        assert fails("python3", "-c", POOR, str(pinned(options)), *client) == "none"
    with test.serving() as server:
        link_local = perftest_pair(machine, other, {**ends, machine.name: RdmaDevice(ends[machine.name].port, 0)}, options)
        assert link_local.client_tool.failure(link_local.client(60).result()).code == "gid_mismatch"
        assert link_local.server_tool.failure(server.result()).code == "gid_mismatch"


@pytest.mark.parametrize("pair", ["old-to-new", "new-to-old"])
def test_tcp_with_iperf3(four: list[Machine], pair: str) -> None:
    source, target = (four[number - 1] for number in PAIRS[pair])
    test = Pair(source, target, Iperf3(Options(duration_s=1)), Iperf3(Options(duration_s=1)))
    refused = test.client_tool.failure(test.client(60).result())
    assert (refused.code, test.client_tool.may_retry(refused)) == ("connection_refused", True)
    client, server = test.run()
    (sample,) = test.client_tool.samples(client, DEVICE)
    assert (sample["size_bytes"], sample["bandwidth_gbit_s"] > 0, test.server_tool.failure(server)) == (131072, True, None)
    assert iperf3.parse_version(source.read("iperf3", "--version")) == {"old-to-new": "3.12", "new-to-old": "3.18"}[pair]


def test_machines_end_with_their_parent(four: list[Machine]) -> None:
    with tempfile.TemporaryDirectory(prefix="roce-") as folder:
        kill_the_parent(folder)


def kill_the_parent(folder: str) -> None:
    """``folder``: for files that a killed parent cannot remove."""
    code = "from tests.lab.roce.machines import machines\nimport time\nwith machines('trixie'):\n    print('up', flush=True)\n    time.sleep(300)\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "collections")]), "TMPDIR": folder}
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    try:
        children = f"/proc/{parent.pid}/task/{parent.pid}/children"
        assert happens(lambda: bool(qemus(children)), 60)
        started = {pid: start_time(pid) for pid in qemus(children)}
        os.kill(parent.pid, signal.SIGKILL)
        assert happens(lambda: not any(running(pid, when) for pid, when in started.items()), 10)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def qemus(children: str) -> list[int]:
    """Return the children that run qemu."""
    found = []
    with open(children, encoding="ascii") as listed:
        for pid in map(int, listed.read().split()):
            try:
                if os.path.basename(os.readlink(f"/proc/{pid}/exe")).startswith("qemu-system"):
                    found.append(pid)
            except OSError:
                continue
    return found
