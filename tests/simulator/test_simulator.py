"""The simulator itself: nodes, hccn.conf, the command line, faults."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulator.bench import DEADLINE, Bench
from tests.simulator.hccn_sim import layout
from tests.simulator.hccn_sim.__main__ import main as cli
from tests.simulator.hccn_sim.conf import Conf
from tests.simulator.hccn_sim.errors import REFUSALS, Refused
from tests.simulator.hccn_sim.node import Node, find
from tests.simulator.hccn_sim.state import assignments
from tests.simulator.hccn_sim.tool import main
from tests.lib.project import SIMULATOR


def test_init_does_not_change_an_existing_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "n"
    command = ["init", str(root), "--devices", "2", "--fabric", "loopback", "--address-template", "10.1.0.{device}", "--conf-from-state"]
    assert cli([*command, "--state", "1.link=0", "--state", "*.tls=1"]) == 0
    assert (root / "etc/hccn.conf").read_text() == (
        "address_0=10.1.0.0\nnetmask_0=255.255.255.0\ntls_enable_0=1\naddress_1=10.1.0.1\nnetmask_1=255.255.255.0\ntls_enable_1=1\n"
    )
    assert json.loads((root / "state/devices.json").read_text())["1"]["link"] == "0"
    assert cli(["set", str(root), "0.busy=1"]) == 0
    assert cli(command) == 0, "an existing node is not changed"
    assert cli(["get", str(root), "0"]) == 0
    assert capsys.readouterr().out == "busy=1\nip=10.1.0.0\nnetmask=255.255.255.0\ntls=1\n"
    assert cli([*command, "--reset"]) == 0
    assert cli(["get", str(root), "0"]) == 0
    assert capsys.readouterr().out == "ip=10.1.0.0\nnetmask=255.255.255.0\n"
    assert cli(["stop", str(root)]) == 0


def test_invalid_assignment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["set", str(tmp_path), "3.link"]) == 2
    assert capsys.readouterr().err == "hccn-sim: '3.link' is not KEY=VALUE\n"
    with pytest.raises(ValueError, match="unknown settings: colour"):
        layout.init(str(tmp_path / "n"), {"colour": "red"})


def test_assignments_of_devices_all_and_removal() -> None:
    found = assignments(["3.link=0", "*.busy=1", "devices=4", "3.stat.x=5", "2.ip="])
    assert found == {"3": {"link": "0", "stat.x": "5"}, "*": {"busy": "1", "devices": "4"}, "2": {"ip": None}}


def test_value_for_all_replaces_values_of_single_devices(bench: Bench) -> None:
    bench.make("a", "3.link=0")
    bench.set("a", "*.link=1")
    assert bench.run("a", "-i 3 -link -g").out == "link status: UP\n"


@pytest.mark.parametrize("tool", ["hccn_tool", "npu-smi"])
def test_programs_find_their_node(bench: Bench, tool: str) -> None:
    bench.make("a", "*.npu_smi_version=9.9")
    link = bench.root("a") / "bin" / f"link-{tool}"
    link.symlink_to(SIMULATOR / "bin" / tool)
    args = ["-i", "2", "-ip", "-g"] if tool == "hccn_tool" else ["info", "-t", "board", "-i", "2"]
    environment = {"PATH": os.environ["PATH"]}
    through_link = subprocess.run([str(link), *args], capture_output=True, text=True, timeout=DEADLINE, env=environment)
    launched = subprocess.run([str(bench.root("a") / "bin" / tool), *args], capture_output=True, text=True, timeout=DEADLINE, env={})
    assert through_link.stdout == launched.stdout
    assert ("ipaddr:10.78.1.2" if tool == "hccn_tool" else "Software Version               : 9.9") in launched.stdout


def test_environment_sets_root_and_conf(bench: Bench) -> None:
    bench.make("a")
    node = find("/usr/bin/hccn_tool", {"HCCN_SIM_ROOT": str(bench.root("a")), "HCCN_SIM_CONF": "/elsewhere/hccn.conf"})
    assert (node.root, node.conf.path) == (str(bench.root("a")), "/elsewhere/hccn.conf")


def test_hccn_sim_makes_nodes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SIMULATOR / "bin/hccn-sim"), "init", str(tmp_path / "n")], timeout=DEADLINE, capture_output=True, check=True
    )
    assert (done.stdout, (tmp_path / "n/bin/hccn_tool").stat().st_mode & 0o777) == (b"", 0o755)


@pytest.fixture
def conf(tmp_path: Path) -> Conf:
    (tmp_path / "hccn.conf").touch()
    return Conf(str(tmp_path / "hccn.conf"), 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "mtu_0=1\n"),
        ("mtu_0=9\n# note\n\nmtu_0=8\nmtu_01=7\n", "# note\n\nmtu_01=7\nmtu_0=1\n"),
        ("address_0=1.2.3.4", "address_0=1.2.3.4mtu_0=1\n"),
        ("address_0=1.2.3.4\r\n", "address_0=1.2.3.4\r\nmtu_0=1\n"),
        ("mtu_0 = 9\n", "mtu_0 = 9\nmtu_0=1\n"),
    ],
)
def test_replaced_key_moves_to_the_end(conf: Conf, before: str, after: str) -> None:
    Path(conf.path).write_bytes(before.encode())
    inode = os.stat(conf.path).st_ino
    conf.write("mtu_0", "1")
    assert Path(conf.path).read_bytes().decode() == after
    assert os.stat(conf.path).st_ino == inode


def test_key_is_deleted_anywhere_in_a_line(conf: Conf) -> None:
    Path(conf.path).write_text("gateway_0=1\nIPv6gateway_0=2\n#gateway_0=3\ngateway_01=4\n")
    conf.delete("gateway_0")
    assert Path(conf.path).read_text() == "gateway_01=4\n"


def test_first_value_counts_and_comments_are_skipped(conf: Conf) -> None:
    Path(conf.path).write_bytes(b"#mtu_0=9\nmtu_0 = 8\nmtu_0=7\r\nmtu_0=6\n")
    assert (conf.read("mtu_0"), conf.read("ip_0")) == ("7\r", None)
    with pytest.raises(Refused, match="generic"):
        conf.read("mtu_0", 2)


def test_size_and_permissions_of_conf(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="conf_access"):
        Conf(str(tmp_path / "none"), 0).read("x")
    (tmp_path / "hccn.conf").write_text("a_0=1\n" * 174763)
    with pytest.raises(Refused, match="conf_space"):
        Conf(str(tmp_path / "hccn.conf"), 0).write("mtu_0", "1")
    with pytest.raises(Refused, match="conf_write"):
        Conf(str(tmp_path / "hccn.conf"), 1000).write("mtu_0", "1")


def test_long_line_is_read_in_pieces(conf: Conf) -> None:
    Path(conf.path).write_text("x" * 383 + "mtu_0=9\n")
    conf.write("mtu_0", "1")
    assert Path(conf.path).read_text() == "x" * 383 + "mtu_0=1\n"


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("", "cmd_number"),
        ("x " * 64, "cmd_number"),
        ("-i 0 -ip -g " + "x" * 901, "argument_length"),
        ("-x 0 -ip -g", "cmd_type"),
        ("-i 0 ip", "cmd_unknown"),
        ("-a -ip -g", "cmd_unknown"),
        ("-i 8 -ip -g", "device_id"),
        ("-i 0 -serdes -g", "product"),
        ("-i 0 -roce_test reset now", "cmd_number"),
    ],
)
def test_invalid_command_line(bench: Bench, line: str, refusal: str) -> None:
    bench.make("a")
    ran = bench.run("a", line)
    code, text = REFUSALS[refusal][:2]
    assert (ran.code, text in ran.out + ran.err) == (code, True)


def test_help_shows_the_dialect(bench: Bench) -> None:
    bench.make("a")
    ran = bench.run("a", "--help")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "hccn_tool -i devid -ip")


@pytest.mark.parametrize("text", ["0", "00", ""])
def test_unusual_ids_of_device_0(bench: Bench, text: str) -> None:
    bench.make("a")
    out = io.StringIO()
    assert main(["hccn_tool", "-i", text, "-ip", "-g"], Node(str(bench.root("a"))), out=out, environment={}) == 0
    assert out.getvalue() == "ipaddr:10.78.1.0\nnetmask:255.255.0.0\n"


def test_kill_loses_buffered_stdout(bench: Bench) -> None:
    bench.make("a", server_seconds=DEADLINE, poll_seconds=DEADLINE)
    kept = {}
    for device, extra in ((0, {}), (1, {"_STDBUF_O": "L"})):
        command = [str(bench.root("a") / "bin/hccn_tool"), "-i", str(device), "-roce_test", "ib_send_bw", "-tcp"]
        tool = subprocess.Popen(command, stdout=-1, env={**os.environ, **extra}, text=True)
        bench.until_ready("a", device)
        if extra:
            assert tool.stdout.readline() == "Dsmi get perftest status end. (status=1)\n"
        tool.kill()
        kept[device] = tool.communicate(timeout=DEADLINE)[0]
    assert kept[0] == ""


def test_busy_for_some_calls(bench: Bench) -> None:
    bench.make("a", "0.busy_for=2")
    assert [bench.run("a", "-i 0 -link -g").code for _call in range(3)] == [11, 11, 0]
    assert bench.run("a", "-i 1 -link -g").code == 0


def test_garbage_hang_and_latency_faults(bench: Bench) -> None:
    bench.make("a", "0.garbage=1", "1.hang=1", hang_seconds=0.01, latency_seconds=0.01)
    garbage = bench.run("a", "-i 0 -link -g")
    assert (garbage.code, "link status" in garbage.out, garbage.err) == (0, False, "")
    assert bench.run("a", "-i 1 -link -g").err == "The cmd line execute timeout!\n"


def test_device_call_fails_by_name_or_number(bench: Bench) -> None:
    bench.make("a", "0.fail.mtu=-1", "1.fail.9f=-67")
    assert bench.run("a", "-i 0 -mtu -g").err == "Command execute failed!\n"
    assert bench.run("a", "-i 1 -ping -g address 10.78.1.0").code == 22
