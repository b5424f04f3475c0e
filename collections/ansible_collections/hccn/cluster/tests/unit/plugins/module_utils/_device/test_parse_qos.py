from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._device import parse_network, parse_qos

TABLE = "dscp      tc\n" + "".join("%4d%8d\n" % (dscp, dscp // 16) for dscp in range(64))


@pytest.mark.parametrize("text, port", [
    ("udp_port:5123\nstatus:custom\n", 5123),
    ("udp_port:5123\nstatus:custom\nsip:10.78.1.10 dip:10.78.2.10 udp_port:6000\n", 5123),
    ("udp_port:49152\nstatus:auto\n", "auto"),
    ("udp_port:Unknown\nstatus:auto\n", "auto"),
    ("udp_port:4101,4102\nstatus:multi_qp\nqp_count:2\n", "multi_qp"),
    ("udp_port:calculated by the NSLB-DP algorithm\nstatus:code(nslb_dp)\nlisten_port:16668\n", "code"),
    ("Unknown udp port\n", "unknown"),
])
def test_roce_source_port(text, port):
    assert parse_qos.parse_roce_port(text) == port


def test_bandwidth_limit():
    assert parse_qos.parse_shaping("bw_limit[150000 Mbps], bw_max[200000 Mbps], bw_cur[150000 Mbps]\n") == 150000
    assert parse_qos.parse_shaping("bw_limit[90000 Mbps], bw_max[100000 Mbps]\n") == 90000


def test_pfc_and_classes_of_each_priority():
    assert parse_qos.parse_pfc("PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    0 0 0 1 1 0 0 0\n") == [0, 0, 0, 1, 1, 0, 0, 0]
    assert parse_qos.parse_prio_tc("Priority mapping:\npriority   0 1 2 3 4 5 6 7\nTC         0 0 1 1 2 2 3 3\n") == [0, 0, 1, 1, 2, 2, 3, 3]


def test_traffic_classes_of_all_dscp_values():
    classes = parse_qos.parse_dscp_to_tc(TABLE)
    assert (len(classes), classes["0"], classes["33"], classes["63"]) == (64, 0, 2, 3)


@pytest.mark.parametrize("parse, text, message", [
    (parse_qos.parse_roce_port, "port 5\n", "-udp -g printed unexpected output: 'port 5'"),
    (parse_qos.parse_roce_port, "udp_port:5000\nstatus:odd\n", "-udp -g printed unexpected output: 'udp_port:5000'"),
    (parse_qos.parse_roce_port, "udp_port:many\nstatus:custom\n", "-udp -g printed no number as its custom port: 'many'"),
    (parse_qos.parse_shaping, "bw_limit: 5\n", "-shaping -g printed unexpected output: 'bw_limit: 5'"),
    (parse_qos.parse_pfc, "enabled    0 0 0 1\n", "-pfc -g printed unexpected output: 'enabled    0 0 0 1'"),
    (parse_qos.parse_prio_tc, "", "-prio_tc -g printed unexpected output: nothing"),
    (parse_qos.parse_dscp_to_tc, "dscp      tc\n  33       2\n", "-dscp_to_tc -g reported 1 of 64 DSCP values"),
    (parse_network.parse_hccs_ping, "no\n", "-hccs_ping -g printed unexpected output: 'no'"),
    (parse_network.parse_hccs_ping, "2 packets transmitted, 1 received, 50.00% packets loss\n",
     "-hccs_ping -g printed unexpected output: '2 packets transmitted, 1 received, 50.00% packets loss'"),
])
def test_unknown_output_is_an_error(parse, text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.message == message


PACKET = "This pkt %s!\nrecv seq %d, time = %sus, L1 plane check result = %s\n\n"
SUM = "%d packets transmitted, %d received, %s packets loss\nmax time %sus\nmin time %sus\naverage time %sus\nTP95 time %sus\n"


def test_hccs_ping():
    text = "device 4 PING 192.2.1.199\n\n" + PACKET % ("ping success", 0, "25.100", "0x0") + PACKET % ("ping success", 1, "20.300", "0x0")
    ping = parse_network.parse_hccs_ping(text + SUM % (2, 2, "0.00%", "25.100", "20.300", "22.700", "25.100"))
    assert ping == parse_network.HccsPing("192.2.1.199", 2, 2, 20.3, 22.7, 25.1, 25.1, 0, ())
    assert ping.lost == 0


def test_hccs_ping_ignores_times_of_lost_packets():
    text = PACKET % ("ping success", 0, "25.100", "0x2") + PACKET % ("check recv msg fail", 1, "0.000", "0x0")
    ping = parse_network.parse_hccs_ping(text + SUM % (2, 1, "50.00%", "25.100", "25.100", "25.100", "25.100"))
    assert (ping.target, ping.lost, ping.average_us, ping.plane_faults, ping.reasons) == ("", 1, 25.1, 1, ("check recv msg fail",))


def test_hccs_ping_without_replies():
    text = PACKET % ("send fail", 0, "0.000", "0x0") + SUM % (1, 0, "100.00%", "0.000", "0.000", "0.000", "0.000")
    ping = parse_network.parse_hccs_ping(text)
    assert (ping.received, ping.min_us, ping.average_us, ping.max_us, ping.p95_us, ping.reasons) == (0, None, None, None, None, ("send fail",))


@pytest.mark.parametrize(("classes", "text"), [
    ({str(dscp): dscp // 16 for dscp in range(64)}, "0-15: 0, 16-31: 1, 32-47: 2, 48-63: 3"),
    ({str(dscp): 3 if dscp == 26 else 0 for dscp in range(64)}, "0-25: 0, 26: 3, 27-63: 0"), ({}, "")])
def test_dscp_values_of_one_class_are_a_range(classes, text):
    assert parse_qos.dscp_ranges(classes) == text
