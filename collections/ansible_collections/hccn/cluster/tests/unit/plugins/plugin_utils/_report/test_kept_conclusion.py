"""The conclusion of a run on its page: classes, findings and state, and pages without a conclusion."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import finding as made
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import export, html, markdown, model, prometheus

HEADER = {"schema": "hccn.cluster/history/1", "run_id": "r1", "started_at": "2026-11-20T10:15:30.000Z", "playbook": "site.yml"}
END = {"end": True, "finished_at": "2026-11-20T11:17:33.400Z", "records": 0, "hosts": {"localhost": {}, "npu3": {}}}
HOSTS = ["npu1", "npu2", "npu3", "npu4"]
LINK = made.finding("link_down", made.of_npus([("npu3", 5)]), "the link is down", devices=[("npu3", 5)], evidence=["hccn_tool -i 5 -link -g: link DOWN"],
                    next_step="On npu3: hccn_tool -i 5 -optical -g")
SLOW = made.finding("slow_npu", made.of_npus([("npu1", 0)]), "74 % below normal", devices=[("npu1", 0)], evidence=["npu1 NPU 0 to npu2 NPU 0: 50.2 Gbit/s"],
                    next_step="On npu1: hccn_tool -i 0 -optical -g")
LOST = made.finding("unreachable_host", made.of_host("npu4"), "no route to host", hosts=["npu4"], next_step="ansible npu4 -m ansible.builtin.ping -vvv")
PATH = made.finding("slow_fabric", made.Component("path", "path L1-L2"), "4 of its pairs are slow", hosts=["npu1", "npu2"],
                    next_step="Compare the ports of the switches on it")


def concluded(*findings: made.Finding, hosts: list[str] | None = None, fail_on: str = "slow", **classes: str) -> list[dict[str, Any]]:
    """Return the records as the callback stores them: a record without a host gets the host of its task."""
    records = conclude(HOSTS if hosts is None else hosts, classes, findings, fail_on).as_records()
    return [record if "hosts" in record else {**record, "source": {"host": "localhost"}} for record in records]


def verdict(host: str, name: str, message: str = "", evidence: Any = None) -> dict[str, Any]:
    return {"kind": "verdict", "status": "ok" if name == "good" else "failed", "source": {"host": host},
            "samples": [{"class": name, "message": message, "evidence": evidence or []}]}


FABRIC = {"kind": "verdict", "status": "failed", "samples": [{"kind": "path", "name": "path L1-L2", "class": "slow", "message": "4 of its pairs are slow"}]}
TASK = {"event": "failed", "host": "localhost", "task": "Conclude", "message": "The job failed"}


def build(records: list[dict[str, Any]], events: list[dict[str, Any]] | None = None, ended: bool = True) -> model.Page:
    file = RunFile(Path("/h/20261120T101530Z-r1.jsonl"), "r1", "20261120T101530Z", part=False)
    return model.build(Run(file, HEADER, records, events or [], END if ended else None))


def classes_and_reasons(page: model.Page) -> list[tuple[str, str, str]]:
    return [(line.host, line.verdict, line.sentence) for line in page.verdicts]


def english(markup: str) -> str:
    """Return the English text of a part of the page."""
    return " ".join(re.sub("<[^>]*>", " ", re.sub(r'<span lang="?zh-CN"?>.*?</span>', "", markup)).split())


def cards(page: model.Page) -> list[str]:
    """Return the texts of the cards of findings."""
    return [english(card) for card in re.findall("<article.*?>(.*?)</article>", html.render(page), re.DOTALL)]


def hosts_table(page: model.Page) -> list[str]:
    """Return the rows of the table of hosts that are not good."""
    section = html.render(page).partition('<section id="hosts_and_counts"')[2].partition("</section>")[0]
    return list(map(english, re.findall("<tr><td.*?</tr>", section, re.DOTALL)))


def test_conclusion_determines_the_class_of_each_host() -> None:
    records = [verdict("npu1", "slow", "NPU 0 is slow", ["50.2"]), verdict("npu2", "good"), verdict("npu3", "not_measured", "it was left out")]
    page = build([*records, *concluded(LINK, SLOW, LOST, npu1="slow", npu3="not_measured")], [TASK])
    assert classes_and_reasons(page) == [("npu3", "failed", "npu3 NPU 5: the link is down"), ("npu4", "unreachable", "no route to host"),
                                         ("npu1", "slow", "NPU 0 is slow"), ("npu2", "good", "")]
    assert [line.evidence for line in page.verdicts] == [["hccn_tool -i 5 -link -g: link DOWN"], [], ["50.2"], []]
    assert page.classes == {"failed": 1, "unreachable": 1, "slow": 1, "good": 1}
    assert (page.judged, page.facts.hosts, page.state) == (True, 5, "failed")


def test_reasons_of_hosts_without_a_finding() -> None:
    page = build(concluded(hosts=["npu1", "npu2"], npu2="busy"))
    assert classes_and_reasons(page) == [("npu2", "busy", "Nothing was measured on this host in this run."), ("npu1", "good", "")]


def test_host_with_many_findings_quotes_three() -> None:
    many = [made.finding("device_error", made.of_npus([("npu1", device)]), f"error {device}", devices=[("npu1", device)]) for device in range(5)]
    (line,) = build(concluded(*many, hosts=["npu1"])).verdicts
    assert line.sentence == "npu1 NPU 0: error 0; npu1 NPU 1: error 1; npu1 NPU 2: error 2; and 2 more"


def test_findings_come_first_and_are_not_repeated() -> None:
    page = build([verdict("npu1", "slow", "NPU 0 is slow"), FABRIC, *concluded(SLOW, LINK, PATH, npu1="slow")])
    assert cards(page) == [
        "✕ failed npu3 NPU 5 Link down the link is down Evidence hccn_tool -i 5 -link -g: link DOWN Next step On npu3: hccn_tool -i 5 -optical -g Copy",
        "◐ slow npu1 NPU 0 Slow NPU 74 % below normal Evidence npu1 NPU 0 to npu2 NPU 0: 50.2 Gbit/s Next step On npu1: hccn_tool -i 0 -optical -g Copy",
        "◐ slow path L1-L2 Slow part of the fabric 4 of its pairs are slow Next step Compare the ports of the switches on it"]
    assert hosts_table(page) == ["npu3 ✕ failed npu3 NPU 5: the link is down", "npu1 ◐ slow NPU 0 is slow"]
    text = html.render(page)
    assert text.index('<p class="head">') < text.index("<article") < text.index('<p class="sum">') < text.index('<section id="hosts_and_counts">')
    assert [row["name"] for row in export.document(page)["components"]] == ["path L1-L2"]


@pytest.mark.parametrize(("hosts", "findings", "headline", "chinese"), [
    (HOSTS, [LINK], "Result: failed. 4 hosts: 1 failed, 3 good.", "结论：失败。4 台主机：失败 1 台，正常 3 台。"),
    (["npu1"], [], "Result: good. 1 host: 1 good.", "结论：正常。1 台主机：正常 1 台。"),
    (["npu1", "npu2"], [PATH], "Result: slow. 2 hosts: 2 good.", "结论：慢。2 台主机：正常 2 台。"),
    ([], [made.finding("no_hosts", made.Component("run", "run"), "hccn_hosts is npus")], "Result: failed.", "结论：失败。"),
])
def test_headline(hosts: list[str], findings: list[made.Finding], headline: str, chinese: str) -> None:
    page = build(concluded(*findings, hosts=hosts))
    assert f'<p class="head"><span lang=en>{headline}</span><span lang=zh-CN>{chinese}</span></p>' in html.render(page)
    assert f"\n**{headline}**\n" in markdown.render(page) and f"\n**{chinese}**\n" in markdown.render(page, "zh")


@pytest.mark.parametrize(("findings", "classes", "ended", "state"), [
    ([LINK], {}, True, "failed"),
    ([LOST], {}, True, "failed"),
    ([SLOW], {}, True, "slow"),
    ([made.finding("mtu_differs", made.of_host("npu1"), "1500", hosts=["npu1"])], {}, True, "slow"),
    ([], {"npu1": "busy"}, True, "slow"),
    ([PATH], {}, True, "slow"),
    ([made.finding("not_measured", made.of_host("npu1"), "left out", hosts=["npu1"])], {}, True, "not_judged"),
    ([made.finding("collective_skipped", made.Component("cluster", "cluster"), "one host")], {}, True, "good"),
    ([], {}, True, "good"),
    ([], {}, False, "incomplete"),
    ([LINK], {}, False, "failed"),
])
def test_state_is_that_of_the_conclusion(findings: list[made.Finding], classes: dict[str, str], ended: bool, state: str) -> None:
    """Verdicts do not count separately, since the conclusion includes them."""
    assert build([verdict("npu2", "good"), FABRIC, *concluded(*findings, **classes)], [TASK], ended).state == state


def test_last_conclusion_counts_with_its_findings() -> None:
    page = build([*concluded(LINK, SLOW), *concluded(PATH, hosts=["npu1", "npu2"])])
    assert (page.classes, page.state, [one.component.name for one in page.findings]) == ({"good": 2}, "slow", ["path L1-L2"])
    again = build([*concluded(LINK, SLOW), *concluded(hosts=["npu1"])])
    assert (again.classes, again.findings, again.state) == ({"good": 1}, [], "good")
    assert cards(again) == [] and "## Findings\n\nNo problem was found." in markdown.render(again)


def test_run_interrupted_before_its_conclusion_shows_its_findings() -> None:
    page = build([verdict("npu2", "good"), *concluded(LINK)[:-1]], ended=False)
    assert (page.conclusion, [one.cause for one in page.findings], page.state) == (None, ["link_down"], "failed")
    assert cards(page)[0].startswith("✕ failed npu3 NPU 5 Link down the link is down Evidence hccn_tool -i 5 -link -g: link DOWN")
    assert "1 of 1 hosts" not in html.render(page) and "The host is good." in html.render(page)


OLD = {"kind": "finding", "id": "r/finding/collective/1", "status": "failed", "hosts": ["npu1"], "samples": [
    {"kind": "group", "name": "npu1", "class": "slow", "message": "a collective over npu1 is slow", "evidence": ["slow over npu1: 3 GB/s"]}]}
NEW = {"kind": "finding", "id": "r/finding/collective/1", "status": "failed", "hosts": ["npu1"], "samples": [
    made.finding("collective_slow", made.of_host("npu1"), "a collective over it is slow", hosts=["npu1"]).as_sample()]}


def test_findings_of_a_collective_without_a_conclusion() -> None:
    old, new = build([OLD]), build([NEW])
    assert cards(old)[0].startswith("◐ slow npu1 Slow part of the fabric a collective over npu1 is slow Evidence slow over npu1: 3 GB/s")
    assert (old.state, old.findings) == ("slow", [])
    assert cards(new)[0].startswith("◐ slow npu1 Slow collective a collective over it is slow")
    assert (new.state, new.fabric) == ("slow", [])


def test_findings_of_a_collective_with_a_conclusion() -> None:
    for record in (OLD, NEW):
        page = build([record, *concluded(LINK)])
        assert [one.cause for one in page.findings] == ["link_down"]
        assert (len(cards(page)), len(hosts_table(page))) == (1, 1)


@pytest.mark.parametrize("sample", [None, "x", 7, [], {}, {"result": "odd", "hosts": {"good": ["n1"]}}, {"result": ["failed"]}])
def test_malformed_conclusion_is_ignored(sample: Any) -> None:
    records = [verdict("npu1", "slow", "m"), {"kind": "conclusion", "id": "conclusion/run", "status": "failed", "samples": [sample]}]
    assert (build(records).conclusion, build(records).classes) == (None, {"slow": 1, "not_measured": 1})


def test_malformed_parts_of_a_conclusion_are_skipped() -> None:
    odd: list[Any] = [None, "x", 7, [], {}, {"component": {}}, {"component": {"kind": ["npu"], "name": 7}}, LINK.as_sample()]
    samples = [{"kind": "finding", "id": "conclusion/finding/1", "status": "failed", "samples": odd}, {"kind": "finding", "id": "conclusion/finding/2"}]
    hosts = {"failed": ["npu3", 7], "good": ["npu3"], "slow": "npu9", "odd <b>": ["n1"]}
    last = {"kind": "conclusion", "samples": [{"result": "failed", "fail_on": 7, "hosts": hosts}]}
    page = build([*samples, last])
    assert [one.cause for one in page.findings] == ["link_down"]
    assert [(line.host, line.verdict) for line in page.verdicts] == [("n1", "odd <b>"), ("7", "failed"), ("npu3", "failed")]
    assert "1 odd &lt;b&gt;, 2 failed." in html.render(page) and "1 odd \\<b\\>, 2 failed." in markdown.render(page)


def test_page_of_many_hosts_is_small() -> None:
    hosts = [f"npu{number}" for number in range(512)]
    same = [made.finding("mtu_differs", made.of_host(host), "the MTU is 1500, that of the others 4096", hosts=[host]) for host in hosts]
    own = [made.finding("link_down", made.of_npus([(host, 0)]), f"the link went down {int(host[3:])} s ago", devices=[(host, 0)]) for host in hosts]
    page = build(concluded(*same, *own, hosts=hosts))
    assert (len(page.findings), len(page.rows), len(cards(page)), len(hosts_table(page))) == (1024, 513, 50, 100)
    text = html.render(page)
    assert "463 more findings are not shown here; see the history." in text and "412 more hosts are not shown here" in text
    assert len(text) < 300_000
    (row,) = build(concluded(*same, hosts=hosts)).rows
    assert row.component.name == "npu0, npu1, npu2 ... (512 hosts)"


def test_markdown() -> None:
    text = markdown.render(build(concluded(LINK, SLOW, LOST)))
    assert text.startswith(
        "# Fabric report\n\n**Result: failed. 4 hosts: 1 failed, 1 unreachable, 1 slow, 1 good.**\n\n"
        "Run r1, 2026-11-20 10:15:30 UTC, `site.yml`, 1 h 2 min 3 s\n\n"
        "## Findings\n\n| Severity | Component | Message | Next step |\n| --- | --- | --- | --- |\n"
        "| failed | npu3 NPU 5 | the link is down<br>hccn\\_tool -i 5 -link -g: link DOWN | On npu3: hccn\\_tool -i 5 -optical -g |\n"
        "| failed | npu4 | no route to host | ansible npu4 -m `ansible.builtin.ping` -vvv |\n"
        "| slow | npu1 NPU 0 | 74 % below normal<br>npu1 NPU 0 to npu2 NPU 0: 50.2 Gbit/s | On npu1: hccn\\_tool -i 0 -optical -g |\n\n"
        "## Verdict\n\n1 failed, 1 unreachable, 1 slow, 1 good\n\n- failed: npu3\n- unreachable: npu4\n- slow: npu1\n\n")
    many = [made.finding("link_down", made.of_npus([("npu1", number)]), f"{number}", devices=[("npu1", number)]) for number in range(52)]
    assert "\n2 more findings are not shown here; see the history.\n" in markdown.render(build(concluded(*many)))


def test_json_artifacts_and_metrics() -> None:
    page = build(concluded(SLOW, LINK, fail_on="failed"))
    found = json.loads(export.render(page))
    assert found["conclusion"] == {"result": "failed", "fail_on": "failed"}
    assert found["findings"][0] == {
        "component": {"kind": "npu", "name": "npu3 NPU 5"}, "cause": "link_down", "severity": "failed", "message": "the link is down", "hosts": ["npu3"],
        "devices": [{"host": "npu3", "device": 5}], "evidence": [{"code": "text", "message": "hccn_tool -i 5 -link -g: link DOWN"}],
        "next_step": "On npu3: hccn_tool -i 5 -optical -g"}
    assert (found["findings"][1]["cause"], found["classes"]) == ("slow_npu", {"failed": 1, "slow": 1, "good": 2})
    assert export.artifacts(page, "/r.html")["findings"] == {"failed": 1, "slow": 1}
    lines = prometheus.render(page, None).splitlines()
    assert [line for line in lines if line.startswith("hccn_findings")] == [
        'hccn_findings{severity="failed"} 1', 'hccn_findings{severity="slow"} 1', 'hccn_findings{severity="degraded"} 0',
        'hccn_findings{severity="unknown"} 0', 'hccn_findings{severity="note"} 0']
    without = build([verdict("npu1", "good")])
    assert json.loads(export.render(without))["conclusion"] is None and "hccn_findings" not in prometheus.render(without, None)


def test_conclusion_is_not_a_failed_result() -> None:
    assert build(concluded(LINK)).failures == []


EVIL = "<script>alert(1)</script>\" onload=\"x"


def test_texts_of_findings_are_escaped() -> None:
    sample = {"component": {"kind": "host", "name": EVIL}, "cause": EVIL, "severity": "failed", "message": EVIL, "hosts": [EVIL], "evidence": [EVIL],
              "next_step": EVIL, "stage": EVIL}
    records = [{"kind": "finding", "id": "conclusion/finding/1", "samples": [sample]},
               {"kind": "conclusion", "samples": [{"result": "failed", "fail_on": EVIL, "hosts": {"failed": [EVIL], EVIL: ["n2"]}}]}]
    text = html.render(build(records))
    assert text.count("<script") == 2 and text.count("&lt;script&gt;alert(1)&lt;/script&gt;&#34; onload=&#34;x") >= 6
