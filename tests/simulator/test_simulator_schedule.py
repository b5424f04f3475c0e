"""Changes of state between two commands."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.simulator.bench import DEADLINE, SUCCESS, Bench
from tests.simulator.hccn_sim.__main__ import main as cli
from tests.simulator.hccn_sim.node import Node


def after(bench: Bench, commands: int, *state: str, matching: str = "") -> int:
    return cli(["set", str(bench.root("a")), "--after-commands", str(commands), "--matching", matching, *state])


def processes(bench: Bench) -> str:
    return subprocess.run([str(bench.root("a") / "bin/npu-smi"), "info"], capture_output=True, text=True, timeout=DEADLINE, check=True).stdout


def value(bench: Bench, device: int, key: str) -> str:
    return Node(str(bench.root("a"))).state.get(device, key)


def test_change_takes_effect_after_the_nth_call(bench: Bench) -> None:
    bench.make("a")
    assert after(bench, 2, "1.process=4711:python3:100") == 0
    assert bench.run("a", "-i 0 -link -g").code == 0
    assert "4711" not in processes(bench), "the second call itself does not see it"
    assert "4711" in processes(bench)
    assert not (bench.root("a") / "state/scheduled.json").exists()


def test_only_matching_calls_count(bench: Bench) -> None:
    bench.make("a")
    after(bench, 1, "1.link=0", matching="-i 1 -mtu -s")
    after(bench, 2, "2.link=0", matching="hccn_tool -i 1")
    for line, links in (("-i 0 -mtu -s size 4200", ["", ""]), ("-i 1 -mtu -g", ["", ""]), ("-i 1 -mtu -s size 4200", ["0", "0"])):
        assert bench.run("a", line).code == 0
        assert [value(bench, device, "link") for device in (1, 2)] == links


def test_call_killed_by_a_fault_counts(bench: Bench) -> None:
    bench.make("a", "0.killed=9")
    after(bench, 1, "0.killed=", matching="-i 0 -tls -s enable 1")
    tool = bench.start("a", "-i 0 -tls -s enable 1")
    tool.communicate(timeout=DEADLINE)
    assert tool.returncode == -signal.SIGKILL
    assert bench.run("a", "-i 0 -tls -s enable 1").out.endswith(SUCCESS)


def test_concurrent_calls_count_once_each(bench: Bench) -> None:
    bench.make("a")
    after(bench, 8, "0.link=0")
    after(bench, 9, "1.link=0")
    running = [bench.start("a", f"-i {device} -mtu -g") for device in range(8)]
    assert [(tool.communicate(timeout=DEADLINE), tool.returncode)[1] for tool in running] == [0] * 8
    assert [value(bench, device, "link") for device in (0, 1)] == ["0", ""]


@pytest.mark.parametrize(("commands", "words", "message"), [
    ("0", "0.link=0", "after-commands must be at least 1, not 0"),
    ("1", "link", "'link' is not KEY=VALUE"),
])
def test_invalid_values_are_refused(bench: Bench, capsys: pytest.CaptureFixture[str], commands: str, words: str, message: str) -> None:
    bench.make("a")
    assert after(bench, int(commands), words) == 2
    assert capsys.readouterr().err == f"hccn-sim: {message}\n"
    assert not (bench.root("a") / "state/scheduled.json").exists()
