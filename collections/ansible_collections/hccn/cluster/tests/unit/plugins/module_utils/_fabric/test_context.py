# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.context import told
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.outcome import TARGET, EndError, Outcome, as_fields
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Endpoint, Pair
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.source import _slower
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


@pytest.mark.parametrize("given, found", [
    (None, {0: {}, 3: {}}),
    ({"product": "A2", "driver": None, "firmware": "", "leaf": None, "line_rate_gbit_s": None}, {0: {"product": "A2"}, 3: {"product": "A2"}}),
    ({"line_rate_gbit_s": "200", "leaf": "L1"}, {0: {"line_rate_gbit_s": 200.0, "leaf": "L1"}, 3: {"line_rate_gbit_s": 200.0, "leaf": "L1"}}),
    ({"line_rate_gbit_s": {"0": 200, 3: 100.0}, "leaf": {3: "L2"}}, {0: {"line_rate_gbit_s": 200.0}, 3: {"line_rate_gbit_s": 100.0, "leaf": "L2"}}),
    ({"line_rate_gbit_s": {}}, {0: {}, 3: {}}),
])
def test_what_a_task_tells_of_the_devices(given, found):
    assert told(given, (0, 3)) == found


@pytest.mark.parametrize("rate", [0, -1, "fast", True, [200], 1e9])
def test_a_line_rate_that_is_none(rate):
    with pytest.raises(InputError) as raised:
        told({"line_rate_gbit_s": {0: rate}}, (0,))
    assert raised.value.message == "context: the line rate of device 0 is %r, which is no number of Gbit/s" % (rate,)


@pytest.mark.parametrize("mine, other, found", [
    (200.0, 100, 100.0), (100.0, 200.0, 100.0), (None, 200.0, None), (200.0, None, None), (200.0, "200", None), (200.0, True, None), (200.0, -1, None),
    (200.0, float("nan"), None)])
def test_the_line_rate_of_two_ends(mine, other, found):
    assert _slower(mine, other) == found


def test_the_context_of_a_record():
    pair = Pair("p1", 2, 1, Endpoint("a", 0, "10.0.0.1"), Endpoint("b", 0, "10.0.0.2"))
    about = {"product": "A2", "line_rate_gbit_s": 400.0}
    good = Outcome(1, [{"size_bytes": 1}], None, ("x",), 0.0, 1.0, 200.0)
    assert as_fields(pair, good, about)["context"] == {"product": "A2", "round": 2, "rail": 0, "line_rate_gbit_s": 200.0}
    bad = Outcome(1, [], EndError(TARGET, HccnError("x", "y")), (), 0.0, 1.0)
    assert as_fields(pair, bad, about)["context"] == {"product": "A2", "round": 2, "rail": 0, "failed_end": "target"}
