"""Check the files that the collection creates: their modes with any umask, and links that another user placed at their paths."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import kube_access
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._datadist import worker
from ansible_collections.hccn.cluster.plugins.module_utils._device import cdi, conf_file
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective, ssh_trust
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_plan import Plan, Request
from ansible_collections.hccn.cluster.plugins.module_utils._perf.mpirun import Launcher
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NcclOptions
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import files, reader
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import HistoryError
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table import staging

from tests.integration.rank_table.plays import keep, once, play

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB"
SECRET = "somebody else's\n"
TABLE = {"version": "1.0", "status": "completed", "server_count": "1", "server_list": [
    {"server_id": "192.0.2.1", "device": [{"device_id": "0", "device_ip": "192.0.2.9", "rank_id": "0"}]}]}


@pytest.fixture(params=[0o000, 0o077], ids=["umask-000", "umask-077"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path | str) -> str:
    return oct(os.stat(path).st_mode & 0o7777)


@pytest.mark.usefixtures("umask")
def test_modes(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(0o700)
    os.close(journal.Journal.create(str(tmp_path / "state"), "r1").fileno())
    files.replace(tmp_path / "history/2026/report.html", b"")
    staging.write(tmp_path / "table.json", "{}")
    worker.write(str(tmp_path / "links.json"), {})
    cdi.write(str(tmp_path / "cdi/hccn.json"), "{}")
    trust = ssh_trust.Trust("r1", "me", 2**31)
    ssh_trust.allow(str(tmp_path / "home/.ssh/authorized_keys"), KEY, trust, None)
    kept: list[str] = []
    secret = kube_access._CredentialFiles("", kept).keep(b"key")
    found = {name: mode(tmp_path / name) for name in (
        "state", "state/r1", "history", "history/2026", "history/2026/report.html", "table.json", "links.json", "cdi", "cdi/hccn.json", "home/.ssh",
        "home/.ssh/authorized_keys")}
    assert found == {
        "state": "0o700", "state/r1": "0o700", "history": "0o750", "history/2026": "0o750", "history/2026/report.html": "0o640", "table.json": "0o600",
        "links.json": "0o600", "cdi": "0o755", "cdi/hccn.json": "0o644", "home/.ssh": "0o700", "home/.ssh/authorized_keys": "0o600"}
    assert {mode(path) for path in (tmp_path / "state/r1").iterdir()} == {"0o600"}
    assert mode(secret) == "0o600"
    os.unlink(secret)


def test_run_key_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        identity, _public = ssh_trust.make_key(str(tmp_path / "ssh"), ssh_trust.Trust("r1", "me", 2**31))
    except HccnError as error:
        assert error.code == "tool_missing"  # a host without ssh-keygen
        return
    finally:
        os.umask(before)
    assert (mode(identity), mode(Path(identity).parent), mode(tmp_path / "ssh")) == ("0o600", "0o700", "0o700")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text(SECRET)
    return path


def test_link_at_path_of_host_keys_is_not_followed(tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file name is derived from that of the host file, which all users of the host can see in /tmp."""
    hostfile = tmp_path / "hccn-hostfile-x"
    hostfile.write_text("")
    Path(f"{hostfile}-known").symlink_to(victim)
    request = Request(NcclOptions(), hosts=("a", "b"), known_hosts=("a " + KEY,), tool=NCCL_TESTS, allow_busy=True)
    attempt = collective.Attempt(request, Plan(Launcher("/nowhere", "mpich", "4"), (), "a:1\n", "/", {}), str(hostfile))
    with pytest.raises(FileExistsError):
        attempt.run()
    assert victim.read_text() == SECRET


def test_links_at_paths_of_own_files_are_not_followed(tmp_path: Path, victim: Path) -> None:
    state = tmp_path / "state"
    (state / "r1").mkdir(parents=True)
    (state / "r1/journal.jsonl").symlink_to(victim)
    with pytest.raises(HccnError):
        journal.Journal.create(str(state), "r1")
    (tmp_path / "hccn.conf").symlink_to(tmp_path / "absent")
    with pytest.raises(HccnError, match="hccn.conf is a link to a file that does not exist"):
        conf_file.create(str(tmp_path / "hccn.conf"))
    for name, write in (("links.json", lambda path: worker.write(str(path), {})), ("report.html", lambda path: files.replace(path, b"page")),
                        ("spec.json", lambda path: cdi.write(str(path), "{}")), ("table.json", lambda path: staging.write(path, "{}"))):
        (tmp_path / name).symlink_to(victim)
        write(tmp_path / name)
        assert not (tmp_path / name).is_symlink(), name
    assert victim.read_text() == SECRET
    assert not (tmp_path / "absent").exists()


def test_rank_table_replaces_links_and_keeps_special_characters(tmp_path: Path, victim: Path) -> None:
    """A link is replaced, not followed. A file name with special characters reaches the file system unchanged."""
    (tmp_path / "link.json").symlink_to(victim)
    strange = tmp_path / "$(touch pwned) ; `touch pwned` 'x\" {{ 7 }}.json"
    options = {"tables": [TABLE], "write": True}
    tasks = [once("link", "hccn.cluster.rank_table", {**options, "path": str(tmp_path / "link.json")}),
             once("strange", "hccn.cluster.rank_table", {**options, "path": "{{ path }}"}, vars={"path": {"__ansible_unsafe": str(strange)}})]
    code, output, kept = play(tmp_path, {"n1": {}}, [*tasks, keep(tmp_path, "link", "strange")])
    assert code == 0, output
    assert (kept["link"]["failed"], kept["strange"]["failed"]) == (False, False), kept
    assert victim.read_text() == SECRET
    assert json.loads((tmp_path / "link.json").read_text()) == json.loads(strange.read_text()) == TABLE
    assert (mode(tmp_path / "link.json"), mode(strange)) == ("0o640", "0o640")
    assert not list(tmp_path.rglob("pwned"))


RUN = "2026/11/20/20261120T101500Z-r1.jsonl"
HEADER = b'{"schema": "hccn.cluster/history/1", "run_id": "r1"}\n'


def run_of(folder: Path) -> Path:
    path = folder / RUN
    path.parent.mkdir(parents=True)
    return path


def refused(folder: Path) -> str:
    with pytest.raises(HistoryError) as caught:
        reader.read(reader.find(folder, "r1"))
    return str(caught.value.message)


def test_pipe_and_link_instead_of_a_run_are_refused(tmp_path: Path) -> None:
    """Opening the pipe would block a reader for ever, and reading /dev/zero through the link would exhaust the memory."""
    os.mkfifo(run_of(tmp_path / "pipe"))
    run_of(tmp_path / "link").symlink_to("/dev/zero")
    assert refused(tmp_path / "pipe") == f"{tmp_path}/pipe/{RUN}: it is not a regular file"
    assert refused(tmp_path / "link") == f"{tmp_path}/link/{RUN}: it is a symbolic link"
    with pytest.raises(HistoryError, match="has no run with results"):
        reader.newest(tmp_path / "pipe")


def test_oversized_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    bomb = run_of(tmp_path / "bomb")
    bomb.with_name(bomb.name + ".gz").write_bytes(gzip.compress(HEADER + b" " * (2 << 20)))
    run_of(tmp_path / "long").write_bytes(HEADER + b" " * (2 << 20))
    assert refused(tmp_path / "bomb") == f"{tmp_path}/bomb/{RUN}.gz: it is larger than 1 MiB"
    assert refused(tmp_path / "long") == f"{tmp_path}/long/{RUN}: it is larger than 1 MiB"


def test_link_at_path_of_draft_is_not_followed(tmp_path: Path) -> None:
    """In a folder that every user can write to, a link at the path of a draft is not followed."""
    victim = tmp_path / "victim"
    victim.write_text(SECRET)
    folder = tmp_path / "history"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / f".report.html.{os.getpid()}").symlink_to(victim)
    (folder / "report.html").symlink_to(victim)
    files.replace(folder / "report.html", b"page")
    assert (victim.read_text(), (folder / "report.html").read_text(), (folder / "report.html").is_symlink()) == (SECRET, "page", False)
    assert sorted(path.name for path in folder.iterdir()) == [f".report.html.{os.getpid()}", "report.html"]
