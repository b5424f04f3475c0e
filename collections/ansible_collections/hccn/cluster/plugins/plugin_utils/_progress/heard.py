# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a reporter answered, as far as it is what rdma_perf_info returns. Names in it come from hosts and are printed, so they are made printable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._core.words import LONGEST_TEXT, printable
from .line import checked

NOT_UNDERSTOOD = "its answer is not as rdma_perf_info returns it"


def understood(found: Any) -> dict[str, Any]:
    """``state``, ``alive``, ``error``, ``fabric`` and ``lost`` of an answer; only ``lost``, with the reason, where it cannot be understood."""
    if not isinstance(found, Mapping):
        return {"lost": NOT_UNDERSTOOD}
    if "lost" in found:
        return {"lost": printable(found["lost"], LONGEST_TEXT)}
    told, error = found.get("fabric"), found.get("error")
    fabric = {} if told in (None, {}) else checked(told)
    if not isinstance(found.get("state"), str) or fabric is None:
        return {"lost": NOT_UNDERSTOOD}
    message = error.get("message") if isinstance(error, Mapping) else None
    return {"state": found["state"], "alive": found.get("alive") is True, "fabric": fabric,
            **({"error": {"message": printable(message, LONGEST_TEXT)}} if isinstance(message, str) else {})}
