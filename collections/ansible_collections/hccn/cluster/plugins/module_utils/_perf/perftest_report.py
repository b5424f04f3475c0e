# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Judge the report of a finished perftest: whether the requested test ran, and whether it succeeded.

Exit status 0 is not sufficient: if the two sides have different sizes, iterations, directions or units, both exit with 0 and print the values of the
client. So the report is compared with the requested test, and the printed unit with the message rate.

The table is parsed instead of the file of ``--out_json``: in 4.5 the file is not JSON, with ``-a`` it contains the last size only, and it has no unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._core.numbers import count_of
from .._core.process import Result
from . import perftest_text
from .host_server import KILLED_HINT
from .perftest_options import ALL_SIZES, Options
from .perftest_text import PerftestRow

OPTIONS_DIFFER = "options_differ"
TIMEOUT = "perftest_timeout"
UNSTEADY_CLOCK = "Correlation coefficient r^2"
"""What perftest prints if samples of the cycle counter do not fit the time of day (get_clock.c). Then it converts cycles to a bandwidth of 0."""

_SETTING = re.compile(r"(?:^ ?|(?<=\t)|(?<=\t )|(?<=  ))([A-Za-z#][^:\t]{0,60}?)\s*: ([^\t]*?)\s*(?=\t| {2,}|$)")
_TITLE = re.compile(r"^\s*(RDMA_Write|RDMA_Read|Send)( Bidirectional)? (BW|Latency) Test\s*$", re.MULTILINE)
_PROGRAMS = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send"}
_VERSION = re.compile(r"Version: (\d+(?:\.\d+)+)")
_NUMBER = re.compile(r"\d+")
_RATE_FACTOR = 4.0
"""MiB/s taken for Gbit/s are wrong by a factor of 119; rounding of small values changes them by far less than this factor."""
_SMALLEST_RATE = 0.000002
"""Message rates have six decimals, so smaller ones are too inaccurate to compare."""


@dataclass(frozen=True)
class PerftestReport:
    """``program``: by the title, None where there is none; ``settings``: by the names that perftest prints; ``rows`` of the table."""

    program: Optional[str]
    bidirectional: bool
    settings: Mapping[str, str]
    rows: Tuple[PerftestRow, ...]

    def number(self, setting: str) -> Optional[int]:
        """Return ``4096`` for ``Mtu : 4096[B]``; None where the report lacks the value."""
        found = _NUMBER.match(self.settings.get(setting, ""))
        return count_of(found.group(0)) if found else None


@dataclass(frozen=True)
class RequestedTest:
    """The requested test of one side: the options, and the RDMA device with its GID (None: chosen by perftest) and its link type as perftest names it."""

    options: Options
    device: str
    gid_index: Optional[int] = None
    link_type: Optional[str] = None


def parse(text: str) -> PerftestReport:
    """Parse the standard output of perftest. Raises ParseError for an unknown table."""
    head, mark, table = text.partition("#bytes")
    title = _TITLE.search(head)
    settings: Dict[str, str] = {}
    for line in head.splitlines():
        if " address: " not in line and not line.lstrip().startswith("GID:"):
            settings.update(_SETTING.findall(line))
    program = "ib_%s_%s" % (_PROGRAMS[title.group(1)], "bw" if title.group(3) == "BW" else "lat") if title else None
    return PerftestReport(program=program, bidirectional=bool(title and title.group(2)), settings=settings, rows=perftest_text.parse_rows(mark + table))


def parse_version(text: str) -> str:
    """Return the version in the output of ``ib_write_bw --version`` (which exits with 1), such as ``6.06``; empty if there is none."""
    found = _VERSION.search(text)
    return found.group(1) if found else ""


def error_of(result: Result) -> Optional[HccnError]:
    """Return why a perftest failed, or None, for either side. The report of a server need not contain a table."""
    if result.timed_out:
        return HccnError(TIMEOUT, "perftest did not end within %.0f s: %s" % (result.duration_s, " ".join(result.argv)),
                         "the other side may have crashed, hung, or been started with other options; the output is lost, since perftest prints it at its end")
    if result.rc < 0 or result.rc in (137, 143):
        number = -result.rc if result.rc < 0 else result.rc - 128
        return HccnError("tool_killed", "%s was ended by signal %d" % (result.argv[0], number), KILLED_HINT)
    error = perftest_text.failure_in(result.stderr) or perftest_text.failure_in(result.stdout)
    if error is None and result.rc != 0:
        reason = perftest_text.first_words(result.stderr or result.stdout)
        error = HccnError("tool_failed", "%s ended with status %d: %s" % (result.argv[0], result.rc, reason))
    return error


def judged(result: Result, requested: RequestedTest) -> Tuple[PerftestRow, ...]:
    """Return the rows of a finished client. Raises HccnError, also where the test that ran is not the requested one."""
    error = error_of(result)
    if error is not None:
        raise error
    report = parse(result.stdout)
    if not report.rows:
        raise HccnError("no_rows", "%s ended without a result: %s" % (result.argv[0], perftest_text.first_words(result.stderr or result.stdout)))
    if perftest_text.is_without_traffic(report.rows):
        if UNSTEADY_CLOCK in result.stderr:
            raise HccnError(perftest_text.CLOCK_NOT_MEASURED, "perftest could not measure the clock of this host, so it reports a bandwidth of 0",
                            perftest_text.CLOCK_HINT)
        raise HccnError("no_traffic", "perftest reports a bandwidth of 0", "no data arrived on the other side")
    differences = differing(report, requested) + [text for row in report.rows for text in _wrong_unit(row)]
    if differences:
        raise HccnError(OPTIONS_DIFFER, "perftest did not measure what was requested: %s" % "; ".join(differences),
                        "both sides need the same test and options, and the port must support them")
    return report.rows


def differing(report: PerftestReport, requested: RequestedTest) -> List[str]:
    """Return a sentence for each difference between the requested test and the one that ran. Values that the report lacks are not judged."""
    options = requested.options
    pairs: Sequence[Tuple[str, object, object]] = (
        ("test", options.program, report.program),
        ("bidirectional", options.bidirectional, report.bidirectional if report.program else None),
        ("device", requested.device, report.settings.get("Device")),
        ("link type", requested.link_type, report.settings.get("Link type")),
        ("gid_index", requested.gid_index, report.number("GID index")),
        ("qps", options.qps or 1, report.number("Number of qps")),
        ("mtu", options.mtu, report.number("Mtu")),
        ("connection", "RC", report.settings.get("Connection type")),
    )
    found = ["%s %s, not %s" % (name, ran, wanted) for name, wanted, ran in pairs if wanted is not None and ran is not None and wanted != ran]
    return found + _differing_rows(report.rows, options)


def _differing_rows(rows: Sequence[PerftestRow], options: Options) -> List[str]:
    found = []
    sizes = ALL_SIZES if options.all_sizes else (options.size_bytes,)
    measured = tuple(row.size_bytes for row in rows)
    if None not in sizes and measured != sizes:
        found.append("sizes %s, not %s" % (_range(measured), _range(sizes)))
    if options.iterations is not None:
        total = options.iterations * (options.qps or 1)  # perftest prints the sum of all queue pairs
        found += ["%d iterations, not %d" % (row.iterations, total) for row in rows if row.iterations != total][:1]
    return found


def _range(sizes: Sequence[Optional[int]]) -> str:
    return "%s" % sizes[0] if len(sizes) == 1 else "%s to %s (%d)" % (sizes[0], sizes[-1], len(sizes))


def _wrong_unit(row: PerftestRow) -> List[str]:
    """Return a sentence if the bandwidth does not agree with the message rate: a side that was started in MiB/s prints the Gbit/s of the client as MiB/s."""
    if row.bandwidth_gbit_s is None or row.messages_mpps is None or row.messages_mpps < _SMALLEST_RATE:
        return []
    by_messages = row.messages_mpps * row.size_bytes * 8 / 1000
    if 1 / _RATE_FACTOR < row.bandwidth_gbit_s / by_messages < _RATE_FACTOR:
        return []
    return ["%g Gbit/s, but %g million messages per second of %d bytes (%.3g Gbit/s)" % (
        row.bandwidth_gbit_s, row.messages_mpps, row.size_bytes, by_messages)]
