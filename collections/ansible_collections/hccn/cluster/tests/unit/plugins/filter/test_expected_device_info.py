from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.expected_device_info import FilterModule


def test_numeric_options_may_be_text():
    expected = FilterModule().filters()["expected_device_info"]
    assert [device["id"] for device in expected([], "A3", devices="2", server_index=None, super_pod_id="1")["devices"]] == [0, 1]


@pytest.mark.parametrize(("options", "sentence"), [({"devices": "two"}, "devices is 'two'"), ({"devices": 0}, "devices is 0")])
def test_an_invalid_option_is_named(options, sentence):
    with pytest.raises(AnsibleFilterError, match=f"expected_device_info: {sentence}"):
        FilterModule().filters()["expected_device_info"]([], "A2", **options)
