# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The parameters of rdma_perf, parsed and checked once, when the module is called."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from .._core import process
from .._core.errors import HccnError, InputError
from .._core.numbers import parse_size
from .._device.hccn_tool import DRIVER_TOOLS, HccnTool, find_program
from .._device.host import expand
from .._perf import iperf3, packages, perftest, preflight, roce_test_tool
from .._perf.iperf3 import Iperf3
from .._perf.perftest import Perftest
from .._perf.perftest_options import ALL_SIZES, IPERF3, PERFTEST, ROCE_TEST, Options
from .._perf.roce_test_tool import RoceTest
from .failure_detector import deadline
from .plan import Plan, parse_plan, unpack

LINE_RATE = "line_rate_gbit_s"
"""In the context of a record: the line rate of one link, which is that of the slower side."""
LEAST_DEADLINE_S = 10.0
"""Starting tools and resetting devices takes some time on a busy host, however short the test is."""

DEFAULT_SIZE_BYTES = 64 * 1024
DEFAULT_ITERATIONS = 5000
SLOWEST_BYTES_S = 125e6
"""1 Gbit/s, which every link in use reaches."""
MODEST_BYTES_S = 1.25e9
"""10 Gbit/s: a test with more data than this link carries in LEAST_PAIR_TIMEOUT_S gets more time."""
LEAST_PAIR_TIMEOUT_S = 60.0
PARALLEL = "rails"

_KEY = re.compile(r"[0-9a-fA-F]{32}")
_OF_HOST = ("product", "driver", "firmware")
_OF_DEVICE = ("leaf", LINE_RATE)
"""One value for all devices, or a dictionary by device id."""

PairTool = Union[RoceTest, Perftest, Iperf3]
Params = Mapping[str, Any]


@dataclass(frozen=True)
class ToolRequest:
    """The requested tool, its options, and the names of the programs that it needs on this host. ``rdma_device``, ``rdma_port``: None for the one that has
    the address."""

    name: str
    options: Options
    rdma_device: Optional[str]
    rdma_port: Optional[int]
    hccn_tool: str
    npu_smi: str
    timeout_s: float
    root: str

    @classmethod
    def parse(cls, params: Params) -> "ToolRequest":
        """Parse the parameters of rdma_perf. Raises InputError."""
        return cls(params["tool"], test_options(params), params["rdma_device"], params["rdma_port"], params["hccn_tool"], params["npu_smi"],
                   float(params["timeout"]), params["root"])

    def make(self, plan: Plan) -> PairTool:
        """Return the tool for this host's part of the plan. Raises InputError for options that it does not support, HccnError if it cannot run on this host."""
        if self.name == PERFTEST:
            return self._perftest(plan)
        if self.name == IPERF3:
            return Iperf3(self.options, _iperf3_version())
        return RoceTest(find_hccn_tool(self.hccn_tool, self.timeout_s), self.options)

    def _perftest(self, plan: Plan) -> Perftest:
        addresses = {pair.endpoint(plan.host).device: pair.endpoint(plan.host).address for pair in plan.pairs}
        tool, problems = preflight.prepare(self.options, addresses, self.rdma_device, self.rdma_port, self.root)
        if problems:
            raise HccnError(problems[0].rule, problems[0].message, problems[0].hint or "")
        return tool


def test_options(params: Params) -> Options:
    """Return the options of the test. Raises InputError for options that its tool does not have or would refuse."""
    tool, all_sizes = params["tool"], params["size"] == "all"
    for name in ("rdma_device", "rdma_port"):
        if params[name] is not None and tool != PERFTEST:
            raise InputError("%s does not apply to %s" % (name, tool), "omit it: only perftest uses the RDMA device of a host")
    options = Options(
        operation=params["operation"], measure=params["measure"], all_sizes=all_sizes,
        size_bytes=None if all_sizes or params["size"] is None else parse_size(params["size"]),
        iterations=params["iterations"], duration_s=params["duration"], qps=params["qps"], mtu=params["mtu"],
        gid_index=params["gid_index"], traffic_class=params["traffic_class"], source_port=params["source_port"], bidirectional=params["bidirectional"])
    {ROCE_TEST: roce_test_tool, PERFTEST: perftest, IPERF3: iperf3}[tool].validate(options)
    return options


def find_program_path(name: str, folders: Sequence[str]) -> str:
    """Return the absolute path of a program, since the runner changes its working directory. Raises HccnError."""
    return os.path.abspath(find_program(name, folders))


def find_hccn_tool(name: str, timeout_s: float) -> HccnTool:
    """Return the hccn_tool of this host. Raises HccnError if it has none."""
    return HccnTool(find_program_path(name, (DRIVER_TOOLS,)), timeout_s)


def _iperf3_version() -> str:
    if shutil.which("iperf3") is None:
        raise HccnError("tool_missing", "iperf3 is not in PATH", packages.hint(packages.IPERF3))
    return iperf3.parse_version(process.run(("iperf3", "--version"), preflight.VERSION_SECONDS).stdout)


@dataclass(frozen=True)
class Settings:
    """Times and parallelism of the measurements.

    ``start_delay_s``: from the start of a server until it listens; ``pair_timeout_s``: for one pair after both sides are claimed; ``meeting_timeout_s``: from
    the start of this runner until those of its partners must be present; ``parallel``: the devices measure at the same time; ``expected_s``: of one pair, None
    if it is not known.
    """

    start_delay_s: float
    pair_timeout_s: float
    meeting_timeout_s: float
    parallel: bool = True
    expected_s: Optional[float] = None

    @property
    def deadline(self) -> float:
        """Seconds after which a pair is given up."""
        return self.pair_timeout_s if self.expected_s is None else min(self.pair_timeout_s, max(LEAST_DEADLINE_S, deadline(self.expected_s)))


@dataclass(frozen=True)
class RunRequest:
    """The part of one host in a run, as requested by ``state: present``.

    ``plan``: the pairs of the requested devices; ``reporters``: hosts that collect the progress of all hosts; ``device_context``: by device, the facts that
    the task adds to the context of records; ``resume``: the id of the run to resume, or ``last``.
    """

    plan: Plan
    tool: ToolRequest
    settings: Settings
    key: bytes
    reporters: Tuple[str, ...]
    device_context: Mapping[int, Mapping[str, Any]]
    cpu_governor: str
    resume: Optional[str]
    allow_busy: bool
    wait: bool
    fail_on: str
    state_dir: str
    root: str

    @property
    def run_id(self) -> str:
        return self.plan.run_id

    @classmethod
    def parse(cls, params: Params) -> "RunRequest":
        """Parse the parameters of rdma_perf. Raises InputError that names the parameter and the problem."""
        plan = parse_plan(unpack(params["plan"]), params["host"], params["run_id"])
        plan = plan.limited(expand(params["devices"], plan.devices))
        tool = ToolRequest.parse(params)
        return cls(
            plan=plan, tool=tool, device_context=device_context(params["context"], plan.devices),
            reporters=_reporters(params["reporters"], plan), settings=_settings(params, tool), key=_key(params["key"]), cpu_governor=params["cpu_governor"],
            resume=params["resume"], allow_busy=params["allow_busy"], wait=params["wait"], fail_on=params["fail_on"], state_dir=params["state_dir"],
            root=params["root"])

    @property
    def conditions(self) -> Dict[str, Any]:
        """The options that affect values and that the tool does not report: CPU governor, parallel measurements, RDMA device and port."""
        return {"cpu_governor": self.cpu_governor, "parallel": PARALLEL if self.settings.parallel else "none", "rdma_device": self.tool.rdma_device,
                "rdma_port": self.tool.rdma_port}


@dataclass(frozen=True)
class EndRequest:
    """The run to end on this host, as requested by ``state: absent``. ``purge``: also remove its journal."""

    run_id: str
    state_dir: str
    root: str
    purge: bool
    hccn_tool: str
    timeout_s: float

    @classmethod
    def parse(cls, params: Params) -> "EndRequest":
        return cls(params["run_id"], params["state_dir"], params["root"], params["purge"], params["hccn_tool"], float(params["timeout"]))


def _reporters(hosts: Sequence[str], plan: Plan) -> Tuple[str, ...]:
    unknown = [host for host in hosts if host not in plan.controls]
    if unknown:
        raise InputError("reporters: %s is not among the hosts of the plan" % unknown[0])
    return tuple(dict.fromkeys(hosts))


def _settings(params: Params, tool: ToolRequest) -> Settings:
    start_delay_s = params["server_start_delay"]
    pair_timeout_s = params["pair_timeout"]
    if pair_timeout_s is None:
        pair_timeout_s = max(LEAST_PAIR_TIMEOUT_S, 2 * expected_pair_seconds(tool.name, tool.options, start_delay_s, MODEST_BYTES_S))
    settings = Settings(start_delay_s, pair_timeout_s, params["meeting_timeout"], params["parallel"] == PARALLEL,
                        expected_pair_seconds(tool.name, tool.options, start_delay_s))
    if settings.start_delay_s < 0 or settings.meeting_timeout_s < 0:
        raise InputError("server_start_delay and meeting_timeout must not be negative")
    needed = (tool.options.duration_s or 0) + settings.start_delay_s
    if settings.pair_timeout_s <= needed:
        raise InputError("pair_timeout is %g s, but a pair takes %g s by duration and server_start_delay alone" % (settings.pair_timeout_s, needed))
    return settings


def expected_pair_seconds(tool: str, options: Options, start_delay_s: float, bytes_s: float = SLOWEST_BYTES_S) -> float:
    """Return the time of a pair without faults: two starts of a server and resets, and the test at ``bytes_s``."""
    return 2 * float(start_delay_s) + test_seconds(tool, options, bytes_s)


def test_seconds(tool: str, options: Options, bytes_s: float) -> float:
    """Return the duration of a test, without the start of its server, at ``bytes_s``."""
    if options.duration_s or tool == IPERF3:
        return float(options.duration_s or iperf3.DEFAULT_SECONDS)
    size_bytes = sum(ALL_SIZES) if options.all_sizes else options.size_bytes or DEFAULT_SIZE_BYTES
    return size_bytes * (options.iterations or DEFAULT_ITERATIONS) * (options.qps or 1) / bytes_s


def _key(text: str) -> bytes:
    if _KEY.fullmatch(text) is None:
        raise InputError("key must be 32 hexadecimal digits (128 bit)", "generate a new key for every run, and pass it to all hosts of the run")
    return bytes.fromhex(text)


def device_context(given: Optional[Mapping[str, Any]], devices: Sequence[int]) -> Dict[int, Dict[str, Any]]:
    """Return the facts of each device that the task passes. Raises InputError for a line rate that is not a number of Gbit/s."""
    known = given or {}
    found: Dict[int, Dict[str, Any]] = {}
    for device in devices:
        values: Dict[str, Any] = {name: known[name] for name in _OF_HOST if known.get(name)}
        for name in _OF_DEVICE:
            value = _of_device(known.get(name), device)
            if value not in (None, ""):
                values[name] = _rate(value, device) if name == LINE_RATE else str(value)
        found[device] = values
    return found


def _of_device(value: Any, device: int) -> Any:
    if isinstance(value, dict):
        return value.get(device, value.get("%d" % device))
    return value


def _rate(value: Any, device: int) -> float:
    try:
        rate = 0.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        rate = 0.0
    if not 0 < rate < 1e6:
        raise InputError("context: the line rate of device %d is %r, which is not a number of Gbit/s" % (device, value))
    return rate
