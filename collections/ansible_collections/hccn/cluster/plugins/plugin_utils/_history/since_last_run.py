# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings about hosts whose versions or settings changed since the last run that read them: a host that was exchanged or installed anew."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .._findings import reading
from .._findings.evidence import evidence
from .._findings.finding import Finding, finding, of_host
from . import compare, reader
from .format import HistoryError
from .pair_results import Endpoint

MOST_RUNS = 20
"""Earlier runs that are searched for readings of the hosts."""
CONFIGURED = ("address", "tls", "mtu", "dscp_to_tc", "pfc")
"""Settings that bring_up sets."""
_DEVICE_RECORD = b'"device"'

Settings = dict[Endpoint, dict[str, str]]


def changes(hosts: Iterable[str], registered: Callable[[str, str], Any], names: Iterable[tuple[str, str]],
            changes_of: Callable[[str], Iterable[Any]], folder: Path, current: Path) -> list[Finding]:
    """Return a note for each host that changed, except for settings that this run itself changed.

    ``registered`` returns a registered result of a host; ``names``: stages and names of results of device_info; ``changes_of`` returns the results of
    modules that set options of a host's devices. ``current``: the file of this run.
    """
    wanted = list(names)
    now: dict[str, Settings] = {}
    stages: dict[str, str] = {}
    for host in hosts:
        configured = any(reading.is_true(reading.mapping(one).get("changed")) for one in changes_of(host))
        for stage, name in wanted:
            records = [{**record, "source": {**reading.mapping(record.get("source")), "host": host}}
                       for record in reading.mappings(reading.mapping(registered(host, name)).get("measurements"))]
            for end, settings in compare.settings_of(records).items():
                mine = now.setdefault(host, {}).setdefault(end, {})
                mine.update({key: value for key, value in settings.items() if key not in mine and not (configured and key in CONFIGURED)})
                stages.setdefault(host, stage)
    return [one for host, (started, before) in _earlier(set(now), folder, current) for one in _changed(host, started, before, now[host], stages[host])]


def _earlier(hosts: set[str], folder: Path, current: Path) -> Iterator[tuple[str, tuple[str, Settings]]]:
    """Yield the time and the settings of the newest earlier run that read each host."""
    runs = (entry for entry in reader.runs(folder) if entry.path.name.split(".jsonl")[0] != current.name.split(".jsonl")[0])
    missing = set(hosts)
    for entry in itertools.islice(runs, MOST_RUNS) if hosts else ():
        try:
            run = reader.read_if(entry, lambda content: _DEVICE_RECORD in content)
        except HistoryError:
            continue
        by_host: dict[str, Settings] = {}
        for end, settings in compare.settings_of(run.records).items() if run is not None else ():
            if end.host in missing:
                by_host.setdefault(end.host, {})[end] = settings
        for host in sorted(by_host):
            yield host, (entry.started, by_host[host])
        missing -= by_host.keys()
        if not missing:
            return


def _changed(host: str, started: str, before: Settings, now: Settings, stage: str) -> list[Finding]:
    changed = list(compare.changed_settings(before, now))
    if not changed:
        return []
    pieces = [evidence("changed", host=host, **({} if change.device is None else {"device": change.device}), setting=change.what, before=change.before,
                       after=change.after, time=_moment(started)) for change in changed]
    first = changed[0]
    more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
    message = f"since the last run at {_moment(started)}, {first.what} changed from {first.before} to {first.after}{more}"
    return [finding("changed_since", of_host(host), message, [host], evidence=pieces, stage=stage)]


def _moment(started: str) -> str:
    """Return ``2026-11-20 10:15 UTC`` for the compact time of the name of a file."""
    return f"{started[:4]}-{started[4:6]}-{started[6:8]} {started[9:11]}:{started[11:13]} UTC" if len(started) >= 13 else started
