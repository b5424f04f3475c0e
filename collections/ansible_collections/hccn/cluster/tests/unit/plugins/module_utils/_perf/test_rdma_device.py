from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device.rdma_checks import Memlock
from ansible_collections.hccn.cluster.plugins.module_utils._device.rdma_sysfs import Gid, RdmaPort
from ansible_collections.hccn.cluster.plugins.module_utils._perf import preflight
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import Options
from ansible_collections.hccn.cluster.plugins.module_utils._perf.rdma_device import blockers, find_device, pinned


def make_port(device="mlx5_0", number=1, gids=(), state="ACTIVE", layer="Ethernet", verbs="/dev/infiniband/uverbs0"):
    return RdmaPort(device, number, "ens1", state, "LinkUp" if state == "ACTIVE" else "Disabled", None, 200.0, layer,
                    tuple(Gid(*gid) for gid in gids), None, None, None, None, verbs)


PLAIN = ((0, "fe80", "IB/RoCE v1", None, "ens1"), (1, "fe80", "RoCE v2", None, "ens1"), (2, "a", "IB/RoCE v1", "10.0.0.11", "ens1"),
         (3, "a", "RoCE v2", "10.0.0.11", "ens1"), (7, "b", "RoCE v2", "fd00::11", "ens1.100"))
PORTS = [make_port(gids=PLAIN), make_port("mlx5_1", gids=((3, "c", "RoCE v2", "10.0.1.11", "ens2"), (5, "a", "RoCE v2", "10.9.9.9", "ens2"))),
         make_port("mlx5_1", 2, gids=((4, "d", "RoCE v2", "10.0.2.11", "ens3"),))]


@pytest.mark.parametrize("address, choice, device, port, index", [
    ("10.0.0.11", {}, "mlx5_0", 1, 3),
    ("fd00::11", {}, "mlx5_0", 1, 7),
    ("fd00::11", {"netdev": "ens1.100"}, "mlx5_0", 1, 7),
    ("10.0.1.11", {"device": "mlx5_1"}, "mlx5_1", 1, 3),
    ("10.0.2.11", {"device": "mlx5_1", "number": 2}, "mlx5_1", 2, 4),
    ("10.0.0.99", {"device": "mlx5_0", "gid_index": 1}, "mlx5_0", 1, 1),
    ("10.0.1.11", {"gid_index": 3}, "mlx5_1", 1, 3),
])
def test_gid_is_found_by_address(address, choice, device, port, index):
    end = find_device(PORTS, address, **choice)
    assert (end.port.device, end.port.port, end.gid_index, end.link_type) == (device, port, index, "Ethernet")


@pytest.mark.parametrize("ports, address, choice, code, message", [
    ([], "10.0.0.11", {}, "no_rdma_device", "this host has no RDMA device"),
    ([], "10.0.0.11", {"device": "mlx5_9"}, "no_rdma_device", "this host has no RDMA device mlx5_9"),
    (PORTS[:2], "10.0.0.11", {"number": 2}, "no_rdma_port", "no RDMA device of this host has a port 2"),
    ([make_port(number=number, layer="InfiniBand") for number in (1, 2)], "10.0.0.11", {}, "port_ambiguous",
     "10.0.0.11 does not identify one of the InfiniBand ports mlx5_0 port 1, mlx5_0 port 2"),
    (PORTS, "10.0.0.11", {"device": "mlx5_9"}, "no_rdma_device", "this host has no RDMA device mlx5_9"),
    (PORTS, "10.0.0.11", {"device": "mlx5_0", "number": 2}, "no_rdma_port", "mlx5_0 has no port 2"),
    (PORTS, "10.0.0.12", {}, "no_gid", "no RDMA device of this host has a RoCE v2 GID of 10.0.0.12"),
    (PORTS, "10.0.0.11", {"netdev": "ens9"}, "no_gid", "no RDMA device of this host has a RoCE v2 GID of 10.0.0.11 on ens9"),
    (PORTS, "10.0.0.12", {"gid_index": 3}, "no_gid", "no RDMA device of this host has 10.0.0.12 at GID index 3"),
    (PORTS, "10.0.0.11", {"gid_index": 60}, "no_gid", "no RDMA device of this host has 10.0.0.11 at GID index 60"),
    ([make_port(gids=((80, "a", "RoCE v2", "10.0.0.11", "ens1"),))], "10.0.0.11", {}, "no_gid", "no RDMA device of this host has a RoCE v2 GID of 10.0.0.11"),
    ([make_port(gids=PLAIN), make_port("mlx5_1", gids=PLAIN)], "10.0.0.11", {}, "gid_ambiguous", "10.0.0.11 is a GID of mlx5_0 port 1 and mlx5_1 port 1"),
])
def test_missing_device_port_or_gid_is_an_error(ports, address, choice, code, message):
    with pytest.raises(HccnError) as raised:
        find_device(ports, address, **choice)
    assert (raised.value.code, raised.value.message) == (code, message)


def test_hint_lists_available_gids():
    with pytest.raises(HccnError) as raised:
        find_device(PORTS[:1], "10.0.0.12")
    assert raised.value.hint == ("available are mlx5_0 port 1 GID 2 (IB/RoCE v1, 10.0.0.11), mlx5_0 port 1 GID 3 (RoCE v2, 10.0.0.11), "
                                 "mlx5_0 port 1 GID 7 (RoCE v2, fd00::11)")
    with pytest.raises(HccnError) as raised:
        find_device([make_port()], "10.0.0.12")
    assert raised.value.hint == "no GID has an IP address: assign one to the network device of the port"


def test_active_port_is_preferred():
    assert find_device([make_port(gids=PLAIN, state="DOWN"), make_port("mlx5_1", gids=PLAIN)], "10.0.0.11").port.device == "mlx5_1"


def test_infiniband_needs_no_gid():
    end = find_device([make_port(layer="InfiniBand", gids=((0, "x", "IB/RoCE v1", None, None),))], "10.0.0.11")
    assert (end.port.device, end.gid_index, end.link_type) == ("mlx5_0", None, "IB")


DUAL = [make_port(number=number, layer="InfiniBand", gids=((0, "x", "IB/RoCE v1", None, None),)) for number in (1, 2)]


@pytest.mark.parametrize("choice, port, index", [({"number": 2}, 2, None), ({"device": "mlx5_0", "number": 1}, 1, None), ({"number": 2, "gid_index": 0}, 2, 0)])
def test_port_of_an_infiniband_card_is_chosen_by_number(choice, port, index):
    end = find_device(DUAL, "10.0.0.11", **choice)
    assert (end.port.device, end.port.port, end.gid_index, end.link_type) == ("mlx5_0", port, index, "IB")


@pytest.mark.parametrize("options, size", [
    (Options(), 131072), (Options(size_bytes=2), 8192), (Options(size_bytes=1 << 20, qps=4), 8 << 20), (Options(all_sizes=True), 16 << 20),
])
def test_pinned_memory(options, size):
    assert pinned(options) == size


@pytest.mark.parametrize("port, memlock, rules", [
    (make_port(gids=PLAIN), None, []),
    (make_port(gids=PLAIN), Memlock(131072, True), []),
    (make_port(gids=PLAIN), Memlock(131071, True), ["memlock"]),
    (make_port(gids=PLAIN), Memlock(4096, False), []),
    (make_port(gids=PLAIN, state="DOWN"), None, ["port_down"]),
    (make_port(gids=PLAIN, verbs=None), Memlock(0, True), ["verbs_missing", "memlock"]),
])
def test_blockers(port, memlock, rules):
    found = blockers(find_device([port], "10.0.0.11"), memlock, Options())
    assert [problem.rule for problem in found] == rules
    assert {problem.severity for problem in found} <= {"error"}


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host with one device, whose port is down, and a program of perftest."""
    files = {
        "sys/class/infiniband/rxe0/ports/1/state": "1: DOWN", "sys/class/infiniband/rxe0/ports/1/link_layer": "Ethernet",
        "sys/class/infiniband/rxe0/ports/1/gids/1": "0000:0000:0000:0000:0000:ffff:0a00:000b",
        "sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1": "RoCE v2", "sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1": "eth0",
        "sys/class/infiniband_verbs/uverbs0/ibdev": "rxe0", "dev/infiniband/uverbs0": "", "bin/ib_write_bw": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (tmp_path / "bin/ib_write_bw").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def version(timed_out=False):
    return lambda argv, timeout: Result(tuple(argv), 1, "Version: 6.06\n", "", timed_out, 0.0, timeout)


def test_preflight(host):
    tool, found = preflight.prepare(Options(), {0: "10.0.0.11", 1: "10.0.0.11"}, root=str(host), run=version())
    assert [(problem.rule, problem.where) for problem in found] == [("port_down", "rxe0 port 1")]
    assert tool.server(1, "10.0.0.11") == ("ib_write_bw", "-d", "rxe0", "-i", "1", "-x", "1", "-F", "-p", "18516", "--report_gbits")
    assert tool.describe()["tool"] == {"name": "ib_write_bw", "version": "6.06"}


@pytest.mark.parametrize("options, addresses, device, port, run, code", [
    (Options("read"), {0: "10.0.0.11"}, None, None, version(), "tool_missing"),
    (Options(), {0: "10.0.0.11"}, None, None, version(True), "timeout"),
    (Options(), {0: "10.0.0.12"}, None, None, version(), "no_gid"),
    (Options(), {0: "10.0.0.11"}, "mlx5_0", None, version(), "no_rdma_device"),
    (Options(), {0: "10.0.0.11"}, None, 2, version(), "no_rdma_port"),
    (Options(iterations=4), {0: "10.0.0.11"}, None, None, version(), "invalid_input"),
])
def test_preflight_errors(host, options, addresses, device, port, run, code):
    with pytest.raises(HccnError) as raised:
        preflight.prepare(options, addresses, device, port, str(host), run=run)
    assert raised.value.code == code
