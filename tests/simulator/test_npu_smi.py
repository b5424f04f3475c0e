"""The stand-in npu-smi."""

from __future__ import annotations

import io

import pytest

from tests.simulator.bench import Bench, Ran
from tests.simulator.hccn_sim import npu_smi
from tests.simulator.hccn_sim.node import Node


def smi(bench: Bench, line: str, node: str = "a") -> Ran:
    out = io.StringIO()
    code = npu_smi.main(["npu-smi", *line.split()], Node(str(bench.root(node))), out, {})
    return Ran(code, out.getvalue(), "")


def test_npu_smi_lists_cards(bench: Bench) -> None:
    bench.make("a", "1.process=4711:python3:1234", "0.health=3", devices=2)
    lines = smi(bench, "info").out.splitlines()
    assert {len(line) for line in lines} == {98}
    assert lines[6] == "| 0     910B3               | Critical      | 88.0        42                0    / 0             |"
    assert lines[7] == "| 0                         | 0000:C1:00.0  | 0           0    / 0          2816 / 65536         |"
    assert lines[-4].startswith("| No running processes found in NPU 0  ")
    assert lines[-2] == "| 1       0                 | 4711          | python3                  | 1234                    |"
    bench.set("a", "*.process_table=0")
    assert "process" not in smi(bench, "info").out.lower()


def test_serial_numbers_are_unique_per_node(bench: Bench) -> None:
    bench.make("npu1", devices=2)
    bench.make("npu2", "1.serial=SIMNPU10001", devices=2)
    serials = [smi(bench, f"info -t board -i {npu}", node).out.partition("Serial Number")[2].split()[1] for node in ("npu1", "npu2") for npu in (0, 1)]
    assert serials == ["SIMNPU10000", "SIMNPU10001", "SIMNPU20000", "SIMNPU10001"]


def test_npu_smi_answers_discovery_queries(bench: Bench) -> None:
    bench.make("a", devices=2)
    assert smi(bench, "info -l").out.splitlines()[:4] == [
        "\tTotal Count                    : 2",
        "",
        "\tNPU ID                         : 0",
        "\tChip Count                     : 1",
    ]
    mapping = smi(bench, "info -m").out.splitlines()
    assert mapping[3].split() == ["1", "0", "1", "Ascend", "910B3"]
    assert mapping[4].split() == ["1", "1", "-", "Mcu"]
    assert "\tSerial Number                  : SIMA0001\n" in smi(bench, "info -t board -i 1").out
    assert "\tChip Name                      : 910B3\n" in smi(bench, "info -t board -i 1 -c 0").out
    assert smi(bench, "info -t topo").out.splitlines()[1] == "NPU0       X          HCCS       144-167"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("info -t colour", "Error parameter of -t\n"),
        ("info -t board -i 9", "Error parameter of -i\n"),
        ("info -t spod-info -i 0 -c 0", "This device does not support querying spod-info.\n"),
        ("info -x", "Usage: npu-smi info"),
        ("top", "Usage: npu-smi info"),
    ],
)
def test_npu_smi_refuses(bench: Bench, line: str, text: str) -> None:
    bench.make("a")
    ran = smi(bench, line)
    assert (ran.code, ran.out.startswith(text)) == (1, True)


def test_npu_smi_without_cards(bench: Bench) -> None:
    bench.make("a", devices=0)
    assert smi(bench, "info -l") == (1, "There is no NPU card on this server.\n", "")
