# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the options of a measurement once, before any host is contacted, and estimate the time of a pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._fabric.request import test_options, test_seconds
from ...module_utils._perf.perftest_options import ROCE_TEST
from .input_numbers import whole_number

NUMBERS = ("iterations", "duration", "qps", "mtu", "gid_index", "traffic_class", "source_port", "rdma_port")
TYPICAL_BYTES_S = 3.125e9
"""25 Gbit/s. The estimate of a large test must not be much too short for a slow link, since the job waits at most twice as long."""
STARTUP_S = 1.0
"""Of a pair without a delay between server and client."""


def review(options: Mapping[str, Any], server_start_delay_s: float) -> dict[str, Any]:
    """Return ``refusals``, why the tool cannot measure with these options, and ``seconds_per_pair``, the estimated time of a pair.

    ``options``: those of rdma_perf. Numbers may be text, and missing options are unset.
    """
    tool = str(options["tool"])
    try:
        numbers = {name: None if options.get(name) is None else whole_number(name, options[name]) for name in NUMBERS}
        checked = test_options({**dict.fromkeys(("size", "rdma_device")), "bidirectional": False, **options, **numbers})
    except InputError as error:
        return {"refusals": [f"check_fabric_tool is {tool}: {error.sentence()}"], "seconds_per_pair": STARTUP_S}
    seconds = float(int(test_seconds(tool, checked, TYPICAL_BYTES_S)))
    if tool == ROCE_TEST:
        return {"refusals": [], "seconds_per_pair": 2 * float(server_start_delay_s) + seconds or STARTUP_S}
    return {"refusals": [], "seconds_per_pair": STARTUP_S + seconds}
