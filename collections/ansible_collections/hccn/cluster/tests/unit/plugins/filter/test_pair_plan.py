# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.pair_plan import FilterModule

HOSTS = [
    {"host": "n%d" % number, "control_address": "192.168.0.%d" % number, "control_port": 18514, "devices": [{"id": 0, "address": "10.0.0.%d" % number}]}
    for number in (1, 2)
]


def test_the_filter_makes_a_plan():
    plan = FilterModule().filters()["pair_plan"](HOSTS, plan="full", seed=1, rails=[0], run_id="r1")
    assert (plan["run_id"], plan["summary"]["pairs"]) == ("r1", 1)


def test_what_is_wrong_is_told_in_one_sentence():
    with pytest.raises(AnsibleFilterError) as raised:
        FilterModule().filters()["pair_plan"](HOSTS, "devices")
    assert str(raised.value) == "pair_plan: plan 'devices' is not known (known plans are full, quick)"
