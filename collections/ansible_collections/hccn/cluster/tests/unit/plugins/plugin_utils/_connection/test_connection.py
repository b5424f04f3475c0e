"""Deadlines, the keepalive of ssh, and time limits of modules. Frozen hosts are tested in tests/integration/check_fabric."""

from __future__ import annotations

import signal
import subprocess
import time
import types

import pytest

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection import bounds
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.deadline import NoAnswer, deadline
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.keepalive import keep_alive


class Connection:
    """The parts of a connection that the plugins of Ansible have."""

    def __init__(self, transport="ssh", **options):
        self.transport = transport
        self.options = {"host": "n1", "port": None, "remote_user": "root", "control_path": "", "ssh_extra_args": "", "scp_extra_args": None,
                        "sftp_extra_args": "", **options}
        self._shell = types.SimpleNamespace(tmpdir="/tmp/ansible-tmp-1")

    def get_option(self, name):
        return self.options[name]

    def set_option(self, name, value):
        self.options[name] = value


def test_a_deadline_interrupts_a_wait_and_kills_children():
    child = None
    began = time.monotonic()
    with pytest.raises(NoAnswer), deadline(0.3):
        child = subprocess.Popen(["sh", "-c", "sleep 600; true"])
        child.wait()
    assert time.monotonic() - began < 10
    assert child.wait(10) == -signal.SIGKILL
    assert (signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM)) == ((0.0, 0.0), signal.SIG_DFL)


def test_a_lost_exception_is_raised_again():
    with pytest.raises(NoAnswer), deadline(0.1):
        try:
            time.sleep(60)
        except BaseException:  # noqa: BLE001
            pass
        time.sleep(60)


def test_work_within_the_deadline_is_not_interrupted():
    with deadline(60):
        answer = subprocess.run(["echo", "here"], capture_output=True, text=True, check=True).stdout
    assert answer == "here\n"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


class Outer(BaseException):
    pass


def raise_outer(_number, _frame):
    raise Outer


@pytest.mark.parametrize("outer, inner", [(0.2, 60), (0.6, 0.2)])
def test_an_existing_timer_continues(outer, inner):
    """The keyword ``timeout`` of a task uses the same signal."""
    before = signal.signal(signal.SIGALRM, raise_outer)
    signal.setitimer(signal.ITIMER_REAL, outer)
    try:
        with pytest.raises(Outer):
            try:
                with deadline(inner):
                    time.sleep(30)
            except NoAnswer:
                assert inner < outer
            time.sleep(30)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_keepalive_follows_the_arguments_of_the_user():
    """ssh uses the first value of an option."""
    connection = Connection(ssh_extra_args="-o ServerAliveInterval=60")
    keep_alive(connection)
    keep_alive(connection)
    assert connection.options["ssh_extra_args"] == "-o ServerAliveInterval=60 -o ServerAliveInterval=10 -o ServerAliveCountMax=3"
    assert connection.options["scp_extra_args"] == connection.options["sftp_extra_args"] == "-o ServerAliveInterval=10 -o ServerAliveCountMax=3"


def test_connections_with_keepalive_have_a_separate_control_path():
    """A connection that was opened before has no keepalive. Hosts, ports and users differ; a path that the user has set is kept."""
    paths = set()
    for options in ({}, {}, {"host": "n2"}, {"port": 22}, {"remote_user": "admin"}):
        connection = Connection(**options)
        keep_alive(connection)
        path = connection.options["control_path"]
        assert path.startswith("%(directory)s/") and len(path) == len("%(directory)s/") + 10
        paths.add(path)
    assert len(paths) == 4
    given = Connection(control_path="/run/cp-%%h")
    keep_alive(given)
    assert given.options["control_path"] == "/run/cp-%%h"


def test_other_connections_are_not_changed():
    keep_alive(types.SimpleNamespace(transport="kubectl"))


class Action(BoundedAction):
    def __init__(self):
        self._connection = Connection()
        self._task = types.SimpleNamespace(action="hccn.cluster.device_info", async_val=0)
        self.warnings = []
        self._display = types.SimpleNamespace(warning=self.warnings.append)

    def run(self, tmp=None, task_vars=None):
        raise NotImplementedError

    def _remove_tmp_path(self, tmp_path, force=False):
        time.sleep(60)


def test_a_silent_host_is_unreachable_and_not_called_again():
    action = Action()
    with pytest.raises(AnsibleConnectionFailure, match="no answer within 0 s to hccn.cluster.device_info: the host or its connection has stopped"):
        with action.answered_within(0.1):
            time.sleep(60)
    assert action._connection._shell.tmpdir is None
    assert "ServerAliveInterval=10" in action._connection.options["ssh_extra_args"]


def test_cleanup_is_limited_and_does_not_affect_the_result(monkeypatch):
    monkeypatch.setattr("ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded.CLEANUP_S", 0.1)
    action = Action()
    action.cleanup()
    assert len(action.warnings) == 1 and action.warnings[0].startswith("A temporary folder is left on the host: no answer within")


@pytest.mark.parametrize("module, arguments, expected", [
    ("device_info", {"gather": ["link"]}, 60 + 300 + 2 * 30),
    ("device_info", {"gather": ["processes"], "timeout": 5}, 60 + 300 + 5),
    ("device_info", {}, 60 + 300 + (1 + 6 + 16) * 30),
    ("device_network", {"timeout": "10"}, 60 + 300 + 4 * 16 * 10),
    ("hccn_conf", {"recover": True, "timeout": "soon"}, 60 + 300 + 4 * 16 * 30 + 16 * 120),
    ("device_ping", {"targets": [{}] * 100}, 60 + 300 + (4 * 16 + 100) * 30),
    ("rdma_perf", {"wait": False}, 60 + 300 + 16 * 30),
    ("rdma_perf", {"state": "absent"}, 60 + 300 + 16 * 30),
    ("rdma_perf", {}, None),
    ("hccl_perf", {"timeout": 100}, 60 + 340),
    ("nccl_perf", {"groups": ["scaling"]}, 60 + (32 + 40) * 840),
    ("hccl_perf", {"isolate": True, "isolate_budget": 5}, 60 + (32 + 5) * 840),
    ("datadist_link", {"timeout": 90}, 60 + 300 + 90),
    ("perf_tools_info", {"timeout": None}, 60 + 300),
    ("perf_tools", {}, 60 + 300 + 1800),
    ("perf_tools", {"timeout": 600}, 60 + 300 + 600),
])
def test_the_limit_of_a_host_exceeds_that_of_the_module(module, arguments, expected):
    assert bounds.seconds(f"hccn.cluster.{module}", arguments) == expected
