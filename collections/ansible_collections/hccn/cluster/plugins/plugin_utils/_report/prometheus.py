# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Metrics of a run for the textfile collector of node_exporter. There are no series for pairs, since 512 hosts would have 262,144 of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...module_utils._core.samples import GBIT
from .._findings.causes import SEVERITIES
from .._findings.finding import Finding
from .._history.pair_results import GBYTE
from .._history.query import BaselineComparison
from .fields import moment
from .model import Page

MOST_NAMED = 100
"""Series of a family that names hosts and NPUs."""
_BYTES = {GBIT: 1e9 / 8, GBYTE: 1e9}
Sample = tuple[Mapping[str, Any], float]


def render(page: Page, comparison: BaselineComparison | None) -> str:
    """Return the metrics in base units (bytes, seconds, ratios), without timestamps, which the collector rejects.

    The text is valid in Prometheus' text format, to which the last line is a comment, and in OpenMetrics, which requires it.
    """
    return "".join(line for family in _families(page, comparison) for line in family) + "# EOF\n"


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
    yield from _named(page)
    yield _family("hccn_npu_bandwidth_ratio", "Lower of an NPU's medians as sender and as receiver, as a share of the expected value; the lowest ten.",
                  [({"host": row.end.host, "device": "" if row.end.device is None else row.end.device}, row.share) for row in page.lowest])
    yield _family("hccn_devices_link_up_ratio", "Share of NPUs whose link is up.", _share(page.devices.links, "up"))
    yield _family("hccn_devices_standing_out", "NPUs with unusual link, health, TLS, optics, counters or errors.", [({}, page.devices.odd)])
    yield _family("hccn_regressions", "Values that are worse than their baseline.", [({}, page.regression_count)])
    if comparison is not None:
        yield from _groups(comparison)


def _named(page: Page) -> Iterator[list[str]]:
    """Yield the families that name hosts and NPUs. Their labels come from a fixed set, and the number of series is limited and stated."""
    bad = [row for row in page.bad if row.verdict != "not_judged"]
    yield _family("hccn_host_bad", "1 for each host that is not good, the worst first, by its class.",
                  [({"host": row.host, "class": row.verdict}, 1.0) for row in bad[:MOST_NAMED]])
    found = dict.fromkeys((one.cause, one.severity, host, device) for one in page.findings for host, device in _places(one))
    listed: list[Sample] = [({"cause": cause, "severity": severity, "host": host, "device": device}, 1.0) for cause, severity, host, device in found]
    yield _family("hccn_finding_info", "1 for each finding and each host or NPU that it is about, the worst first.", listed[:MOST_NAMED])
    yield _family("hccn_series_dropped", "Series that hccn_host_bad and hccn_finding_info do not have because of their limits.",
                  [({"metric": "hccn_host_bad"}, max(0, len(bad) - MOST_NAMED)), ({"metric": "hccn_finding_info"}, max(0, len(listed) - MOST_NAMED))])


def _places(one: Finding) -> list[tuple[str, str]]:
    if one.devices:
        return [(host, str(device)) for host, device in one.devices]
    return [(host, "") for host in one.hosts] or [("", "")]


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
