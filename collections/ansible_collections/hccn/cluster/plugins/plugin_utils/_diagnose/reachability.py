# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Diagnose pings between NPUs as bandwidths are diagnosed: a pair that lost packets has failed, one with a long round-trip time is slow."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._findings import reading
from . import diagnosis
from .host_classes import LeftOut

RELATIVE_FLOOR = 0.2
"""A pair is slow if its round-trip time is more than five times the normal one. Shorter ones vary with the load of the host that answers."""

Plan = Mapping[str, Any]


@dataclass(frozen=True)
class Reachability:
    """``diagnosis``: hosts and components. ``matrix``: by source and target host ``sent``, ``received`` and the median ``rtt_us`` of their pairs."""

    diagnosis: diagnosis.Diagnosis
    matrix: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    sent: int = 0
    received: int = 0
    median_rtt_us: float | None = None

    def lines(self) -> list[str]:
        """Return what was pinged as one line, followed by a line for each bad component."""
        coverage = self.diagnosis.coverage
        lost = self.sent - self.received
        rtt = "" if self.median_rtt_us is None else f", median round-trip time {self.median_rtt_us:.4g} us"
        first = (f"{coverage['pairs_good'] + coverage['pairs_slow'] + coverage['pairs_failed']} pairs of NPUs were pinged: {self.sent} packets, "
                 f"{lost} lost{rtt}")
        return [first, *(f"{one['class']}: {one['message']}" for one in self.diagnosis.components)]


def diagnose(hosts: Sequence[str], results: Mapping[str, Any], plan: Plan, left_out: Sequence[LeftOut] = (),
             relative_floor: float = RELATIVE_FLOOR) -> Reachability:
    """Diagnose the results of device_ping by host. ``plan``: of ping_plan. Raises InputError."""
    pairs = {(entry["source"]["host"], entry["source"]["device"], entry["target"]["address"]): entry for one in plan["rounds"] for entry in one}
    converted: dict[str, Any] = {}
    cells: dict[tuple[str, str], list[tuple[int, int, float | None]]] = {}
    for host, result in results.items():
        if not isinstance(result, Mapping) or result.get("unreachable") is True:
            converted[host] = result
            continue
        records = list(_records(host, result, pairs))
        converted[host] = {**result, "state": "finished", "measurements": [record for record, _packets in records]}
        for record, packets in records:
            cells.setdefault((host, record["target"]["host"]), []).append(packets)
    found = diagnosis.diagnose(hosts, converted, None, relative_floor, left_out, plan)
    flat = [packets for several in cells.values() for packets in several]
    return Reachability(found, _matrix(cells), sum(sent for sent, _received, _rtt in flat), sum(received for _sent, received, _rtt in flat),
                        _median(rtt for _sent, _received, rtt in flat))


def _records(host: str, result: Mapping[str, Any], pairs: Mapping[tuple[str, Any, Any], Mapping[str, Any]]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield a record of the planned pair for each ping, and its packets sent and received with the shortest round-trip time."""
    for record in reading.mappings(result.get("measurements")):
        source, target = reading.mapping(record.get("source")), reading.mapping(record.get("target"))
        device, address = source.get("device"), target.get("address")
        entry = pairs.get((host, device, address)) if isinstance(device, int) and isinstance(address, str) else None
        if entry is None or record.get("kind") != "ping":
            continue
        sample = reading.first_sample(record)
        rtt = reading.mapping(sample.get("latency_us")).get("min")
        shortest = float(rtt) if isinstance(rtt, (int, float)) and not isinstance(rtt, bool) and rtt > 0 else None
        sent, received = (value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
                          for value in (sample.get("sent"), sample.get("received")))
        error = reading.mapping(record.get("error"))
        made = {"id": f"ping/{entry['id']}", "kind": "rdma", "operation": "ping", "measure": "latency", "status": record.get("status"),
                "source": {"host": host, "device": device}, "target": {"host": entry["target"]["host"], "device": entry["target"]["device"]},
                "samples": [] if shortest is None else [{"latency_us": {"typical": shortest}}],
                **({"error": {key: reading.text(error.get(key)) for key in ("code", "message")}} if error else {})}
        yield made, (sent, min(sent, received), shortest)


def _matrix(cells: Mapping[tuple[str, str], Sequence[tuple[int, int, float | None]]]) -> dict[str, dict[str, dict[str, Any]]]:
    matrix: dict[str, dict[str, dict[str, Any]]] = {}
    for (source, target), packets in cells.items():
        rtt = _median(shortest for _sent, _received, shortest in packets)
        matrix.setdefault(source, {})[target] = {"sent": sum(sent for sent, _received, _rtt in packets),
                                                 "received": sum(received for _sent, received, _rtt in packets), "rtt_us": rtt}
    return matrix


def _median(values: Any) -> float | None:
    found = [value for value in values if value is not None]
    return round(statistics.median(found), 3) if found else None
