from __future__ import annotations

import base64
import re
import zlib

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import plan

HOSTS = {"n%d" % number: {"control_address": "192.168.7.%d" % number, "control_port": 18514} for number in range(200)}
PLAN = {"schedule": {"method": "circle"}, "hosts": HOSTS, "plan": "quick", "run_id": "r1", "summary": {"minutes": 1}, "wiring": {"n1": "leaf"}}


def text_of(content):
    return base64.b64encode(zlib.compress(content)).decode()


def test_packing_keeps_the_keys_that_hosts_need():
    sent = plan.pack(PLAN)
    assert list(sent) == ["packed"]
    assert plan.unpack(sent) == {"schedule": {"method": "circle"}, "hosts": HOSTS}
    assert plan.pack(dict(reversed(list(PLAN.items())))) == sent


def test_a_packed_plan_is_a_tenth_of_the_plan():
    assert len(plan.pack(PLAN)["packed"]) * 8 < len(str(HOSTS))


@pytest.mark.parametrize("given", [{"hosts": {}, "rounds": []}, {"packed": "eA==", "hosts": {}}, None, [], "packed"])
def test_values_that_are_not_packed_are_returned_unchanged(given):
    assert plan.unpack(plan) is plan


@pytest.mark.parametrize("text", ["%%", "abc", "é", base64.b64encode(b"no zlib").decode(), text_of(b"{"), text_of(b"\xff")])
def test_a_damaged_text_is_refused(text):
    """The reason is in the words of Python, which differ between releases."""
    with pytest.raises(InputError) as raised:
        plan.unpack({"packed": text})
    assert re.fullmatch(r"plan: the packed plan is damaged: \S.* \(make it with the filter hccn\.cluster\.packed_plan\)", raised.value.sentence())


def test_a_truncated_text_is_refused():
    with pytest.raises(InputError) as raised:
        plan.unpack({"packed": text_of(b"{}" * 99)[:-8]})
    assert raised.value.sentence() == "plan: the packed plan is damaged: the data is incomplete (make it with the filter hccn.cluster.packed_plan)"


def test_a_plan_above_the_size_limit_is_refused(monkeypatch):
    monkeypatch.setattr(plan, "MAX_UNPACKED_BYTES", 1 << 20)
    with pytest.raises(InputError) as raised:
        plan.unpack({"packed": text_of(b" " * (1 << 20) + b"{}")})
    assert raised.value.sentence() == "plan: the packed plan has more than 1 MiB"
    assert plan.unpack({"packed": text_of(b" " * ((1 << 20) - 2) + b"{}")}) == {}
