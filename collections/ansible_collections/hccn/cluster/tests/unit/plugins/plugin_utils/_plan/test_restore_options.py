from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.restore_options import restore_options

SAVED = {
    "schema": "hccn.cluster/restore/2", "saved_at": "2026-05-04T03:02:01.000Z",
    "hccn_conf": "address_0=10.0.0.10\nnetmask_0=255.255.255.0\nip_rule_0=add from 10.0.0.10 table 1\nip_rule_0=add to 10.0.0.9 table 2\naddress_1=10.0.0.11\n",
    "network": [{"id": 0, "address": "10.0.0.10", "netmask": "255.255.255.0", "gateway": None, "dscp_to_tc": {"33": 2, "34": None}}],
    "tls": [{"id": 0, "enabled": True}, {"id": 1, "enabled": False}, {"id": 2, "enabled": None}, {"id": 3, "enabled": False}],
}
CHANGED = [{"device": 0, "key": "address", "value": "10.9.9.9"}, {"device": 1, "key": "address", "value": "10.9.9.8"}]


def test_options_that_restore_the_saved_state():
    now = [{"device": 0, "key": "address", "value": "10.9.9.9"}, {"device": 0, "key": "mtu", "value": "4200"},
           {"device": 1, "key": "tls_enable", "value": "1"}]
    made = {
        "saved_at": "2026-05-04T03:02:01.000Z",
        "replayed": [],
        "network": [{"id": 0, "address": "10.0.0.10", "netmask": "255.255.255.0", "dscp_to_tc": {"33": 2}}],
        "tls": {"enabled": ["0"], "disabled": ["1", "3"]},
        "present": [{"id": 0, "settings": {"address": "10.0.0.10", "netmask": "255.255.255.0",
                                           "ip_rule": ["add from 10.0.0.10 table 1", "add to 10.0.0.9 table 2"]}},
                    {"id": 1, "settings": {"address": "10.0.0.11"}}],
        "absent": [{"id": 0, "settings": {"mtu": ""}}, {"id": 1, "settings": {"tls_enable": ""}}],
        "problems": [], "missing": [],
    }
    assert restore_options(SAVED, now) == made
    assert restore_options(json.dumps(SAVED), now) == made
    assert SAVED["network"][0]["id"] == 0


def test_parts_that_were_not_saved_are_not_restored():
    now = [{"device": 0, "key": "mtu", "value": "4200"}]
    made = restore_options({"schema": "hccn.cluster/restore/2", "saved_at": "2026-05-04T03:02:01Z", "tls": None, "hccn_conf": None}, now)
    assert made == {"saved_at": "2026-05-04T03:02:01Z", "replayed": [], "network": [], "tls": {"enabled": [], "disabled": []}, "present": [], "absent": [],
                    "problems": [], "missing": []}
    assert restore_options(dict(SAVED, hccn_conf=""), now)["absent"] == [{"id": 0, "settings": {"mtu": ""}}]


@pytest.mark.parametrize(("before", "now", "replayed"), [
    ({}, {"send_arp_status": "1"}, {"send_arp_status": "0"}),
    ({}, {"send_arp_status": "1", "send_arp_period": "5"}, {"send_arp_status": "0"}),
    ({"send_arp_status": "1", "send_arp_period": "9"}, {"send_arp_status": "1", "send_arp_period": "5"}, {"send_arp_period": "9"}),
    ({"send_arp_status": "1", "send_arp_period": "9"}, {}, {"send_arp_status": "1", "send_arp_period": "9"}),
    ({"send_arp_status": "odd", "send_arp_period": "0"}, {"send_arp_status": "1"}, {"send_arp_status": "0"}),
    ({"send_arp_status": "1"}, {"send_arp_status": "1"}, {}),
    ({}, {"send_arp_status": "0"}, {}),
    ({}, {}, {}),
])
def test_gratuitous_arp_is_restored_before_the_address_that_applies_it(before, now, replayed):
    text = "".join(f"{key}_{device}={value}\n" for device in (0, 1) for key, value in before.items())
    settings = [{"device": device, "key": key, "value": value} for device in (0, 1) for key, value in now.items()]
    made = restore_options(dict(SAVED, hccn_conf=text), settings)
    assert made["replayed"] == ([{"id": 0, "settings": replayed}] if replayed else [])
    assert [problem["message"] for problem in made["problems"] if problem["rule"] == "gratuitous_arp"] == ([
        "NPU 1: gratuitous ARP stays as it is on the device until the next boot, since only a new address changes it"] if replayed else [])


def test_values_that_cannot_be_restored_are_problems():
    made = restore_options(dict(SAVED, hccn_conf="address_0=x\nmtu_0=4200\n", network=[
        {"id": 0, "mtu": 100}, {"id": 1, "address": None, "netmask": None}, {"id": 2, "address": "0.0.0.0", "netmask": "255.0.0.0"}]))
    assert made["present"] == [{"id": 0, "settings": {"mtu": 4200}}]
    assert made["network"] == []
    assert made["problems"] == [
        {"rule": "invalid_value", "severity": "error", "device": 0, "message": "address_0 is skipped: address: 'x' is not an IPv4 address"},
        {"rule": "not_settable", "severity": "error", "device": 0,
         "message": "mtu: 100 is below 1280: the device would lose its IPv6 addresses, and hccn_tool asks for confirmation; run it by hand"},
        {"rule": "no_address", "severity": "warning", "device": 1,
         "message": "NPU 1 had no address and keeps the one that it has: hccn_tool cannot remove it"}]
    assert made["missing"] == ["NPU 2: the address that was saved cannot be set (0.0.0.0 is not the address of a host)"]


@pytest.mark.parametrize(("address", "missing"), [
    ("10.9.9.8", ["NPU 1: its address was changed to 10.9.9.8, but the address that it had before was not saved (hccn.conf had 10.0.0.11). "
                  "Set it with device_network."]),
    ("10.0.0.11", []),  # only the file was changed
    (None, []),
])
def test_a_changed_address_that_was_not_saved_is_reported(address, missing):
    devices = [{"id": 0, "address": "10.9.9.9"}, {"id": 1, "address": address}]
    assert restore_options(SAVED, CHANGED, devices)["missing"] == missing
    assert restore_options(SAVED, [], devices)["missing"] == []


def test_a_changed_address_that_was_not_in_the_file_is_reported():
    made = restore_options(dict(SAVED, hccn_conf=""), CHANGED, [{"id": 1, "address": "10.9.9.8"}])
    assert made["missing"] == [
        "NPU 1: its address was changed to 10.9.9.8, but the address that it had before was not saved. Set it with device_network."]


@pytest.mark.parametrize(("saved", "message"), [
    ([], "the saved state does not have the schema hccn.cluster/restore/2"),
    ("{", "the saved state does not have the schema hccn.cluster/restore/2"),
    ("[" * 100000, "the saved state does not have the schema hccn.cluster/restore/2"),
    ({"schema": "hccn.cluster/restore/1"}, "the saved state does not have the schema hccn.cluster/restore/2"),
    (dict(SAVED, saved_at="{{ lookup('pipe', 'id') }}"), "saved_at of the saved state is not a time"),
    (dict(SAVED, network={"id": 0}), "network of the saved state is not a list of entries with id"),
    (dict(SAVED, network=[{"id": True}]), "network of the saved state is not a list of entries with id"),
    (dict(SAVED, network=[{"id": 0, "{{ 1 }}": 1}]), "the saved state of NPU 0 has options or values that device_network does not take: '{{ 1 }}'"),
    (dict(SAVED, network=[{"id": 0, "mtu": "{{ 1 }}"}]), "the saved state of NPU 0 has options or values that device_network does not take: 'mtu'"),
    (dict(SAVED, network=[{"id": 0, "pfc": ["{{ 1 }}"]}]), "the saved state of NPU 0 has options or values that device_network does not take: 'pfc'"),
    (dict(SAVED, tls=[{"enabled": True}]), "tls of the saved state is not a list of entries with id"),
])
def test_invalid_saved_states_are_refused(saved, message):
    with pytest.raises(InputError) as raised:
        restore_options(saved)
    assert raised.value.message == message


@pytest.mark.parametrize("option", ["address", "gateway", "netdetect", "ipv6_address", "roce_port"])
def test_templates_in_the_record_are_not_returned(option):
    made = restore_options(dict(SAVED, network=[{"id": 0, option: "{{ lookup('pipe', 'id') }}"}]))
    assert made["network"] == []
