# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The format of records in the history, such as measurements, device states and verdicts."""

from __future__ import annotations

import datetime
import time
from typing import Any, Dict, Optional

SCHEMA = "hccn.cluster/measurement/1"
KINDS = ("rdma", "collective", "ping", "device", "plan", "verdict", "matrix", "finding", "conclusion")
STATUSES = ("ok", "failed", "not_run")


def utc(moment: Optional[float] = None) -> str:
    """Return a time in seconds since the epoch (default: now) as RFC 3339 in UTC with milliseconds."""
    stamp = datetime.datetime.fromtimestamp(time.time() if moment is None else moment, datetime.timezone.utc)
    return stamp.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (stamp.microsecond // 1000)


def record(kind: str, record_id: str, status: str = "ok", **fields: Any) -> Dict[str, Any]:
    """Return a record of ``kind`` without those ``fields`` that are None.

    Known fields are tool, operation, measure, source, target, hosts, ranks, options, context, samples, error, command, started_at and duration_s.
    Raises ValueError for an unknown kind or status, which is a programming error.
    """
    if kind not in KINDS or status not in STATUSES:
        raise ValueError("unknown kind %r or status %r" % (kind, status))
    whole = {"schema": SCHEMA, "id": record_id, "kind": kind, "status": status}
    whole.update((key, value) for key, value in fields.items() if value is not None)
    return whole
