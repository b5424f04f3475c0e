"""A3 in the simulator: sixteen dies on eight cards, super pods, and the limits of sibling dies."""

from __future__ import annotations

import io

import pytest

from tests.simulator.bench import SUCCESS, Bench, Ran
from tests.simulator.hccn_sim import npu_smi, superpod
from tests.simulator.hccn_sim.errors import REFUSALS, Refused
from tests.simulator.hccn_sim.node import Node

A3 = {"product": "A3", "super_pod_id": 7, "super_pod_size": 48}


def smi(bench: Bench, line: str, name: str = "a") -> Ran:
    out = io.StringIO()
    return Ran(npu_smi.main(["npu-smi", *line.split()], Node(str(bench.root(name))), out, {}), out.getvalue(), "")


@pytest.fixture
def pod(bench: Bench) -> Bench:
    """Servers 4 and 9 of super pod 7, server 9 of super pod 8, and an A2."""
    bench.make("a", server_index=4, **A3)
    bench.make("b", server_index=9, template="10.78.2.{device}", **A3)
    bench.make("c", server_index=9, template="10.78.3.{device}", **{**A3, "super_pod_id": 8})
    bench.make("d", template="10.78.4.{device}")
    return bench


@pytest.mark.parametrize(("server", "device", "number", "address"), [
    (40, 0, 167772160, "192.40.2.199"),
    (40, 11, 169148427, "192.40.3.188"),
    (9, 7, 38600711, "192.9.3.192"),
    (23, 15, 98369551, "192.23.3.184"),
    (47, 1, 197197825, "192.47.3.198"),
    (48, 1, 201392129, "192.168.3.198"),
    (1023, 2, 4291035138, "192.168.2.197"),
])
def test_sdid_and_vnic_address(server: int, device: int, number: int, address: str) -> None:
    assert (superpod.sdid(server, device), superpod.vnic_address(server, device)) == (number, address)
    if server < 48:
        assert superpod.position(number) == superpod.position_of_address(address) == (server, device)
    else:
        with pytest.raises(Refused, match="address"):
            superpod.position_of_address(address)


def test_server_has_sixteen_dies_on_eight_cards(bench: Bench) -> None:
    bench.make("a", "5.process=4711:python3:1234", "9.absent=1", product="A3")
    lines = smi(bench, "info").out.splitlines()
    assert {len(line) for line in lines} == {98}
    assert lines[4] == "| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |"
    assert lines[6:12] == [
        "| 0     Ascend910           | OK            | 88.0        42                0    / 0             |",
        "| 0     0                   | 0000:41:00.0  | 0           0    / 0          2816 / 65536         |",
        "+------------------------------------------------------------------------------------------------+",
        "| 0     Ascend910           | OK            | -           42                0    / 0             |",
        "| 1     1                   | 0000:43:00.0  | 0           0    / 0          2817 / 65536         |",
        "+===========================+===============+====================================================+",
    ]
    assert "| 2       1                 | 4711          | python3                  | 1234                    |" in lines
    assert [line for line in lines if "No running processes" in line and " 2 " in line] == []
    assert smi(bench, "info -l").out.count("Chip Count                     : 2") == 7
    rows = [line.split() for line in smi(bench, "info -m").out.splitlines()]
    assert rows[0] == "NPU ID Chip ID Chip Logic ID Chip Phy-ID Chip Name".split()
    assert rows[1:4] == [["0", "0", "0", "0", "Ascend910"], ["0", "1", "1", "1", "Ascend910"], ["0", "2", "-", "-", "Mcu"]]
    assert [row[3] for row in rows[1:] if row[3] != "-"] == [str(device) for device in range(16) if device != 9]


def test_npu_smi_shows_the_position_in_the_super_pod(pod: Bench) -> None:
    assert smi(pod, "info -t spod-info -i 3 -c 1").out.splitlines() == [
        "\tSDID                           : 17629191",
        "\tSuper Pod Size                 : 48",
        "\tSuper Pod ID                   : 7",
        "\tServer Index                   : 4",
    ]
    pod.set("a", "7.sdid=5")
    assert "SDID                           : 5\n" in smi(pod, "info -t spod-info -i 3 -c 1").out
    assert smi(pod, "info -t spod-info -i 8 -c 0").out == "Error parameter of -i\n"
    assert smi(pod, "info -t spod-info -i 3 -c 2").out == "Error parameter of -c\n"
    assert smi(pod, "info -t spod-info -i 3 -c 0", "d").code == 1


def test_npu_smi_shows_versions_and_paths(bench: Bench) -> None:
    bench.make("a", "*.npu_smi_version=25.0.1", "7.npu_firmware=7.7.0.1", product="A3", devices=4)
    board = smi(bench, "info -t board -i 1").out
    assert "\tSoftware Version               : 25.0.1\n" in board and "\tChip Count                     : 2\n" in board
    assert "\tChip Name                      : Ascend910\n" in smi(bench, "info -t board -i 1 -c 1").out
    rows = smi(bench, "info -t topo").out.splitlines()
    assert rows[1].split() == ["Phy-ID0", "X", "SIO", "HCCS_SW", "HCCS_SW"]
    assert rows[0].split() == ["Phy-ID0", "Phy-ID1", "Phy-ID2", "Phy-ID3"]


def test_inner_network_reaches_only_the_own_super_pod(pod: Bench) -> None:
    assert pod.run("b", "-i 6 -vnic -g").out == "vnic link status: UP\nvnic ipaddr: 192.9.2.193\nvnic netmask: 255.255.255.0\n"
    answer = pod.run("a", "-i 0 -hccs_ping -g address 192.9.2.193")
    assert answer.out.splitlines()[:4] == [
        "device 0 PING 192.9.2.193", "", "This pkt ping success!", "recv seq 0, time = 24.130us, L1 plane check result = 0x0"]
    assert answer.out.endswith("3 packets transmitted, 3 received, 0.00% packets loss\nmax time 24.130us\nmin time 23.990us\n"
                               "average time 24.060us\nTP95 time 24.130us\n" + SUCCESS)
    assert "1 packets transmitted, 1 received" in pod.run("a", "-i 0 -hccs_ping -g sdid 38535174 cnt 1 pkt 1792").out, "by the same die's SDID"
    assert "3 received" in pod.run("a", "-i 0 -hccs_ping -g address 192.4.3.198").out, "its sibling is reached over the bus"
    assert "0 received" in pod.run("a", "-i 0 -hccs_ping -g address 192.10.2.193").out, "no such server"
    pod.set("b", "6.vnic_link=0")
    lost = pod.run("a", "-i 0 -hccs_ping -g address 192.9.2.193")
    assert (lost.code, lost.err, lost.out.splitlines()[2]) == (0, "", "This pkt check recv msg fail!")
    assert "3 packets transmitted, 0 received, 100.00% packets loss\nmax time 0.000us\n" in lost.out, "the die of that address in super pod 8 is up"
    pod.set("a", "1.hccs_ping=loss1", "2.vnic_link=0")
    assert "3 packets transmitted, 2 received, 33.33% packets loss" in pod.run("a", "-i 1 -hccs_ping -g address 192.9.3.192").out
    assert "0 received" in pod.run("a", "-i 2 -hccs_ping -g address 192.9.3.192").out


@pytest.mark.parametrize(("name", "line", "refusal"), [
    ("d", "-g address 192.9.2.193", "product"),
    ("a", "-g", "count"),
    ("a", "-s address 192.9.2.193", "option"),
    ("a", "-g what 1", "parameters"),
    ("a", "-g address", "parameters"),
    ("a", "-g cnt 3", "parameters"),
    ("a", "-g address 192.9.2.193 cnt 0", "parameters"),
    ("a", "-g address 192.9.2.193 pkt 1700", "parameters"),
    ("a", "-g address 192.9.2.193 timeout x", "parameters"),
    ("a", "-g address 192.9.2.193 sdid 5", "address"),
    ("a", "-g address 10.78.2.6", "address"),
    ("a", "-g address 192.9.3.193", "address"),
    ("a", "-g address 192.168.2.193", "address"),
    ("a", "-g sdid 6", "address"),
])
def test_hccs_ping_refuses(pod: Bench, name: str, line: str, refusal: str) -> None:
    ran = pod.run(name, f"-i 0 -hccs_ping {line}")
    code, text = REFUSALS[refusal][:2]
    assert (ran.code, text in ran.err + ran.out) == (code, True)


def test_one_hccs_ping_at_a_time(pod: Bench) -> None:
    pod.set("a", "0.hccs_occupied=1")
    ran = pod.run("a", "-i 0 -hccs_ping -g address 192.9.2.193")
    assert (ran.code, ran.out, ran.err) == (31, "", "The device is occupied. Please try again later.\n")


def test_sibling_dies_do_not_reach_each_other(pod: Bench) -> None:
    lost = pod.run("a", "-i 4 -ping -g address 10.78.1.5")
    assert (lost.code, lost.out.splitlines()[1]) == (1, "Destination Host Unreachable seq=0")
    assert pod.run("a", "-i 4 -ping -g address 10.78.1.6").code == 0
    assert pod.run("d", "-i 4 -ping -g address 10.78.4.5").code == 0, "on A2 they are no siblings"
    waiting = pod.start("a", "-i 5 -roce_test ib_send_bw -tcp")
    pod.until_ready("a", 5)
    client = pod.run("a", "-i 4 -roce_test ib_send_bw address 10.78.1.5 -tcp")
    assert (client.code, "Couldn't connect to 10.78.1.5:18515" in client.out) == (255, True)
    assert pod.run("a", "-i 5 -roce_test reset").out.endswith(SUCCESS)
    waiting.communicate(timeout=30)


@pytest.mark.parametrize(("index", "address", "code"), [
    (4, "10.78.1.5", 7),
    (4, "10.78.1.6", 0),
    (4, "192.0.2.1", 7),
    (4, "192.168.9.1", 7),
    (4, "193.0.0.1", 0),
    (None, "192.168.7.1", 7),
    (None, "192.168.8.1", 0),
    (None, "10.78.1.5", 7),
])
def test_invalid_addresses_of_a_die(bench: Bench, index: int | None, address: str, code: int) -> None:
    bench.make("a", server_index=index, **A3)
    before = bench.conf("a").read_bytes()
    ran = bench.run("a", f"-i 4 -ip -s address {address} netmask 255.255.255.0")
    assert (ran.code, ran.err) == (code, "The ip address configured is conflicted!\n" if code else "")
    assert (bench.conf("a").read_bytes() == before) == bool(code)


def test_address_templates_alternate_between_dies(bench: Bench) -> None:
    bench.make("a", template=["10.78.1.{device}", "10.78.129.{device}"], product="A3", devices=4)
    assert [bench.run("a", f"-i {device} -ip -g").out.splitlines()[0] for device in range(4)] == [
        "ipaddr:10.78.1.0", "ipaddr:10.78.129.1", "ipaddr:10.78.1.2", "ipaddr:10.78.129.3"]
