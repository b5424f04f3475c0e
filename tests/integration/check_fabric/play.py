"""Run playbooks on simulated hosts, and start an sshd for a test."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.packed_result import unpacked
from tests.integration.check_fabric.cluster import Cluster
from tests.lib.playbook import ANSIBLE_PLAYBOOK, BYTECODE, ansible_environment
from tests.lib.ports import free_port
from tests.lib.processes import descendants, processes
from tests.lib.project import skip
from tests.lib.waiting import until

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
OPTIONS = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes -o ControlMaster=no -o ControlPath=none"


def write(folder: Path, playbook: str, cluster: Cluster, variables: Mapping[str, Any], of_hosts: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Write play.yml and hosts.json with all hosts, each with its ``root``."""
    hosts = {name: {"root": cluster.root(name), **(of_hosts or {}).get(name, {})} for name in cluster.ports}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": {"ansible_connection": "local", **variables}}}))
    (folder / "play.yml").write_text(playbook)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start ansible-playbook in a new process group."""
    argv = [ANSIBLE_PLAYBOOK, "-i", "hosts.json", "play.yml", "--forks", "1", *arguments]
    return subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, env=ansible_environment())


def results(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Return the results that each host wrote."""
    return {name: read_results(Path(cluster.root(name)) / "results.json") for name in cluster.ports}


def read_results(path: Path) -> dict[str, Any]:
    """Return the results that a host wrote, with the registered results unpacked."""
    return {name: unpacked(value) for name, value in json.loads(path.read_text()).items()}


@contextlib.contextmanager
def sshd(folder: Path) -> Iterator[dict[str, Any]]:
    """Start an sshd and yield the variables for connections to it. For root it has a separate /run, where sshd needs a folder.

    The home of a login is ``folder``, since bash reads the user's .bashrc in every login, and that may wait for a lock that a stopped login holds.
    """
    if not os.access(SSHD, os.X_OK) or shutil.which("ssh") is None:
        skip("sshd")
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True, timeout=30)
    shutil.copy(folder / "user.pub", folder / "authorized")
    port = free_port()
    (folder / "sshd_config").write_text("\n".join([
        f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {folder}/host", f"AuthorizedKeysFile {folder}/authorized", f"PidFile {folder}/pid", "UsePAM no",
        "StrictModes no", "PermitRootLogin yes", "PasswordAuthentication no", f"SetEnv HOME={folder} PYTHONPATH={BYTECODE}", ""]))
    argv = [SSHD, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "log")]
    if os.getuid() == 0:
        argv = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && mkdir -m 0755 /run/sshd && exec "$@"', "sh", *argv]
    server = subprocess.Popen(argv)
    try:
        until(lambda: server.poll() is not None or _listens(port))
        if server.poll() is not None:
            skip("sshd", (folder / "log").read_text()[-200:] if (folder / "log").exists() else "")
        yield {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": port, "ansible_ssh_private_key_file": str(folder / "user"),
               "ansible_ssh_common_args": OPTIONS, "ansible_ssh_transfer_method": "piped"}
    finally:
        server.terminate()
        server.wait(30)


@contextlib.contextmanager
def ssh_host(folder: Path, cluster: Cluster, name: str) -> Iterator[tuple[dict[str, Any], Callable[[signal.Signals], list[int]]]]:
    """Start an sshd. Yield the variables of a host behind it, and a function that sends a signal to sshd, all its sessions, and the runners and tools of the
    host, and returns their pids."""
    with sshd(folder) as variables:
        (server,) = [pid for pid in processes(str(folder / "sshd_config"), environment=False)
                     if Path(f"/proc/{pid}/comm").read_text().strip() == "sshd"][:1]

        def send(number: signal.Signals) -> list[int]:
            reached = []
            for _again in range(2):  # new processes may have started meanwhile
                for pid in [*descendants(server), *cluster.runners(name), *cluster.processes(name)]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                        reached.append(pid)
            return reached

        yield {**variables, "ansible_ssh_retries": 0}, send


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
