"""Logins as mpirun makes them, and the reasons of failed logins by the output of real ssh clients."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core import process
from ansible_collections.hccn.cluster.plugins.module_utils._perf import ssh_login

OPTIONS = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=2"]


def answer(rc: int = 255, stderr: str = "", timed_out: bool = False, stdout: str = "") -> process.Result:
    return process.Result(("ssh",), rc, stdout, stderr, timed_out, 0.0, 10.0)


def test_login_uses_the_ssh_of_the_launcher() -> None:
    mpich = ssh_login.login_of("mpich", {"HYDRA_LAUNCHER_EXTRA_ARGS": "-p 2222 -i /k"})
    assert mpich and mpich.command("n1", ["sh", "-c", "a 'b'"]) == ["ssh", "-p", "2222", "-i", "/k", *OPTIONS, "n1", "sh -c 'a '\"'\"'b'\"'\"''"]
    mine = ssh_login.login_of("mpich", {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": "/my/ssh"})
    assert mine and mine.argv == ("/my/ssh", *OPTIONS)
    open_mpi = ssh_login.login_of("openmpi", {"PRTE_MCA_plm_ssh_args": "-4", "OMPI_MCA_plm_rsh_agent": "/a -q", "HYDRA_LAUNCHER": "rsh"})
    assert open_mpi and open_mpi.argv == ("/a", "-q", "-4", *OPTIONS)


@pytest.mark.parametrize("environment", [{"HYDRA_LAUNCHER": "slurm"}, {"HYDRA_BOOTSTRAP": "rsh"}, {"SLURM_JOB_ID": "7"}])
def test_no_login_for_launchers_without_ssh(environment: "dict[str, str]") -> None:
    assert ssh_login.login_of("mpich", environment) is None


def test_key_and_known_hosts_of_one_run() -> None:
    assert ssh_login.trust_arguments("", "") == []
    arguments = ssh_login.trust_arguments("/k/id", "/t/known")
    assert arguments == ["-i", "/k/id", "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=/t/known", "-o", "GlobalKnownHostsFile=/dev/null",
                         "-o", "StrictHostKeyChecking=yes"]
    assert ssh_login.environment_with("mpich", {"HYDRA_LAUNCHER_EXTRA_ARGS": "-p 22"}, ["-i", "/k"]) == {"HYDRA_LAUNCHER_EXTRA_ARGS": "-p 22 -i /k"}
    assert ssh_login.environment_with("openmpi", {}, ["-4"]) == {"OMPI_MCA_plm_rsh_args": "-4", "PRTE_MCA_plm_ssh_args": "-4"}
    assert ssh_login.environment_with("mpich", {"HYDRA_LAUNCHER_EXTRA_ARGS": "-p 22"}, []) == {}


@pytest.mark.parametrize(("result", "code", "message"), [
    (answer(stderr="ssh: Could not resolve hostname n9: Name or service not known\n"), "host_unresolvable",
     "ssh: Could not resolve hostname n9: Name or service not known"),
    (answer(stderr="ssh: connect to host n1 port 22: Connection refused\r\n"), "host_unreachable", "ssh: connect to host n1 port 22: Connection refused"),
    (answer(stderr="ssh: connect to host n1 port 22: Connection timed out\r\n"), "host_unreachable", "ssh: connect to host n1 port 22: Connection timed out"),
    (answer(stderr="ssh: connect to host n1 port 22: No route to host\n"), "host_unreachable", "ssh: connect to host n1 port 22: No route to host"),
    (answer(stderr="Connection timed out during banner exchange\nConnection to 10.0.0.1 port 22 timed out\n"), "host_unreachable",
     "Connection timed out during banner exchange"),
    (answer(stderr="No ED25519 host key is known for n1 and you have requested strict checking.\nHost key verification failed.\n"), "ssh_host_key",
     "No ED25519 host key is known for n1 and you have requested strict checking."),
    (answer(stderr="root@n1: Permission denied (publickey,password).\n"), "ssh_refused", "root@n1: Permission denied (publickey,password)."),
    (answer(stderr="Permission denied, please try again.\n"), "ssh_refused", "Permission denied, please try again."),
    (answer(timed_out=True, rc=-9), "host_silent", "no answer within 10 s"),
    (answer(rc=1, stderr="This account is currently not available.\n"), "ssh_shell", "This account is currently not available."),
    (answer(rc=3), "login_failed", "the login ended with status 3"),
])
def test_reasons_of_failed_logins(result: process.Result, code: str, message: str) -> None:
    error = ssh_login.reason(result)
    assert (error.code, error.message) == (code, message)
    assert error.hint


def test_all_failed_hosts_are_in_one_error() -> None:
    answers = {"n%d" % number: answer(stderr="ssh: connect to host n%d port 22: Connection refused\n" % number) for number in range(1, 31)}
    answers["n31"] = answer(0)
    found = ssh_login.refusals(answers)
    error = ssh_login.refused(found, 31)
    assert len(found) == 30
    assert error.code == "host_unreachable"
    assert error.message.startswith("30 of 31 hosts accept no login from %s: n1: ssh: connect to host n1 port 22: Connection refused; n2: "
                                    % os.uname().nodename)
    assert error.message.endswith(" and 10 more")


def test_this_host_is_recognized() -> None:
    assert [ssh_login.is_here(host) for host in ("127.0.0.1", "localhost", os.uname().nodename, "127.77.0.1", "192.0.2.1", "elsewhere")] == [
        True, True, True, False, False, False]


def test_commands_run_at_once_and_on_this_host_without_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\ntouch %s/$1\nwhile [ $(ls %s | grep -c ^n) -lt 3 ]; do sleep 0.01; done\necho login to $1: $2\n" % (tmp_path, tmp_path))
    ssh.chmod(0o755)
    monkeypatch.setenv(process.MARK, "mine")
    found = ssh_login.run_on_all(ssh_login.Login((str(ssh),)), ["n1", "localhost", "n2", "n3"], ["sh", "-c", "echo here $HCCN_CLUSTER_GUARD"], 20)
    assert list(found) == ["n1", "localhost", "n2", "n3"]
    assert [result.stdout for result in found.values()] == [
        "login to n1: sh -c 'echo here $HCCN_CLUSTER_GUARD'\n", "here\n", "login to n2: sh -c 'echo here $HCCN_CLUSTER_GUARD'\n",
        "login to n3: sh -c 'echo here $HCCN_CLUSTER_GUARD'\n"]
