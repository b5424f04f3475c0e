from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._device import parse_network, parse_tls


@pytest.mark.parametrize("text, address, netmask", [
    ("ipaddr:10.78.3.4\nnetmask:255.255.0.0\n", "10.78.3.4", "255.255.0.0"),
    ("ipaddr: 10.78.3.4\r\nnetmask: 255.255.0.0\r\n", "10.78.3.4", "255.255.0.0"),
    ("ipv6_address:fd00:78::4\nprefix_length:64\n", "fd00:78::4", "64"),
])
def test_addresses(text, address, netmask):
    assert parse_network.parse_address(text) == parse_network.Address(address, netmask)


@pytest.mark.parametrize("text, gateway", [("default gateway:10.78.0.1, Iface:eth5\n", "10.78.0.1"), ("gateway:fd00:78::1\n", "fd00:78::1")])
def test_gateways(text, gateway):
    assert parse_network.parse_gateway(text) == gateway


@pytest.mark.parametrize("text, address", [
    ("netdetect addr: 10.78.0.1\n", "10.78.0.1"), ("netdetect address: 10.78.0.1\n", "10.78.0.1"), ("netdetect addr: 0.0.0.0\n", None),
    ("netdetect addr: ::\n", None),
])
def test_netdetect_addresses_with_both_labels(text, address):
    assert parse_network.parse_netdetect(text) == address


@pytest.mark.parametrize("text, link", [("link status: UP\n", "up"), ("link status: DOWN\n", "down")])
def test_links(text, link):
    assert parse_network.parse_link(text) == link


@pytest.mark.parametrize("value, state", [
    ("Success", "success"), ("Socket fail", "socket_fail"), ("Socket failed", "socket_fail"), ("Receive timeout", "receive_timeout"),
    ("Unreachable", "unreachable"), ("Time exceeded", "time_exceeded"), ("Fault", "fault"), ("Init", "init"), ("Thread error", "thread_error"),
    ("Detect ip set", "detect_ip_set"), ("Unknown", "unknown"),
])
def test_health_states(value, state):
    assert parse_network.parse_health("net health status: %s\n" % value) == state


def test_ping_without_its_first_line():
    ping = parse_network.parse_ping("Destination Host Unreachable seq=0\n3 packets transmitted, 0 received, 100.00% packet loss\n")
    assert (ping.target, ping.lost, ping.times_ms, ping.reasons) == ("", 3, (), ("Destination Host Unreachable",))


@pytest.mark.parametrize("parse, text, message", [
    (parse_network.parse_address, "ipaddr:10.0.0.1\n", "-ip -g printed unexpected output: 'ipaddr:10.0.0.1'"),
    (parse_network.parse_gateway, "", "-gateway -g printed unexpected output: nothing"),
    (parse_network.parse_netdetect, "net detect", "-netdetect -g printed unexpected output: 'net detect'"),
    (parse_network.parse_link, "link status: MAYBE", "-link -g printed unexpected output: 'link status: MAYBE'"),
    (parse_network.parse_health, "net health status: Splendid\n", "-net_health -g printed an unknown state: 'Splendid'"),
    (parse_network.parse_health, "health\n", "-net_health -g printed unexpected output: 'health'"),
    (parse_network.parse_ping, "\x00\x01", "-ping -g printed unexpected output: '\\x00\\x01'"),
    (parse_tls.parse_tls, "tls switch on\n", "-tls -g did not report the TLS flag"),
])
def test_unknown_output_is_an_error(parse, text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.message == message


SWITCH = "dev_id:2, tls switch[1](0:disable, 1:enable), tls preconfigured[0](0:non-preset, 1:preset), tls alarm time threshold[90]days\n"
STATUS = "\t tls expiration status[%d](0:normal, 1:near expiration, 2:has expired)\n"
BLOCK = """dev_id:2, [%s] info:
\t subject[/C=DE/O=Example/CN=node]
\t issuer[/C=DE/O=Example/CN=Example CA [1]]
\t start_time[Mon Jan  5 10:00:00 2026 GMT]
\t end_time[Tue Jan  5 10:00:00 2027 GMT]
"""


def test_tls_with_certificates():
    tls = parse_tls.parse_tls(SWITCH + BLOCK % "pub cert" + STATUS % 0 + BLOCK % "ca1 cert" + STATUS % 1)
    assert (tls.enabled, tls.preset_certificate, tls.alarm_days) == (True, False, 90)
    assert tls.certificates == (
        parse_tls.Certificate("pub cert", "/C=DE/O=Example/CN=node", "/C=DE/O=Example/CN=Example CA [1]", "Mon Jan  5 10:00:00 2026 GMT",
                              "Tue Jan  5 10:00:00 2027 GMT", "normal"),
        parse_tls.Certificate("ca1 cert", "/C=DE/O=Example/CN=node", "/C=DE/O=Example/CN=Example CA [1]", "Mon Jan  5 10:00:00 2026 GMT",
                              "Tue Jan  5 10:00:00 2027 GMT", "near_expiration"),
    )


def test_expired_certificate_is_reported_on_stderr():
    tls = parse_tls.parse_tls(SWITCH + BLOCK % "pub cert" + BLOCK % "ca1 cert" + STATUS % 0, STATUS % 2)
    assert [certificate.expiration for certificate in tls.certificates] == ["expired", "normal"]


def test_tls_of_an_older_tool():
    tls = parse_tls.parse_tls("dev_id:0, tls switch[0](0:disable, 1:enable), tls alarm time threshold[60]days\n"
                              "dev_id:0, [ca1 cert] info:\n         issuer[/CN=CA]\n")
    assert (tls.enabled, tls.preset_certificate, tls.alarm_days) == (False, None, 60)
    assert tls.certificates == (parse_tls.Certificate("ca1 cert", None, "/CN=CA", None, None, "unknown"),)


def test_tls_flag_without_certificates():
    assert parse_tls.parse_tls("dev_id:0, tls switch[0](0:disable, 1:enable)\n") == parse_tls.Tls(False, None, None, ())


def test_unknown_certificate_status():
    assert parse_tls.parse_tls(SWITCH + BLOCK % "crl" + STATUS % 7).certificates[0].expiration == "unknown"
