from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._device import parse_port


@pytest.mark.parametrize("text, speed", [("Speed: 200000 Mb/s\n", 200000), ("Speed: Unknown!\n", None)])
def test_speed(text, speed):
    assert parse_port.parse_speed(text) == speed


def test_single_values():
    assert parse_port.parse_mac("mac addr: BC:1E:85:00:0a:01\n") == "bc:1e:85:00:0a:01"
    assert parse_port.parse_mtu("mtu:4200\n") == 4200
    assert parse_port.parse_vnic("vnic link status: DOWN\nvnic ipaddr: 192.9.2.199\nvnic netmask: 255.255.0.0\n") == parse_port.Vnic(
        "down", "192.9.2.199", "255.255.0.0")


def test_counters():
    assert parse_port.parse_counters("packet statistics:\nmac_tx_total_pkt_num:12\nroce_new_pkt_rty_num:3\n") == {
        "mac_tx_total_pkt_num": 12, "roce_new_pkt_rty_num": 3}


def test_link_changes():
    text = "[devid 2]current time        : Fri Nov 20 10:00:00 2026\n[devid 2]link up count       : 2\n[devid 2]link down count     : 1\n"
    text += "[devid 2]link change records :\n[devid 2]    Thu Nov 19 09:00:02 2026    LINK UP\n[devid 2]    Thu Nov 19 09:00:01 2026    LINK DOWN\n"
    assert parse_port.parse_link_changes(text) == parse_port.LinkChanges(
        2, 1, (("Thu Nov 19 09:00:02 2026", "up"), ("Thu Nov 19 09:00:01 2026", "down")))


def test_link_changes_of_an_older_tool():
    text = "[device 0]link up count       : 0\n[device 0]link change records : NA\n"
    assert parse_port.parse_link_changes(text) == parse_port.LinkChanges(0, None, ())


LLDP = """Chassis ID TLV
        MAC: 00:11:22:33:44:55
Port ID TLV
        Ifname: 400GE1/0/3:2
System Name TLV
        leaf-7
System Description TLV
        Some Router Platform
Version 9
Management Address TLV
        IPv4: 10.1.1.7
End of LLDPDU TLV
"""


def test_neighbours():
    assert parse_port.parse_neighbour(LLDP) == parse_port.Neighbour("leaf-7", "400GE1/0/3:2", "00:11:22:33:44:55", "10.1.1.7", "Some Router Platform Version 9")
    assert parse_port.parse_neighbour("System Name TLV\n        leaf-8\n") == parse_port.Neighbour("leaf-8", None, None, None, None)


def test_optical_module():
    text = "optical info:\npresent              : present\ntemperature          : 45 C\nvendor name          : ACME: best\nTx Power0            : 1.0275 mW\n"
    text += "Rx Power0            : NA\nVcc                  : 3300.00 mV\nTx Bias0             : 7.5 mA\nMedia SNR Lane0      : -3.5 dB\n"
    text += "Host SNR Lane0       : not supported\nRx Los Flag          : 0xff\nvendor rev           :\n"
    assert parse_port.parse_optical(text) == {
        "present": True, "temperature_c": 45.0, "vendor_name": "ACME: best", "tx_power0_mw": 1.0275, "rx_power0_mw": None, "vcc_mv": 3300.0,
        "tx_bias0_ma": 7.5, "media_snr_lane0_db": -3.5, "host_snr_lane0_db": None, "rx_los_flag": "0xff", "vendor_rev": None,
    }
    assert parse_port.parse_optical("optical info:\npresent              : not present\n") == {"present": False}


@pytest.mark.parametrize("parse", [
    parse_port.parse_speed, parse_port.parse_mac, parse_port.parse_mtu, parse_port.parse_vnic, parse_port.parse_counters, parse_port.parse_link_changes,
    parse_port.parse_neighbour, parse_port.parse_optical,
])
def test_unknown_output_is_an_error(parse):
    with pytest.raises(ParseError):
        parse("nothing of the kind\n")


def test_network_versions():
    text = "Network Driver Version:    1.0.4.0\nNetwork Firmware Version:  7.1.0.11.220\n"
    assert parse_port.parse_version(text) == {"driver": "1.0.4.0", "firmware": "7.1.0.11.220"}
    with pytest.raises(ParseError):
        parse_port.parse_version("version: 7\n")


def test_empty_answer_means_no_neighbour():
    assert parse_port.parse_neighbour("") is None
    assert parse_port.parse_neighbour("\n") is None


def test_optical_keys_do_not_depend_on_the_module():
    """A module that is absent, or does not report a quantity, has the same keys."""
    lines = ("temperature", "Vcc", "Tx Power0", "Rx Power3", "Tx Bias1", "Vcc High Thres", "Temp Low Thres", "TxPower High Thres", "RxPower Low Thres",
             "Media SNR Lane2", "xsfp wave length")
    units = ("C", "mV", "mW", "mW", "mA", "mV", "C", "mW", "mW", "dB", "nm")
    read = "optical info:\n" + "".join("%s : 1.5 %s\n" % pair for pair in zip(lines, units))
    absent = "optical info:\n" + "".join("%s : NA\n" % line for line in lines)
    assert list(parse_port.parse_optical(read)) == list(parse_port.parse_optical(absent))
    assert set(parse_port.parse_optical(absent).values()) == {None}
