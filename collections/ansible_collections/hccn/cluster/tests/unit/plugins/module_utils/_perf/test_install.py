from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._perf import install

PROXY = "http://op:s3cret@proxy.example:3128"
OPTIONS = {"tools": ["iperf3", "mpich"], "packages": {}, "update_cache": True, "http_proxy": None, "https_proxy": None, "no_proxy": None, "timeout": 60}
THERE = {"tools": [{"name": "iperf3", "found": True}], "missing": [], "packages": [], "package_manager": "apt", "command": [], "problems": [],
         "changed": False, "devices": [], "distribution": {}}
LACKING = {**THERE, "missing": ["iperf3"], "packages": ["iperf3"],
           "problems": [{"message": "iperf3 is not installed", "hint": "apt-get install --yes iperf3"}]}
APT_OPTIONS = ("-o", "DPkg::Lock::Timeout=60", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")


class Host:
    """A host whose package manager is ``manager``. ``results``: (exit status, stdout, stderr) of its calls; ``found``: the results of the probes."""

    def __init__(self, tmp_path, monkeypatch, manager="apt-get"):
        if manager:
            (tmp_path / manager).write_text("")
            (tmp_path / manager).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        self.calls, self.environment, self.results, self.found, self.timed_out = [], {}, [], [LACKING, THERE], False

    def run(self, argv, timeout, env):
        self.calls.append(tuple(argv))
        self.environment = env
        assert 0 < timeout <= 60
        rc, out, err = self.results.pop(0) if self.results else (0, "", "")
        return Result(tuple(argv), rc, out, err, self.timed_out, 0.0, 0.1)

    def ensure(self, check_mode=False, **options):
        found = iter(self.found)
        return install.ensure({**OPTIONS, **options}, check_mode, self.run, lambda _params: dict(next(found)))

    def error(self, **options):
        with pytest.raises(HccnError) as caught:
            self.ensure(**options)
        return caught.value.sentence()


@pytest.fixture
def host(tmp_path, monkeypatch):
    return Host(tmp_path, monkeypatch)


def test_nothing_is_missing(host):
    host.found = [THERE]
    values = host.ensure()
    assert (values["changed"], values["installed"], values["missing"], host.calls) == (False, [], [], [])
    assert sorted(values) == ["changed", "command", "installed", "missing", "package_manager", "packages", "problems", "tools"]


def test_packages_are_installed(host):
    values = host.ensure()
    assert host.calls == [("apt-get", "update"), ("apt-get", "install", "--yes", *APT_OPTIONS, "iperf3")]
    assert (values["changed"], values["installed"], values["missing"], "failed" in values) == (True, ["iperf3"], [], False)
    assert host.environment == {"DEBIAN_FRONTEND": "noninteractive"}


@pytest.mark.parametrize("manager", ["dnf", "yum"])
def test_packages_of_rpm_distributions(tmp_path, monkeypatch, manager):
    host = Host(tmp_path, monkeypatch, manager)
    host.ensure()
    assert host.calls == [(manager, "clean", "expire-cache"), (manager, "install", "--assumeyes", "iperf3")]


def test_without_update_of_the_lists(host):
    host.ensure(update_cache=False)
    assert host.calls == [("apt-get", "install", "--yes", *APT_OPTIONS, "iperf3")]


def test_proxy_is_in_the_environment_and_not_in_the_command(host):
    host.ensure(http_proxy=PROXY, no_proxy=["mirror.example"])
    assert host.environment == {"DEBIAN_FRONTEND": "noninteractive", "http_proxy": PROXY, "HTTP_PROXY": PROXY, "no_proxy": "mirror.example",
                                "NO_PROXY": "mirror.example"}
    assert "proxy" not in " ".join(word for argv in host.calls for word in argv)


def test_check_mode_with_apt(host):
    host.found = [LACKING]
    values = host.ensure(check_mode=True)
    assert host.calls == [("apt-get", "install", "--simulate", "iperf3")]
    assert (values["changed"], values["installed"], values["missing"]) == (True, ["iperf3"], ["iperf3"])


@pytest.mark.parametrize("answer", [(1, "Transaction Summary\n", "Operation aborted.\n"), (1, "Exiting on user command\n", ""), (0, "Nothing to do.\n", "")])
def test_check_mode_with_dnf_and_yum(tmp_path, monkeypatch, answer):
    host = Host(tmp_path, monkeypatch, "dnf")
    host.found, host.results = [LACKING], [answer]
    assert host.ensure(check_mode=True)["changed"] is True
    assert host.calls == [("dnf", "install", "--assumeno", "iperf3")]


def test_check_mode_with_a_missing_package(tmp_path, monkeypatch):
    host = Host(tmp_path, monkeypatch, "dnf")
    host.results = [(1, "", "Error: Unable to find a match: iperf3\n")]
    assert host.error(check_mode=True) == (
        "dnf install failed with exit status 1: Error: Unable to find a match: iperf3 (check the repositories of the host; if it reaches them only through a "
        "proxy, set http_proxy and https_proxy)")


def test_failure_shows_the_warnings_of_the_update_without_the_password(host):
    host.results = [(0, "", "W: Failed to fetch http://repo.example/InRelease  407  Proxy Authentication Required\nN: a note\n"),
                    (100, "Reading package lists...\n", f"E: {PROXY} refused s3cret\nE: Unable to locate package iperf3\n")]
    assert host.error(http_proxy=PROXY) == (
        "apt-get install failed with exit status 100: W: Failed to fetch http://repo.example/InRelease  407  Proxy Authentication Required; "
        "E: http://(hidden)@proxy.example:3128 refused (hidden); E: Unable to locate package iperf3 "
        "(check the repositories of the host, and whether the proxy is correct and reaches them)")


def test_password_is_hidden_before_the_output_is_cut(host):
    host.results = [(1, "", "s3cret" * 400)]
    message = host.error(https_proxy=PROXY)
    assert "s3cret" not in message and "cret" not in message.split("exit status 1: ")[1].split(" (")[0]


def test_time_limit(host):
    host.timed_out = True
    assert host.error() == ("apt-get update did not end within 60 s and was killed (check whether the repositories of the host can be reached; "
                            "apt-get may have to be repaired)")


def test_tool_is_still_missing_after_the_installation(host):
    host.found = [LACKING, LACKING]
    values = host.ensure()
    assert (values["changed"], values["failed"], values["msg"]) == (
        True, True, "iperf3 still missing after the installation of iperf3: iperf3 is not installed (apt-get install --yes iperf3)")


def test_no_package_manager(tmp_path, monkeypatch):
    host = Host(tmp_path, monkeypatch, None)
    host.found = [{**LACKING, "problems": [{"message": "iperf3 is not installed", "hint": "install iperf3"}]}]
    assert host.error() == "iperf3 is not installed (install iperf3) (or set the role option perf_tools_wanted to the tools that this host needs)"


def test_invalid_proxy_runs_nothing(host):
    with pytest.raises(InputError):
        host.ensure(http_proxy="proxy.example")
    assert host.calls == []
