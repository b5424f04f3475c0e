# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which tool measures the pairs of this host, made from the options of rdma_perf. What each brings: ``_perf.roce_test.RoceTest``."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Sequence, Union

from .._core import process
from .._core.errors import HccnError, InputError
from .._device.tool import DRIVER_TOOLS, HccnTool, find_program
from .._perf import iperf3, packages, perftest_preflight
from .._perf.iperf3 import Iperf3
from .._perf.perftest import Perftest
from .._perf.perftest_options import Options
from .._perf.roce_test import RoceTest
from .._perf.sizes import parse_size
from .plan import Plan

ROCE_TEST, PERFTEST, IPERF3 = "roce_test", "perftest", "iperf3"
TOOLS = (ROCE_TEST, PERFTEST, IPERF3)
AUTO = "auto"

PairTool = Union[RoceTest, Perftest, Iperf3]


@dataclass(frozen=True)
class ToolRequest:
    """The tool that is to measure, its options, and the names of the programs that it needs on this host."""

    name: str
    options: Options
    rdma_device: str
    hccn_tool: str
    npu_smi: str
    timeout_s: float
    root: str

    @classmethod
    def parse(cls, params: Mapping[str, Any]) -> "ToolRequest":
        """From the parameters of rdma_perf. Raises InputError."""
        options = _options(params)
        if params["rdma_device"] != AUTO and params["tool"] != PERFTEST:
            raise InputError("rdma_device means nothing to %s" % params["tool"], "only perftest is told the RDMA device of a host")
        return cls(params["tool"], options, str(params["rdma_device"]), params["hccn_tool"], params["npu_smi"], float(params["timeout"]), params["root"])

    def make(self, plan: Plan) -> PairTool:
        """The tool for this host's part of the plan. Raises InputError for options that it does not take, HccnError where it cannot work here."""
        if self.name == PERFTEST:
            return self._perftest(plan)
        if self.name == IPERF3:
            iperf3.validate(self.options)
            return Iperf3(self.options, _iperf3_version())
        return RoceTest(find_hccn_tool(self.hccn_tool, self.timeout_s), self.options)

    def _perftest(self, plan: Plan) -> Perftest:
        addresses = {pair.end(plan.host).device: pair.end(plan.host).address for pair in plan.pairs}
        names: Dict[int, str] = {} if self.rdma_device == AUTO else dict.fromkeys(addresses, self.rdma_device)
        tool, problems = perftest_preflight.prepare(self.options, addresses, names, self.root)
        if problems:
            raise HccnError(problems[0].rule, problems[0].message, problems[0].hint or "")
        return tool


def _options(params: Mapping[str, Any]) -> Options:
    all_sizes = params["size"] == "all"
    return Options(
        operation=params["operation"], measure=params["measure"], all_sizes=all_sizes,
        size_bytes=None if all_sizes or params["size"] is None else parse_size(params["size"]),
        iterations=params["iterations"], duration_s=params["duration"], qps=params["qps"], mtu=params["mtu"],
        gid_index=params["gid_index"], traffic_class=params["traffic_class"], bidirectional=params["bidirectional"])


def find_program_path(name: str, folders: Sequence[str]) -> str:
    """The whole path of a program, since the runner does not stay in the folder it is started in. Raises HccnError."""
    return os.path.abspath(find_program(name, folders))


def find_hccn_tool(name: str, timeout_s: float) -> HccnTool:
    """Raises HccnError where this host has none."""
    return HccnTool(find_program_path(name, (DRIVER_TOOLS,)), timeout_s)


def _iperf3_version() -> str:
    if shutil.which("iperf3") is None:
        raise HccnError("tool_missing", "iperf3 is not in PATH", packages.hint(packages.IPERF3))
    return iperf3.parse_version(process.run(("iperf3", "--version"), perftest_preflight.VERSION_SECONDS).stdout)
