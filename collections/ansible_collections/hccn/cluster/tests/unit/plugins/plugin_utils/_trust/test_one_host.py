from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.one_host import one_host

GROUPS = {"all": ["n1", "n2.example.org", "npu", "a:b", "~re"], "npu": ["n1"], "ungrouped": []}


@pytest.mark.parametrize("name", ["n1", "n2.example.org"])
def test_the_name_of_a_host_is_returned(name):
    assert one_host(name, GROUPS) == name


@pytest.mark.parametrize("name", ["all", "npu", "*", "n*", "~re", "~n.*", "a:b", "n1:n2", "n1,n2.example.org", "!n1", "&npu", "n[1:2]", "@file", "", "n9",
                                  "localhost", None, ["n1"], 1, "n1 ", "n1\n"])
def test_names_that_are_not_one_host_are_refused(name):
    with pytest.raises(InputError) as caught:
        one_host(name, GROUPS)
    assert caught.value.sentence() == (
        "%r is not the name of one host of the inventory, so nothing is done (give one host, not a group or a pattern)" % str(name))


def test_every_name_is_refused_without_an_inventory():
    with pytest.raises(InputError):
        one_host("n1", None)
