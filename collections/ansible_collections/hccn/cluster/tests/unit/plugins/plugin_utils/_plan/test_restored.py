# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.restored import restore

SAVED = {
    "schema": "hccn.cluster/restore/1", "saved_at": "2026-05-04T03:02:01Z", "host": "npu1",
    "hccn_conf": "address_0=10.0.0.10\nnetmask_0=255.255.255.0\narp_0=a\narp_0=b\n",
    "network": [{"id": 0, "address": "10.0.0.10", "netmask": "255.255.255.0"}],
    "tls": [{"id": 0, "enabled": True}, {"id": 1, "enabled": False}, {"id": 2, "enabled": None}, {"id": 3, "enabled": False}],
}


def test_the_options_that_put_it_back():
    now = [{"device": 0, "key": "address", "value": "10.9.9.9"}, {"device": 0, "key": "mtu", "value": "4200"},
           {"device": 1, "key": "tls_enable", "value": "1"}]
    assert restore(SAVED, now) == {
        "saved_at": "2026-05-04T03:02:01Z",
        "network": [{"id": 0, "address": "10.0.0.10", "netmask": "255.255.255.0"}],
        "tls": {"enabled": ["0"], "disabled": ["1", "3"]},
        "present": [{"id": 0, "settings": {"address": "10.0.0.10", "netmask": "255.255.255.0", "arp": ["a", "b"]}}],
        "absent": [{"id": 0, "settings": {"mtu": ""}}, {"id": 1, "settings": {"tls_enable": ""}}],
        "problems": [],
    }


def test_parts_that_were_not_saved_are_left_alone():
    now = [{"device": 0, "key": "address", "value": "10.9.9.9"}]
    made = restore({"schema": "hccn.cluster/restore/1", "saved_at": "2026-05-04T03:02:01Z", "tls": None}, now)
    assert made == {"saved_at": "2026-05-04T03:02:01Z", "network": [], "tls": {"enabled": [], "disabled": []}, "present": [], "absent": [], "problems": []}
    assert restore(dict(SAVED, hccn_conf=""), now)["absent"] == [{"id": 0, "settings": {"address": ""}}]


def test_what_cannot_be_put_back_is_told():
    made = restore(dict(SAVED, hccn_conf="address_0=x\nmtu_0=4200\n"))
    assert made["present"] == [{"id": 0, "settings": {"mtu": 4200}}]
    assert made["problems"] == [
        {"rule": "invalid_value", "severity": "error", "device": 0, "message": "address_0 is not taken: address: 'x' is not an IPv4 address"}]


@pytest.mark.parametrize(("saved", "said"), [
    ([], "what was saved is not of the schema hccn.cluster/restore/1"),
    ({"schema": "hccn.cluster/restore/2"}, "what was saved is not of the schema hccn.cluster/restore/1"),
    (dict(SAVED, network={"id": 0}), "what was saved as network is not a list of entries with id"),
    (dict(SAVED, tls=[{"enabled": True}]), "what was saved as tls is not a list of entries with id"),
])
def test_what_is_nothing_saved(saved, said):
    with pytest.raises(InputError) as raised:
        restore(saved)
    assert raised.value.message == said
