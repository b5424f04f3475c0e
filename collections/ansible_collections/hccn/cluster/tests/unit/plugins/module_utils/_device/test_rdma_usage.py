from __future__ import annotations

import json
import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import MARK, Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import rdma_usage
from ansible_collections.hccn.cluster.plugins.module_utils._device.rdma_sysfs import Gid, RdmaPort
from ansible_collections.hccn.cluster.plugins.module_utils._device.rdma_usage import RdmaBusyProbe, User, parse_queue_pairs, ports_with


def port(device, number=0, address=None):
    gids = (Gid(3, "x", "RoCE v2", address, "ens1"),) if address else ()
    return RdmaPort(device, 1, "ens1", "ACTIVE", "LinkUp", None, 200.0, "Ethernet", gids, None, None, None, None, "/dev/infiniband/uverbs%d" % number)


PORTS = {0: port("mlx5_0"), 1: port("mlx5_1", 1)}
ALWAYS = [
    {"ifindex": 0, "ifname": "mlx5_0", "port": 1, "lqpn": 1, "type": "GSI", "state": "RTS", "sq-psn": 0, "comm": "[ib_core]"},
    {"ifindex": 0, "ifname": "mlx5_0", "port": 1, "lqpn": 9, "type": "UD", "state": "RTS", "sq-psn": 0, "pid": 900, "comm": "ibacm"},
    {"ifindex": 0, "ifname": "mlx5_0", "port": 1, "lqpn": 77, "rqpn": 78, "type": "RC", "state": "RTS", "sq-psn": 0, "comm": "[nvme-rdma]"},
]
"""Queue pairs of the kernel and of ibacm."""


def pair(device="mlx5_0", kind="RC", **more):
    return {"ifindex": 0, "ifname": device, "port": 1, "lqpn": 17, "rqpn": 18, "type": kind, "state": "RTS", "sq-psn": 5, **more}


def answer(entries=(), rc=0, text=None, timed_out=False):
    return lambda argv, timeout: Result(tuple(argv), rc, json.dumps(ALWAYS + list(entries)) if text is None else text, "", timed_out, 0.0, 0.1)


def missing(argv, timeout):
    raise HccnError("tool_missing", "rdma is not in PATH")


def process(root, pid, name, *files, environ=""):
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_text(name + "\n")
    (folder / "environ").write_text(environ)
    for number, target in enumerate(files):
        (folder / "fd" / str(number)).symlink_to(target)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "proc").mkdir()
    process(tmp_path, 1, "systemd", "/dev/null", "socket:[4711]")
    process(tmp_path, 900, "ibacm", "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1", "/dev/infiniband/umad0")
    return tmp_path


def messages(root, run=None, ports=None):
    probe = RdmaBusyProbe(ports or PORTS, str(root), run or answer())
    return {device: (error["code"], error["message"]) for device, error in probe.refusals(sorted(ports or PORTS)).items()}


def test_idle_devices(root):
    assert messages(root) == {}
    assert messages(root, missing) == {}, "root sees the files of all processes"


def test_processes_that_have_a_device_open(root):
    process(root, 4711, "python3", "/dev/null", "/dev/infiniband/uverbs1", "/dev/infiniband/uverbs1")
    process(root, 4712, "odd\x1bname", "/host/dev/infiniband/uverbs1")
    wanted = {1: ("device_busy", "mlx5_1 is busy: pid 4711 (python3), pid 4712 (odd?name)")}
    assert messages(root) == wanted
    assert messages(root, missing) == wanted


@pytest.mark.parametrize("entry, message", [
    (pair(pid=4711, comm="python3"), "mlx5_0 is busy: pid 4711 (python3)"),
    (pair(), "mlx5_0 is busy: a process of another container"),
    (pair(kind="XRC_INI", pid=5, comm="a"), "mlx5_0 is busy: pid 5 (a)"),
    (pair(kind="DRIVER", pid=5, comm="a"), "mlx5_0 is busy: pid 5 (a)"),
    (pair(kind="UD", pid=5, comm="a"), None), (pair(pid=900, comm="ibacm"), None), (pair("mlx5_7", pid=5, comm="a"), None),
])
def test_queue_pairs_of_processes(root, entry, message):
    assert messages(root, answer([entry, entry])) == ({} if message is None else {0: ("device_busy", message)})


def test_a_process_is_named_once_and_many_are_counted(root):
    for pid in range(100, 112):
        process(root, pid, "rank", "/dev/infiniband/uverbs0")
    (found,) = messages(root, answer([pair(pid=100, comm="rank")])).values()
    assert found[1] == "mlx5_0 is busy: " + ", ".join("pid %d (rank)" % pid for pid in range(100, 108)) + " and 4 more"


def test_processes_of_this_run_are_ignored(root, monkeypatch):
    monkeypatch.setenv(MARK, "0123")
    process(root, 50, "ib_write_bw", "/dev/infiniband/uverbs0", environ="A=b\0%s=0123\0" % MARK)
    process(root, 51, "ib_write_bw", "/dev/infiniband/uverbs1", environ="A=b\0%s=4567\0" % MARK)
    assert messages(root, answer([pair(pid=50, comm="ib_write_bw")])) == {1: ("device_busy", "mlx5_1 is busy: pid 51 (ib_write_bw)")}


@pytest.mark.parametrize("run", [missing, answer(rc=1, text=""), answer(text="not JSON"), answer(text="{}"), answer(text="[1]"), answer(timed_out=True)])
def test_devices_are_refused_if_nothing_shows_their_use(root, run, monkeypatch):
    def listdir(path, _listed=os.listdir):
        if str(path).endswith("/proc/900/fd"):
            raise PermissionError(13, "Permission denied", path)
        return _listed(path)

    monkeypatch.setattr(rdma_usage.os, "listdir", listdir)
    unknown = ("cannot find out whether mlx5_0 is busy: this user cannot see the files of all processes, and rdma resource shows no queue pairs")
    assert messages(root, run, {0: PORTS[0]}) == {0: ("busy_unknown", unknown)}
    assert messages(root, answer(), {0: PORTS[0]}) == {}, "rdma resource shows the queue pairs of all users"


def test_a_host_without_proc_is_unknown(tmp_path):
    assert messages(tmp_path, missing, {0: PORTS[0]})[0][0] == "busy_unknown"


def test_the_use_is_read_once_a_second(root):
    calls, times = [], iter([0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 2.0, 2.0, 2.0, 2.0])

    def run(argv, timeout):
        calls.append(argv)
        return answer()(argv, timeout)

    probe = RdmaBusyProbe(PORTS, str(root), run, lambda: next(times))
    for device in (0, 1, 0):
        probe.require_idle(device)
    assert calls == [("rdma", "-j", "resource", "show", "qp")] * 2


@pytest.mark.parametrize("text, found", [
    ("", {}), ("[]", {}), ("[ ]\n", {}), (json.dumps(ALWAYS), {}), (json.dumps([pair(pid="1", comm="a")]), {"mlx5_0": {User(None, "a")}}),
    (json.dumps([pair(pid=1, comm="a"), pair("rxe0", pid=2, comm="b")]), {"mlx5_0": {User(1, "a")}, "rxe0": {User(2, "b")}}), ("nothing", None), ("7", None),
])
def test_parse_queue_pairs(text, found):
    assert parse_queue_pairs(text) == found


def test_a_device_without_rdma_is_idle_and_ports_are_found_by_address(root):
    ports = [port("mlx5_0", address="10.0.0.1"), port("mlx5_1", 1, "10.0.0.2")]
    assert ports_with(ports, {0: "10.0.0.2", 1: "10.0.0.9"}) == {0: ports[1]}
    RdmaBusyProbe({}, str(root), missing).require_idle(5)
