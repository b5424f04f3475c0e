# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A finding: one thing that is wrong or worth knowing, with its component, cause, evidence and next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...module_utils._core.record import record, utc
from ...module_utils._core.words import LONGEST_TEXT, ending, natural, npus, printable, some
from . import causes
from .evidence import Evidence, of_text

HOST, NPU, PORT, RAIL, LEAF, UPLINK, SPINE, RACK, SUPER_POD, PATH, PAIR, FABRIC, CLUSTER, RUN = KINDS = (
    "host", "npu", "port", "rail", "leaf", "uplink", "spine", "rack", "super_pod", "path", "pair", "fabric", "cluster", "run")

ON_HOST = (HOST, NPU, PORT)
"""Kinds of components that determine the class of their hosts; a bad leaf or path does not make a host bad."""

STAGES = ("validate", "bring_up", "tls", "rank_table", "check_fabric", "check_reachability", "check_collective", "report")

LONGEST_NAME = 200
MOST_EVIDENCE = 16
MOST_OUTPUT = 4096
"""Characters of the output of a tool."""
MOST_NAMES = 4096
"""Hosts and devices of a finding."""
NAMED = 4
"""Hosts that the name of a component lists."""

STATUS = {"failed": "failed", "slow": "failed", "degraded": "failed", "unknown": "not_run", "note": "ok"}
"""The status of the record, by severity."""

Device = tuple[str, int]


class Component(NamedTuple):
    """``kind`` is one of KINDS; ``name`` is the one that operators use: ``npu3``, ``npu3 NPUs 0-7``, ``path L1-L2``."""

    kind: str
    name: str


@dataclass(frozen=True)
class Finding:
    """``message`` is a sentence without the name of the component and without a final stop; ``devices`` are (host, id) of NPUs.

    ``output``: the end of what the failed tool printed.
    """

    cause: str
    severity: str
    component: Component
    message: str
    hosts: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    next_step: str = ""
    stage: str = ""
    output: str = ""

    def as_sample(self) -> dict[str, Any]:
        """Return the finding as the sample of its record. Empty keys are absent."""
        found: dict[str, Any] = {"component": {"kind": self.component.kind, "name": self.component.name}, "cause": self.cause,
                                 "severity": self.severity, "message": self.message}
        lists = {"hosts": list(self.hosts), "devices": [{"host": host, "device": device} for host, device in self.devices],
                 "evidence": [piece.as_sample() for piece in self.evidence]}
        found.update((key, value) for key, value in lists.items() if value)
        found.update((key, value) for key, value in (("next_step", self.next_step), ("stage", self.stage), ("output", self.output)) if value)
        return found

    def as_record(self, number: int) -> dict[str, Any]:
        """Return the record of kind ``finding``; ``number`` makes its id unique in a run."""
        return record("finding", f"conclusion/finding/{number}", STATUS[self.severity], hosts=list(self.hosts), samples=[self.as_sample()], started_at=utc())

    @staticmethod
    def of_sample(sample: Any) -> Finding | None:
        """Return the finding of a sample, None if it is not one: a history may be older than this release, or damaged.

        A sample that a module made on a host has no next step and gets that of its cause.
        """
        if not isinstance(sample, Mapping):
            return None
        component, message = sample.get("component"), sample.get("message")
        if not isinstance(component, Mapping):
            return None
        kind, name, cause = component.get("kind"), component.get("name"), sample.get("cause")
        if kind not in KINDS or not _is_text(name) or not _is_text(cause) or not _is_text(message):
            return None
        severity = sample.get("severity")
        return finding(
            printable(cause), Component(str(kind), str(name)), message, _texts(sample.get("hosts"), MOST_NAMES), _devices(sample.get("devices")),
            _pieces(sample.get("evidence")), stage=_text(sample.get("stage")),
            next_step=_text(sample["next_step"]) if "next_step" in sample else None,
            severity=severity if severity in causes.SEVERITIES else None, output=_text(sample.get("output")))


def finding(cause: str, component: Component, message: Any, hosts: Iterable[str] = (), devices: Iterable[Device] = (), evidence: Iterable[Any] = (),
            stage: str = "", next_step: str | None = None, severity: str | None = None, output: str = "") -> Finding:
    """Return a finding whose texts are printable and bounded, since they come from hosts and tools.

    Severity and next step default to those of the cause, the hosts to those of ``devices``.
    """
    npus = tuple(sorted(set(devices), key=lambda npu: (natural(npu[0]), npu[1])))[:MOST_NAMES]
    named = tuple(dict.fromkeys(hosts)) or tuple(dict.fromkeys(host for host, _device in npus))
    named = tuple(sorted(named, key=natural))[:MOST_NAMES]
    known = causes.CAUSES.get(cause)
    return Finding(
        cause, severity or (known.severity if known else causes.UNKNOWN), Component(component.kind, printable(component.name, LONGEST_NAME)),
        printable(str(message).strip().rstrip("."), LONGEST_TEXT), named, npus,
        tuple(dict.fromkeys(map(of_text, evidence)))[:MOST_EVIDENCE],
        printable(causes.next_step(cause, named, [device for _host, device in npus]) if next_step is None else next_step, LONGEST_TEXT), stage,
        cut_output(output))


def cut_output(text: str) -> str:
    """Return the end of the output of a tool, with printable lines."""
    return "\n".join(printable(line, LONGEST_TEXT) for line in ending(text, MOST_OUTPUT).splitlines())


def of_host(*hosts: str) -> Component:
    """Return the component of one host, or of several that share a finding."""
    return Component(HOST, some(hosts, NAMED))


def of_npus(devices: Iterable[Device]) -> Component:
    """Return the component of NPUs: ``npu3 NPU 5``, ``npu3 NPUs 0-3, 7``; of several hosts ``npu1 NPU 0, npu3 NPU 2``."""
    by_host: dict[str, list[int]] = {}
    for host, device in devices:
        by_host.setdefault(host, []).append(device)
    names = [f"{host} {npus(ids)}" for host, ids in sorted(by_host.items(), key=lambda item: natural(item[0]))]
    return Component(NPU, some(names, NAMED))


def head(one: Finding) -> str:
    """Return severity, component and message as the beginning of a line."""
    return f"{one.severity} {one.component.name}: {one.message}"


def tail(one: Finding) -> str:
    """Return the next step as the end of the line."""
    return f" -> {one.next_step}" if one.next_step else ""


def rank(one: Finding) -> int:
    """Return the position of the severity, 0 for the worst."""
    return causes.SEVERITIES.index(one.severity) if one.severity in causes.SEVERITIES else len(causes.SEVERITIES)


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings sorted by severity, then by the name of the component in natural order."""
    return sorted(found, key=lambda one: (rank(one), natural(one.component.name), one.cause, one.message))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any, most: int) -> list[str]:
    return [printable(item, LONGEST_TEXT) for item in value[:most] if isinstance(item, str)] if isinstance(value, (list, tuple)) else []


def _pieces(value: Any) -> list[Evidence]:
    found = map(Evidence.of_sample, value[:MOST_EVIDENCE]) if isinstance(value, (list, tuple)) else ()
    return [piece for piece in found if piece is not None]


def _devices(value: Any) -> list[Device]:
    entries: Sequence[Any] = value[:MOST_NAMES] if isinstance(value, (list, tuple)) else ()
    return [(printable(entry["host"], LONGEST_NAME), entry["device"]) for entry in entries
            if isinstance(entry, Mapping) and _is_text(entry.get("host")) and isinstance(entry.get("device"), int) and not isinstance(entry["device"], bool)]
