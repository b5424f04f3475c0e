"""hccn_conf_mount with real mount namespaces: its result for a container is compared with the file that a process in it reads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._device import conf_file, mounts

from tests.integration.mounts.container import NPUS
from tests.lib.module import call_module
from tests.lib.project import skip

CONF = "address_0=10.78.1.10\n"
NEWER = "address_0=10.78.1.99\nmtu_0=4200\n"
REFUSED = 77
DEADLINE = 60


class Container:
    """A running container.py."""

    def __init__(self, folder: Path, **wish: Any) -> None:
        folder.mkdir()
        argv = [sys.executable, str(Path(__file__).with_name("container.py")), json.dumps({"root": str(folder), "npus": ["davinci0"], **wish})]
        self._child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self._line()
        if line != "ready":
            self.end()
            if self._child.returncode == REFUSED:
                skip("mount-namespaces", line)
            raise AssertionError(line)

    @property
    def pid(self) -> int:
        return self._child.pid

    def _line(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().rstrip("\n")

    def reads(self) -> dict[str, str]:
        """Return the current content of /etc/hccn.conf in the container."""
        assert self._child.stdin is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        return json.loads(self._line())

    def end(self) -> None:
        try:
            self._child.communicate(timeout=DEADLINE)
        finally:
            self._child.kill()
            self._child.wait()


class Host:
    """``dev``: its /dev, with NPUs that are other character devices of this machine (container.NPUS)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dev = folder / "dev"
        self.dev.mkdir()
        for name, device in NPUS.items():
            (self.dev / name).symlink_to(device)
        self.path = folder / "hccn.conf"
        self.path.write_text(CONF)
        self.cdi = folder / "cdi"
        self.running: list[Container] = []

    def start(self, **wish: Any) -> Container:
        self.running.append(Container(self.folder / f"root{len(self.running)}", **wish))
        return self.running[-1]

    def start_mapped(self, **wish: Any) -> Container:
        return self.start(mount=str(self.path), read_only=True, **wish)

    @property
    def options(self) -> dict[str, Any]:
        return {"path": str(self.path), "cdi_dir": str(self.cdi)}

    def results(self, **options: Any) -> list[dict[str, Any]]:
        """Return the results for the containers of this test, in the order of their start."""
        return self.own(self.manage(**options))

    def manage(self, **options: Any) -> dict[str, Any]:
        params = {**self.options, "container_path": "/etc/hccn.conf", "state": None, "fail_on": "never", **options}
        return mounts.manage(params, check_mode=True, dev=str(self.dev))

    def own(self, result: dict[str, Any]) -> list[dict[str, Any]]:
        found = {one["pid"]: one for one in result["containers"]}
        return [found[one.pid] for one in self.running if one.pid in found]

    def problem(self, result: dict[str, Any], container: Container) -> dict[str, Any]:
        (problem,) = [one for one in result["problems"] if f" pid {container.pid} (" in one["where"]]
        return problem

    def replace(self) -> None:
        """Replace the file as ansible.builtin.copy does."""
        newer = self.folder / "newer"
        newer.write_text(NEWER)
        newer.replace(self.path)

    def edit(self) -> None:
        """Edit the file in place as hccn_conf and hccn_tool do."""
        conf_file.change(str(self.path), lambda _text: NEWER, timeout=5)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    yield made
    for container in made.running:
        container.end()


def test_mounted_file(host: Host) -> None:
    container = host.start_mapped(held=["davinci0"])
    (one,) = host.results()
    assert one.pop("container").startswith("mnt:[")
    assert one == {"runtime": "unknown", "pod_uid": None, "pid": container.pid, "pids": [container.pid], "processes": 1, "command": one["command"],
                   "devices": [0], "state": "mapped", "read_only": True, "remedy": None}
    assert one["command"].startswith("python")
    assert container.reads() == {"content": CONF}


def test_writable_mount(host: Host) -> None:
    host.start(mount=str(host.path))
    assert [(one["state"], one["read_only"]) for one in host.results()] == [("mapped", False)]


def test_missing_file(host: Host) -> None:
    container = host.start(npus=["davinci7", "davinci12", "davinci_manager"], held=["davinci7", "davinci_manager"])
    (one,) = host.results()
    assert (one["state"], one["read_only"], one["devices"]) == ("missing", None, [7, 12])
    assert container.reads() == {"error": "FileNotFoundError"}


def test_container_sees_edits_but_no_replaced_file(host: Host) -> None:
    container = host.start_mapped()
    host.edit()
    assert [one["state"] for one in host.results()] == ["mapped"]
    assert container.reads() == {"content": NEWER}

    host.path.write_text(CONF)
    host.replace()
    assert [one["state"] for one in host.results()] == ["stale"]
    assert container.reads() == {"content": CONF}

    later = host.start_mapped()
    assert [one["state"] for one in host.results()] == ["stale", "mapped"]
    assert later.reads() == {"content": NEWER}


def test_replaced_file_differs_from_a_file_of_the_image(host: Host) -> None:
    mapped, image = host.start_mapped(), host.start(content=CONF + "\n")
    host.path.rename(host.folder / "hccn.conf.bak")
    host.path.write_text(NEWER)
    result = host.manage()
    assert [one["state"] for one in host.own(result)] == ["stale", "stale"]
    assert host.problem(result, mapped)["message"] == (
        f"/etc/hccn.conf is an older file: the host's {host.path} was replaced (by rename) or removed after the container had started")
    assert host.problem(result, image)["message"] == f"/etc/hccn.conf is a file of the container whose content differs from the host's {host.path}"


def test_copied_file(host: Host) -> None:
    host.start(content=CONF)
    assert [(one["state"], one["read_only"]) for one in host.results()] == [("copy", False)]
    host.edit()
    assert [one["state"] for one in host.results()] == ["stale"]


@pytest.mark.parametrize(("powerless", "mode", "state", "reads"), [
    (False, 0o000, "mapped", {"content": CONF}),
    (True, 0o000, "unreadable", {"error": "PermissionError"}),
    (True, 0o400, "mapped", {"content": CONF}),
])
def test_readability_is_that_of_the_kernel(host: Host, powerless: bool, mode: int, state: str, reads: dict[str, str]) -> None:
    host.path.chmod(0o644)
    container = host.start_mapped(powerless=powerless)
    content = mounts.host_file(str(host.path))
    host.path.chmod(mode)
    finding = mounts.probe(one_of(host, container), content, mounts.MountPaths(str(host.path), "/etc/hccn.conf"), "/proc")
    assert finding is not None
    assert (finding.state, container.reads()) == (state, reads)


def one_of(host: Host, container: Container) -> mounts.containers.Container:
    (found,) = [one for one in mounts.containers.scan(dev=str(host.dev)).containers if container.pid in one.pids]
    return found


def test_links_and_pipes_of_a_container_are_harmless(host: Host) -> None:
    linked, piped = host.start(link=str(host.path)), host.start(fifo=True)
    assert [(one["pid"], one["state"]) for one in host.results()] == [(linked.pid, "missing"), (piped.pid, "unreadable")]
    assert linked.reads() == {"error": "FileNotFoundError"}


def test_containers_without_npus_and_private_namespaces_are_skipped(host: Host) -> None:
    host.start(npus=["davinci_manager"], content=CONF)
    host.start(own_root=False)
    assert host.results() == []


def test_file_with_the_name_of_an_npu_is_ignored(host: Host) -> None:
    """Any user can have a separate root in a user namespace."""
    user = host.start(npus=[], files=["davinci0"], held=["davinci0"])
    result = host.manage(fail_on="error")
    assert (host.own(result), [one for one in result["problems"] if str(user.pid) in one["where"]]) == ([], [])


def test_task_names_each_container_with_its_next_step(host: Host) -> None:
    stale, missing = host.start_mapped(), host.start()
    host.replace()
    mapped = host.start_mapped(held=["davinci0"])
    result = host.manage(fail_on="error")
    assert [one["state"] for one in host.own(result)] == ["stale", "missing", "mapped"]
    assert " problem(s) with hccn.conf in containers, the first: " in result["msg"]
    assert host.problem(result, stale)["hint"] == (
        "restart the container, which then mounts the current file; hccn.cluster.hccn_conf edits the file in place, so that later changes need no restart")
    assert host.problem(result, missing)["hint"] == f"mount {host.path} of the host read-only at /etc/hccn.conf in the container and restart it"
    assert [one for one in result["problems"] if f" pid {mapped.pid} (" in one["where"]] == []
    assert (result["changed"], result["docker_args"]) == (False, ["-v", f"{host.path}:/etc/hccn.conf:ro"])
    assert not host.cdi.exists()


def test_task_writes_the_spec_once(host: Host) -> None:
    spec = host.cdi / "hccn-cluster-hccn-conf.json"
    options = {**host.options, "state": "present"}
    predicted = call_module("hccn_conf_mount", options, check=True, diff=True)
    assert (predicted["changed"], host.cdi.exists()) == (True, False)
    assert call_module("hccn_conf_mount", options)["changed"] is True
    mount = {"hostPath": str(host.path), "containerPath": "/etc/hccn.conf", "options": ["ro", "nosuid", "nodev", "bind"]}
    assert json.loads(spec.read_text()) == {
        "cdiVersion": "0.3.0", "kind": "hccn.cluster/conf", "devices": [{"name": "hccn-conf", "containerEdits": {"mounts": [mount]}}]}
    assert (spec.stat().st_mode & 0o777, host.cdi.stat().st_mode & 0o777) == (0o644, 0o755)
    assert call_module("hccn_conf_mount", options)["changed"] is False
    assert call_module("hccn_conf_mount", {**host.options, "state": "absent"})["changed"] is True
    assert list(host.cdi.iterdir()) == []
