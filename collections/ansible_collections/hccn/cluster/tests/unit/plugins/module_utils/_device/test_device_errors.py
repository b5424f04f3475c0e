"""Test messages with errors that several NPUs share."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device.device_errors import sentence, group_by_text, fatal_error


def device(number, *messages, **more):
    return {"id": number, "errors": [dict(more, code="x", message=message) for message in messages]}


def test_shared_error_is_stated_once():
    results = [device(0, "dead", topic="link"), device(1, hint="look"), device(2, "dead", topic="link"), device(3, "dead", topic="link"), device(4, "odd")]
    assert sentence(results) == "4 of 5 devices failed: NPUs 0, 2-3: link: dead; NPU 4: odd"


def test_errors_that_differ_in_the_device_number_are_grouped():
    results = [device(number, "expired on device %d: pub cert" % number, hint="hccn_tool -i %d -tls -s path P" % number) for number in (1, 11)]
    assert sentence(results) == "2 of 2 devices failed: NPUs 1, 11: expired on device N: pub cert (hccn_tool -i N -tls -s path P)"
    assert sentence(results[:1]) == "1 of 1 devices failed: NPU 1: expired on device 1: pub cert (hccn_tool -i 1 -tls -s path P)"


@pytest.mark.parametrize("texts, found", [
    ([(1, "address 10.1.1.1"), (2, "address 10.1.1.2")], [([1], "address 10.1.1.1"), ([2], "address 10.1.1.2")]),
    ([(1, "would append tls_enable_1"), (2, "would append tls_enable_2")], [([1, 2], "would append tls_enable_N")]),
    ([(0, "-i 0.5"), (1, "-i 1.5")], [([0], "-i 0.5"), ([1], "-i 1.5")]),
    ([(1, "device 11 has it"), (2, "device 11 has it")], [([1, 2], "device 11 has it")]),
    ([(0, "/n_0/tool: no such program"), (1, "/n_0/tool: no such program")], [([0, 1], "/n_0/tool: no such program")]),
    ([], []),
])
def test_grouping_ignores_the_device_number_only(texts, found):
    assert group_by_text(texts) == found


def test_absent_npu_takes_precedence_over_missing_tool():
    error = {"topic": "link", "code": "tool_missing", "message": "/x: no such program", "hint": "install it"}
    missing = [{"id": number, "errors": [error]} for number in (0, 1)]
    assert fatal_error(missing, [0, 1], ["versions"]) == {"code": "tool_missing", "message": "/x: no such program", "hint": "install it", "devices": [0, 1]}
    assert fatal_error(missing, [0, 1], ["link"]) is None
    absent = {"id": 3, "errors": [{"code": "no_such_device", "message": "no such NPU"}]}
    assert fatal_error([*missing, absent], [0, 1], [])["message"] == "NPU 3 does not exist on this host, which has NPUs 0-1"
    assert fatal_error([absent], [], [])["message"] == "NPU 3 does not exist on this host, which has no NPU"
