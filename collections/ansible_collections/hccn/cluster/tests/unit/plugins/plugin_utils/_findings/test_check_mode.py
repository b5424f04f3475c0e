from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.devices import of_devices
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.check_mode import predicted

BARE = {"id": 0, "address": None, "netmask": None, "tls": {"enabled": True}, "conf": {"gateway": "10.99.0.1"}, "link": "up", "errors": []}
NETWORK = {"devices": [{"id": 0, "changed": True, "errors": [], "after": {
    "address": "10.79.0.2", "netmask": "255.255.0.0", "persistent": {"address": "10.79.0.2", "netmask": "255.255.0.0", "gateway": None}}}]}
TLS = {"devices": [{"id": 0, "changed": True, "errors": [], "after": {"enabled": False, "persistent": False}}]}


def test_predicted_changes_remove_findings() -> None:
    before = {"devices": [BARE, {**BARE, "id": 1}], "product": "A2"}
    assert [one.message for one in of_devices("n1", before, "bring_up")] == ["it has no address"]
    after = predicted(before, [NETWORK, TLS])
    assert after["devices"][0] == {
        **BARE, "address": "10.79.0.2", "netmask": "255.255.0.0", "tls": {"enabled": False},
        "conf": {"address": "10.79.0.2", "netmask": "255.255.0.0", "tls_enabled": False}}
    assert (after["devices"][1], after["product"]) == ({**BARE, "id": 1}, "A2")
    assert [(one.component.name, one.message) for one in of_devices("n1", after, "bring_up")] == [("n1 NPU 1", "it has no address")]


def test_refused_changes_are_not_predicted() -> None:
    refused = {"devices": [{**NETWORK["devices"][0], "changed": False, "errors": [{"code": "device_busy"}]}]}
    assert predicted({"devices": [BARE]}, [refused, None, {"skipped": True}])["devices"] == [BARE]


@pytest.mark.parametrize("devices", [None, "all", [None, 7, {"id": True}, {"id": "0"}], [{"id": 0, "conf": 3, "tls": []}]])
@pytest.mark.parametrize("change", [3, {"devices": 5}, {"devices": [{"id": 0, "changed": True, "after": 5}]}, NETWORK, TLS])
def test_malformed_answers_raise_nothing(devices: object, change: object) -> None:
    result = {"devices": devices}
    assert set(predicted(result, [change])) == {"devices"}
    assert isinstance(of_devices("n1", predicted(result, [change]), "bring_up"), list)
