"""Test a lab from start to end: the properties of its hosts, the effects of its faults, and that nothing of it is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import testbed
from tests.lib.playbook import ansible_environment
from tests.lib.project import ROOT, skip
from tests.lab.testbed import kernel
from tests.lib.waiting import happens

DEADLINE = 60
KINDS = ("net", "mnt", "pid", "uts", "ipc")


@pytest.fixture(scope="module")
def lab() -> Iterator[testbed.Lab]:
    """Return a lab of three hosts with two NPUs each, on two leaves. The last tests kill a host and take the lab down."""
    try:
        with testbed.lab(products=("A2", "A2", "A3"), npus=2, leaf_size=2, link_rate="80mbit", expose=("/usr",)) as made:
            yield made
    except testbed.Unavailable as error:
        skip("testbed", str(error))


def ansible(lab: testbed.Lab, hosts: str, module: str = "ping", argument: str = "") -> str:
    argv = [str(Path(sys.executable).with_name("ansible")), "-i", str(lab.inventory), hosts, "-m", module, "-a", argument, "-o"]
    return subprocess.run(argv, env=ansible_environment(), capture_output=True, text=True, timeout=DEADLINE).stdout


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tests.lab.testbed", *arguments]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)


def measured(lab: testbed.Lab, client: str, server: str, device: int) -> float:
    """Return the Gbit/s of the stand-in's own test between two devices."""
    address = lab.host(server).addresses[device]
    argv = ["hccn_tool", "-i", str(device), "-roce_test", "ib_write_bw", "-report_gbits", "-tcp"]
    with subprocess.Popen([*lab.enter(server), *argv], env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, text=True) as listening:
        assert happens(lambda: ":18515" in lab.exec(server, ["ss", "-Hltn"]).stdout, DEADLINE)
        output = lab.exec(client, [*argv, "address", address]).stdout
        listening.communicate(timeout=DEADLINE)
    return float(re.findall(r"^ *65536 +\d+ +\S+ +(\S+)", output, re.MULTILINE)[0])


def namespaces(pids: list[int]) -> set[str]:
    found = set()
    for pid in pids:
        for kind in KINDS:
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                continue
    return found


def descendants(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    parents: dict[int, list[int]] = {}
    for other in kernel.processes():
        parent = kernel.parent(other)
        if parent is not None:
            parents.setdefault(parent, []).append(other)
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


class Leftovers:
    """The resources of a lab that would still exist on the machine if something was left."""

    def __init__(self, folder: Path, pids: list[int]) -> None:
        self.folder = folder
        self.started = {pid: kernel.start_time(pid) for pid in pids}
        self.namespaces = namespaces(pids) - namespaces([os.getpid()])
        assert self.namespaces
        self.made = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")

    def left(self) -> list[str]:
        found = [f"process {pid}" for pid, started in self.started.items() if kernel.running(pid, started)]
        older = [pid for pid in kernel.processes() if (kernel.start_time(pid) or 0) <= self.made]  # later, the kernel may give a name to another namespace
        found += sorted(self.namespaces & namespaces(older))
        found += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.folder) in line]
        found += [f"process {pid} {kernel.arguments(pid)}" for pid in kernel.processes() if any(str(self.folder) in word for word in kernel.arguments(pid))]
        return found + ([str(self.folder)] if self.folder.exists() else [])


def links() -> set[str]:
    return set(os.listdir("/sys/class/net"))


def test_ansible_reaches_every_host_and_finds_the_tools(lab: testbed.Lab) -> None:
    """Ansible reaches the hosts through ssh, by their names only, as on a real cluster."""
    output = ansible(lab, "npu", "shell", "hostname; hccn_tool -i 1 -ip -g; npu-smi info -m | grep -c Ascend")
    words = {line.split(" | ")[0]: line.partition("(stdout) ")[2].split("\\n") for line in output.splitlines()}
    assert words == {
        "node1": ["node1", "ipaddr:10.78.1.11", "netmask:255.255.0.0", "2"],
        "node2": ["node2", "ipaddr:10.78.2.11", "netmask:255.255.0.0", "2"],
        "node3": ["node3", "ipaddr:10.78.131.11", "netmask:255.255.128.0", "2"],
    }
    assert lab.exec("node1", ["ssh", "node2", "hostname"]).stdout == "node2\n"
    assert lab.path("node2", "/etc/hccn.conf").read_text().splitlines()[0] == "address_0=10.78.2.10"
    assert lab.exec("node2", ["sh", "-c", "ls -d /dev/davinci*"]).stdout == "/dev/davinci0\n/dev/davinci1\n"


def test_hosts_have_separate_files_and_processes(lab: testbed.Lab) -> None:
    for path in ("/etc/mine", "/tmp/mine", "/var/mine", "/usr/local/mine", "/root/mine"):
        lab.exec("node1", ["sh", "-c", f"hostname > {path}"], check=True)
        assert lab.path("node1", path).read_text() == "node1\n"
        assert not lab.path("node2", path).exists()
        assert not Path(path).exists()
    with subprocess.Popen([*lab.enter("node1"), "sleep", "1000"]) as sleeping:
        assert happens(lambda: ["sleep", "1000"] in lab.processes("node1").values(), DEADLINE)
        assert ["sleep", "1000"] not in lab.processes("node2").values()
        sleeping.kill()
    assert happens(lambda: ["sleep", "1000"] not in lab.processes("node1").values(), DEADLINE)


def test_set_address_is_on_the_link(lab: testbed.Lab) -> None:
    lab.exec("node3", ["hccn_tool", "-i", "0", "-ip", "-s", "address", "10.78.3.77", "netmask", "255.255.128.0"], check=True)
    assert "10.78.3.77/17" in lab.exec("node3", ["ip", "-br", "address", "show", "npu0"]).stdout
    assert "3 received" in lab.exec("node1", ["hccn_tool", "-i", "0", "-ping", "-g", "address", "10.78.3.77"]).stdout


def test_traffic_has_the_rate_of_the_link(lab: testbed.Lab) -> None:
    assert 0.02 < measured(lab, "node1", "node2", 1) < 0.09
    lab.fault("node2", npu=1, rate="10mbit")
    assert measured(lab, "node1", "node2", 1) < 0.012
    assert measured(lab, "node2", "node1", 1) < 0.012
    lab.heal("node2")
    assert 0.02 < measured(lab, "node1", "node2", 1) < 0.09


def test_faults_of_a_leaf_and_a_cable(lab: testbed.Lab) -> None:
    ping = ["hccn_tool", "-i", "1", "-ping", "-g", "address"]
    lab.fault("leaf:1", link_down=True)
    assert "0 received" in lab.exec("node1", [*ping, "10.78.131.11"]).stdout
    assert "3 received" in lab.exec("node1", [*ping, "10.78.2.11"]).stdout
    lab.heal("leaf:1")
    assert "3 received" in lab.exec("node1", [*ping, "10.78.131.11"]).stdout
    lab.fault("node2", npu=1, link_down=True)
    assert lab.exec("node2", ["hccn_tool", "-i", "1", "-link", "-g"]).stdout == "link status: DOWN\n"
    lab.heal("node2")
    assert lab.exec("node2", ["hccn_tool", "-i", "1", "-link", "-g"]).stdout == "link status: UP\n"


def test_full_disk_paused_host_and_cut_connection(lab: testbed.Lab) -> None:
    write = ["sh", "-c", "head -c 100000 /dev/zero > /tmp/new"]
    lab.fault("node2", "disk-full")
    assert lab.exec("node2", write).returncode != 0
    lab.fault("node2", "pause")
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in lab.processes("node2")]
    assert set(states) == {"T"}
    lab.fault("node2", "ssh-cut")
    reach = ["python3", "-c", "import socket; socket.create_connection(('10.77.0.2', 22), 1).recv(1)"]
    assert lab.exec("node1", reach).returncode != 0
    lab.heal("node2")
    assert lab.exec("node1", reach).returncode == 0
    assert lab.exec("node2", write).returncode == 0


def test_errors_are_one_sentence(lab: testbed.Lab) -> None:
    for arguments, sentence in (
        (["fault", "node9", "kill"], "no host node9 in the lab"), (["fault", "node1", "--rate", "3"], "rate '3': give a number and kbit, mbit or gbit"),
        (["fault", "leaf:7", "--link-down"], "no leaf switch leaf:7"),
        (["fault", "leaf:0:1", "--link-down"], "no uplink leaf:0:1: the number of spines of the lab is 1"),
        (["up", "--spines", "3"], "--spines 3: a lab has 1, 2"),
        (["up", "-n", "2"], "a lab is running in"),
    ):
        done = cli(*arguments, "--dir", str(lab.folder))
        assert done.returncode == 1 and sentence in done.stderr and done.stderr.count("\n") == 1


def test_only_the_killed_host_is_unreachable(lab: testbed.Lab) -> None:
    lab.fault("node2", "kill")
    assert not lab.alive("node2") and lab.processes("node2") == {}
    output = ansible(lab, "node1,node2")
    assert "node1 | SUCCESS" in output and "node2 | UNREACHABLE" in output
    with pytest.raises(testbed.LabError, match="node2 is down"):
        lab.exec("node2", ["true"])


def test_down_leaves_nothing(lab: testbed.Lab) -> None:
    """This is the last test on this lab: the ssh masters of the previous tests are still running."""
    traces = Leftovers(lab.folder, descendants(lab.record["guard"]["pid"]))
    before = links()
    lab.down()
    assert traces.left() == []
    assert links() == before and not {name for name in before if name.startswith(("npu", "leaf", "spine"))}


def test_killed_start_leaves_nothing(lab: testbed.Lab) -> None:
    folder = Path(tempfile.mkdtemp(prefix="testbed-"))  # the path of pytest's folder may be too long for ssh
    up = subprocess.Popen([sys.executable, "-m", "tests.lab.testbed", "up", "-n", "24", "--dir", str(folder)], cwd=ROOT)
    assert happens(lambda: len(descendants(up.pid)) > 12, DEADLINE)  # the process itself, guard, keeper, and hosts
    traces = Leftovers(folder, descendants(up.pid)[1:])
    up.send_signal(signal.SIGKILL)
    up.wait()
    assert happens(lambda: not any(kernel.running(pid, started) for pid, started in traces.started.items()), DEADLINE)
    assert cli("down", "--dir", str(folder)).stdout == "down\n"
    assert traces.left() == []
