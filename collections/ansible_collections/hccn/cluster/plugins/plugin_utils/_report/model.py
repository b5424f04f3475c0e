# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The view model: what a page shows, in its order. Pure: a run in, rows out; no text for a screen is made twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .._history.reader import Run
from . import measured, verdicts
from .fields import Record, endpoint, error_of, host_of, hosts_of, mapping, moment, samples, switch, text, tool_of, unique

DEFAULT_TITLE = "Fabric report"


@dataclass(frozen=True)
class Facts:
    """What was run. ``state``: complete, running (the page was made by the run itself) or incomplete (its end is missing)."""

    run_id: str
    state: str
    playbook: str
    controller: str
    ansible_core: str
    collection: str
    check_mode: bool
    started_at: str
    duration_s: float | None
    hosts: int
    tools: list[tuple[str, int]]
    products: list[str]
    kinds: list[tuple[str, int, int, int]]
    bad_lines: int
    unknown_lines: int


@dataclass(frozen=True)
class Device:
    """One NPU as it was seen last; texts are empty where it was not asked or gave no answer."""

    id: str
    address: str
    tls: str
    link: str
    health: str
    errors: str


@dataclass(frozen=True)
class DeviceHost:
    """The NPUs of one host."""

    host: str
    product: str
    devices: list[Device]


@dataclass(frozen=True)
class Failure:
    """A record that failed or could not be run."""

    where: str
    what: str
    status: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class TaskFailure:
    """A failed task or an unreachable host."""

    host: str
    task: str
    event: str
    message: str
    ignored: bool


@dataclass(frozen=True)
class Page:
    """Everything a page shows."""

    title: str
    facts: Facts
    verdicts: list[verdicts.HostVerdict]
    judged: bool
    devices: list[DeviceHost]
    pairs: measured.Pairs
    latencies: list[measured.Latency]
    collectives: list[measured.Collective]
    failures: list[Failure]
    task_failures: list[TaskFailure]

    @property
    def classes(self) -> dict[str, int]:
        """How many hosts are in each class, worst class first; classes without a host are absent."""
        counts = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: counts[name] for name in sorted(counts, key=verdicts.severity)}


def build(run: Run, title: str = DEFAULT_TITLE, current: bool = False) -> Page:
    """The page of ``run``; ``current`` when the page is made by a task of that very run, which then has no end yet."""
    by_kind: dict[str, list[Record]] = {}
    for record in run.records:
        by_kind.setdefault(text(record.get("kind")), []).append(record)
    return Page(
        title=title,
        facts=_facts(run, by_kind, current),
        verdicts=verdicts.build(run),
        judged="verdict" in by_kind,
        devices=_devices(by_kind.get("device", [])),
        pairs=measured.pairs(by_kind.get("rdma", [])),
        latencies=measured.latencies(by_kind.get("rdma", []) + by_kind.get("ping", [])),
        collectives=measured.collectives(by_kind.get("collective", [])),
        failures=_failures(run.records),
        task_failures=_task_failures(run.events),
    )


def _facts(run: Run, by_kind: dict[str, list[Record]], current: bool) -> Facts:
    header = run.header
    started, finished = moment(header.get("started_at")), moment(mapping(run.end).get("finished_at"))
    tools = Counter(filter(None, map(tool_of, run.records)))
    return Facts(
        run_id=text(header.get("run_id")),
        state="complete" if run.complete else "running" if current else "incomplete",
        playbook=text(header.get("playbook")),
        controller=text(header.get("controller")),
        ansible_core=text(header.get("ansible_core")),
        collection=text(header.get("collection")),
        check_mode=header.get("check_mode") is True,
        started_at=text(header.get("started_at")),
        duration_s=(finished - started).total_seconds() if started and finished else None,
        hosts=len({host for record in run.records for host in hosts_of(record)} | {text(event.get("host")) for event in run.events}),
        tools=sorted(tools.items()),
        products=unique(filter(None, map(_product, run.records))),
        kinds=[(kind, *_by_status(records)) for kind, records in sorted(by_kind.items())],
        bad_lines=run.bad_lines,
        unknown_lines=run.unknown_lines,
    )


def _by_status(records: list[Record]) -> tuple[int, int, int]:
    counts = Counter(record.get("status") for record in records)
    return counts["ok"], counts["failed"], counts["not_run"]


def _devices(records: list[Record]) -> list[DeviceHost]:
    last: dict[str, dict[str, Record]] = {}
    for record in records:
        last.setdefault(host_of(record), {})[text(mapping(record.get("source")).get("device"))] = record
    return [_device_host(host, last[host]) for host in unique(last)]


def _device_host(host: str, records: dict[str, Record]) -> DeviceHost:
    products = unique(filter(None, map(_product, records.values())))
    return DeviceHost(host, ", ".join(products), [_device(device, records[device]) for device in unique(records)])


def _device(device: str, record: Record) -> Device:
    seen = (samples(record) or [{}])[0]
    return Device(
        id=device,
        address=text(seen.get("address") or mapping(record.get("source")).get("address")),
        tls=switch(seen.get("tls")),
        link=text(seen.get("link")),
        health=text(seen.get("health")),
        errors=error_of(record)["message"],
    )


def _product(record: Record) -> str:
    return text(mapping(record.get("context")).get("product"))


def _failures(records: list[Record]) -> list[Failure]:
    found = []
    for record in records:
        status, error = record.get("status"), error_of(record)
        if record.get("kind") == "verdict" or not (status == "failed" or (status == "not_run" and record.get("error"))):
            continue
        ends = " to ".join(filter(None, (endpoint(record.get("source")), endpoint(record.get("target")))))
        found.append(
            Failure(
                where=ends or ", ".join(hosts_of(record)),
                what=" ".join(filter(None, (text(record.get("kind")), text(record.get("operation"))))),
                status=text(status),
                **error,
            )
        )
    return found


def _task_failures(events: list[Record]) -> list[TaskFailure]:
    return [
        TaskFailure(
            host=text(event.get("host")),
            task=text(event.get("task")),
            event=text(event.get("event")),
            message=text(event.get("message")),
            ignored=event.get("ignored") is True,
        )
        for event in events
    ]
