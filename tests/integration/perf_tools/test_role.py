"""The role perf_tools on hosts of the testbed with the real apt and a folder as repository: missing tools are named, then installed."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab import testbed
from tests.lib.playbook import run_playbook
from tests.lib.waiting import until
from tests.lib.project import skip
from tests.lab.testbed import Lab, Unavailable

PROGRAMS = ["ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat"]
LACKS = ", ".join(PROGRAMS)
PACKAGES = {"perftest": ["tools-perftest"], "iperf3": ["tools-iperf3"]}
SAYS = {"tools-perftest": dict.fromkeys(PROGRAMS, "Version: 6.99"), "tools-iperf3": {"iperf3": "iperf 3.99 (made for a test)"}}
RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=0\s+failed=(\d+)", re.MULTILINE)
LINE = re.compile(r'"msg": "(node\d: [^"]*)"')


def package(folder: Path, name: str, programs: dict[str, str]) -> str:
    """Build a package with programs that only print their version. Return its entry for the list of the repository."""
    tree = folder / name
    for program, says in programs.items():
        path = tree / "usr/local/bin" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
    control = f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: made for a test\n"
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(control)
    built = folder / f"{name}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(built)], check=True, capture_output=True, timeout=60)
    data = built.read_bytes()
    return f"{control}Filename: ./{built.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab whose node2 has all tools, and whose node1 has none of them and a repository."""
    if not shutil.which("apt-get"):
        skip("testbed", "no apt-get")
    folder = tmp_path_factory.mktemp("packages")
    entries = [package(folder, name, programs) for name, programs in SAYS.items()]
    try:
        with testbed.lab(2, npus=0) as up:
            for name in up.hosts:
                up.exec(name, ["sh", "-c", "rm -f /usr/bin/iperf3 /usr/bin/ib_*; rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*"], check=True)
            repository = up.path("node1", "/srv/repository")
            repository.mkdir()
            for name in SAYS:
                shutil.copy(folder / f"{name}.deb", repository)
                for program, says in SAYS[name].items():
                    target = up.path("node2", f"/usr/local/bin/{program}")
                    target.write_text(f"#!/bin/sh\necho '{says}'\n")
                    target.chmod(0o755)
            (repository / "Packages").write_text("\n".join(entries))
            up.path("node1", "/etc/apt/sources.list").write_text("deb [trusted=yes] file:/srv/repository ./\n")
            yield up
    except Unavailable as reason:
        skip("testbed", str(reason))


def play(lab: Lab, *arguments: str, **variables: object) -> tuple[dict[str, str], dict[str, tuple[int, int]], str]:
    """Return the line of each host, the counts (changed, failed) of each host, and the output."""
    options = {"perf_tools_wanted": ["perftest", "iperf3"], "perf_tools_packages": PACKAGES, **variables}
    done = run_playbook("hccn.cluster.perf_tools", lab.inventory, "-e", json.dumps(options), *arguments)
    recap = {host: (int(changed), int(failed)) for host, changed, failed in RECAP.findall(done.stdout)}
    return {line.split(":")[0]: line for line in LINE.findall(done.stdout)}, recap, done.stdout + done.stderr


THERE = "node2: perftest 6.99, iperf3 3.99"


@pytest.mark.smoke("perf_tools")
def test_missing_tools_are_named_with_the_command(lab: Lab) -> None:
    lines, recap, output = play(lab, perf_tools_install=False)
    assert lines == {
        "node1": f"node1: none of the tools. Missing: {LACKS} are not installed (apt-get install --yes tools-perftest); "
                 "iperf3 is not installed (apt-get install --yes tools-iperf3)",
        "node2": THERE}, output
    assert recap == {"localhost": (0, 0), "node1": (0, 1), "node2": (0, 0)}


def test_check_mode_and_installation(lab: Lab) -> None:
    lab.exec("node1", ["apt-get", "update"], check=True)  # check mode uses the existing lists
    lines, recap, output = play(lab, "--check")
    assert lines == {"node1": "node1: none of the tools. Would be installed: tools-perftest, tools-iperf3", "node2": THERE}, output
    assert recap == {"localhost": (0, 0), "node1": (1, 0), "node2": (0, 0)}
    assert not lab.path("node1", "/usr/local/bin/iperf3").exists()

    lab.exec("node1", ["sh", "-c", "rm -rf /var/lib/apt/lists/*"], check=True)
    lines, recap, output = play(lab)
    assert lines == {"node1": "node1: perftest 6.99, iperf3 3.99", "node2": THERE}, output
    assert recap == {"localhost": (0, 0), "node1": (1, 0), "node2": (0, 0)}
    assert play(lab)[1] == {"localhost": (0, 0), "node1": (0, 0), "node2": (0, 0)}


def test_package_that_is_in_no_repository(lab: Lab) -> None:
    _lines, recap, output = play(lab, perf_tools_wanted=["openmpi"], perf_tools_packages={"openmpi": ["tools-nowhere"]}, hccn_hosts="node1")
    assert (recap, "tools-nowhere" in output) == ({"localhost": (0, 0), "node1": (0, 1)}, True)


PASSWORD, IN_URL = "s3cret@55", "s3cret%4055"


@contextmanager
def proxied(lab: Lab) -> Iterator[tuple[str, Path]]:
    """Make a proxy the only way of node1 to its repository. Yield its address without the login, and its log."""
    lab.exec("node1", ["sh", "-c", "dpkg --purge tools-perftest tools-iperf3; rm -rf /var/lib/apt/lists/*; mkdir -p /srv/proxy"], check=True)
    folder, sources = lab.path("node1", "/srv/proxy"), lab.path("node1", "/etc/apt/sources.list")
    (folder / "files").symlink_to("../repository")
    (folder / "login").write_text(f"installer:{PASSWORD}")
    shutil.copy(Path(__file__).with_name("proxy.py"), folder)
    before = sources.read_text()
    sources.write_text("deb [trusted=yes] http://packages.example/ ./\n")
    with subprocess.Popen([*lab.enter("node1"), "python3", "/srv/proxy/proxy.py", "/srv/proxy"]) as proxy:
        try:
            until((folder / "port").exists)
            yield f"127.0.0.1:{(folder / 'port').read_text()}", folder / "requests"
        finally:
            proxy.kill()
            sources.write_text(before)
            lab.exec("node1", ["rm", "-rf", "/srv/proxy"], check=True)


def test_installation_through_a_proxy_with_a_password(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "ansible.cfg").write_text("[defaults]\ncallbacks_enabled = hccn.cluster.results\n")
    secrets = tmp_path / "secrets.yml"
    options = {"perf_tools_wanted": ["perftest", "iperf3"], "perf_tools_packages": PACKAGES, "hccn_hosts": "node1"}

    def run(login: str) -> tuple[int, str]:
        secrets.write_text(json.dumps({"perf_tools_http_proxy": f"http://{login}@{address}", "perf_tools_no_proxy": ["mirror.example"]}))
        done = run_playbook("hccn.cluster.perf_tools", lab.inventory, "-e", json.dumps(options), "-e", f"@{secrets}", "-vvv",
                            ANSIBLE_CONFIG=str(tmp_path / "ansible.cfg"), HCCN_RESULTS_PATH=str(tmp_path / "history"))
        return done.returncode, done.stdout + done.stderr

    with proxied(lab) as (address, log):
        refused, output = run("installer:s3cret-wrong")
        assert refused == 2, output
        assert "apt-get update failed with exit status 100: " in output
        assert "407" in output and "check the repositories of the host, and whether the proxy is correct and reaches them" in output
        assert "s3cret" not in output
        code, output = run(f"installer:{IN_URL}")
        requests = [json.loads(line) for line in log.read_text().splitlines()]
    assert code == 0, output
    assert "node1: perftest 6.99, iperf3 3.99" in output
    assert "s3cret" not in output
    assert {request["url"].rpartition("/")[2] for request in requests if request["allowed"]} >= {"tools-perftest.deb", "tools-iperf3.deb"}
    assert [request["leaks"] for request in requests if request["leaks"]] == []
    assert all(request["apt"] for request in requests), "the command lines were read while apt-get ran"
    kept = [path for path in (tmp_path / "history").rglob("*") if path.is_file()]
    assert len(kept) == 4, "the history of two runs, a page and the index of pages"
    assert [path for path in kept if b"s3cret" in path.read_bytes()] == []


def test_host_without_its_proxy(lab: Lab) -> None:
    with proxied(lab) as (address, log):
        lines, recap, output = play(lab, perf_tools_http_proxy=f"http://{address}", hccn_hosts="node1", perf_tools_https_proxy="proxy:3128")
        assert (lines, recap["localhost"], recap["node1"], log.exists()) == ({}, (0, 0), (0, 1), False)
        assert "https_proxy is not a URL of the form http://USER:PASSWORD@HOST:PORT" in output
