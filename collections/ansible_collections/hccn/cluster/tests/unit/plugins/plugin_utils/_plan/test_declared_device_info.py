from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.declared_device_info import declared_device_info


def test_a_host_has_the_npus_of_its_product_and_the_planned_addresses() -> None:
    found = declared_device_info([{"id": 1, "address": "10.0.0.9", "netmask": "255.255.0.0"}], "A2", devices=2)
    assert found == {"product": "A2", "devices": [
        {"id": 0, "address": None, "netmask": None, "errors": []}, {"id": 1, "address": "10.0.0.9", "netmask": "255.255.0.0", "errors": []}]}
    assert [len(declared_device_info([], product)["devices"]) for product in ("910A", "A2", "A3", "950")] == [8, 8, 16, 8]


def test_a_server_of_a_super_pod_has_the_sdid_of_its_seat() -> None:
    last = declared_device_info([], "A3", server_index=23, super_pod_id=5)["devices"][15]
    assert last["super_pod"] == {"sdid": 98369551, "super_pod_size": 384, "super_pod_id": 5, "server_index": 23}


@pytest.mark.parametrize(("options", "sentence"), [
    ({"product": "A9"}, "product is 'A9'"), ({"product": "A2", "devices": 9}, "a host of A2 has 1 to 8"),
    ({"product": "A2", "server_index": 1}, "for A3 super pods"), ({"product": "A3", "server_index": 1023}, "from 0 to 1022"),
])
def test_values_that_no_host_has_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        declared_device_info([], **options)
