# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parse the output of nccl-tests 2.9 to 2.20: its text, and the JSON file that ``-J`` writes (from 2.17.3 on).

Text: the columns of the rows are read from the heading of the table, since they differ between releases. Log lines of NCCL may interrupt a row.
JSON: the file contains the whole environment of the run, which is discarded. Truth values are text ("true", "false", "unchecked"), ``root`` is
padded text, NaN is "nan"; a crash truncates the file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._core.numbers import count_of
from .launch_failure import first_words, is_silent
from .nccl_errors import find_errors

_LABELS = ("redop", "root")
_MEASURED = 4
"""Number of columns: time, algbw, busbw and wrong, first out of place, then in place."""

_TAG = re.compile(r"^\[[0-9]+,[0-9]+\]<std(?:out|err)>:[ \t]?", re.MULTILINE)
_NCCL_LINE = re.compile(
    r"(?:\[[0-9][0-9: T./+-]{0,40}\] )?[A-Za-z][\w.-]{0,252}:[0-9]{1,20}:[0-9]{1,20} \[[0-9]{1,9}\] (?:[\w./-]{1,200}:[0-9]+ )?NCCL [A-Z]+ [^\n]*(?:\n|$)")
_NUMBER = r"(?:[0-9][\w.+-]*|N/A)"
_CUT_ROW = re.compile(
    r"^([ \t]*[0-9]+[ \t]+[0-9]+[ \t]+[A-Za-z]\w*(?:[ \t]+[a-z]\w*)?(?:[ \t]+-?[0-9]+)?[ \t]*)\n+"
    rf"(?=[ \t]*{_NUMBER}(?:[ \t]+{_NUMBER})+[ \t]*$)", re.MULTILINE)
"""A warning of NCCL begins with a line break, which may separate the labels of a row from its numbers (source: NCCL, debug.cc)."""

_VERSION = re.compile(r"^# nccl-tests version (\S+)", re.MULTILINE)
_BANNER = re.compile(
    r"^# nThreads?:? ([0-9]+) nGpus:? ([0-9]+) minBytes:? ([0-9]+) maxBytes:? ([0-9]+) step: ?([0-9]+)\((factor|bytes)\) "
    r"warmup iters: ?([0-9]+) iters: ?([0-9]+)(?: agg iters: ?([0-9]+))? validation: ?([0-9]+)", re.MULTILINE)
_DEVICE = re.compile(r"^# +Rank +([0-9]+) +(?:Group +([0-9]+) +)?Pid +([0-9]+) on +(\S+) device +([0-9]+) \[", re.MULTILINE)
_TABLE = re.compile(r"^# Using devices", re.MULTILINE)
_HEADING = re.compile(r"^# +size +count +type\b([^\n]*)", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*([0-9]+)[ \t]+([0-9]+)[ \t]+([A-Za-z]\w*)[ \t]+(\S[^\n]*)", re.MULTILINE)
_REDUCED = re.compile(r"^# Reducing maxBytes to ([0-9]+) due to memory limitation", re.MULTILINE)
_WRONG = re.compile(r"^# Out of bounds values *: ([0-9]+) (OK|FAILED)", re.MULTILINE)
_AVERAGE = re.compile(r"^# Avg bus bandwidth *: (\S+)(?: (OK|FAILED))?", re.MULTILINE)
_FAILURE = re.compile(r"^[^\n]*\b(?:Test failure|Test NCCL failure|Test CUDA failure|FAILED)\b[^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Measured:
    """The measurement of one size, out of place or in place. GB/s are 10^9 bytes/s. ``wrong``: number of wrong elements, None if not checked."""

    time_us: float
    algbw_gbyte_s: float
    busbw_gbyte_s: float
    wrong: Optional[float]


@dataclass(frozen=True)
class NcclRow:
    """One size. ``in_place`` is None for a truncated row."""

    size_bytes: int
    data_type: str
    out_of_place: Optional[Measured]
    in_place: Optional[Measured]

    @property
    def measurements(self) -> List[Measured]:
        return [measured for measured in (self.out_of_place, self.in_place) if measured is not None]


@dataclass(frozen=True)
class Device:
    """The GPU of a rank."""

    rank: int
    group: int
    host: str


@dataclass(frozen=True)
class NcclReport:
    """The parsed output.

    ``requested``: the requested options, with the keys of a record. ``tables``: number of tables that were begun. From the summary: ``wrong``, the number of
    wrong elements in all rows, ``average``, the average bus bandwidth in GB/s, and ``average_low``, True if it is below NCCL_TESTS_MIN_BW.
    ``reduced_to``: the largest size in bytes, if the memory of the GPU is too small for the requested one. ``finished``: True if there is a summary, which
    is printed after the last size. ``words``: the first lines that may explain a failure. ``silent``: the launcher prints nothing.
    """

    rows: Tuple[NcclRow, ...] = ()
    requested: Mapping[str, Any] = field(default_factory=dict)
    version: Optional[str] = None
    devices: Tuple[Device, ...] = ()
    ranks: Optional[int] = None
    tables: int = 0
    wrong: Optional[int] = None
    average: Optional[float] = None
    average_low: bool = False
    reduced_to: Optional[int] = None
    finished: bool = False
    errors: Tuple[HccnError, ...] = ()
    failures: Tuple[str, ...] = ()
    words: Tuple[str, ...] = ()
    silent: bool = True

    @property
    def hosts(self) -> Tuple[str, ...]:
        """The hosts in rank order."""
        return tuple(dict.fromkeys(device.host for device in self.devices))


def parse_text(stdout: str, stderr: str = "") -> NcclReport:
    """Parse the output of a run, or a log (then all of it is ``stdout``)."""
    untagged = _TAG.sub("", stdout).replace("\r\n", "\n")
    text = _CUT_ROW.sub(r"\1 ", _NCCL_LINE.sub("", untagged))
    version, wrong, average, reduced = (pattern.search(text) for pattern in (_VERSION, _WRONG, _AVERAGE, _REDUCED))
    devices = sorted((Device(rank=count_of(rank), group=count_of(group or "0"), host=host) for rank, group, _pid, host, _number in _DEVICE.findall(text)),
                     key=lambda device: device.rank)
    return NcclReport(
        rows=tuple(_rows(text)), requested=_requested(text), version=version.group(1) if version else None, devices=tuple(devices),
        ranks=devices[-1].rank + 1 if devices else None, tables=len(_TABLE.findall(text)), wrong=count_of(wrong.group(1)) if wrong else None,
        average=number(average.group(1)) if average else None, average_low=bool(average and average.group(2) == "FAILED"),
        reduced_to=count_of(reduced.group(1)) if reduced else None, finished=wrong is not None and average is not None,
        errors=tuple(find_errors(untagged, stderr)), failures=tuple(line.group().strip() for line in _FAILURE.finditer(untagged + "\n" + stderr)),
        words=first_words(text, stderr), silent=is_silent(text, stderr),
    )


def number(text: str) -> Optional[float]:
    """Return the number of a text, None for other texts (``N/A``)."""
    try:
        return float(text)
    except ValueError:
        return None


def _requested(text: str) -> Dict[str, Any]:
    match = _BANNER.search(text)
    if match is None:
        return {}
    requested = {name: count_of(match.group(place)) for name, place in (("begin_bytes", 3), ("end_bytes", 4), ("warmup", 7), ("iterations", 8))}
    if match.group(6) == "factor":
        requested["factor"] = count_of(match.group(5))
    return requested


def _rows(text: str) -> List[NcclRow]:
    heading = _HEADING.search(text)
    columns = heading.group(1).split() if heading else list(_LABELS)
    labels = [column for column in columns if column in _LABELS]
    # With -I, more columns follow each group of measured values.
    stride = _MEASURED + (4 if "i_min" in columns else 0)
    rows = []
    for match in _ROW.finditer(text):
        words = match.group(4).split()
        # A label may be blank: hypercube and the old alltoall have no reduction.
        skip = len(labels) - (1 if "redop" in labels and not words[0].isalpha() else 0)
        first, second = (_measured(words[start:start + _MEASURED], "error" in columns) for start in (skip, skip + stride))
        if first is not None:
            rows.append(NcclRow(size_bytes=count_of(match.group(1)), data_type=match.group(3), out_of_place=first, in_place=second))
    return rows


def _measured(words: Sequence[str], largest_error: bool) -> Optional[Measured]:
    """Return the measurement, None for a truncated one.

    ``largest_error``: the last column is the largest relative error (up to 2.11), which is not 0 in good runs and is judged by the summary.
    """
    if len(words) < _MEASURED:
        return None
    time, algbw, busbw, wrong = (number(word) for word in words)
    if time is None or algbw is None or busbw is None:
        return None
    return Measured(time_us=time, algbw_gbyte_s=algbw, busbw_gbyte_s=busbw, wrong=0.0 if largest_error and wrong is not None else wrong)


_REQUESTED = (("begin_bytes", "minimum_bytes"), ("end_bytes", "maximum_bytes"), ("factor", "step_factor"), ("iterations", "iterations"),
              ("warmup", "warmup_iters"))
CUT = HccnError("json_cut", "the JSON file is truncated", "the program was killed or crashed; judge its text output instead")


def is_json(text: str) -> bool:
    """Return True if the text is the JSON file, and not the text output."""
    return text.lstrip().startswith("{")


def parse_json(text: str) -> NcclReport:
    """Parse the JSON file. A truncated file gives only that error."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return NcclReport(errors=(CUT,))
    try:
        return _report_of(whole)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return NcclReport(errors=(HccnError("json_unknown", "the JSON file was not written by nccl-tests", "give the file that -J wrote, or the text output"),))


def _report_of(whole: Mapping[str, Any]) -> NcclReport:
    """Return the report of a parsed file. Raises the usual errors of mappings and conversions if a value is missing or malformed."""
    config: Dict[str, Any] = whole["config"]
    devices = sorted((Device(rank=int(one["rank"]), group=int(one.get("group", 0)), host=str(one["hostname"])) for one in config.get("devices", ())),
                     key=lambda device: device.rank)
    wrong, average = (whole.get(name) or {} for name in ("out_of_bounds", "average_bus_bandwidth"))
    messages = "\n".join(str(line) for line in whole.get("errors") or ())
    return NcclReport(
        rows=tuple(_row_of(one) for one in whole.get("results", ())), requested={name: config[key] for name, key in _REQUESTED if key in config},
        devices=tuple(devices), ranks=_ranks(config, len(devices)), tables=1, wrong=int(wrong["count"]) if "count" in wrong else None,
        average=_number(average.get("bandwidth")), average_low=average.get("okay") == "false", finished=bool(wrong) and bool(average),
        errors=tuple(find_errors(messages)),
    )


def _ranks(config: Mapping[str, Any], processes: int) -> Optional[int]:
    """Return the number of ranks. The file lists only the first device of each process."""
    return processes * int(config.get("ngpus", 1)) * int(config.get("nthreads", 1)) or None


def _row_of(result: Mapping[str, Any]) -> NcclRow:
    return NcclRow(size_bytes=int(result["size"]), data_type=str(result["type"]), out_of_place=_measured_of(result.get("out_of_place")),
                   in_place=_measured_of(result.get("in_place")))


def _measured_of(values: Optional[Mapping[str, Any]]) -> Optional[Measured]:
    if values is None:
        return None
    time = _number(values.get("time", values.get("cpu_time")))
    algbw, busbw = _number(values.get("alg_bw")), _number(values.get("bus_bw"))
    if time is None or algbw is None or busbw is None:
        return None
    return Measured(time_us=time, algbw_gbyte_s=algbw, busbw_gbyte_s=busbw, wrong=_number(values.get("nwrong")))


def _number(value: Any) -> Optional[float]:
    return None if value is None else number(str(value))
