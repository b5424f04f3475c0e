# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Metrics of a run for the textfile collector of node_exporter. There are no series for pairs, since 512 hosts would have 262,144 of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...module_utils._core.samples import GBIT
from .._findings.causes import SEVERITIES
from .._history.pair_results import GBYTE
from .._history.query import BaselineComparison
from .fields import moment
from .model import Page

_BYTES = {GBIT: 1e9 / 8, GBYTE: 1e9}
Sample = tuple[Mapping[str, Any], float]


def render(page: Page, comparison: BaselineComparison | None) -> str:
    """Return the metrics in text format and base units (bytes, seconds, ratios), without timestamps, which the collector rejects."""
    return "".join(line for family in _families(page, comparison) for line in family)


def _families(page: Page, comparison: BaselineComparison | None) -> Iterator[list[str]]:
    facts = page.facts
    started = moment(facts.started_at)
    of_run = {"playbook": facts.playbook}
    yield _family("hccn_run_timestamp_seconds", "Start time of the run.", [(of_run, started.timestamp())] if started else [])
    yield _family("hccn_run_complete", "1 unless the run was interrupted.", [(of_run, float(facts.state != "incomplete"))])
    yield _family("hccn_run_info", "The run of the other metrics, as labels.", [({**of_run, "run_id": facts.run_id, "state": page.state}, 1.0)])
    yield _family("hccn_hosts", "Hosts by the class of their verdict.", [({"class": name}, count) for name, count in page.classes.items()])
    # Without a conclusion, the absence of findings means nothing.
    yield _family("hccn_findings", "Findings by severity.", [({"severity": name}, page.severities.get(name, 0)) for name in SEVERITIES]
                  if page.conclusion else [])
    yield _family("hccn_fabric_components_bad", "Components of the fabric that are not good.", [({}, len(page.fabric))])
    yield _family("hccn_records", "Records by kind and status.", [
        ({"kind": kind, "status": status}, count) for kind, *counts in facts.kinds for status, count in zip(("ok", "failed", "not_run"), counts)])
    yield _family("hccn_host_pairs_measured_ratio", "Share of the pairs of hosts that were measured.", [
        ({}, page.coverage.pairs_met / page.coverage.pairs_possible)] if page.coverage.pairs_possible else [])
    yield _family("hccn_host_bandwidth_ratio", "Lower of a host's medians as sender and as receiver, as a share of the expected value; the lowest ten.",
                  [({"host": row.host}, row.share) for row in page.lowest])
    yield _family("hccn_devices_link_up_ratio", "Share of NPUs whose link is up.", _share(page.devices.links, "up"))
    yield _family("hccn_devices_standing_out", "NPUs with unusual link, health, TLS, optics, counters or errors.", [({}, page.devices.odd)])
    yield _family("hccn_regressions", "Values that are worse than their baseline.", [({}, page.regression_count)])
    if comparison is not None:
        yield from _groups(comparison)


def _share(counts: list[tuple[str, int]], wanted: str) -> list[Sample]:
    known = sum(count for name, count in counts if name)
    return [({}, sum(count for name, count in counts if name == wanted) / known)] if known else []


def _groups(comparison: BaselineComparison) -> Iterator[list[str]]:
    values: dict[str, list[Sample]] = {"bandwidth_bytes_per_second": [], "latency_seconds": []}
    normal: list[Sample] = []
    for group, measured in sorted(comparison.current.groups.items(), key=lambda item: item[0].sort_key()):
        labels = {"kind": group.kind, "tool": group.tool, "operation": group.operation, "size_bytes": "" if group.size_bytes is None else group.size_bytes,
                  "pair_class": group.pair_class}
        name, factor = ("bandwidth_bytes_per_second", _BYTES[group.unit]) if group.unit in _BYTES else ("latency_seconds", 1e-6)
        stats = (("min", measured.least), ("median", measured.median), ("max", measured.greatest))
        values[name] += [({**labels, "stat": stat}, value * factor) for stat, value in stats]
        known = comparison.baselines.get(group)
        if known and known.median:
            normal.append((labels, measured.median / known.median))
    yield _family("hccn_bandwidth_bytes_per_second", "Bandwidth over all pairs, or of a collective (bus bandwidth).", values["bandwidth_bytes_per_second"])
    yield _family("hccn_latency_seconds", "Latency over all pairs.", values["latency_seconds"])
    yield _family("hccn_baseline_ratio", "Median of this run divided by that of the baseline.", normal)


def _family(name: str, help_text: str, samples: Iterable[Sample]) -> list[str]:
    lines = [f"{name}{_labels(labels)} {value:.10g}\n" for labels, value in samples]
    return [f"# HELP {name} {help_text}\n", f"# TYPE {name} gauge\n", *lines] if lines else []


def _labels(labels: Mapping[str, Any]) -> str:
    return "{" + ",".join(f'{key}="{_escaped(str(value))}"' for key, value in labels.items()) + "}" if labels else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
