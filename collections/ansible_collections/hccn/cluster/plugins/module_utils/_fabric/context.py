# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What the records of a run tell of this host's devices in ``context``, where the task knows more than the tool."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

from .._core.errors import InputError
from .outcome import LINE_RATE

OF_HOST = ("product", "driver", "firmware")
OF_DEVICE = ("leaf", LINE_RATE)
"""One value for all devices, or a dictionary by device id."""


def told(given: Optional[Mapping[str, Any]], devices: Sequence[int]) -> Dict[int, Dict[str, Any]]:
    """The context of each device. Raises InputError for a line rate that is no number of Gbit/s."""
    known = given or {}
    found: Dict[int, Dict[str, Any]] = {}
    for device in devices:
        values: Dict[str, Any] = {name: known[name] for name in OF_HOST if known.get(name)}
        for name in OF_DEVICE:
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
        raise InputError("context: the line rate of device %d is %r, which is no number of Gbit/s" % (device, value))
    return rate
