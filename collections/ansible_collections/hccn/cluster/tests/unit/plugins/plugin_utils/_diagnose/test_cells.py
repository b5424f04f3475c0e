# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.judge import judge_records

RECORD = {"id": "r1/p1/forward/1", "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth", "source": {"host": "a", "device": 0},
          "target": {"host": "b", "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.0}]}


@pytest.mark.parametrize("changed, why", [
    ({"source": {"host": "a"}}, "KeyError: 'device'"),
    ({"target": {"host": "b", "device": "x"}}, "ValueError: invalid literal for int() with base 10: 'x'"),
    ({"samples": [{"size_bytes": 65536, "bandwidth_gbit_s": float("nan")}]}, "ValueError: nan is no measurement"),
    ({"samples": [{"size_bytes": 65536, "bandwidth_gbit_s": -1}]}, "ValueError: -1.0 is no measurement"),
    ({"kind": "matrix", "hosts": ["b"], "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [float("inf")]}]}, "ValueError: inf is no measurement"),
])
def test_a_record_that_is_not_as_they_are_kept(changed, why):
    with pytest.raises(InputError) as raised:
        judge_records([{**RECORD, **changed}])
    assert raised.value.message == f"the record 'r1/p1/forward/1' is not as this collection keeps records: {why}"
    assert raised.value.hint == "leave it out"
