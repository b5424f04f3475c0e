from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.adopted import FilterModule

adopted = FilterModule().filters()["adopted"]


def test_the_filter_returns_variables():
    device = {"id": 2, "address": None, "netmask": None, "gateway": None, "netdetect": None, "tls": {"enabled": True}, "errors": []}
    file = {"settings": [{"device": 2, "key": "tls_enable", "value": "1"}, {"device": 2, "key": "mtu", "value": "4200"}], "problems": []}
    assert adopted({"devices": [device]}, file) == {
        "variables": {"bring_up_tls_state": "enabled", "bring_up_network": [], "bring_up_config": [{"id": 2, "settings": {"mtu": 4200}}]},
        "problems": []}


def test_an_error_is_one_sentence():
    with pytest.raises(AnsibleFilterError) as raised:
        adopted({"msg": "unreachable"}, {})
    assert str(raised.value) == "adopted: this is not a result of device_info: it has no devices (pass the registered result of the task)"
