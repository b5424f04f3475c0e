"""Test finding the holder of a flock in /proc/locks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core import locks
from ansible_collections.hccn.cluster.plugins.module_utils._core.locks import Lock

LOCKS = """1: POSIX  ADVISORY  WRITE 812 fe:01:2270407 0 EOF
2: FLOCK  ADVISORY  WRITE 3172 fe:01:2270407 0 EOF
2: -> FLOCK  ADVISORY  WRITE 3180 fe:01:2270407 0 EOF
3: FLOCK  ADVISORY  READ 3190 fe:01:99 0 EOF
4: FLOCK  ADVISORY  WRITE 3191 fe:02:2270407 0 EOF
5: OFDLCK ADVISORY  WRITE -1 fe:01:2270407 0 EOF
6: LEASE  ACTIVE    READ 700 00:2a:77 0 EOF
7: FLOCK  ADVISORY  WRITE 0 103:05:41 0 EOF
"""
DEVICE = os.makedev(0xfe, 1)


def test_only_held_flocks_are_returned():
    assert locks.parse_locks(LOCKS) == (
        Lock(3172, DEVICE, 2270407), Lock(3190, DEVICE, 99), Lock(3191, os.makedev(0xfe, 2), 2270407), Lock(0, os.makedev(0x103, 5), 41))


@pytest.mark.parametrize("line", [
    "", "\n", "8: FLOCK ADVISORY WRITE\n", "8: FLOCK ADVISORY WRITE x fe:01:99 0 EOF\n", "8: FLOCK ADVISORY WRITE 5 fe:01 0 EOF\n",
    "8: FLOCK ADVISORY WRITE 5 zz:01:99 0 EOF\n", "8: FLOCK ADVISORY WRITE 5 fe:01:%s 0 EOF\n" % ("9" * 5000), "8: FLOCK ADVISORY WRITE 5 -1:01:99 0 EOF\n",
    "8: FLOCK ADVISORY WRITE 5 %s:01:99 0 EOF\n" % ("f" * 5000), "\0\0\0"])
def test_unknown_lines_are_ignored(line):
    assert locks.parse_locks(line) == ()


@pytest.mark.parametrize("device, inode, pids", [
    (DEVICE, 2270407, [3172]), (DEVICE, 99, [3190]), (os.makedev(0xfe, 2), 2270407, [3191]), (os.makedev(0xfe, 2), 99, []), (os.makedev(0x103, 5), 41, [0])])
def test_device_and_inode_must_match(device, inode, pids):
    assert locks.holders_in(LOCKS, [os.makedev(1, 1), device], inode) == pids


HOLDER = "import fcntl, sys; stream = open(sys.argv[1]); fcntl.flock(stream, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.read()"


def test_holder_of_a_lock_is_named(tmp_path):
    path = tmp_path / "hccn.conf"
    path.write_text("")
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"1\n"
        with open(path) as stream:
            with open("/proc/%d/comm" % holder.pid) as comm:
                assert locks.holder_of(stream.fileno()) == "pid %d (%s)" % (holder.pid, comm.read().rstrip("\n"))
    finally:
        holder.communicate(timeout=30)


def test_process_names_are_made_printable(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7/comm").write_text("a\x1b[2J\n\u202eb\n", encoding="utf-8")
    assert locks.process_name(7, str(tmp_path)) == "pid 7 (a?[2J??b)"
    assert locks.process_name(8, str(tmp_path)) == "pid 8"


UNKNOWN_HOLDER = "an unknown process, which runs in another PID namespace (a container) or on another host, or has ended"


@pytest.mark.parametrize("text", ["", "1: FLOCK  ADVISORY  WRITE 0 %s:%d 0 EOF\n"])
def test_holder_in_another_pid_namespace_is_unknown(tmp_path, text):
    path = tmp_path / "hccn.conf"
    path.write_text("")
    found = os.stat(path)
    (tmp_path / "locks").write_text(text and text % ("%x:%x" % (os.major(found.st_dev), os.minor(found.st_dev)), found.st_ino))
    with open(path) as stream:
        assert locks.holder_of(stream.fileno(), str(tmp_path)) == UNKNOWN_HOLDER


def test_holder_is_unknown_without_proc(tmp_path):
    with open(os.devnull) as stream:
        assert locks.holder_of(stream.fileno(), str(tmp_path / "nowhere")) == UNKNOWN_HOLDER


def test_device_number_of_the_mount_is_considered(tmp_path):
    """stat returns a different device number than /proc/locks for file systems with subvolumes (btrfs) and for overlays."""
    path = tmp_path / "hccn.conf"
    path.write_text("")
    with open(path) as stream:
        (tmp_path / "self/fdinfo").mkdir(parents=True)
        (tmp_path / ("self/fdinfo/%d" % stream.fileno())).write_text("pos:\t0\nflags:\t02\nmnt_id:\t31\nino:\t5\n")
        (tmp_path / "self/mountinfo").write_text("30 1 254:1 / / rw - ext4 /dev/vda rw\n31 1 0:45 / /etc rw - btrfs /dev/vdb rw\n")
        (tmp_path / "locks").write_text("1: FLOCK  ADVISORY  WRITE 4711 00:2d:%d 0 EOF\n" % os.fstat(stream.fileno()).st_ino)
        assert locks.holder_of(stream.fileno(), str(tmp_path)) == "pid 4711"
