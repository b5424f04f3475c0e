"""Faults by name: the effect of each on the stand-in. tests/integration/devices/test_faults.py tests the product under these faults."""

from __future__ import annotations

import fcntl
import io
import os
import signal
from pathlib import Path

import pytest

from tests.simulator.bench import DEADLINE, SUCCESS, Bench, Ran
from tests.simulator.hccn_sim import layout
from tests.simulator.hccn_sim.__main__ import main as cli
from tests.simulator.hccn_sim.link import HEALTH
from tests.simulator.hccn_sim.node import Node
from tests.simulator.hccn_sim.tool import main


def program(bench: Bench, line: str) -> Ran:
    """Run one call as a separate process."""
    tool = bench.start("a", line)
    out, err = tool.communicate(timeout=DEADLINE)
    return Ran(tool.returncode, out, err)


class FakeClock:
    """A clock whose sleep returns at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.mark.parametrize(("usual", "device", "slept"), [(0.0, 0, []), (0.0, 1, [0.2]), (0.3, 0, [0.3]), (0.3, 1, [0.2])])
def test_single_slow_device(bench: Bench, usual: float, device: int, slept: list[float]) -> None:
    bench.make("a", "1.latency=0.2", latency_seconds=usual)
    clock = FakeClock()
    assert main(["hccn_tool", "-i", str(device), "-link", "-g"], Node(str(bench.root("a")), clock=clock), out=io.StringIO(), environment={}) == 0
    assert clock.seconds == slept


def test_killed_tool_prints_nothing(bench: Bench) -> None:
    bench.make("a", "0.killed=9", "1.killed_late=15")
    before = bench.conf("a").read_bytes()
    assert program(bench, "-i 0 -tls -s enable 1") == (-signal.SIGKILL, "", "")
    assert program(bench, "-i 1 -link -g") == (0, "link status: UP\n", "")
    assert program(bench, "-i 1 -tls -s enable 1") == (-signal.SIGTERM, "", "")
    assert bench.conf("a").read_bytes() == before
    bench.set("a", "*.killed=", "*.killed_late=")
    assert ["switch[1]" in bench.run("a", f"-i {device} -tls -g").out for device in range(2)] == [False, True], "killed late: only the device is set"


def test_endless_output(bench: Bench) -> None:
    bench.make("a", "0.flood=10")
    ran = program(bench, "-i 0 -link -g")
    assert (ran.code, len(ran.out), "link" in ran.out) == (0, 10 * 1024 * 1024, False)


@pytest.mark.parametrize("line", ["-tls -s enable 1", "-ip -s address 10.99.0.1 netmask 255.255.0.0", "-mtu -s size 4200", "-cfg recovery"])
def test_set_that_is_only_claimed(bench: Bench, line: str) -> None:
    bench.make("a", "0.set_ignored=1", "0.gateway=10.78.0.1")
    before, state = bench.conf("a").read_bytes(), (bench.root("a") / "state/devices.json").read_bytes()
    assert bench.run("a", f"-i 0 {line}") == (0, SUCCESS, "")
    assert (bench.conf("a").read_bytes(), (bench.root("a") / "state/devices.json").read_bytes()) == (before, state)
    assert bench.run("a", "-i 0 -link -g").out == "link status: UP\n"


def test_refused_set(bench: Bench) -> None:
    bench.make("a", "0.set_refused=1", "1.set_refused=tls")
    before = bench.conf("a").read_bytes()
    refused = (1, "", "Command execute failed!\n")
    assert bench.run("a", "-i 0 -tls -s enable 1") == bench.run("a", "-i 1 -tls -s enable 1") == bench.run("a", "-i 0 -mtu -s size 4200") == refused
    assert bench.conf("a").read_bytes() == before
    assert bench.run("a", "-i 1 -mtu -s size 4200").out == SUCCESS
    assert bench.run("a", "-i 0 -mtu -g").out == "mtu:1500\n"


def test_net_health_states(bench: Bench) -> None:
    bench.make("a", *(f"{number}.net_health={number}" for number in range(10)), devices=10)
    message = [bench.run("a", f"-i {device} -net_health -g").out for device in range(10)]
    assert message == [f"net health status: {name}\n" for name in HEALTH]


def test_certificate_of_another_authority(bench: Bench) -> None:
    bench.make("a", "0.tls_ca=/CN=other")
    assert bench.run("a", "-i 0 -tls -g").out.count("subject[/CN=other]") == 2
    assert bench.run("a", "-i 0 -tls -g").out.count("issuer[/CN=other]") == 3
    assert "/CN=other" not in bench.run("a", "-i 1 -tls -g").out


@pytest.mark.parametrize(("fault", "tool"), [("tool_missing", "hccn_tool"), ("npu_smi_missing", "npu-smi")])
def test_tool_is_removed_and_restored(bench: Bench, fault: str, tool: str) -> None:
    bench.make("a")
    path = bench.root("a") / "bin" / tool
    content = path.read_bytes()
    for _time in range(2):
        bench.set("a", f"{fault}=1")
        assert (path.exists(), len(list(path.parent.glob("[hn]*")))) == (False, 2)
    for _time in range(2):
        bench.set("a", f"{fault}=")
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (content, 0o755)


def test_read_only_conf(bench: Bench) -> None:
    bench.make("a", "*.tls=0")
    bench.set("a", "conf_unwritable=1")
    before = bench.conf("a").read_bytes()
    assert bench.conf("a").stat().st_mode & 0o777 == 0o444
    ran = bench.run("a", "-i 0 -tls -s enable 1")
    assert (ran.code, ran.err.partition(".")[0]) == (4, "Write configurations to config file failed")
    assert "switch[1]" in bench.run("a", "-i 0 -tls -g").out, "the device did change"
    assert bench.run("a", "-i 0 -ip -s address 10.78.1.99 netmask 255.255.0.0").code == 5
    assert bench.conf("a").read_bytes() == before
    bench.set("a", "conf_unwritable=")
    assert bench.run("a", "-i 0 -tls -s enable 1").code == 0


def test_conf_that_one_device_cannot_write(bench: Bench) -> None:
    bench.make("a", "1.conf_refused=1")
    assert [bench.run("a", f"-i {device} -tls -s enable 1").code for device in (0, 1)] == [0, 4]
    assert bench.conf("a").stat().st_mode & 0o222


def test_last_newline_is_removed_and_restored(bench: Bench) -> None:
    bench.make("a")
    before = bench.conf("a").read_bytes()
    inode = bench.conf("a").stat().st_ino
    bench.set("a", "conf_no_newline=1")
    assert bench.conf("a").read_bytes() == before[:-1]
    bench.set("a", "conf_no_newline=")
    assert (bench.conf("a").read_bytes(), bench.conf("a").stat().st_ino) == (before, inode)
    bench.conf("a").write_text("")
    bench.set("a", "conf_no_newline=")
    assert bench.conf("a").read_bytes() == b""


def locked(path: Path) -> bool:
    with path.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def holders(path: Path) -> int:
    """Return processes that have the file open."""
    found = 0
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            found += os.readlink(link) == str(path)
        except OSError:
            continue
    return found


def test_conf_lock_expires_or_is_released(bench: Bench) -> None:
    bench.make("a")
    path = bench.conf("a")
    bench.set("a", "conf_locked=1")
    assert locked(path)
    assert bench.run("a", "-i 0 -tls -s enable 1").out.endswith(SUCCESS), "the tool waits until it has the lock"
    assert not locked(path)
    bench.set("a", "conf_locked=600")
    bench.set("a", "conf_locked=600")
    assert (locked(path), holders(path)) == (True, 1)
    bench.set("a", "conf_locked=")
    assert (locked(path), holders(path)) == (False, 0)
    bench.set("a", "conf_locked=600")
    layout.stop(str(bench.root("a")))
    assert holders(path) == 0


@pytest.mark.parametrize(("words", "message"), [
    ("0.conf_locked=3", "conf_locked applies to the host, not to a device: give it without a number"),
    ("conf_locked=601", "conf_locked must be more than 0 and at most 600 seconds"),
])
def test_invalid_values_are_refused(bench: Bench, capsys: pytest.CaptureFixture[str], words: str, message: str) -> None:
    bench.make("a")
    assert cli(["set", str(bench.root("a")), words]) == 2
    assert capsys.readouterr().err == f"hccn-sim: {message}\n"
    assert holders(bench.conf("a")) == 0
