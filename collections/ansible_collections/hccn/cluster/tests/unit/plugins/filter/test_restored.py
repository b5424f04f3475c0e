from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.restored import FilterModule

restored = FilterModule().filters()["restored"]


def test_the_filter_returns_module_options():
    saved = {"schema": "hccn.cluster/restore/2", "saved_at": "2026-01-02T03:04:05Z", "hccn_conf": "mtu_0=1500\n"}
    made = restored(saved, [{"device": 1, "key": "mtu", "value": "1"}])
    assert (made["present"], made["absent"]) == ([{"id": 0, "settings": {"mtu": 1500}}], [{"id": 1, "settings": {"mtu": ""}}])


def test_an_error_is_one_sentence():
    with pytest.raises(AnsibleFilterError) as raised:
        restored({"a": 1})
    assert str(raised.value) == (
        "restored: the saved state does not have the schema hccn.cluster/restore/2 (another version saved it, or it is another file)")
