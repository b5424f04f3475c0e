# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which tool measures the pairs of this host, made from the options of rdma_perf. What each brings: ``_perf.roce_test_tool.RoceTest``."""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Mapping, Union

from .._core import process
from .._core.errors import HccnError, InputError
from .._device.hccn_tool import DRIVER_TOOLS, HccnTool, find_program
from .._perf import iperf3, packages, preflight
from .._perf.iperf3 import Iperf3
from .._perf.perftest import Perftest
from .._perf.perftest_options import Options
from .._perf.roce_test_tool import RoceTest
from .._core.numbers import parse_size
from .plan import Plan

ROCE_TEST, PERFTEST, IPERF3 = "roce_test", "perftest", "iperf3"
TOOLS = (ROCE_TEST, PERFTEST, IPERF3)
AUTO = "auto"

PairTool = Union[RoceTest, Perftest, Iperf3]
Params = Mapping[str, Any]


def make(params: Params, plan: Plan) -> PairTool:
    """The tool for this host's part of the plan. Raises InputError for options that it does not take, HccnError where it cannot work here."""
    options = _options(params)
    if params["rdma_device"] != AUTO and params["tool"] != PERFTEST:
        raise InputError("rdma_device means nothing to %s" % params["tool"], "only perftest is told the RDMA device of a host")
    if params["tool"] == PERFTEST:
        return _perftest(params, plan, options)
    if params["tool"] == IPERF3:
        iperf3.validate(options)
        return Iperf3(options, _iperf3_version())
    return RoceTest(hccn_tool(params), options)


def _options(params: Params) -> Options:
    all_sizes = params["size"] == "all"
    return Options(
        operation=params["operation"], measure=params["measure"], all_sizes=all_sizes,
        size_bytes=None if all_sizes or params["size"] is None else parse_size(params["size"]),
        iterations=params["iterations"], duration_s=params["duration"], qps=params["qps"], mtu=params["mtu"],
        gid_index=params["gid_index"], traffic_class=params["traffic_class"], bidirectional=params["bidirectional"])


def hccn_tool(params: Params) -> HccnTool:
    """By its whole path, since the runner does not stay in the folder it is started in."""
    return HccnTool(os.path.abspath(find_program(params["hccn_tool"], (DRIVER_TOOLS,))), float(params["timeout"]))


def _perftest(params: Params, plan: Plan, options: Options) -> Perftest:
    addresses = {pair.end(plan.host).device: pair.end(plan.host).address for pair in plan.pairs}
    name = str(params["rdma_device"])
    names: Dict[int, str] = {} if name == AUTO else dict.fromkeys(addresses, name)
    tool, problems = preflight.prepare(options, addresses, names, params["root"])
    if problems:
        raise HccnError(problems[0].rule, problems[0].message, problems[0].hint or "")
    return tool


def _iperf3_version() -> str:
    if shutil.which("iperf3") is None:
        raise HccnError("tool_missing", "iperf3 is not in PATH", packages.hint(packages.IPERF3))
    return iperf3.parse_version(process.run(("iperf3", "--version"), preflight.VERSION_SECONDS).stdout)
