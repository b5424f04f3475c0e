"""A host that stops answering while its connection stays open, with an empty ansible.cfg: it is unreachable, and all other hosts are classified."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_fabric import play
from tests.integration.check_fabric.cluster import Cluster
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.processes import descendants, processes
from tests.lib.waiting import until

MUTE = Path(__file__).with_name("mute")
COMMAND_OF = {"ssh": "{folder}/cp/", "mute": "sleep\00036000"}
"""Part of the command line of processes that wait for the answer of the host."""
WITHIN_S = 60.0
"""From the end of the others' measurements to the end of the play."""
LONGEST_S = 240.0
COMMON = {
    "ansible_connection": "local", "ansible_python_interpreter": sys.executable, "check_fabric_control_address": "127.0.0.1",
    "hccn_tool": "{{ root }}/bin/counted", "npu_smi": "{{ root }}/bin/npu-smi", "hccn_conf": "{{ root }}/etc/hccn.conf",
    "check_fabric_state_dir": "{{ root }}/runs", "check_fabric_advanced": {"server_start_delay_s": 0.3}, "check_fabric_relative_floor": 0.2,
    "check_fabric_iterations": 1000, "check_fabric_plan": "full",
}


@dataclass
class Frozen:
    """The result of a play with a frozen host. ``after_s``: seconds from the end of the measurements of other hosts to the end of the play."""

    exit: int
    output: str
    after_s: float
    left: list[int]

    @property
    def hosts(self) -> dict[str, list[str]]:
        """The hosts by class, from the artifact of the job."""
        stats = self.output.split("CUSTOM STATS", 1)[1]
        found, _end = json.JSONDecoder().raw_decode(stats[stats.index("hccn_check_fabric"):].partition(": ")[2])
        return {name: hosts for name, hosts in found["hosts"].items() if hosts}


class Play:
    """A playbook of the collection on a cluster in which one host has a different connection, with an empty ansible.cfg."""

    def __init__(self, folder: Path, cluster: Cluster, victim: str, connection: dict[str, Any], playbook: str = "check_fabric", **variables: Any) -> None:
        self.folder, self.cluster, self.victim = folder, cluster, victim
        hosts = {entry["host"]: {"root": cluster.root(entry["host"]), "check_fabric_control_port": entry["control_port"]} for entry in cluster.hosts()}
        hosts[victim] |= connection
        (folder / "hosts.json").write_text(json.dumps({"npu": {"hosts": hosts, "vars": {**COMMON, **variables}}}))
        (folder / "ansible.cfg").write_text("")
        environment = ansible_environment(
            ANSIBLE_CONFIG=str(folder / "ansible.cfg"), ANSIBLE_SHOW_CUSTOM_STATS="1", ANSIBLE_LOCAL_TEMP=str(folder / "local"),
            ANSIBLE_CONNECTION_PLUGINS=str(MUTE), ANSIBLE_SSH_CONTROL_PATH_DIR=str(folder / "cp"))
        argv = [ANSIBLE_PLAYBOOK, "-i", "hosts.json", f"hccn.cluster.{playbook}"]
        self.log = (folder / "output").open("w+")
        self.process = subprocess.Popen(argv, cwd=folder, stdout=self.log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)

    def printed(self, text: str) -> bool:
        return text in (self.folder / "output").read_text()

    def journals(self) -> dict[str, list[dict[str, Any]]]:
        """Return the journals of all hosts so far."""
        found = {}
        for name in self.cluster.ports:
            for lines in self.cluster.journals(name):
                found[name] = lines
        return found

    def others_are_over(self) -> bool:
        journals = self.journals()
        return all(journals.get(name) and "state" in journals[name][-1] for name in self.cluster.ports if name != self.victim)

    def ended(self) -> Frozen:
        """Wait for the end of the play, or kill it at the time limit, and return its result with the remaining processes."""
        over = None
        end = time.monotonic() + LONGEST_S
        while self.process.poll() is None and time.monotonic() < end:
            if over is None and self.others_are_over():
                over = time.monotonic()
                end = min(end, over + 2 * WITHIN_S)
            time.sleep(0.1)
        after = time.monotonic() - (over or time.monotonic())
        left = descendants(self.process.pid)[1:]
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)
        output = (self.folder / "output").read_text()
        self.log.close()
        return Frozen(self.process.returncode, output, after, left)


@contextlib.contextmanager
def ssh_host(folder: Path, cluster: Cluster, name: str) -> Iterator[tuple[dict[str, Any], Callable[[], None]]]:
    """Start an sshd. Yield the variables of a host behind it, and a function that stops sshd, all its sessions and the measurements of the host."""
    stopped: list[int] = []
    with play.ssh_host(folder, cluster, name) as (variables, send):
        variables["ansible_ssh_common_args"] = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes -o LogLevel=ERROR"
        try:
            yield variables, lambda: stopped.extend(send(signal.SIGSTOP))
        finally:
            for pid in set(stopped):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            for pid in processes(str(folder.parent / "cp"), environment=False):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)


def connection_to(kind: str, folder: Path, cluster: Cluster, name: str) -> contextlib.AbstractContextManager[tuple[dict[str, Any], Callable[[], None]]]:
    """Return a host behind an sshd or behind the connection plugin ``mute``."""
    return ssh_host(folder, cluster, name) if kind == "ssh" else mute_host(cluster, name)


@contextlib.contextmanager
def mute_host(cluster: Cluster, name: str) -> Iterator[tuple[dict[str, Any], Callable[[], None]]]:
    stopped: list[int] = []

    def freeze() -> None:
        Path(cluster.root(name), "frozen").touch()
        for pid in cluster.processes(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)

    try:
        yield {"ansible_connection": "mute"}, freeze
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(("kind", "victim"), [
    pytest.param("ssh", "n3", id="ssh", marks=pytest.mark.long),
    pytest.param("ssh", "n1", id="ssh to the first reporter"),
    pytest.param("mute", "n3", id="another connection", marks=pytest.mark.long),
    pytest.param("mute", "n1", id="another connection to the first reporter", marks=pytest.mark.long),
])
def test_host_that_freezes_during_the_measurement(make: Callable[..., Cluster], tmp_path: Path, kind: str, victim: str) -> None:
    cluster = make(3, measure_seconds=1.0)
    with connection_to(kind, tmp_path / "ssh", cluster, victim) as (connection, freeze):
        running = Play(tmp_path, cluster, victim, connection)
        until(lambda: len(running.journals()) == 3 and any(len(lines) > 1 for lines in running.journals().values()))
        until(lambda: running.printed("Show the progress of the measurements"))
        freeze()
        found = running.ended()
    assert found.exit == 4, found.output
    assert found.hosts == {"good": [name for name in cluster.ports if name != victim], "unreachable": [victim]}, found.output
    assert found.after_s < WITHIN_S
    assert found.left == []
    assert processes(COMMAND_OF[kind].format(folder=tmp_path), environment=False) == {}, "the processes that waited for the host are killed"


def test_host_that_is_frozen_from_the_start(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """The kernel of a frozen host accepts the connection, but sshd does not answer."""
    cluster = make(3)
    with ssh_host(tmp_path / "ssh", cluster, "n2") as (connection, freeze):
        freeze()
        found = Play(tmp_path, cluster, "n2", connection).ended()
    assert found.exit == 4, found.output
    assert found.hosts == {"good": ["n1", "n3"], "unreachable": ["n2"]}, found.output
    assert found.left == []


@pytest.mark.long
def test_host_that_freezes_during_bring_up(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(3)
    with ssh_host(tmp_path / "ssh", cluster, "n2") as (connection, freeze):
        running = Play(tmp_path, cluster, "n2", connection, "bring_up", hccn_fail_on="never")
        until(lambda: running.printed("Set and verify hccn.conf and the addresses, and read the NPUs"))
        freeze()
        found = running.ended()
    assert found.exit == 4, found.output
    assert "n2                         : ok=" in found.output and "unreachable=1" in found.output
    assert [f"{name}: 1 NPUs" in found.output for name in cluster.ports] == [True, False, True], found.output


def scratch(folder: Path, connection: dict[str, Any], tasks: str) -> tuple[subprocess.Popen[str], Path]:
    """Start a play with these tasks on n1, which is local, and n2, with an empty ansible.cfg."""
    hosts = {"n1": {"ansible_connection": "local", "root": str(folder)}, "n2": {"root": str(folder), **connection}}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": {"ansible_python_interpreter": sys.executable}}}))
    (folder / "play.yml").write_text(f"- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}")
    (folder / "ansible.cfg").write_text("")
    environment = ansible_environment(ANSIBLE_CONFIG=str(folder / "ansible.cfg"), ANSIBLE_CONNECTION_PLUGINS=str(MUTE),
                                      ANSIBLE_SSH_CONTROL_PATH_DIR=str(folder / "cp"))
    argv = [ANSIBLE_PLAYBOOK, "-i", "hosts.json", "play.yml"]
    return subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment), folder


def output_of(process: subprocess.Popen[str], seconds: float) -> str:
    """Return the output of a play, which must end by itself."""
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        for pid in reversed(descendants(process.pid)):
            os.kill(pid, signal.SIGKILL)
        pytest.fail(f"no end after {seconds:.0f} s: {process.communicate()[0]}")


FREEZES = """
    - hccn.cluster.bounded:
        action: ansible.builtin.command
        options: {argv: [touch, "{{ root }}/{{ 'frozen' if inventory_hostname == 'n2' else 'other' }}"]}
        timeout_s: "{{ 15 if inventory_hostname == 'n2' else 100 }}"
    - ansible.builtin.debug:
        msg: "{{ inventory_hostname }} goes on"
"""


def test_cleanup_of_a_host_that_does_not_answer_is_skipped(tmp_path: Path) -> None:
    """Without pipelining, Ansible removes the temporary folder of a module after the action, outside of the timeout."""
    process, _folder = scratch(tmp_path, {"ansible_connection": "mute"}, FREEZES)
    output = output_of(process, 120)
    assert process.returncode == 4, output
    assert "no answer within 15 s to hccn.cluster.bounded" in output
    assert ("n1 goes on" in output, "n2 goes on" in output) == (True, False)
    assert processes("sleep\00036000", environment=False) == {}


SHARED = """
    - ansible.builtin.command: {argv: [touch, "{{ root }}/opened"]}
      changed_when: true
    - hccn.cluster.bounded:
        action: ansible.builtin.command
        options: {argv: [sh, -c, "touch {{ root }}/waits-{{ inventory_hostname }}; sleep {{ 600 if inventory_hostname == 'n2' else 1 }}"]}
        timeout_s: 600
    - ansible.builtin.debug:
        msg: "{{ inventory_hostname }} goes on"
"""


@pytest.mark.long
def test_shared_connection_without_keepalive_is_ended(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(2)
    with ssh_host(tmp_path / "ssh", cluster, "n2") as (connection, freeze):
        process, folder = scratch(tmp_path, connection, SHARED)
        until((folder / "waits-n2").exists)
        until(lambda: len(processes("[mux]", environment=False)) >= 2)
        time.sleep(1)
        freeze()
        output = output_of(process, 90)
    assert process.returncode == 4, output
    assert ("n1 goes on" in output, "n2 goes on" in output) == (True, False)
