from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.expected_look import FilterModule


def test_numeric_options_may_be_text():
    look = FilterModule().filters()["expected_look"]
    assert [device["id"] for device in look([], "A3", devices="2", server_index=None, super_pod_id="1")["devices"]] == [0, 1]


@pytest.mark.parametrize(("options", "sentence"), [({"devices": "two"}, "expected_look: devices is 'two'"), ({"devices": 0}, "expected_look: devices is 0")])
def test_an_invalid_option_is_named(options, sentence):
    with pytest.raises(AnsibleFilterError, match=sentence):
        FilterModule().filters()["expected_look"]([], "A2", **options)
