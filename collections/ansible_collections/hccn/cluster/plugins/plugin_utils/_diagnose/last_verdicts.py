# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the verdicts of the last check of the fabric from the history, newest run first.

A check that could not measure any of the hosts, since another run or a job used them, is skipped: the check before it counts.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...module_utils._core.words import LONGEST_TEXT, printable
from .._history import reader
from .._history.format import HistoryError
from .classification import BUSY
from .unstarted_runs import NOT_MEASURED

_FABRIC, _COLLECTIVE = "/verdict/fabric/", "/verdict/collective/"
"""Parts of the ids of verdicts that are not about a host. Those of a collective say nothing about the fabric."""
_SHOWN = 5
_UNMEASURED = frozenset({BUSY, NOT_MEASURED})


def of(folder: Path, hosts: Sequence[str], oldest: datetime.datetime) -> dict[str, Any]:
    """Return ``{clean, message, hosts, run_id, judged_at}`` of the newest check that measured one of these hosts. Unreadable files are skipped."""
    for entry in reader.since(folder, oldest):
        try:
            run = reader.read(entry)
        except HistoryError:
            continue
        found = _judged(run.records, hosts)
        if found:
            return {"run_id": run.file.run_id, **found}
    return {"clean": False, "hosts": {}, "message": f"no check of the fabric that measured these hosts since {oldest:%Y-%m-%d} is in {folder}"}


def _judged(records: Iterable[Mapping[str, Any]], hosts: Sequence[str]) -> dict[str, Any] | None:
    verdicts = [one for one in records if one.get("kind") == "verdict" and _COLLECTIVE not in str(one.get("id"))]
    classes: dict[str, str] = {}
    fabric: list[str] = []
    judged_at = ""
    for one in verdicts:
        sample: Mapping[str, Any] = (one.get("samples") or [{}])[0]
        host = (one.get("source") or {}).get("host")
        judged_at = max(judged_at, str(one.get("started_at", "")))
        if isinstance(host, str) and host in hosts:
            classes[host] = printable(sample.get("class", NOT_MEASURED))
        elif _FABRIC in str(one.get("id")):
            fabric.append(printable(sample.get("message", "a component of the fabric is bad"), LONGEST_TEXT))
    if _UNMEASURED.issuperset(classes.values()):
        return None
    return {"clean": not fabric and all(classes.get(host) == "good" for host in hosts), "hosts": classes, "judged_at": judged_at,
            "message": _sentence(hosts, classes, fabric, judged_at)}


def _sentence(hosts: Sequence[str], classes: Mapping[str, str], fabric: Sequence[str], judged_at: str) -> str:
    bad = [f"{host} is {classes[host]}" for host in hosts if classes.get(host, "good") != "good"]
    bad += [f"{host} was not judged" for host in hosts if host not in classes]
    reasons = [*fabric, *bad]
    if not reasons:
        return f"the fabric was found clean at {judged_at}"
    return f"the fabric was not found clean at {judged_at}: " + "; ".join(reasons[:_SHOWN]) + (" ..." if len(reasons) > _SHOWN else "")
