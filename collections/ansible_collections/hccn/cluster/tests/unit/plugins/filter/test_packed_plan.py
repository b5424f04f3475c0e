from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.packed_plan import FilterModule
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import unpack

packed_plan = FilterModule().filters()["packed_plan"]


@pytest.mark.parametrize("how", [{"rounds": [[]]}, {"schedule": {"method": "circle"}}, {"schedule": {}, "rounds": []}])
def test_only_the_part_for_hosts_is_packed(how):
    assert unpack(packed_plan({"hosts": {"a": {}}, **how, "summary": {}, "topology": {}})) == {"hosts": {"a": {}}, **how}


@pytest.mark.parametrize("wrong", [{}, {"hosts": {}}, {"rounds": []}, {"hosts": [], "rounds": []}, "plan", None, {"packed": "eA=="}])
def test_an_invalid_plan_is_refused_in_one_sentence(wrong):
    with pytest.raises(AnsibleFilterError) as raised:
        packed_plan(wrong)
    assert str(raised.value) == (
        "packed_plan: the input is not a pair plan with hosts and rounds or schedule: create it with the filter hccn.cluster.pair_plan")
