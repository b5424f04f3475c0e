"""datadist_link with a simulated llm_datadist: links over real TCP, the processes that hold them, and the removal of hung processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lib.ports import free_port
from tests.lib.project import ROOT, SIMULATOR
from tests.lib.waiting import happens

# Each call runs in a new process, as under Ansible, because libraries that this process has loaded may fail after a fork.
CALL = """\
import json, sys
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._datadist import link
try:
    print(json.dumps(link.manage(json.loads(sys.argv[1]), json.loads(sys.argv[2]))))
except HccnError as error:
    print(json.dumps({"error": error.as_dict()}))
"""
DONE = {"code": 0, "name": "LLM_SUCCESS", "meaning": "done"}


class Host:
    """Calls the logic of the module as on one host. ``log``: the requests to the simulated llm_datadist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.held: set[int] = set()

    def call(self, check_mode: bool = False, packages: bool = True, environment: dict[str, str] | None = None, **params: Any) -> dict[str, Any]:
        whole = {"state": "present", "cluster": 2, "role": "decode", "device": 0, "listen": None, "local": {"ip": "127.0.0.1", "port": 26000},
                 "local_comm_res": "", "remotes": [], "timeout_ms": 500, "timeout": 20, "hold": 60, "state_dir": str(self.folder / "state"), **params}
        paths = [str(ROOT / "collections")] + ([str(SIMULATOR / "datadist_sim")] if packages else [])
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "LLM_SIM_LOG": str(self.log), **(environment or {})}
        argv = [sys.executable, "-c", CALL, json.dumps(whole), json.dumps(check_mode)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env=variables)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        if "process" in result:
            self.held.add(result["process"])
        return result

    def listen(self, cluster: int, **more: Any) -> dict[str, Any]:
        """Start a prefill cluster and return the entry of ``remotes`` for it."""
        port = free_port()
        result = self.call(cluster=cluster, role="prefill", listen={"ip": "127.0.0.1", "port": port}, **more)
        assert result == {"changed": True, "links": [], "process": result["process"]}
        return {"cluster": cluster, "ip": "127.0.0.1", "port": port}

    def requests(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int, seconds: float = 10) -> bool:
    return happens(lambda: not lives(pid), seconds)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    yield made
    for note in (tmp_path / "state").glob("*.json"):
        made.call(state="absent", cluster=int(note.stem))
    assert [pid for pid in made.held if not gone(pid)] == []


def test_probed_links_and_unlinks(host: Host) -> None:
    remotes = [host.listen(1), {"cluster": 9, "ip": "127.0.0.1", "port": free_port()}]
    result = host.call(state="probed", remotes=remotes)
    assert result["links"] == [
        {"cluster": 1, "code": "LLM_SUCCESS", "explained": DONE, "status": "linked", "unlink": "LLM_SUCCESS"},
        {"cluster": 9, "code": "LLM_LINK_FAILED", "status": "failed", "explained": {
            "code": 0x5010B009, "name": "LLM_LINK_FAILED", "meaning": "the link failed",
            "hint": "check links, addresses and equal TLS settings of both sides with hccn.cluster.datadist_check"}}]
    assert (result["changed"], result["failed"]) == (False, True)
    assert result["msg"].startswith("1 of 2 links failed, the first to cluster 9: LLM_LINK_FAILED: the link failed (check links, addresses")
    assert host.requests()[1:] == ["init", "link 1 9", "unlink 1", "finalize"]


def test_existing_link_is_not_a_failure(host: Host) -> None:
    result = host.call(state="probed", remotes=[host.listen(1)], environment={"LLM_SIM_KNOWN": "1"})
    assert [(link["status"], link["code"]) for link in result["links"]] == [("already_linked", "LLM_ALREADY_LINK")]
    assert "failed" not in result


def test_links_are_held_and_ended(host: Host) -> None:
    remote = host.listen(1)
    foreseen = host.call(check_mode=True, remotes=[remote])
    assert (foreseen, host.requests()) == ({"changed": True, "links": []}, [f"init 127.0.0.1:{remote['port']}"])
    first = host.call(remotes=[remote])
    assert (first["changed"], [link["status"] for link in first["links"]], lives(first["process"])) == (True, ["linked"], True)
    again = host.call(remotes=[remote])
    assert (again["changed"], again["process"], again["links"]) == (False, first["process"], first["links"])
    other = host.call(remotes=[remote], device=1)
    assert other["error"]["message"] == f"process {first['process']} holds other links of cluster 2"
    assert host.call(check_mode=True, state="absent") == {"changed": True, "links": []}

    ended = host.call(state="absent")
    assert (ended["changed"], [(link["cluster"], link["status"], link["unlink"]) for link in ended["links"]]) == (True, [(1, "unlinked", "LLM_SUCCESS")])
    assert gone(first["process"])
    assert host.call(state="absent") == {"changed": False, "links": []}
    assert host.requests()[-2:] == ["unlink 1", "finalize"]


def test_failed_link_is_retried(host: Host) -> None:
    port = free_port()
    late = {"cluster": 1, "ip": "127.0.0.1", "port": port}
    first = host.call(remotes=[late])
    assert (first["changed"], first["failed"], "process" in first) == (False, True, False)
    early = host.listen(3)
    second = host.call(remotes=[early, late])
    assert ([link["status"] for link in second["links"]], lives(second["process"])) == (["linked", "failed"], True)
    host.call(cluster=1, role="prefill", listen={"ip": "127.0.0.1", "port": port})
    third = host.call(remotes=[early, late])
    assert (third["changed"], [link["status"] for link in third["links"]]) == (True, ["linked", "linked"])
    assert gone(second["process"]) and lives(third["process"])


def test_held_links_end_after_their_time(host: Host) -> None:
    held = host.call(remotes=[host.listen(1)], hold=1)
    assert gone(held["process"])
    assert host.call(state="absent") == {"changed": False, "links": []}


def test_links_are_made_in_calls_of_16(host: Host) -> None:
    remote = host.listen(1)
    remotes = [remote] + [{"cluster": number, "ip": "127.0.0.1", "port": remote["port"]} for number in range(100, 119)]
    result = host.call(state="probed", remotes=remotes)
    assert [link["status"] for link in result["links"]] == ["linked"] + ["failed"] * 19
    assert [len(line.split()) - 1 for line in host.requests() if line.startswith("link ")] == [16, 4]


@pytest.mark.parametrize("method", ["init", "link", "unlink"])
def test_hung_process_is_removed(host: Host, method: str) -> None:
    result = host.call(state="probed", remotes=[{"cluster": 1, "ip": "127.0.0.1", "port": free_port()}], timeout=1,
                       environment={"LLM_SIM_HANG": method})
    if method == "unlink":
        # Nothing was linked, so nothing is unlinked.
        assert [link["status"] for link in result["links"]] == ["failed"]
        return
    assert result["error"]["message"] == "LLM-DataDist did not finish within 1 s, and its process was killed"
    marked = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and b"LLM_SIM_HANG=" + method.encode() in environment_of(pid)
              and str(host.log).encode() in environment_of(pid) and lives(int(pid.name))]
    assert marked == []


def environment_of(pid: Path) -> bytes:
    try:
        return (pid / "environ").read_bytes()
    except OSError:
        return b""


def test_holder_that_does_not_unlink_is_killed(host: Host) -> None:
    held = host.call(remotes=[host.listen(1)], environment={"LLM_SIM_HANG": "unlink"})
    result = host.call(state="absent", timeout=1)
    assert result["error"]["message"] == f"process {held['process']} did not unlink within 1 s and was killed"
    assert gone(held["process"])


def test_invalid_requests_are_refused(host: Host) -> None:
    remote = {"cluster": 1, "ip": "127.0.0.1", "port": 1}
    for params, message in (
            ({"remotes": [remote], "local": None}, "local is missing: without local_comm_res, the ip and port of this host are required"),
            ({"remotes": [remote, remote]}, "remotes must not contain this cluster or duplicates"),
            ({"remotes": [dict(remote, cluster=2)]}, "remotes must not contain this cluster or duplicates"),
            ({"state": "probed"}, "remotes is empty: there is nothing to probe"),
            ({"timeout": 0}, "timeout, hold and timeout_ms must be 1 or more")):
        assert host.call(**params)["error"]["message"] == message
    assert host.requests() == []


def test_llm_datadist_does_not_start(host: Host) -> None:
    missing = host.call(state="probed", remotes=[{"cluster": 1, "ip": "127.0.0.1", "port": 1}], packages=False)
    assert (missing["error"]["code"], missing["error"]["message"]) == (
        "package_missing", "the Python package llm_datadist cannot be imported: No module named 'llm_datadist'")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = host.call(cluster=5, role="prefill", listen={"ip": "127.0.0.1", "port": taken.getsockname()[1]})
    assert busy["error"]["message"].startswith("LLM-DataDist does not start on device 0: LLM_FAILED listen: Address already in use")
