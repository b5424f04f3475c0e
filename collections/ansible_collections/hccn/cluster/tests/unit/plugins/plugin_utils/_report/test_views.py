"""Devices, coverage and trends of a page, and the page as Markdown, JSON and metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import baseline, query
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.summary import summarise
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import PlanRecord, plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import (
    charts,
    coverage,
    device_tables,
    export,
    heatmaps,
    html,
    markdown,
    model,
    prometheus,
    trends,
)
from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made

END = {"end": True, "finished_at": "2026-11-20T11:17:33.400Z", "records": 0, "hosts": {}}


def run(records: list[dict[str, Any]], night: int = 1) -> Run:
    stamp = f"202611{night:02}T021500Z"
    header = {"schema": "hccn.cluster/history/1", "run_id": f"night-{night}", "started_at": f"2026-11-{night:02}T02:15:00.000Z", "playbook": "check_fabric.yml"}
    return Run(RunFile(Path(f"/h/{stamp}-night-{night}.jsonl"), f"night-{night}", stamp, part=False), header, records, [], END)


def device(host: str, number: int, status: str = "ok", **sample: Any) -> dict[str, Any]:
    return {"kind": "device", "status": status, "source": {"host": host, "device": number}, "context": {"product": "A3"}, "samples": [sample]}


def test_npus_in_natural_order_with_their_last_state() -> None:
    failed = {**device("n2", 10, "failed"), "error": {"message": "device not ready"}, "samples": []}
    found = device_tables.build([device("n10", 0, tls=False, link="up"), failed, device("n2", 9, tls=True, address="192.0.2.9"), device("n2", 9, tls=False)])
    assert [(group.host, group.product, [(one.id, one.address, one.tls, one.errors) for one in group.devices]) for group in found.hosts] == [
        ("n2", "A3", [("9", "192.0.2.9", "disabled", ""), ("10", "", "", "device not ready")]), ("n10", "A3", [("0", "", "disabled", "")])]
    assert (found.count, found.hidden, found.odd) == (3, 0, 1)
    assert (found.tls, found.links) == ([("disabled", 2), ("", 1)], [("", 2), ("up", 1)])


@pytest.mark.parametrize(
    ("sample", "odd"),
    [
        ({"link": "down"}, ("link",)),
        ({"link": "UP", "health": "Success", "tls": False}, ()),
        ({"health": "receive_timeout"}, ("health",)),
        ({"tls": True}, ("tls",)),
        ({"optical": {"present": True, "temperature_c": 41.0, "rx_power0_mw": 0.9, "rx_power1_mw": 0.2, "rxpower_low_thres_mw": 0.0}}, ("optics",)),
        ({"optical": {"present": False}}, ()),
        ({"counters": {"roce_new_pkt_rty_num": 7, "roce_rx_all_pkt_num": 9}}, ("counters",)),
    ],
)
def test_unusual_values(sample: dict[str, Any], odd: tuple[str, ...]) -> None:
    usual = [device("n1", number, tls=False, link="up", optical={"rx_power0_mw": 0.9}) for number in range(4)]
    found = device_tables.build([*usual, device("n9", 0, **sample)])
    assert found.hosts[-1].devices[0].odd == odd


def test_growth_of_counters_during_the_run() -> None:
    looks = [device("n1", 0, counters={"roce_new_pkt_rty_num": value, "mac_rx_fcs_err_pkt_num": 3}) for value in (5, 9)]
    shown = device_tables.build(looks).hosts[0].devices[0]
    assert shown.counters == ["roce_new_pkt_rty_num +4", "mac_rx_fcs_err_pkt_num 3"]
    other = device_tables.build([device("n1", 0, link_changes={"downs": 2}, optical={"temperature_c": 41.4, "rx_power0_mw": 0.812})]).hosts[0].devices[0]
    assert (other.link_downs, other.optics) == ("2", "41 °C, rx 0.81 mW")


def test_of_many_npus_only_unusual_ones_are_listed() -> None:
    many = [device(f"n{number}", 0, link="down" if number == 70 else "up") for number in range(80)]
    found = device_tables.build(many)
    assert (found.count, found.hidden, found.hidden_odd, found.odd, [group.host for group in found.hosts]) == (80, 79, 0, 1, ["n70"])


def test_unlisted_unusual_npus_are_counted_separately() -> None:
    many = [device(f"n{number}", 0, link="down" if number < 70 else "up") for number in range(80)]
    found = device_tables.build(many)
    assert (found.hidden, found.hidden_odd, found.odd) == (16, 6, 70)
    page = model.build(run(many))
    text = html.render(page)
    assert "6 more NPUs with unusual values are not listed; see the history." in text and "10 NPUs without unusual values are not listed." in text
    assert "另有 6 个异常的 NPU 未列出，详见历史记录。" in text and "其余 10 个 NPU 无异常，未列出。" in text
    assert "\n\n20 more NPUs with unusual values are not listed" in markdown.render(page)
    assert json.loads(export.render(page))["devices"]["hidden_odd"] == 6
    assert "without unusual values" not in html.render(model.build(run(many[:70])))


def test_npus_are_compared_with_most_others() -> None:
    same = [device(f"n{number}", number, tls=number == 3, link="up") for number in range(6)]
    found = device_tables.build([*same, device("n9", 0, tls=False, link="up", optical={"temperature_c": 40.0})])
    assert found.common == [("link", "up")]
    assert found.differing == ["tls", "optics"]
    assert [(host, one.id, one.tls, one.odd) for host, one in found.differ] == [("n3", "3", "enabled", ("tls",)), ("n9", "0", "disabled", ())]
    assert found.left == (0, 5)


def covered(records: list[dict[str, Any]], hosts: list[str]) -> coverage.Coverage:
    return coverage.build(run(records), heatmaps.PairResults(records), hosts)


def test_coverage() -> None:
    records = [made.pair("n1", "n2", 100.0), made.pair("n2", "n1", 99.0), made.pair("n1", "n3", None), {**made.pair("n3", "n1", None), "status": "not_run"}]
    assert covered(records, ["n1", "n2", "n3"]) == coverage.Coverage(3, 2, ["n3"], 1, 3, 2, 1, 1, [])
    row = made.row("n1", lambda _source, target: 100.0 if target == "n2" else None)
    assert covered([row], made.HOSTS).not_measured == ["n3", "n4"]


def planned(kind: str = "full", **options: Any) -> dict[str, Any]:
    """Return the record of a plan over four hosts with two NPUs on two leaves; the second NPU of n4 has no address."""
    given = [{"host": f"n{number}", "control_address": f"192.0.2.{number}", "control_port": 1, "leaf": "L1" if number < 3 else "L2", "super_pod": "s",
              "devices": [{"id": device, "address": f"10.{device}.0.{number}"} for device in range(1 if number == 4 else 2)]} for number in (1, 2, 3, 4)]
    left_out = [{"host": "n4", "device": 1, "code": "address_not_set", "message": "it has no address"}]
    return plan_record("r", make_plan(given, kind, **options), [*made.HOSTS, "n9"], left_out, ["a full plan", "sees all"])


@pytest.mark.parametrize("compact", [True, False])
def test_results_of_planned_pairs(compact: bool) -> None:
    plan = planned(compact=compact)
    pairs = PlanRecord(plan).pairs(100) or []
    assert len(pairs) == 9
    (one, other), *_rest, failed, skipped = pairs
    records = [made.pair(source[0], target[0], 100.0 if (source, target) != failed else None, source[1])
               for source, target in pairs if (source, target) not in ((one, other), skipped)]
    records.append({**made.pair(skipped[0][0], skipped[1][0], None, skipped[0][1]), "status": "not_run"})
    found = covered([plan, *records], ["n1", "n2", "n3", "n4", "n9"])
    assert found.planned == coverage.Planned(
        "full", "roce_test", 9, 6, 1, 1, 1, [f"{one[0]} NPU {one[1]} to {other[0]} NPU {other[1]}"],
        ["n4 NPU 1: it has no address", "n9: not in the plan"], 7, 2, 1, {"inventory": 7})
    assert found.notes == ["a full plan", "sees all"]
    assert found.not_measured == ["n9"]


def test_large_plan_is_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "MOST_EXPANDED", 3)
    found = covered([planned(), made.pair("n1", "n2", 100.0)], made.HOSTS).planned
    assert found is not None and (found.pairs, found.measured, found.not_measured, found.missing) == (9, 1, 8, [])


def test_confirmation_run_does_not_change_the_plan() -> None:
    again = {**planned(), "samples": [{"confirmation_of": "r", "pairs": 3, "text": ["again"]}]}
    found = covered([again, planned("quick", compact=True, budget=0.15), again], made.HOSTS)
    assert found.planned is not None and (found.planned.plan, found.planned.left_out[-1]) == (
        "quick", "1 rounds, 3 pairs: excluded, the plan exceeds its budget")
    assert found.notes == ["again", "a full plan", "sees all"]


def test_page_shows_the_plan_and_unmeasured_leaves() -> None:
    records = [planned(), made.pair("n1", "n2", 100.0), made.pair("n2", "n1", 99.0)]
    page = model.build(run(records))
    assert page.maps is not None and page.maps.leaves is not None
    assert (page.maps.leaves.rows, page.maps.leaves.values) == (["L1", "L2"], [[99.5, None], [None, None]])
    text = html.render(page)
    assert '<span lang=en>9 (full): 1 measured, 0 failed, 0 not run, 8 without any result</span>' in text
    assert '<dd>n4 NPU 1: it has no address; <span lang=en>n9: not in the plan</span><span lang=zh-CN>n9：未列入计划</span></dd>' in text
    assert '<span lang=en>2, of 7 of 7 NPUs</span><span lang=zh-CN>2 台，覆盖 7 个 NPU 中的 7 个</span>\n(<span lang=en>inventory</span>' in text
    lines = markdown.render(page)
    assert "- Planned pairs of NPUs: 9 (full): 1 measured, 0 failed, 0 not run, 8 without any result\n" in lines
    assert "- Excluded from the plan: n4 NPU 1: it has no address\n" in lines
    assert "- Leaf switches known: 2, of 7 of 7 NPUs (inventory 7)\n- Super pods known: 1\n" in lines
    coverage = json.loads(export.render(page))["coverage"]["planned"]
    assert (coverage["pairs"], coverage["not_measured"], coverage["npus_by_leaf_source"]) == (9, 8, {"inventory": 7})
    assert export.artifacts(page, "")["coverage"] == {"hosts": 4, "hosts_measured": 2, "pairs_met": 1, "pairs_possible": 6, "pairs_planned": 9,
                                                      "pairs_not_measured": 8}
    assert "Planned pairs" not in html.render(model.build(run(records[1:])))


@pytest.fixture(scope="module")
def comparison() -> query.BaselineComparison:
    """Return a night with a slow NPU compared with the nine good nights before."""
    nights = [run([*made.night(day, slow=0.8 if day == 10 else 1.0)], day) for day in range(1, 11)]
    current, *earlier = [summarise(one) for one in reversed(nights)]
    known = baseline.compute_baselines(earlier)
    return query.BaselineComparison(current, earlier, known, baseline.find_regressions(current, earlier, known))


@pytest.fixture(scope="module")
def page(comparison: query.BaselineComparison) -> model.Page:
    verdict = {"kind": "verdict", "status": "failed", "source": {"host": "n3"}, "samples": [
        {"class": "slow", "message": "NPU 1 is slow | [x](y) <b>", "evidence": ["n3 NPU 1 to n1 NPU 1: 156"]}]}
    good = [{"kind": "verdict", "status": "ok", "source": {"host": host}, "samples": [{"class": "good", "message": ""}]} for host in ("n1", "n2", "n4")]
    looks = [device("n1", 0, link="down", tls=False), device("n2", 0, link="up", tls=False)]
    broken = {**made.pair("n2", "n1", None), "error": {"code": "timeout", "message": "no answer\nfor long"}}
    return model.build(run([*made.night(10, slow=0.8), verdict, *good, *looks, broken], 10), "Cluster A", comparison=comparison)


def test_trends_end_with_this_run_and_have_a_baseline(page: model.Page) -> None:
    whole, *_collectives, end = page.trends
    assert (whole.group.kind, whole.worse, whole.endpoint, len(whole.points), whole.points[-1].run_id) == ("rdma", False, "", 10, "night-10")
    assert whole.baseline is not None and whole.limit is not None and whole.limit < whole.baseline.median
    assert (end.endpoint, end.worse, len(end.points), end.points[0].least) == ("n3 NPU 1", True, 10, None)
    assert page.maps is not None and page.maps.expected.basis == "history"
    assert (page.regression_count, page.state) == (1, "slow")
    assert trends.build(None) == []


def test_page_draws_trends(page: model.Page) -> None:
    text = html.render(page)
    assert text.count('<svg class="chart"') == len(page.trends) + 1
    assert "n3 NPU 1, <span lang=en>rdma write bandwidth at 64 KiB, same rail, A2</span><span lang=zh-CN>RDMA write 带宽 @ 64 KiB, 同轨, A2</span>" in text
    assert ">2026-11-01 02:15</text>" in text and ">2026-11-10 02:15</text>" in text
    assert '<line class="base"' in text and '<line class="limit"' in text
    assert "<title>night-10 20261110T021500Z: " in text


@pytest.mark.parametrize(
    ("greatest", "top", "step"),
    [(195.9, 200.0, 50.0), (80.0, 80.0, 20.0), (7.3, 8.0, 2.0), (0.09, 0.1, 0.02), (0, 1.0, 0.5), (1000.0, 1000.0, 200.0)],
)
def test_axes_start_at_zero_and_end_at_a_round_number(greatest: float, top: float, step: float) -> None:
    axis = charts.Axis.upto(greatest)
    assert axis.marks()[0] == 0 and 2 <= len(axis.marks()) <= 7
    assert axis.top >= greatest and (round(axis.top, 6), round(axis.step, 6)) == (top, step)


def test_markdown(page: model.Page) -> None:
    text = markdown.render(page)
    head = "# Cluster A\n\n**1 of 4 hosts is not good. 1 value is worse than its baseline.**\n\nRun night-10, 2026-11-10 02:15:00 UTC, `check_fabric.yml`"
    assert text.startswith(head)
    assert "| n3 | slow | NPU 1 is slow \\| \\[x\\]\\(y\\) \\<b\\><br>n3 NPU 1 to n1 NPU 1: 156 |" in text
    assert "| n1 | 0 | Link: down |" in text
    assert "| n2 NPU 0 to n1 NPU 0 | rdma write | timeout | no answer for long |" in text
    assert "- Pairs of hosts measured: 6 of 6" in text
    assert re.search(r"\| n3 NPU 1, rdma write bandwidth at 64 KiB, same rail, A2 \| 1\d\d\.\d Gbit/s \| 19\d\.\d Gbit/s \| \d+\.\d % \| step \|", text)
    chinese = markdown.render(page, "zh")
    assert "**4 台主机中有 1 台不正常。 有 1 项比基线差。**" in chinese
    empty = markdown.render(model.build(run([])))
    assert "**No host has a result in this run.**" in empty and empty.endswith("\n")


@pytest.mark.parametrize(("text", "written"), [
    ("NPU 1 is slow", "NPU 1 is slow"),
    ("node_1 *a* [x](y) <b> `c` a|b ~~d~~ \\\\ &lt;", r"node\_1 \*a\* \[x\]\(y\) \<b\> \`c\` a\|b `~~d~~` \\\\ `&lt;`"),
    ("195.9 Gbit/s at 10:15:00 of 64 KiB, 1.5 %", "195.9 Gbit/s at 10:15:00 of 64 KiB, 1.5 %"),
    ("see https://a.example/x?b=c now", "see `https://a.example/x?b=c` now"),
    ("HTTP://A //b ftp://c", "`HTTP://A` `//b` `ftp://c`"),
    ("www.a.example n1.a.example 163.com", "`www.a.example` `n1.a.example` `163.com`"),
    ("root@n1 @everyone (@user) mailto:a xmpp:b", "`root@n1` `@everyone` `(@user)` `mailto:a` `xmpp:b`"),
    ("#1 !2 org/repo#3 GH-4 %5 &6 ~bug $7", "`#1` `!2` `org/repo#3` `GH-4` `%5` `&6` `~bug` `$7`"),
    ("594b8950 a594b8950b-c 1234567", "`594b8950` `a594b8950b-c` `1234567`"),
    (":x: :+1: :100: :8ball:", "`:x:` `:+1:` `:100:` `:8ball:`"),
    ("$a b$ $$c$$", "`$a` `b$` `$$c$$`"),
    ("@a|@b |@c", r"`@a`\|`@b` \|`@c`"),
    ("`@a` @`` ``@ @`b``c", "`` `@a` `` ``` @`` ``` ``` ``@ ``` ```@`b``c```"),
    ("- x", "`-` x"),
    ("1. x 2. y", "`1.` x 2. y"),
    ("--- ===", "`---` ==="),
    ("a\x1b[31mb\u202ec\u200bd", "a\ufffd\\[31mb\ufffdc\ufffdd"),
    ("网卡 n1：故障", "网卡 n1：故障"),
    ("", ""),
])
def test_untrusted_text_in_markdown_is_escaped(text: str, written: str) -> None:
    assert markdown.safe(text) == written


def test_class_that_equals_a_translation_key_is_shown_as_a_word() -> None:
    odd = {"schema": "hccn.cluster/measurement/1", "id": "v", "kind": "verdict", "status": "failed", "source": {"host": "n1"},
           "samples": [{"class": "some_bad", "message": "m"}]}
    assert "| n1 | some bad | m |" in markdown.render(model.build(run([odd])))


def test_json(page: model.Page) -> None:
    text = export.render(page)
    found = json.loads(text)
    assert (found["schema"], found["state"], found["classes"], found["run"]["run_id"]) == ("hccn.cluster/report/1", "slow", {"slow": 1, "good": 3}, "night-10")
    assert [one["name"] for one in found["maps"]] == ["pairs", "rails"]
    assert found["maps"][0]["rows"] == made.HOSTS and found["maps"][0]["failed"] == [[1, 0]]
    assert (found["regressions"][0]["host"], found["regressions"][0]["device"]) == ("n3", 1)
    assert text.count("\n") == len(found) + 2


def test_artifacts(page: model.Page) -> None:
    found = export.artifacts(page, "/srv/r.html")
    assert {key: found[key] for key in ("run_id", "path", "state", "hosts", "bad_hosts", "components", "regressions")} == {
        "run_id": "night-10", "path": "/srv/r.html", "state": "slow", "hosts": {"slow": 1, "good": 3}, "bad_hosts": ["n3"], "components": [], "regressions": 1}
    assert found["worst"]["source"] == "n2 NPU 0" and found["worst"]["value"] is None
    assert export.artifacts(model.build(run([])), "")["worst"] == {}


METRIC = re.compile(r'(hccn_[a-z_]+)(\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})? -?[0-9.e+-]+')


def test_metrics(page: model.Page, comparison: query.BaselineComparison) -> None:
    lines = prometheus.render(page, comparison).splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert [line for line in samples if not METRIC.fullmatch(line)] == []
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    assert [line.split()[1:3] for line in lines if line.startswith("# HELP")] == [["HELP", name] for name in families]
    named = {line.split(" ")[0] if " " not in line.rsplit("} ", 1)[0] else line.rsplit(" ", 1)[0]: line.rsplit(" ", 1)[1] for line in samples}
    assert named['hccn_hosts{class="slow"}'] == "1" and named["hccn_regressions"] == "1"
    assert named['hccn_run_timestamp_seconds{playbook="check_fabric.yml"}'] == "1794276900"
    assert any(line.startswith('hccn_bandwidth_bytes_per_second{kind="rdma"') and 'stat="median"} 2.4' in line for line in samples)
    assert any(line.startswith('hccn_bandwidth_bytes_per_second{kind="collective"') and '"} 8' in line for line in samples)
    assert any(line.startswith("hccn_baseline_ratio{") for line in samples)
    assert prometheus.render(model.build(run([])), None).count("\n") < 25


def test_pairs_have_no_metric_series() -> None:
    records = [made.pair(f"n{one}", f"n{other}", 100.0 + one) for one in range(40) for other in range(40) if one != other]
    now = summarise(run(records))
    text = prometheus.render(model.build(run(records)), query.BaselineComparison(now, [], {}, []))
    assert len(text.splitlines()) < 60


def test_label_values_are_escaped() -> None:
    odd = made.pair('n"1\\', "n\n2", 100.0)
    lines = prometheus.render(model.build(run([odd])), None).splitlines()
    assert [line for line in lines if not line.startswith("#") and not METRIC.fullmatch(line)] == []
    assert any('host="n\\"1\\\\"' in line for line in lines)


def test_group_in_which_everything_failed_comes_first() -> None:
    nights = [run(made.night(day), day) for day in range(1, 7)]
    nights.append(run([made.pair("n1", "n2", None), made.collective(80.0)], 7))
    current, *earlier = [summarise(one) for one in reversed(nights)]
    known = baseline.compute_baselines(earlier)
    page = model.build(nights[-1], comparison=query.BaselineComparison(current, earlier, known, baseline.find_regressions(current, earlier, known)))
    assert [(trend.group.kind, trend.worse, trend.points[-1].run_id, trend.points[-1].value) for trend in page.trends][:2] == [
        ("rdma", True, "night-7", None), ("collective", False, "night-7", 80.0)]
    text = html.render(page)
    assert '>✕</text>' in text and text.count('class="now"') == 2
    row = "| rdma write bandwidth at 64 KiB, same rail, A2 | – | 194.9 Gbit/s | 100.0 % | failed |"
    assert row in markdown.render(page)
    assert json.loads(export.render(page))["regressions"][0]["now"] is None


def test_pinned_baseline_needs_no_earlier_run() -> None:
    sound = baseline.compute_baselines([summarise(run(made.night(day), day)) for day in range(1, 7)])
    records = made.night(10, level=150.0)
    now = summarise(run(records, 10))
    page = model.build(run(records, 10), comparison=query.BaselineComparison(now, [], sound, baseline.find_regressions(now, [], sound)))
    assert [(trend.group.kind, trend.worse, len(trend.points)) for trend in page.trends] == [
        ("rdma", True, 1), ("collective", False, 1), ("collective", False, 1)]
    row = r"rdma write bandwidth at 64 KiB, same rail, A2( \||</span>)"
    for text in (html.render(page), markdown.render(page)):
        assert re.search(row, text) and "No earlier run of the same kind" not in text
    assert "Trends" not in markdown.render(model.build(run(records, 10), comparison=query.BaselineComparison(now, [], {}, [])))


def test_page_does_not_call_values_without_a_baseline_good() -> None:
    """With too few runs for a baseline, a collective that fell to a third is not "not worse", and the change is stated."""
    before, now = summarise(run([made.collective(90.0)], 1)), run([made.collective(30.0)], 2)
    page = model.build(now, comparison=query.BaselineComparison(summarise(now), [before], {}, []))
    text = html.render(page)
    assert "none is worse" not in text and "values have no baseline yet: 5 complete runs of the same kind are required." in text
    assert page.changes is not None and [(one.before, one.now, one.percent) for one in page.changes.values] == [(9.0, 3.0, -66.7), (90.0, 30.0, -66.7)]
    assert "-66.7 %" in text
