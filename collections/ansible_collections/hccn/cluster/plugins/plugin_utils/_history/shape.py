# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parse lines of a history and check their shape: every field that readers access has its type, or is absent or null.

Other programs may write records and disks may damage them. A malformed line is skipped, the others are read.
"""

from __future__ import annotations

import json
from types import NoneType
from typing import Any

MOST = 1e18
"""Largest accepted value. Larger ones are not measurements and overflow in charts."""
_TEXTS = ("kind", "status", "operation", "measure")
_MAPPINGS = ("tool", "options", "context", "source", "target", "failed", "not_run", "error")
_VALUES = ("size_bytes", "bandwidth_gbit_s", "busbw_gbyte_s", "algbw_gbyte_s", "time_us")
_LATENCIES = ("typical", "avg", "p99")


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line; None for any other value, for NaN or infinity, and for nesting beyond Python's recursion limit."""
    try:
        content = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def is_well_formed(record: dict[str, Any]) -> bool:
    """Return True if every field that readers access has its type."""
    hosts, samples = record.get("hosts"), record.get("samples")
    return (all(isinstance(record.get(key), (str, NoneType)) for key in _TEXTS)
            and all(isinstance(record.get(key), (dict, NoneType)) for key in _MAPPINGS)
            and all(_is_endpoint(record.get(key) or {}) for key in ("source", "target"))
            and _is_value((record.get("context") or {}).get("line_rate_gbit_s"))
            and (hosts is None or isinstance(hosts, list) and all(isinstance(host, str) for host in hosts))
            and (samples is None or isinstance(samples, list) and all(map(_is_sample, samples))))


def _is_endpoint(endpoint: dict[str, Any]) -> bool:
    return all(isinstance(endpoint.get(key), (str, int, float, NoneType)) for key in ("host", "device", "address"))


def _is_sample(sample: Any) -> bool:
    if not isinstance(sample, dict) or not all(_is_value(sample.get(key)) for key in _VALUES):
        return False
    latency = sample.get("latency_us")
    return latency is None or isinstance(latency, dict) and all(_is_value(latency.get(key)) for key in _LATENCIES)


def _is_value(value: Any) -> bool:
    """Return True for a possible measurement, None, or a list of these. A list is checked as a whole, since a matrix row has thousands of values."""
    listed = value if isinstance(value, list) else [value]
    if not {*map(type, listed)} <= {int, float, NoneType}:
        return False
    known = list(filter(None, listed))
    return not known or min(known) >= 0 and max(known) <= MOST


def _reject(name: str) -> None:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_reject)
