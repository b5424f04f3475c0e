# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The lines of a journal in checked form. A journal is read for seven days, by other releases too, and every call on the host reads all of them:
a line that is not as rdma_perf writes it must end none of these calls, and must not hide what the others say.

A record or an end with a field that its readers cannot take is left out as a whole. A start loses such fields only, since the repair of a dead run needs
whatever it still says.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from .._core.record import STATUSES
from .._core.samples import worth
from .._device.host import MAX_DEVICE_ID

RUNNING, FINISHED, FAILED, UNKNOWN = "running", "finished", "failed", "unknown"
START, RECORD, END = "start", "record", "end"

LONGEST_TEXT = 4096
"""Characters of a name or path. A message may have what it likes, since it is only shown."""
LARGEST = 1 << 40
"""Of counts, process ids and seconds since the epoch."""

Line = Dict[str, Any]


class Lines(NamedTuple):
    """``odd``: how many lines were left out, as a whole or in part."""

    found: List[Line]
    odd: int


def parse(text: bytes) -> Lines:
    """Of a whole journal. What follows the last newline is not written yet and does not count."""
    found: List[Line] = []
    odd = 0
    for raw in text.split(b"\n")[:-1]:
        line = checked(raw)
        odd += line is None or bool(line.pop(_LESS, False))
        if line is not None:
            found.append(line)
    return Lines(found, odd)


def checked(raw: bytes) -> Optional[Line]:
    """The line, None where it is not as rdma_perf writes it; a start with the key ``_LESS`` where it lost fields."""
    try:
        line = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    if line.get("type") == START:
        kept = _start(line)
        return kept if kept == line else {**kept, _LESS: True}
    good = {RECORD: lambda: _is_record(line.get("record")), END: lambda: _is_end(line)}.get(str(line.get("type")))
    return line if good is not None and good() else None


_LESS = " less"
"""No field of a line has a blank."""


def _start(line: Line) -> Line:
    kept = {name: value for name, value in line.items() if name not in _START or _START[name](value)}
    devices = line.get("devices")
    if isinstance(devices, list):
        kept["devices"] = [device for device in devices if _is_device(device)]
    return kept


def _is_text(value: Any) -> bool:
    """A name or path fit to be compared, shown, and given to the kernel."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and value.isprintable()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _is_pid(value: Any) -> bool:
    return _is_count(value) and value > 1


def _is_device(value: Any) -> bool:
    return _is_count(value) and value <= MAX_DEVICE_ID


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST and isfinite(value)


_START: Mapping[str, Callable[[Any], bool]] = {
    "pid": _is_pid, "identity": lambda value: value is None or _is_text(value), "pid_namespace": lambda value: value is None or _is_text(value),
    "locked": lambda value: isinstance(value, bool), "started_at": _is_number, "mark": _is_text, "guard": _is_pid,
    "guard_identity": lambda value: value is None or _is_text(value), "devices": lambda value: isinstance(value, list) and all(map(_is_device, value)),
    "pairs_total": _is_count, "plan_hash": _is_text, "hccn_tool": _is_text, "npu_smi": _is_text,
}
"""What the readers of a start use; other fields are kept as they are."""


def _is_end(line: Line) -> bool:
    error = line.get("error")
    return line.get("state") in (FINISHED, FAILED) and _is_number(line.get("ended_at")) and (error is None or _is_error(error)) and isinstance(
        line.get("lingers", False), bool)


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("code")) and isinstance(value.get("message"), str) and isinstance(value.get("hint", ""), str)


def _is_record(value: Any) -> bool:
    """What is sorted, counted and compared of a record; ``_diagnose/records.py`` on the controller judges the rest."""
    if not isinstance(value, dict) or not _is_text(value.get("id")) or not all(value["id"].split("/")[:2]) or "/" not in value["id"]:
        return False
    if value.get("status") not in STATUSES or not all(_is_endpoint(value.get(side)) for side in ("source", "target")):
        return False
    settled = value.get("error") is None if value["status"] == "ok" else _is_error(value.get("error"))
    return settled and _is_context(value.get("context")) and _are_samples(value.get("samples"))


def _is_endpoint(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("host")) and _is_device(value.get("device"))


def _is_context(value: Any) -> bool:
    if not isinstance(value, dict) or not _is_count(value.get("round")):
        return False
    rate = value.get("line_rate_gbit_s")
    return rate is None or (_is_number(rate) and rate > 0)


def _are_samples(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(sample, dict) for sample in value):
        return False
    if not all(sample.get("size_bytes") is None or _is_count(sample["size_bytes"]) for sample in value):
        return False
    if not all(isinstance(sample.get("latency_us") or {}, dict) for sample in value):
        return False
    try:
        found = worth(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return found is None or _is_number(found.value)
