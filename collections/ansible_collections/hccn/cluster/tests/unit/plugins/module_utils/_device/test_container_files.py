"""Test links, permissions and mount points below the root of a container."""

from __future__ import annotations

import errno
import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device import container_files

STATUS = """Name:\tpython3
Umask:\t0022
State:\tS (sleeping)
Uid:\t1000\t1000\t1000\t1001
Gid:\t100\t100\t100\t101
Groups:\t4 27
CapEff:\t{capabilities}
"""


@pytest.fixture
def root(tmp_path):
    """The root of a container, and a file of the same name outside it that must not be found."""
    folder = tmp_path / "root"
    for name in ("etc", "data", "usr/etc"):
        (folder / name).mkdir(parents=True)
    (folder / "data/file").write_text("inside")
    (tmp_path / "file").write_text("outside")
    return folder


def reached(root, path):
    """Return the content of the file that open_below opens."""
    directory = os.open(str(root), os.O_PATH | os.O_DIRECTORY)
    try:
        place = container_files.open_below(directory, path)
    finally:
        os.close(directory)
    with open("/proc/self/fd/%d" % place) as stream:
        os.close(place)
        return stream.read()


@pytest.mark.parametrize("path, target", [
    ("/data/file", None),
    ("data//./file", None),
    ("/data/../../../data/file", None),
    ("/etc/link", "/data/file"),
    ("/etc/link", "../data/file"),
    ("/etc/link", "../../../../data/file"),
    ("/etc/link/file", "/data"),
])
def test_links_are_resolved_within_the_root(root, path, target):
    if target:
        (root / "etc/link").symlink_to(target)
    assert reached(root, path) == "inside"


def test_files_outside_the_root_are_not_found(root, tmp_path):
    (root / "etc/link").symlink_to(str(tmp_path / "file"))
    (root / "etc/up").symlink_to("../../file")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("/etc/link", "/etc/up", "/../file"):
        with pytest.raises(FileNotFoundError):
            reached(root, path)
    with pytest.raises(NotADirectoryError):
        reached(root, "/data/file/more")
    assert len(os.listdir("/proc/self/fd")) == before


def test_loop_of_links_is_an_error(root):
    (root / "etc/a").symlink_to("b")
    (root / "etc/b").symlink_to("a")
    with pytest.raises(OSError) as caught:
        reached(root, "/etc/a")
    assert caught.value.errno == errno.ELOOP


def test_user_of_a_process():
    who = container_files.parse_status(STATUS.format(capabilities="00000000a80425fb"))
    assert (who.uid, who.groups, who.capabilities) == (1001, {101, 4, 27}, 0xA80425FB)
    assert container_files.parse_id_map("         0     100000      65536\n     65536          5          1\n") == ((100000, 65536), (5, 1))


def who(uid=1001, groups=(101,), capabilities=0, ranges=container_files.EVERYONE):
    return container_files.FileIdentity(uid, frozenset(groups), capabilities, ranges, ranges)


@pytest.mark.parametrize("mode, user, allowed", [
    (0o644, who(), True),
    (0o640, who(), False),
    (0o640, who(groups=(0, 5)), True),
    (0o604, who(groups=(0, 5)), False),
    (0o600, who(uid=0), True),
    (0o044, who(uid=0), False),
    (0o000, who(uid=0, capabilities=2), True),
    (0o600, who(capabilities=4), True),
    (0o600, who(capabilities=1), False),
    (0o600, who(capabilities=2, ranges=((100000, 65536),)), False),
    (0o640, who(capabilities=2, ranges=((0, 1),)), True),
])
def test_may_read_file_of_root(mode, user, allowed):
    assert container_files.may_read(mode, 0, 0, user) is allowed


def test_mount_points_are_parsed():
    lines = (
        "812 790 0:52 / / rw,relatime - overlay overlay rw,lowerdir=/a\n"
        "815 812 8:2 /etc/hccn.conf//deleted /etc/hccn.conf ro,relatime master:1 - ext4 /dev/sda2 rw\n"
        "816 812 8:2 /x /with\\040blank rw - ext4 /dev/sda2 rw\n"
        "\n"
    )
    assert container_files.parse_mountinfo(lines) == ["/", "/etc/hccn.conf", "/with blank"]
