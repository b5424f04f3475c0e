# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""``hccn_tool -roce_test``: perftest on the NPU itself, a server on one device and a client on another.

The test runs on the device. The tool starts it, polls it once a second, and prints all output at the end. If the tool is killed, there is no
output, and the test continues until the device is reset. Source: hicann/driver, hccn_product_ext/tool_ext.c and cmd_ext.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.errors import HccnError
from .._core.numbers import count_of
from .._core.process import Result
from .._core.words import beginning
from .._device.failures import BUSY, failure_of
from .._device.hccn_tool import HccnTool
from .._device.parse_network import parse_address
from . import perftest_options, perftest_text
from .perftest_options import Limit

Options = perftest_options.Options
OPERATIONS, MEASURES, MTUS = perftest_options.OPERATIONS, perftest_options.MEASURES, perftest_options.MTUS

LIMITS: Tuple[Limit, ...] = (
    Limit("size_bytes", "-s", 1, 874736000),
    Limit("iterations", "-n", 5, 20000),
    Limit("duration_s", "-D", 1, 500),
    Limit("qps", "-q", 1, 100),
    Limit("mtu", "-m", MTUS[0], MTUS[-1]),
    Limit("gid_index", "-x", 0, 5),
    Limit("traffic_class", "-tclass", 0, 255),
)
"""Smallest and largest values (cmd_ext.c)."""

RESET = ("-roce_test", "reset")
SERVER_START_SECONDS = 4.0
"""Pause between the start of server and client, since the host cannot see whether a device listens. Published scripts wait this long."""

DEVICE_ERROR = 3
ADDRESS_CHANGED = "address_changed"
"""Error code of a device whose address another run changed in the meantime. It is not a failure of the link."""
_GENERIC = ("tool_failed", "device_failed")
_OF_EITHER_SIDE = perftest_text.OF_EITHER_SIDE | {"roce_test_timeout", "roce_test_failed", "no_rows", "no_traffic"}


def validate(options: Options) -> None:
    """Raise InputError for options that roce_test would refuse or silently ignore."""
    perftest_options.validate(options, "roce_test", LIMITS)


def arguments(options: Options, address: str, client: bool) -> Tuple[str, ...]:
    """Return the arguments after ``hccn_tool -i N``. ``address`` is the address of the server; its family applies to both sides."""
    words = ["-roce_test"] + (["-inet6"] if ":" in address else []) + [options.program] + perftest_options.words(options, LIMITS)
    if client:
        words += ["address", address]
    return tuple(words + ["-tcp"])


_STATUS = re.compile(r"^Dsmi get perftest status end\. \(status=(\d+)\)", re.MULTILINE)
_START = re.compile(r"^Dsmi start roce perftest end\. \(out=(-?\d+)\)", re.MULTILINE)
_STARTED = 1
_REPORT = "roce_report:"


@dataclass(frozen=True)
class Output:
    """``start``: the response of the device to the start, None if there is none; ``status``: its last status; ``report``: the report of perftest."""

    start: Optional[int]
    status: Optional[int]
    report: Optional[str]


def parse(stdout: str) -> Output:
    """Split the output of roce_test into its parts, without judging it."""
    head, mark, report = stdout.partition(_REPORT)
    start = _START.search(head)
    statuses = _STATUS.findall(head[start.end():]) if start else []
    return Output(start=count_of(start.group(1)) if start else None, status=count_of(statuses[-1]) if statuses else None, report=report if mark else None)


def report_of(result: Result) -> str:
    """Return the report of a successful test. Raises HccnError by text and exit code, since either alone may report success."""
    if result.timed_out:
        raise HccnError("roce_test_timeout", "roce_test did not end within %.0f s: %s" % (result.duration_s, " ".join(result.argv)),
                        "the other side may have crashed, or the time limit is too short; the output is lost, since the tool prints it at its end")
    tool_error = failure_of(result)
    if tool_error is not None and tool_error.code not in _GENERIC and not tool_error.code.startswith("tool_exit_"):
        raise tool_error
    output = parse(result.stdout)
    if output.start not in (None, _STARTED):
        raise HccnError("start_refused", "the device refused to start the test (out=%d)" % output.start, "reset it: hccn_tool -i N -roce_test reset")
    if output.report is None and output.status != DEVICE_ERROR:
        raise HccnError("no_report", "roce_test ended without a report (exit %d): %s" % (result.rc, _last_line(result)),
                        "see /var/log/hccn_tool/hccn.log")
    error = perftest_text.failure_in(output.report or "") or _device_error(output) or tool_error
    if error is not None:
        raise error
    return output.report or ""


def _device_error(output: Output) -> Optional[HccnError]:
    if output.status != DEVICE_ERROR:
        return None
    reason = perftest_text.first_words(output.report or "")
    return HccnError("roce_test_failed", "the device ended the test with an error (status %d): %s" % (DEVICE_ERROR, reason),
                     "check link, TLS and addresses on both sides; see /var/log/hccn_tool/hccn.log")


def rows(result: Result) -> Tuple[perftest_text.PerftestRow, ...]:
    """Return the rows of a finished client. Raises HccnError."""
    report = report_of(result)
    found = perftest_text.parse_rows(report)
    if not found:
        raise HccnError("no_rows", "the report of roce_test contains no result: %s" % perftest_text.first_words(report))
    if perftest_text.is_without_traffic(found):
        raise HccnError("no_traffic", "roce_test reports a bandwidth of 0", "no data arrived on the other side")
    return found


def _last_line(result: Result) -> str:
    lines = (result.stdout + "\n" + result.stderr).split("\n")
    return beginning(([line.strip() for line in lines if line.strip()] or ["no output"])[-1], 160)


class RoceTest:
    """roce_test with the interface that the pair runner requires of a tool."""

    def __init__(self, tool: HccnTool, options: Options) -> None:
        """Raise InputError for options outside the limits of the tool."""
        validate(options)
        self._tool = tool
        self._options = options

    def varied(self, changes: Mapping[str, int]) -> "RoceTest":
        """Return the same tool with other options (``Options.varied``). Raises InputError."""
        return RoceTest(self._tool, self._options.varied(changes))

    def about(self, device: int) -> Mapping[str, Any]:
        """Return nothing: the plan contains the facts about an NPU."""
        return {}

    def moved(self, device: int, planned: str) -> Optional[HccnError]:
        """Return an error if the device no longer has the planned address; None if it has the address, or if the address cannot be read."""
        try:
            found: str = parse_address(self._tool.query(device, "-ip", *(["-inet6"] if ":" in planned else []), "-g").stdout).address
        except HccnError as error:
            if error.code != "address_not_set":
                return None
            found = "no address"
        if found == planned:
            return None
        return HccnError(ADDRESS_CHANGED, "device %d now has %s, but had %s when the pairs were planned" % (device, found, planned),
                         "another run is changing the NPUs of this host: measure again when it has ended")

    def describe(self) -> Mapping[str, Any]:
        """Return the fields ``tool``, ``operation``, ``measure`` and ``options`` of a record."""
        options = self._options
        return {"tool": {"name": options.program}, "operation": options.operation, "measure": options.measure, "options": options.as_dict()}

    def server(self, device: int, address: str) -> Tuple[str, ...]:
        """Return argv of the server on ``device``, which has ``address``."""
        return self._tool.argv(device, *arguments(self._options, address, client=False))

    def client(self, device: int, address: str, target: int = 0) -> Tuple[str, ...]:
        """Return argv of the client on ``device``, which connects to ``address``. ``target`` is ignored, since every device has its own ports."""
        return self._tool.argv(device, *arguments(self._options, address, client=True))

    def ready(self, device: int, pid: int) -> Optional[bool]:
        """Return None: the host cannot see whether a device listens, so the caller waits for a fixed time."""
        return None

    def routers(self, device: int, address: str, target: str) -> List[str]:
        """Return no routers: the path of a test is not known."""
        return []

    def cleanup(self, device: int) -> Tuple[str, ...]:
        """Return argv that ends any test on ``device``."""
        return self._tool.argv(device, *RESET)

    def reset(self, device: int) -> None:
        """End any test on ``device``. Raises HccnError."""
        self._tool.set(device, *RESET)

    def failure(self, result: Result) -> Optional[HccnError]:
        """Return why a finished test failed, or None. Also for a server, whose report need not contain a table."""
        try:
            report_of(result)
        except HccnError as error:
            return error
        return None

    def may_retry(self, error: HccnError) -> bool:
        """Return True for a transient failure: a server that does not listen yet, or a busy tool."""
        return error.code in (perftest_text.CONNECTION_REFUSED, BUSY)

    def of_one_side(self, error: HccnError) -> bool:
        """Return True if the cause of the failure is on the side that reports it, and not anywhere between the two."""
        return error.code not in _OF_EITHER_SIDE

    def samples(self, result: Result, device: int = 0) -> List[Dict[str, object]]:
        """Return the samples of a client that finished on ``device``. Raises HccnError."""
        return [row.as_sample() for row in rows(result)]
