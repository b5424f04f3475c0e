from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._device import parse_950
from ansible_collections.hccn.cluster.plugins.module_utils._device.parse_950 import Port950

CHANGES = """link up count :    1
link down count :  1
+-----+------+------+-------------+--------------------------+
| NPU | UDie | Port | Link_Status | Time_Stamp               |
+-----+------+------+-------------+--------------------------+
|  3  |  1   |  5   |  LINK_UP    | Tue Mar 3 08:01:02 2026  |
|  3  |  1   |  5   |  LINK_DOWN  | Tue Mar  3 08:00:59 2026 |
+-----+------+------+-------------+--------------------------+
"""
SPEED = """+-----+------+------+---------+-----+-------+-----------+
| NPU | UDie | Port | Speed   | Cap | Width | Status    |
+-----+------+------+---------+-----+-------+-----------+
| 3   | 1    | 5    | 200 G   | X4  | X2    | degraded  |
| 3   | 1    | 6    | 400 G   | X4  | X4    | normal    |
+-----+------+------+---------+-----+-------+-----------+
"""
PORT_INFO = """port_id: 0x5
======================= UB PORT LINK INFO =======================
fec: FEC RS
port_link: link
link_state: 0x0003 0x0000
======================== UB DLPHY INFO ==========================
fec: FEC Mode 1 RS (128, 120,T=4)
dl_link: link
dl_link_fsm: Initialization succeeded.
"""


def test_help_of_the_950_is_recognised():
    assert parse_950.is_950_help("Usage\n        hccn_tool -mode -cmd -npu_info [-options]\nmode:\n") is True
    assert parse_950.is_950_help("hccn_tool -i devid -ip\n   (the other dialect)\n") is False


def test_link_changes():
    port = Port950(3, 1, 5)
    assert parse_950.parse_link_changes(CHANGES) == parse_950.LinkChanges950(
        1, 1, ((port, "Tue Mar 3 08:01:02 2026", "up"), (port, "Tue Mar  3 08:00:59 2026", "down")))


def test_port_without_link_changes():
    text = "\n".join(CHANGES.replace(" 1\n", " 0\n").splitlines()[:5])
    assert parse_950.parse_link_changes(text) == parse_950.LinkChanges950(0, 0, ())


def test_speeds():
    assert parse_950.parse_speed(SPEED) == (
        parse_950.Speed(Port950(3, 1, 5), 200, "X4", "X2", "degraded"), parse_950.Speed(Port950(3, 1, 6), 400, "X4", "X4", "normal"))


def test_port_that_is_down_has_no_speed():
    text = SPEED.replace("200 G  ", "unknown").replace("X2 ", "NA ").replace("degraded", "abnormal")
    assert parse_950.parse_speed(text) == (
        parse_950.Speed(Port950(3, 1, 5), None, "X4", "NA", "abnormal"), parse_950.Speed(Port950(3, 1, 6), 400, "X4", "X4", "normal"))


def test_counters():
    text = "packet statistics:\nport_id: 5\nis_uboe_port: 0\nub_mem_pkt_cnt_rx: 12\nretry_req_sum: 3\n"
    assert parse_950.parse_counters(text) == {"ub_mem_pkt_cnt_rx": 12, "retry_req_sum": 3}


def test_port_info():
    assert parse_950.parse_port_info(PORT_INFO.replace("0x0000\n", "0x0000 \n")) == parse_950.PortInfo(
        5, {"fec": "FEC RS", "port_link": "link", "link_state": "0x0003 0x0000"},
        {"fec": "FEC Mode 1 RS (128, 120,T=4)", "dl_link": "link", "dl_link_fsm": "Initialization succeeded."})


@pytest.mark.parametrize("value, link", [("UP", "up"), ("DOWN", "down"), ("PARTIAL LINK", "partial"), ("NA", "unknown")])
def test_ub_connections(value, link):
    text = "link status : %s\nport 4 : UP\nport 5 : DOWN\nport 6 : PARTIAL UP\nport 7 : INITIAL\n" % value
    assert parse_950.parse_ub_connect(text) == parse_950.UbConnect(link, {4: "up", 5: "down", 6: "partial", 7: "initial"})


@pytest.mark.parametrize("parse", [
    parse_950.parse_link_changes, parse_950.parse_speed, parse_950.parse_counters, parse_950.parse_port_info, parse_950.parse_ub_connect,
])
@pytest.mark.parametrize("text", ["", "Speed: 200000 Mb/s\n", "packet statistics:\nmac_tx_total_pkt_num:12\n", "port_id: 0x5\n", "link up count : 1\n"])
def test_unknown_output_is_an_error(parse, text):
    with pytest.raises(ParseError, match="printed unexpected output"):
        parse(text)


@pytest.mark.parametrize("parse, text, message", [
    (parse_950.parse_link_changes, CHANGES.replace("LINK_DOWN", "LINK_LOST"), "unknown link status: 'LINK_LOST'"),
    (parse_950.parse_link_changes, CHANGES.replace("|  LINK_DOWN  ", ""), "unknown row"),
    (parse_950.parse_speed, SPEED.replace("200 G", "fast "), "unexpected output: 'fast'"),
    (parse_950.parse_speed, SPEED.replace("| 3   | 1    | 6", "| all | 1    | 6"), "unknown row"),
    (parse_950.parse_ub_connect, "link status : UP\nport 4 : MAYBE\n", "unknown state of port 4: 'MAYBE'"),
])
def test_unknown_values_are_errors(parse, text, message):
    with pytest.raises(ParseError, match=message):
        parse(text)
