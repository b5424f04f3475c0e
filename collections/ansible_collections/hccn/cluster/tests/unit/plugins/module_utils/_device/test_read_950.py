from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import hccn_tool, host, parse_950, read, read_950, device_session
from ansible_collections.hccn.cluster.plugins.module_utils._device.npu_smi import NpuSmi

DEV_INFO = """+---------+---------+---------------------+-----------+-------------+------------+
| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | Media Type |
+---------+---------+---------------------+-----------+-------------+------------+
| 0       | 4       | 400                 | UB        | UP          | Electrical |
| 1       | 5       | 200                 | UB        | DOWN        | Electrical |
+---------+---------+---------------------+-----------+-------------+------------+
+-----------------+---------------+---------------+-----------+-----------------+
| Interface Name  | IP Address    | Netmask       | Bond Mode | Slaves          |
+-----------------+---------------+---------------+-----------+-----------------+
| ipourma0        | ::10:0:1:51   | ffff:ffff::   | NA        | NA              |
|                 | ::10:0:1:30   | ffff:ffff::   |           |                 |
+-----------------+---------------+---------------+-----------+-----------------+
"""
CONNECT = "link status : PARTIAL LINK\nport 4 : PARTIAL UP\nport 5 : DOWN\n"
SPEED = """+-----+------+------+---------+-----+-------+-----------+
| NPU | UDie | Port | Speed   | Cap | Width | Status    |
+-----+------+------+---------+-----+-------+-----------+
| 1   | 0    | 4    | 200 G   | X4  | X2    | degraded  |
+-----+------+------+---------+-----+-------+-----------+
"""
STAT = "packet statistics:\nport_id: 4\nis_uboe_port: 0\ncrc_error_sum: 7\nretry_req_sum: 1\n"
CHANGES = """link up count :    1
link down count :  1
+-----+------+------+-------------+--------------------------+
| NPU | UDie | Port | Link_Status | Time_Stamp               |
+-----+------+------+-------------+--------------------------+
|  1  |  0   |  4   |  LINK_UP    | Tue Mar 3 08:01:02 2026  |
+-----+------+------+-------------+--------------------------+
"""
PORT_INFO = """port_id: 0x4
======================= UB PORT LINK INFO =======================
port_link: link
======================== UB DLPHY INFO ==========================
fec_err: 0x10
"""
OUTPUTS = {"-dev_info": DEV_INFO, "-ub_connect": CONNECT, "-speed": SPEED, "-stat": STAT, "-link_stat": CHANGES, "-port_info": PORT_INFO}
HELP_950 = "Usage\n        hccn_tool -mode -cmd -npu_info [-options]\n"


class Npu:
    def __init__(self):
        self.calls = []
        self.fails = {}

    def __call__(self, argv, timeout):
        self.calls.append(" ".join(argv))
        rc, stdout, stderr = self.fails.get(argv[2], (0, OUTPUTS.get(argv[2], ""), ""))
        return Result(tuple(argv), rc, stdout, stderr, False, 0.0, 0.1)


@pytest.fixture
def npu():
    return Npu()


def read_npu(npu, *topics):
    return read_950.read_npu(hccn_tool.HccnTool950("hccn_tool", 5, npu, lambda pause: None), 1, topics)


def test_ports_of_dev_info():
    assert parse_950.parse_device_ports(DEV_INFO) == (
        parse_950.DevicePort(0, 4, 400, "UB", "up", "Electrical"), parse_950.DevicePort(1, 5, 200, "UB", "down", "Electrical"))
    with pytest.raises(ParseError, match=r"-g -dev_info printed an unknown row: '\| 1 +\| 5 +\| 200 +\| UB +\| ODD"):
        parse_950.parse_device_ports(DEV_INFO.replace("DOWN", "ODD "))


def test_single_card_has_no_ports():
    interfaces = DEV_INFO[DEV_INFO.index("| Interface Name"):]
    assert parse_950.parse_device_ports("+------+\n" + interfaces) == parse_950.parse_device_ports(interfaces) == ()


def test_port_that_is_down_has_no_speed(npu, monkeypatch):
    monkeypatch.setitem(OUTPUTS, "-speed", OUTPUTS["-speed"].replace("200 G", "unknown"))
    assert read_npu(npu, "speed")["ports"][0]["speed"] == {"mbit_s": None, "lanes": "X2", "lanes_capable": "X4", "status": "degraded"}


def test_all_topics_of_each_port(npu):
    found = read_npu(npu, "link", "health", "counters", "link_changes", "speed")
    first, second = found.pop("ports")
    assert found == {"id": 1, "link": "partial", "unread": [], "errors": []}
    assert first == {
        "udie": 0, "port": 4, "link": "partial", "type": "UB", "media": "Electrical",
        "health": {"link": {"port_link": "link"}, "physical": {"fec_err": "0x10"}}, "counters": {"crc_error_sum": 7, "retry_req_sum": 1},
        "link_changes": {"ups": 1, "downs": 1, "records": [["Tue Mar 3 08:01:02 2026", "up"]]},
        "speed": {"mbit_s": 200000, "lanes": "X2", "lanes_capable": "X4", "status": "degraded"}}
    assert (second["udie"], second["port"], second["link"]) == (1, 5, "down")
    assert npu.calls[0] == "hccn_tool -g -dev_info -i 1"
    assert npu.calls[1] == "hccn_tool -g -port_info -i 1 -u 0 -p 4"
    assert npu.calls[-1] == "hccn_tool -g -ub_connect -i 1"
    assert len(npu.calls) == 1 + 2 * 4 + 1


def test_link_topic_takes_one_call(npu):
    assert read_npu(npu, "link")["ports"] == [{"port": 4, "link": "partial"}, {"port": 5, "link": "down"}]
    assert npu.calls == ["hccn_tool -g -ub_connect -i 1"]


def test_unread_topics_are_listed(npu):
    found = read_npu(npu, "address", "tls", "lldp")
    assert found == {
        "id": 1, "address": None, "netmask": None, "lldp": None, "ports": [], "unread": ["address", "lldp", "tls"], "errors": [],
        "tls": {"enabled": None, "preset_certificate": None, "alarm_days": None, "certificates": [], "reason": "unsupported_dialect"}}
    assert npu.calls == []


def test_failed_port_does_not_affect_the_others(npu):
    npu.fails = {"-stat": (-9, "", "")}
    found = read_npu(npu, "counters", "speed")
    assert [(port["counters"], port["speed"]["status"]) for port in found["ports"]] == [(None, "degraded"), (None, "degraded")]
    assert found["errors"] == [
        {"code": "tool_killed", "message": "hccn_tool was ended by signal 9", "topic": "counters", "udie": 0, "port": 4},
        {"code": "tool_killed", "message": "hccn_tool was ended by signal 9", "topic": "counters", "udie": 1, "port": 5}]


def test_port_topics_fail_without_the_list_of_ports(npu):
    npu.fails = {"-dev_info": (-9, "", ""), "-ub_connect": (-9, "", "")}
    found = read_npu(npu, "speed", "counters", "link")
    assert (found["ports"], found["link"]) == ([], None)
    assert [(error["topic"], error["code"]) for error in found["errors"]] == [
        ("counters", "tool_killed"), ("speed", "tool_killed"), ("link", "tool_killed")]


def test_port_number_on_two_dies_keeps_the_link_of_dev_info(npu, monkeypatch):
    monkeypatch.setitem(OUTPUTS, "-dev_info", DEV_INFO.replace("| 1       | 5 ", "| 1       | 4 "))
    assert [(port["udie"], port["link"]) for port in read_npu(npu, "link", "speed")["ports"] if "udie" in port] == [(0, "up"), (1, "down")]


def test_npus_are_returned_in_order(npu):
    found = read_950.read_devices(
        hccn_tool.HccnTool950("hccn_tool", 5, npu, lambda pause: None), [3, 1], ["link"], read.SmiReader(NpuSmi("npu-smi"), host.Host((1, 3), "950", None), []))
    assert [device["id"] for device in found] == [3, 1]
    assert read_950.read_devices(hccn_tool.HccnTool950("hccn_tool", 5, npu), [], ["link"], None) == []


@pytest.mark.parametrize(("help_text", "product", "dialect"), [(HELP_950, "950", "950"), ("hccn_tool -i devid -ip\n", None, "910")])
def test_dialect_is_found_by_help_without_npu_smi(monkeypatch, help_text, product, dialect):
    monkeypatch.setattr(host, "probe", lambda smi: host.Host((0,), None, None))
    monkeypatch.setattr(hccn_tool.HccnTool, "help", lambda self: help_text)
    session = device_session.start({"hccn_tool": "/x/hccn_tool", "npu_smi": "npu-smi", "timeout": 5, "devices": ["all"], "hccn_conf": "/etc/hccn.conf"})
    assert (session.host.product, session.host.dialect, type(session.tool).__name__) == (product, dialect, "HccnTool950" if product else "HccnTool")
    if product:
        with pytest.raises(HccnError, match=r"the NPUs of this host are of the 950, whose hccn_tool has a different command line: nothing was done"):
            session.host.refuse_950()


def test_help_timeout_is_an_error():
    slow = hccn_tool.HccnTool("hccn_tool", 5, lambda argv, timeout: Result(tuple(argv), -9, "", "", True, 0.0, 5.0))
    with pytest.raises(HccnError, match="no answer within 5 s: hccn_tool -h"):
        slow.help()
