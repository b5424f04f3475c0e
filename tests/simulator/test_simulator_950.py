"""The partial stand-in for the dialect of 950."""

from __future__ import annotations

import io

import pytest

from tests.simulator.bench import SUCCESS, Bench
from tests.simulator.hccn_sim import npu_smi
from tests.simulator.hccn_sim.errors import REFUSALS
from tests.simulator.hccn_sim.node import Node

PORT = "-i 1 -u 0 -p 4"


@pytest.fixture
def node(bench: Bench) -> Bench:
    bench.make("a", "1.process=4711:python3:1234", product="950", devices=2)
    return bench


@pytest.mark.parametrize(("line", "rows"), [
    ("-h", {1: "        hccn_tool -mode -cmd -npu_info [-options]"}),
    ("-h -g", {0: "hccn_tool -g -link"}),
    (f"-g -link {PORT}", {0: "link status: UP"}),
    (f"-g -link_stat {PORT}", {0: "link up count :    2", 1: "link down count :  1",
                               5: "|  1  |  0   |  4   |  LINK_UP    | Sun Oct  5 10:13:51 2025|"}),
    (f"-g -speed {PORT}", {1: "| NPU | UDie | Port | Speed   | Cap | Width | Status    |",
                           3: "| 1   | 0    | 4    | 400 G   | X4  | X4    | normal    |"}),
    (f"-g -stat {PORT}", {0: "packet statistics:", 1: "port_id: 4", 3: "ub_glb_ipv4_pkt_cnt_rx: 0"}),
    (f"-g -port_info {PORT}", {0: "port_id: 0x4", 7: "port_link: link", 8: "======================== UB DLPHY INFO =========================="}),
    ("-g -dev_info -i 1", {1: "| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | Media Type |",
                           3: "| 0       | 4       | 400                 | UB        | UP          | Electrical |"}),
    ("-g -ub_connect -i 1", {0: "link status : UP", 1: "port 4 : UP", 3: "port 6 : UP"}),
])
def test_queries(node: Bench, line: str, rows: dict[int, str]) -> None:
    ran = node.run("a", line)
    assert (ran.code, ran.err) == (0, "")
    assert {number: ran.out.splitlines()[number] for number in rows} == rows


def test_single_ports(node: Bench) -> None:
    node.set("a", "1.port.5=0", "1.port.6=partial")
    assert node.run("a", "-g -ub_connect -i 1").out == "link status : PARTIAL LINK\nport 4 : UP\nport 5 : DOWN\nport 6 : PARTIAL UP\n"
    node.set("a", "0.link=0")
    assert node.run("a", "-g -ub_connect -i 0").out.startswith("link status : DOWN\nport 4 : DOWN\n")
    assert node.run("a", "-g -link -i 0 -u 0 -p 4").out == "link status: DOWN\n"


def test_tls_flag(node: Bench) -> None:
    before = node.conf("a").read_bytes()
    assert node.run("a", "-s -tls -i 1 -enable 1").out == SUCCESS
    assert node.run("a", "-s -tls -i 1 -enable 0 -host").out == SUCCESS
    state = Node(str(node.root("a"))).state
    assert (state.get(1, "tls"), state.get(0, "tls"), node.conf("a").read_bytes() == before) == ("1", "", True)


@pytest.mark.parametrize(("line", "refusal"), [
    ("-i 0 -ip -g", "cmd_type"),
    ("-g", "cmd_number"),
    ("-g -serdes -i 0", "cmd_unknown"),
    ("-s -ip -i 0", "cmd_unknown"),
    (f"-g -speed {PORT.replace('1', '2')}", "device_id"),
    ("-g -speed -u 0 -p 4", "device_id"),
    ("-g -speed -i 1", "count"),
    ("-g -speed i 1", "option"),
    ("-s -tls -i 1 -enable 2", "enable_value"),
])
def test_refusals(node: Bench, line: str, refusal: str) -> None:
    ran = node.run("a", line)
    code, text = REFUSALS[refusal][:2]
    assert (ran.code, text in ran.err) == (code, True)


def test_faults_apply(node: Bench) -> None:
    node.set("a", "0.busy_for=1", "1.set_refused=tls")
    assert [node.run("a", "-g -ub_connect -i 0").code for _call in range(2)] == [11, 0]
    assert (node.run("a", "-s -tls -i 1 -enable 1").code, node.run("a", "-g -ub_connect -i 1").code) == (1, 0)


def smi(bench: Bench, line: str) -> str:
    out = io.StringIO()
    npu_smi.main(["npu-smi", *line.split()], Node(str(bench.root("a"))), out, {})
    return out.getvalue()


def test_npu_smi(node: Bench) -> None:
    lines = smi(node, "info").splitlines()
    assert {len(line) for line in lines} == {99}
    assert lines[6] == "| 0      | Ascend950        | OK            | 88.0        42                0    / 0              |"
    assert lines[-2] == "| 1                         | 4711          | python3                  | 1234                     |"
    assert [row.split() for row in smi(node, "info -m").splitlines()[1:]] == [["0", "0", "0", "0", "Ascend950"], ["1", "1", "0", "1", "Ascend950"]]
    assert "\nSoftware Version               : 24.1.rc3\n" in smi(node, "info -t board -i 1")
    assert smi(node, "info -t topo") == "This device does not support querying topo.\n"
    assert smi(node, "info -t spod-info -i 0 -c 0") == "This device does not support querying spod-info.\n"
