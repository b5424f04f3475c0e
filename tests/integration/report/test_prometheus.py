"""Metrics, dashboard and alerting rules with promtool and a real Prometheus, in the text format and as OpenMetrics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import prometheus as metrics

from tests.integration.report import pages
from tests.integration.report import prometheus as real
from tests.lib.project import COLLECTION

RULES = COLLECTION / "extensions/prometheus/alerts.yml"
DASHBOARD = COLLECTION / "extensions/grafana/dashboard.json"
LABELS = {"hccn_host_bad": {"host", "class"}, "hccn_finding_info": {"cause", "severity", "host", "device"}, "hccn_npu_bandwidth_ratio": {"host", "device"}}
SOMETIMES = ("hccn_latency_seconds",)
"""Metrics that the run of the test does not have."""


@pytest.fixture(scope="module")
def text() -> str:
    shown = pages.run([pages.plan(64, 2), *pages.rows(64, 2, 1), *pages.beside(64), *pages.conclusion(64)])
    comparison = pages.comparison(shown)
    return metrics.render(pages.page(64, 2, with_history=True, concluded=True), comparison)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, text: str) -> Iterator[real.Prometheus]:
    real.programs_or_skip()
    with real.prometheus(tmp_path_factory.mktemp("prometheus"), text, RULES) as started:
        started.until('up == 1', 2)
        yield started


def test_promtool_accepts_metrics_and_rules(text: str) -> None:
    real.programs_or_skip()
    checked, rules = real.promtool("check", "metrics", text=text), real.promtool("check", "rules", str(RULES))
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert rules.returncode == 0 and "SUCCESS: 7 rules found" in rules.stdout


def test_rules_fire_for_their_metric_only(tmp_path: Path) -> None:
    """An alert for each value that is bad, and none for the values of a good run."""
    real.programs_or_skip()
    bad = {'hccn_host_bad{host="npu3",class="failed"}': "1x10", 'hccn_host_bad{host="npu4",class="slow"}': "1x10", "hccn_fabric_components_bad": "2x10",
           "hccn_regressions": "0x10", 'hccn_run_complete{playbook="site.yml"}': "1x10", 'hccn_run_timestamp_seconds{playbook="site.yml"}': "0x10"}
    test = {"interval": "1m", "input_series": [{"series": series, "values": values} for series, values in bad.items()], "alert_rule_test": [
        {"eval_time": "5m", "alertname": "HccnHostFailed", "exp_alerts": [{
            "exp_labels": {"severity": "critical", "host": "npu3", "class": "failed"},
            "exp_annotations": {"summary": "npu3 is failed", "description": "The last run of hccn.cluster found npu3 failed. The report of the run has the "
                                                                            "evidence and the next step."}}]},
        {"eval_time": "5m", "alertname": "HccnRegression", "exp_alerts": []}, {"eval_time": "5m", "alertname": "HccnRunIncomplete", "exp_alerts": []},
        {"eval_time": "5m", "alertname": "HccnRunMissing", "exp_alerts": []}, {"eval_time": "5m", "alertname": "HccnSeriesDropped", "exp_alerts": []}]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": [test]}))
    done = real.promtool("test", "rules", str(tmp_path / "test.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_formats_have_the_same_series(running: real.Prometheus, text: str) -> None:
    wanted = len(re.findall(r"^hccn_", text, re.MULTILINE))
    counts = {found["metric"]["job"]: int(found["value"][1]) for found in running.until('count by (job) ({__name__=~"hccn_.*"})', 2)}
    assert wanted > 60 and counts == {"text": wanted, "openmetrics": wanted}


def test_queries_of_the_dashboard_have_results(running: real.Prometheus) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) == 14
    for query in queries:
        found = running.query(query.replace("$job", ".*"))
        assert found or any(name in query for name in SOMETIMES), query
    (variable,) = [one for one in dashboard["templating"]["list"] if one["type"] == "query"]
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()  # type: ignore[union-attr]
    assert {found["metric"][label] for found in running.query(metric)} == {"text", "openmetrics"}


def test_alerts_name_the_bad_hosts(running: real.Prometheus) -> None:
    found = running.until('ALERTS{alertname="HccnHostFailed",alertstate="firing",job="text"}', 2)
    assert {(one["metric"]["host"], one["metric"]["class"]) for one in found} == {("npu-node-060", "failed"), ("npu-node-062", "unreachable")}
    names = {one["metric"]["alertname"] for one in running.until('count by (alertname) (ALERTS{alertstate="firing",job="text"})', 4)}
    assert names == {"HccnHostFailed", "HccnHostDegraded", "HccnFabricComponentBad", "HccnRegression"}


def test_labels_are_those_of_the_dashboard(running: real.Prometheus) -> None:
    for name, labels in LABELS.items():
        found = running.query(f'{name}{{job="text"}}')
        assert set().union(*(one["metric"] for one in found)) == labels | {"__name__", "instance", "job"}
