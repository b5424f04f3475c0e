# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The JSON file of nccl-tests (``-J``, from 2.17.3 on). It holds the whole environment of the run: that part is dropped at once.

Truth values are text ("true", "false", "unchecked"), ``root`` is padded text, NaN is "nan"; a crash leaves the file cut.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional

from .._core.errors import HccnError
from .nccl_errors import find_errors
from .nccl_text import Device, Measured, Report, Row, number

_ASKED = (("begin_bytes", "minimum_bytes"), ("end_bytes", "maximum_bytes"), ("factor", "step_factor"), ("iterations", "iterations"),
          ("warmup", "warmup_iters"))
CUT = HccnError("json_cut", "the JSON file ends in the middle", "the program was killed or crashed; judge its text output instead")


def is_json(text: str) -> bool:
    """Is this such a file, and not the text output?"""
    return text.lstrip().startswith("{")


def parse(text: str) -> Report:
    """Reads one file; of one that is cut only that it is."""
    try:
        whole = json.loads(text)
    except ValueError:
        return Report(errors=(CUT,))
    if not isinstance(whole, dict) or not isinstance(whole.get("config"), dict):
        return Report(errors=(HccnError("json_unknown", "the JSON is not that of nccl-tests", "give the file that -J wrote, or the text output"),))
    whole.pop("env", None)
    config: Dict[str, Any] = whole["config"]
    devices = sorted((Device(int(one["rank"]), int(one.get("group", 0)), str(one["hostname"])) for one in config.get("devices", ())),
                     key=lambda device: device.rank)
    wrong, average = (whole.get(name) or {} for name in ("out_of_bounds", "average_bus_bandwidth"))
    said = "\n".join(str(line) for line in whole.get("errors") or ())
    return Report(
        rows=tuple(_row(one) for one in whole.get("results", ())), asked={name: config[key] for name, key in _ASKED if key in config},
        devices=tuple(devices), ranks=_ranks(config, len(devices)), tables=1, wrong=int(wrong["count"]) if "count" in wrong else None,
        average=_number(average.get("bandwidth")), average_low=average.get("okay") == "false", finished=bool(wrong) and bool(average),
        errors=tuple(find_errors(said)),
    )


def _ranks(config: Mapping[str, Any], processes: int) -> Optional[int]:
    """One device a process is in the file, the first."""
    return processes * int(config.get("ngpus", 1)) * int(config.get("nthreads", 1)) or None


def _row(result: Mapping[str, Any]) -> Row:
    ways: List[Optional[Measured]] = [_measured(result.get(name)) for name in ("out_of_place", "in_place")]
    return Row(int(result["size"]), str(result["type"]), ways[0], ways[1])


def _measured(way: Optional[Mapping[str, Any]]) -> Optional[Measured]:
    if way is None:
        return None
    time = _number(way.get("time", way.get("cpu_time")))
    algbw, busbw = _number(way.get("alg_bw")), _number(way.get("bus_bw"))
    if time is None or algbw is None or busbw is None:
        return None
    return Measured(time, algbw, busbw, _number(way.get("nwrong")))


def _number(value: Any) -> Optional[float]:
    return None if value is None else number(str(value))
