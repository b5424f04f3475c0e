from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._device import conf, declare
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.adoption import adopt, config_of

CONF = """# made by hand
address_0=10.0.0.10
netmask_0=255.255.255.0
gateway_0=10.0.0.1
netdetect_0=10.0.0.1
arp_0=-i eth0 -s 10.0.0.11 00:00:5e:00:53:01
tls_enable_0=0
arp_0=-i eth0 -s 10.0.0.12 00:00:5e:00:53:02
bitmap_0=0,0,0,0,1,0,0,0
send_arp_status_0=1
address_1=10.0.0.11
netmask_1=255.255.255.0
xsfp_reset_max_times_1=07
tls_enable_1=0
"""


def file(text=CONF, **fields):
    return {"settings": [{"device": one.device, "key": one.key, "value": one.value} for one in conf.settings(text)], "problems": [], **fields}


def npu(device, address, gateway=None, netdetect=None, enabled=False, **fields):
    return {"id": device, "address": address, "netmask": "255.255.255.0" if address else None, "gateway": gateway, "netdetect": netdetect,
            "tls": {"enabled": enabled}, "errors": [], **fields}


def info(*devices):
    return {"devices": list(devices)}


FIRST = npu(0, "10.0.0.10", "10.0.0.1", "10.0.0.1")
SECOND = npu(1, "10.0.0.11")
BOTH = info(FIRST, SECOND)
NETWORK_0 = {"id": 0, "address": "10.0.0.10", "netmask": "255.255.255.0", "gateway": "10.0.0.1", "netdetect": "10.0.0.1"}
NETWORK_1 = {"id": 1, "address": "10.0.0.11", "netmask": "255.255.255.0"}
SETTINGS_0 = {
    "arp": ["-i eth0 -s 10.0.0.11 00:00:5e:00:53:01", "-i eth0 -s 10.0.0.12 00:00:5e:00:53:02"], "bitmap": "0,0,0,0,1,0,0,0", "send_arp_status": 1}
SETTINGS_1 = {"xsfp_reset_max_times": "07"}


def problems_of(made):
    return [(problem["rule"], problem["severity"], problem.get("device"), problem["message"]) for problem in made["problems"]]


def test_variables_of_a_configured_host():
    assert adopt(BOTH, file()) == {
        "variables": {"bring_up_tls_state": "disabled", "bring_up_network": [NETWORK_0, NETWORK_1],
                      "bring_up_config": [{"id": 0, "settings": SETTINGS_0}, {"id": 1, "settings": SETTINGS_1}]},
        "problems": []}


def test_the_adopted_variables_change_nothing_in_the_file():
    config = adopt(BOTH, file())["variables"]["bring_up_config"]
    assert conf.edit(CONF, declare.declared_keys({"state": "present", "settings": None, "config": config}, ())) == CONF


@pytest.mark.parametrize(("device", "left", "message"), [
    (npu(1, "10.0.0.99"), None, "address is 10.0.0.99 on the device and 10.0.0.11 in the file: not adopted"),
    (npu(1, None), None,
     "address is not set on the device and 10.0.0.11 in the file; netmask is not set on the device and 255.255.255.0 in the file: not adopted"),
    (npu(1, "10.0.0.11", gateway="10.0.0.2"), None, "gateway is 10.0.0.2 on the device and not set in the file: not adopted"),
    (npu(1, "10.0.0.11", netdetect="10.0.0.2"), NETWORK_1, "netdetect is 10.0.0.2 on the device and not set in the file: not adopted"),
])
def test_values_that_differ_are_not_adopted(device, left, message):
    made = adopt(info(FIRST, device), file())
    assert problems_of(made) == [("differs", "error", 1, message)]
    assert made["variables"]["bring_up_network"] == [NETWORK_0] + ([left] if left else [])
    assert made["variables"]["bring_up_config"] == [{"id": 0, "settings": SETTINGS_0}, {"id": 1, "settings": SETTINGS_1}]


def test_addresses_in_different_notation_are_equal():
    made = adopt(info(npu(0, "10.0.0.1")), file("address_0=10.0.0.1\nnetmask_0=255.255.255.0\nnetdetect_0=0.0.0.0\ntls_enable_0=0\n"))
    assert problems_of(made) == []
    assert made["variables"]["bring_up_network"] == [{"id": 0, "address": "10.0.0.1", "netmask": "255.255.255.0"}]


def test_unread_topics_are_not_compared():
    device = npu(1, None, errors=[{"topic": "address", "code": "timeout", "message": "no answer"}, {"topic": "tls", "message": "no answer"}])
    made = adopt(info(FIRST, device), file())
    assert problems_of(made) == [("unread", "warning", 1, "address could not be read, so it is not compared with the file: no answer")]
    assert made["variables"]["bring_up_network"] == [NETWORK_0]
    assert made["variables"]["bring_up_config"][1] == {"id": 1, "settings": {"address": "10.0.0.11", "netmask": "255.255.255.0", **SETTINGS_1}}


def test_addresses_of_the_950_are_settings_of_the_file_only():
    made = adopt({"devices": [SECOND], "dialect": "950"}, file("address_1=10.0.0.11\nnetmask_1=255.255.255.0\ntls_enable_1=0\n"))
    assert made["variables"] == {"bring_up_tls_state": "disabled", "bring_up_network": [],
                                 "bring_up_config": [{"id": 1, "settings": {"address": "10.0.0.11", "netmask": "255.255.255.0"}}]}


@pytest.mark.parametrize(("first", "second", "keys", "state", "problems"), [
    (True, True, "11", "enabled", []),
    (False, False, "00", "disabled", []),
    (True, False, "10", "unchanged", [("tls_differs", "error", None, "the TLS flag is on for NPU 0 and off for the others: not adopted")]),
    (False, False, "01", "unchanged", [("differs", "error", 1, "the TLS flag is off on the device and '1' in the file: not adopted")]),
    (False, True, "0 ", "unchanged", [("differs", "error", 1, "the TLS flag is on on the device and not set in the file: not adopted")]),
    (None, None, "00", "unchanged", [
        ("tls_unknown", "warning", None, "the TLS flag of NPU 0, 1 was not read: the query would write tls_enable into hccn.conf")]),
    (None, False, "01", "unchanged", [
        ("tls_unknown", "warning", None, "the TLS flag of NPU 0 was not read: the query would write tls_enable into hccn.conf"),
        ("differs", "error", 1, "the TLS flag is off on the device and '1' in the file: not adopted")]),
])
def test_the_tls_state_is_adopted_if_device_and_file_agree(first, second, keys, state, problems):
    text = "".join("tls_enable_%d=%s\n" % (device, key) for device, key in enumerate(keys) if key != " ")
    devices = [npu(device, None, tls={"enabled": enabled, "reason": "would_write"}) for device, enabled in enumerate((first, second))]
    made = adopt(info(*devices), file(text))
    assert (made["variables"], problems_of(made)) == ({"bring_up_tls_state": state, "bring_up_network": [], "bring_up_config": []}, problems)


def test_tls_flags_that_were_not_queried_are_reported():
    device = {"id": 0, "errors": []}
    assert problems_of(adopt(info(device), file("mtu_0=4200\n"))) == [
        ("tls_unknown", "warning", None, "the TLS flag of NPU 0 was not read: device_info did not gather it")]


def test_settings_of_absent_devices_are_not_adopted():
    made = adopt(info(FIRST), file())
    assert problems_of(made) == [("absent_device", "warning", 1, "it is not adopted: the host does not have this NPU")]
    assert [entry["id"] for entry in made["variables"]["bring_up_config"]] == [0]


def test_problems_of_hccn_conf_come_first():
    known = [{"rule": "duplicate_key", "severity": "warning", "message": "twice"}, {"rule": "absent_device", "severity": "warning", "message": "x"}]
    made = adopt(BOTH, file(problems=known, diff={"before": CONF[:-1]}))
    assert made["problems"] == [
        known[0], {"rule": "final_newline", "severity": "warning", "message": "the last line of the file has no newline: bring_up will add it"}]
    assert adopt(BOTH, file(diff={"before": CONF}))["problems"] == []


@pytest.mark.parametrize(("setting", "message"), [
    (("arp", "{{ lookup('pipe', 'id') }}"), "arp_0 is skipped: the inventory would read it as a template"),
    (("a{%b", "1"), "a{%b_0 is skipped: the inventory would read it as a template"),
    (("address", "10.0.0"), "address_0 is skipped: address: '10.0.0' is not an IPv4 address"),
])
def test_templates_and_invalid_values_are_not_adopted(setting, message):
    config, problems = config_of([{"device": 0, "key": setting[0], "value": setting[1]}, {"device": 0, "key": "mtu", "value": "4200"}])
    assert config == [{"id": 0, "settings": {"mtu": 4200}}]
    assert [(problem.message, problem.device) for problem in problems] == [(message, 0)]


def test_the_first_value_of_a_repeated_key_is_adopted():
    config, problems = config_of([{"device": 0, "key": "mtu", "value": value} for value in ("4200", "1500")])
    assert (config, problems) == ([{"id": 0, "settings": {"mtu": 4200}}], [])


@pytest.mark.parametrize(("info", "file", "message"), [
    ({"devices": [], "msg": "no NPU"}, file(), "there is nothing to adopt: device_info returned no device (no NPU)"),
    ({"failed": True}, file(), "this is not a result of device_info: it has no devices (pass the registered result of the task)"),
    (BOTH, {"msg": "x"}, "this is not a result of hccn_conf: it has no settings (pass the registered result of the task)"),
    (BOTH, None, "this is not a result of hccn_conf: it has no settings (pass the registered result of the task)"),
])
def test_invalid_results_are_refused(info, file, message):
    with pytest.raises(InputError) as raised:
        adopt(info, file)
    assert raised.value.sentence() == message
