from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf import listening

HEADING = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROWS = (
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1001 1 0000000000000000 100 0 0 10 0\n"
    "   1: 0B00000A:4853 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1002 1 0000000000000000 100 0 0 10 0\n"
    "   2: 0B00000A:4853 0C00000A:9C40 01 00000000:00000000 00:00000000 00000000     0        0 1003 1 0000000000000000 20 4 30 10 -1\n"
)
ANY_6 = 32 * "0"
ROWS_6 = "   0: %s:4853 %s:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1004 1 0000000000000000 100 0 0 10 0\n" % (ANY_6, ANY_6)


@pytest.mark.parametrize("text, port, inodes", [
    (HEADING + ROWS, 18515, {1002}), (HEADING + ROWS, 8080, {1001}), (HEADING + ROWS, 22, set()), (HEADING, 18515, set()), ("", 18515, set()),
    (HEADING + ROWS_6, 18515, {1004}), (HEADING + ROWS + "   3: cut", 18515, {1002}),
])
def test_listening_inodes_of_a_table(text, port, inodes):
    assert listening.listening(text, port) == inodes


def process(proc, pid, group, inodes=(), table=None):
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "stat").write_text("%d (ib (write) bw) S 1 %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9\n" % (pid, group, group))
    for number, inode in enumerate(inodes):
        (folder / "fd" / str(number)).symlink_to("socket:[%d]" % inode)
    (folder / "fd" / "9").symlink_to("/dev/null")
    if table is not None:
        (folder / "net").mkdir()
        (folder / "net/tcp").write_text(table)


def test_sockets_of_other_processes_do_not_count(tmp_path):
    process(tmp_path, 70, 70, [1001], HEADING + ROWS)
    process(tmp_path, 71, 71, [1002], HEADING + ROWS)
    process(tmp_path, 72, 72, [], HEADING + ROWS)
    process(tmp_path, 73, 72, [1002], HEADING + ROWS)
    process(tmp_path, 74, 74, [1002], HEADING)
    assert [listening.listens(pid, 18515, str(tmp_path)) for pid in (70, 71, 72, 74, 99)] == [False, True, True, False, False]


def test_real_listening_socket():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        assert not listening.listens(os.getpid(), port)
        server.listen()
        assert listening.listens(os.getpid(), port)
    assert not listening.listens(os.getpid(), port)


FAMILIES = [(socket.AF_INET, "127.0.0.1")] + [(socket.AF_INET6, "::")] * os.path.exists("/proc/net/if_inet6")


@pytest.mark.parametrize("family, address", FAMILIES)
def test_netlink_and_proc_return_the_same_sockets(family, address):
    with socket.socket(family) as server:
        server.bind((address, 0))
        port = server.getsockname()[1]
        inode = os.fstat(server.fileno()).st_ino
        assert listening.by_netlink(family, port) in (set(), None)
        server.listen()
        with open("/proc/self/net/" + ("tcp" if family == socket.AF_INET else "tcp6"), encoding="ascii") as table:
            assert listening.listening(table.read(), port) == {inode}
        assert listening.by_netlink(family, port) in ({inode}, None)


def test_proc_is_read_without_netlink(monkeypatch):
    monkeypatch.setattr(listening, "by_netlink", lambda _family, _port: None)
    test_real_listening_socket()


TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4852 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0700000A:4852 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 12 1 0 100 0 0 10 0
   2: 00000000:4853 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0
   3: 0700000A:4852 0100000A:0016 01 00000000:00000000 00:00000000 00000000  1002        0 14 1 0 100 0 0 10 0
"""
TABLE6 = """  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:4854 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 15 1 0 100
   1: 0000000000000000FFFF00000700000A:4855 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1004        0 16 1 0 100
"""


@pytest.mark.parametrize("address, port, shown", [
    ("127.0.0.1", 0x4852, ["pid 7 (nc?[2J) of the user 1000"]),
    ("10.0.0.7", 0x4852, ["a process that cannot be seen from here of the user 1001"]), ("10.0.0.8", 0x4852, []),
    ("0.0.0.0", 0x4852, ["pid 7 (nc?[2J) of the user 1000", "a process that cannot be seen from here of the user 1001"]),
    ("10.0.0.8", 0x4853, ["a process that cannot be seen from here of the user root"]),
    ("10.0.0.8", 0x4854, ["a process that cannot be seen from here of the user 1003"]),
    ("10.0.0.7", 0x4855, ["a process that cannot be seen from here of the user 1004"]), ("fe80::1%eth0", 0x4855, []),
])
def test_listeners_that_occupy_an_address(tmp_path, monkeypatch, address, port, shown):
    """Listeners on other addresses and ports, and connections, are not returned."""
    monkeypatch.setattr(listening, "_user", lambda uid: {0: "root"}.get(uid, str(uid)))
    (tmp_path / "self/net").mkdir(parents=True)
    (tmp_path / "self/net/tcp").write_text(TABLE)
    (tmp_path / "self/net/tcp6").write_text(TABLE6)
    (tmp_path / "7/fd").mkdir(parents=True)
    (tmp_path / "7/fd/3").symlink_to("socket:[11]")
    (tmp_path / "7/comm").write_text("nc\x1b[2J\n")
    assert [str(one) for one in listening.listeners(address, port, str(tmp_path))] == shown
