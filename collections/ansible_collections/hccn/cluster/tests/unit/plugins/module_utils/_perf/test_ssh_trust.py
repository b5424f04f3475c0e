"""A key for one run: the key, the line in authorized_keys, and their complete removal."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import ssh_trust, ssh_trust_call
from ansible_collections.hccn.cluster.plugins.module_utils._perf.ssh_trust import Trust

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2nq8m1cQ"
NOW = 1_800_000_000
MINE = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ me@home\n"


class Host:
    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.file = folder / ".ssh" / "authorized_keys"

    def call(self, state: str, run_id: str = "r1", check_mode: bool = False, now: float = NOW, **more: Any) -> "dict[str, Any]":
        params = {"run_id": run_id, "state": state, "public_key": KEY, "seconds": 600, "owner": "boot.1.22.333", "ended": [],
                  "authorized_keys": str(self.file), "key_dir": str(self.home / ".ssh"), **more}
        return ssh_trust_call.perform(params, check_mode, now)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(ssh_trust_call, "_release", lambda: (9, 2))
    monkeypatch.setattr(ssh_trust, "host_keys", lambda: ["ssh-ed25519 HOST"])
    return Host(tmp_path)


def test_line_is_added_and_removed(host: Host) -> None:
    host.file.parent.mkdir(mode=0o700)
    host.file.write_text(MINE + "# note\n")
    host.file.chmod(0o640)
    result = host.call("present")
    assert (result["changed"], result["host_keys"], result["others"], result["removed"]) == (True, ["ssh-ed25519 HOST"], [], [])
    line = host.file.read_text().splitlines()[2]
    assert line.startswith('restrict,expiry-time="') and line.endswith(
        " %s hccn.cluster run=r1 owner=boot.1.22.333 until=1800000600 made=nothing" % KEY)
    assert host.call("present")["changed"] is False
    assert len(host.file.read_text().splitlines()) == 3
    assert host.call("absent")["removed"] == ["r1"]
    assert host.file.read_text() == MINE + "# note\n"
    assert stat.S_IMODE(host.file.stat().st_mode) == 0o640
    assert host.call("absent") == {"changed": False, "removed": [], "others": []}
    assert sorted(path.name for path in host.file.parent.iterdir()) == ["authorized_keys"]


def test_created_file_and_folder_are_removed(host: Host) -> None:
    host.call("present")
    assert stat.S_IMODE(host.file.stat().st_mode) == 0o600 and stat.S_IMODE(host.file.parent.stat().st_mode) == 0o700
    host.call("present", "r2")
    host.call("absent")
    assert host.file.exists()
    host.call("absent", "r2")
    assert list(host.home.iterdir()) == []


def test_lines_of_the_user_are_kept(host: Host) -> None:
    host.call("present")
    with host.file.open("a") as stream:
        stream.write(MINE)
    host.call("absent")
    assert host.file.read_text() == MINE


def test_newline_is_added_after_an_incomplete_last_line(host: Host) -> None:
    host.file.parent.mkdir()
    host.file.write_text(MINE.strip())
    host.call("present")
    assert host.file.read_text().splitlines()[0] == MINE.strip()
    host.call("absent")
    assert host.file.read_text() == MINE


def test_other_bytes_and_links_are_kept(host: Host) -> None:
    host.file.parent.mkdir()
    real = host.home / "real"
    real.write_bytes(b"ssh-rsa AAAA caf\xe9\r\n")
    host.file.symlink_to(real)
    host.call("present")
    host.call("absent")
    assert host.file.is_symlink() and real.read_bytes() == b"ssh-rsa AAAA caf\xe9\r\n"


def test_next_run_removes_an_expired_run(host: Host) -> None:
    host.call("present", "old")
    assert host.call("present", "r2", now=NOW + 700)["removed"] == ["old"]
    assert [trust.run_id for trust in ssh_trust.lines(str(host.file))] == ["r2"]


def test_active_runs_are_reported_and_kept(host: Host) -> None:
    host.call("present", "other", owner="boot.1.7.8")
    assert host.call("present")["others"] == [{"run_id": "other", "owner": "boot.1.7.8"}]
    result = host.call("present", ended=["other"])
    assert (result["removed"], result["others"]) == (["other"], [])
    assert [trust.run_id for trust in ssh_trust.lines(str(host.file))] == ["r1"]


def test_check_mode_changes_nothing(host: Host) -> None:
    assert host.call("present", check_mode=True)["changed"] is True
    assert host.call("key", check_mode=True)["changed"] is True
    assert list(host.home.iterdir()) == []
    host.call("present")
    before = host.file.read_text()
    assert host.call("absent", check_mode=True)["removed"] == ["r1"]
    assert host.file.read_text() == before


KEYGEN = """#!/bin/sh
umask 077
echo "$@" > %(folder)s/arguments
case "$*" in *ed25519*) [ -e %(folder)s/fips ] && { echo "not allowed in FIPS mode" >&2; exit 1; } ;; esac
while [ $# -gt 1 ]; do [ "$1" = -f ] && path=$2; shift; done
echo PRIVATE > "$path"
echo "ecdsa-sha2-nistp384 AAAAE2Vj comment" > "$path.pub"
"""


@pytest.mark.parametrize("kind", ["-t ed25519 -N", "-t ecdsa -b 384 -N"])
def test_key_is_created_and_removed(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh-keygen").write_text(KEYGEN % {"folder": tools})
    (tools / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (tools, os.environ["PATH"]))
    if "ecdsa" in kind:
        (tools / "fips").touch()
    result = host.call("key")
    path = Path(result["identity"])
    assert path == host.home / ".ssh" / "hccn.cluster-r1" / "id"
    assert kind in (tools / "arguments").read_text() and "run=r1" in (tools / "arguments").read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert result["public_key"] == "ecdsa-sha2-nistp384 AAAAE2Vj"
    assert "PRIVATE" in path.read_text() and "PRIVATE" not in str(result)
    assert host.call("present", "r2", owner="o")["others"] == [{"run_id": "r1", "owner": "boot.1.22.333"}]
    assert host.call("absent")["removed"] == ["r1"]
    assert not path.parent.exists()


def test_incomplete_key_of_a_killed_run_is_removed(host: Host) -> None:
    (host.home / ".ssh" / "hccn.cluster-dead").mkdir(parents=True)
    assert host.call("present")["removed"] == ["dead"]
    assert not (host.home / ".ssh" / "hccn.cluster-dead").exists()


@pytest.mark.parametrize(("release", "options"), [((9, 2), "restrict,expiry-time="), ((7, 4), "restrict ssh-ed25519"), ((6, 6), "ssh-ed25519"), (None, "ssh-")])
def test_options_of_the_line_by_release(release: "tuple[int, int] | None", options: str) -> None:
    assert ssh_trust.line_of(KEY, Trust("r", "o", NOW), release).startswith(options)


@pytest.mark.parametrize(("text", "release"), [("OpenSSH_8.2p1, OpenSSL 1.1.1\n", (8, 2)), ("OpenSSH_for_Windows_9.5p1", None), ("dropbear", None)])
def test_release_of(text: str, release: "tuple[int, int] | None") -> None:
    assert ssh_trust.release_of(text) == release


def test_lines_are_removed_on_a_full_disk(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.file.parent.mkdir()
    host.file.write_text(MINE)
    host.call("present")

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    host.call("absent")
    assert host.file.read_text() == MINE


def test_partial_line_is_removed_on_a_full_disk(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.file.parent.mkdir()
    host.file.write_text(MINE)
    monkeypatch.setattr(os, "write", lambda handle, data: 5)
    with pytest.raises(OSError, match="No space left"):
        host.call("present")
    assert host.file.read_text() == MINE


@pytest.mark.parametrize(("more", "message"), [
    ({"run_id": "../x"}, "run_id '../x' is not a name"), ({"owner": "a b"}, "owner 'a b' is not a word"),
    ({"public_key": "ssh-ed25519 AAAA\nssh-rsa BBBB"}, "public_key is not a public key"), ({"seconds": 0}, "seconds is 0"),
    ({"key_dir": "/a b"}, "key_dir is '/a b', it must not contain spaces"),
])
def test_invalid_options_are_rejected(host: Host, more: "dict[str, Any]", message: str) -> None:
    with pytest.raises(InputError) as caught:
        host.call("present", **more)
    assert caught.value.message.startswith(message)
    assert list(host.home.iterdir()) == []


def test_host_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, tools = tmp_path / "etc" / "ssh", tmp_path / "tools"
    folder.mkdir(parents=True)
    tools.mkdir()
    (tools / "ssh-keygen").write_text("#!/bin/sh\n[ \"$1\" = -y ] && cat \"$3\"\n")
    (tools / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (tools, os.environ["PATH"]))
    for name, text in (("ed25519_key", "ssh-ed25519 TRUE"), ("ed25519_key.pub", "ssh-ed25519 STALE root@n1\n"), ("rsa_key", ""),
                       ("rsa_key.pub", "ssh-rsa BBBB\n"), ("ecdsa_key", "")):
        (folder / ("ssh_host_" + name)).write_text(text)
    assert ssh_trust.host_keys(str(tmp_path)) == ["ssh-ed25519 TRUE", "ssh-rsa BBBB"]
    assert ssh_trust.host_keys(str(tmp_path / "none")) == []
