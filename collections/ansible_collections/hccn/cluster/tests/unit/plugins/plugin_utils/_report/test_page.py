"""The HTML page of a run: its content, and that it is a single safe file."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html as pages
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import model, translations

HEADER = {
    "schema": "hccn.cluster/history/1",
    "run_id": "r1",
    "started_at": "2026-11-20T10:15:30.000Z",
    "playbook": "check_fabric.yml",
    "controller": "c1",
    "ansible_core": "2.19.14",
    "collection": "1.0.0",
    "check_mode": False,
}
END = {"end": True, "finished_at": "2026-11-20T11:17:33.400Z", "records": 0, "hosts": {}}
DEVICE = {
    "kind": "device",
    "status": "ok",
    "tool": {"name": "hccn_tool"},
    "source": {"host": "n1", "device": 0, "address": "192.0.2.1"},
    "context": {"product": "A3"},
    "samples": [{"address": "192.0.2.1", "netmask": "255.255.255.0", "gateway": "192.0.2.254", "tls": True, "link": "UP", "health": "Success"}],
}
RDMA = {
    "kind": "rdma",
    "status": "ok",
    "operation": "write",
    "tool": {"name": "ib_write_bw", "version": "6.29 (sim)"},
    "source": {"host": "n1", "device": 0},
    "target": {"host": "n2", "device": 0},
    "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.94, "latency_us": {"typical": 2.01}}],
}
COLLECTIVE = {
    "kind": "collective",
    "status": "ok",
    "operation": "all_reduce",
    "tool": {"name": "all_reduce_test"},
    "hosts": ["n1", "n2"],
    "ranks": 16,
    "samples": [{"size_bytes": 1048576, "time_us": 120.25, "algbw_gbyte_s": 8.72, "busbw_gbyte_s": 16.35, "check": "success"}],
}
VERDICT = {
    "kind": "verdict",
    "status": "failed",
    "source": {"host": "n2"},
    "samples": [{"class": "slow", "message": "NPU 0 is slow", "evidence": ["slow with 3 of 3 good partners"]}],
}
PATH = {
    "kind": "verdict",
    "status": "failed",
    "samples": [
        {"kind": "path", "name": "path L1-L2", "class": "slow", "certain": False, "message": "4 of its pairs are slow", "evidence": ["n9 to n17: 155.9"]}
    ],
}
BROKEN = {
    "kind": "rdma",
    "status": "failed",
    "operation": "read",
    "source": {"host": "n2", "device": 1},
    "target": {"host": "n1", "device": 1},
    "error": {"code": "connection_refused", "message": "nobody listens", "hint": "look at the firewall"},
}
TASK = {"event": "failed", "host": "n3", "task": "Measure", "message": "it broke", "ignored": True}


def run(records: list[dict[str, Any]], events: list[dict[str, Any]] | None = None, **more: Any) -> Run:
    """Return a finished run, or one with another ``end`` line."""
    file = RunFile(Path("/h/20261120T101530Z-r1.jsonl"), "r1", "20261120T101530Z", part=False)
    return Run(file, HEADER, records, events or [], more.pop("end", END), **more)


def page(records: list[dict[str, Any]], events: list[dict[str, Any]] | None = None, **more: Any) -> str:
    return pages.render(model.build(run(records, events, **more)))


FETCHING = ("src", "href", "srcset", "action", "data", "poster")


class Text(html.parser.HTMLParser):
    """Collects the text of every section in one language, and every attribute that could load or run something."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.fetching: list[tuple[str, str | None]] = []
        self.tags: list[str] = []
        self._language = language
        self._section = ""
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetching += [(name, value) for name, value in attrs if name in FETCHING or name.startswith("on")]
        if tag == "section":
            self._section = dict(attrs)["id"] or ""
        self._hidden = tag in ("script", "style", "figcaption") or (tag == "span" and dict(attrs).get("lang", self._language) != self._language)

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False
        if tag == "main":
            self._section = ""

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        if self._section and words and not self._hidden:
            self.sections[self._section] = f"{self.sections.get(self._section, '')} | {words}".removeprefix(" | ")


def read(text: str, language: str = "en") -> Text:
    parser = Text(language)
    parser.feed(text)
    return parser


def test_all_sections_of_a_complete_run() -> None:
    seen = read(page([DEVICE, RDMA, COLLECTIVE, VERDICT, PATH, BROKEN], [TASK], bad_lines=1, unknown_lines=2))
    assert list(seen.sections) == ["verdict", "worst", "maps", "trends", "collectives", "latency", "devices", "coverage", "failures", "about"]
    assert seen.sections["verdict"] == (
        "3 of 3 hosts are not good. 1 component of the fabric is not good. | 1 | ✕ | failed | 1 | ◐ | slow | 1 | ○ | not measured | "
        "Host | Class | Reason | path L1-L2 | (fabric) | , | possible | ◐ | slow | 4 of its pairs are slow | n9 to n17: 155.9 | "
        "n1 | ✕ | failed | 1 of 4 results failed, the last: nobody listens | "
        "n2 | ◐ | slow | NPU 0 is slow | slow with 3 of 3 good partners | "
        "n3 | ○ | not measured | Nothing was measured on this host in this run. | "
        "Worst pairs | Pair matrix | Trends and baseline | Collectives | Latency | Devices | Coverage | Failures | "
        "About this run"
    )
    assert seen.sections["worst"] == (
        "Worst pairs | rdma write bandwidth at 64 KiB (ib_write_bw). | 100 % = 195.9 Gbit/s, the median of this run | . | "
        "Sender | Receiver | Value | Share of expected | Evidence | "
        "n2 NPU 1 | n1 NPU 1 | ✕ | failed | – | nobody listens; | neither endpoint has another peer in this run | "
        "n1 NPU 0 | n2 NPU 0 | 195.9 Gbit/s | 100 % | neither endpoint has another peer in this run"
    )
    assert seen.sections["trends"] == "Trends and baseline | No earlier run of the same kind is available for comparison."
    assert seen.sections["collectives"] == (
        "Collectives | Bus bandwidth by data size, GB/s | 0 | 5 | 10 | 15 | 20 | all_reduce 16 1 MiB: 16.35 GB/s | 1 MiB | 1 MiB | all_reduce, | "
        "16 ranks, 2 hosts | all_reduce_test n1, n2 | "
        "Size | Time, µs | algbw, GB/s | busbw, GB/s | Check | 1 MiB | 120.2 | 8.720 | 16.35 | success"
    )
    assert seen.sections["latency"] == (
        "Latency | Sender | Receiver | Item | Size | Typical, µs | Average, µs | 99 %, µs | Status | "
        "n1 NPU 0 | n2 NPU 0 | rdma write | 64 KiB | 2.010 | – | – | ok"
    )
    assert seen.sections["devices"] == (
        "Devices | NPUs: 1. With unusual values: 0. | Link | 1 up | TLS | 1 enabled | Health | 1 success | n1, A3 | "
        "NPU | Address | TLS | Link | Health | 0 | 192.0.2.1 | enabled | UP | Success"
    )
    assert seen.sections["coverage"] == (
        "Coverage | Hosts measured | 2 of 3 | Pairs of hosts measured | 1 of 3 | Measurements of pairs | 1 | Pairs that failed | 1 | "
        "Pairs that were not run | 0 | Not measured | n3 | "
        "Results by kind | Kind | ok | failed | not run | collective | 1 | 0 | 0 | device | 1 | 0 | 0 | rdma | 1 | 1 | 0 | verdict | 0 | 2 | 0"
    )
    assert seen.sections["failures"] == (
        "Failures | Results that failed or could not be obtained | Where | Item | Status | Message | "
        "n2 NPU 1 to n1 NPU 1 | rdma read | failed | connection_refused | nobody listens | look at the firewall | "
        "Failed tasks, unreachable hosts and records that were not kept | Host | Status | Task | Message | n3 | failed | ( | ignored | ) | Measure | it broke"
    )
    assert seen.sections["about"] == (
        "About this run | Run | r1 | State | complete | Started | 2026-11-20 10:15:30 UTC | Duration | 1 h 2 min 3 s | Playbook | check_fabric.yml | "
        "Products | A3 | Tools | all_reduce_test (1), hccn_tool (1), ib_write_bw 6.29 (sim) (1) | "
        "Controller | c1, ansible-core 2.19.14, hccn.cluster 1.0.0 | "
        "Lines of the history that could not be read: 1; of a kind unknown to this version: 2."
    )


def test_empty_sections_have_one_sentence() -> None:
    seen = read(page([])).sections
    assert {name: seen[name] for name in ("worst", "maps", "collectives", "latency", "devices", "failures")} == {
        "worst": "Worst pairs | No pair was measured in this run.",
        "maps": "Pair matrix | No pair was measured in this run.",
        "collectives": "Collectives | No collective was measured in this run.",
        "latency": "Latency | No latency was measured in this run.",
        "devices": "Devices | No device was read in this run.",
        "failures": "Failures | No result, task or connection failed.",
    }
    assert seen["verdict"].startswith("No host has a result in this run.")


def test_all_texts_are_in_both_languages() -> None:
    records = [DEVICE, RDMA, COLLECTIVE, VERDICT, PATH, BROKEN]
    english, chinese = read(page(records, [TASK])), read(page(records, [TASK]), "zh-CN")
    assert chinese.sections["verdict"].startswith("3 台主机中有 3 台不正常。 网络中有 1 个部件不正常。 | 1 | ✕ | 失败 | 1 | ◐ | 慢")
    assert [section.count(" | ") for section in english.sections.values()] == [section.count(" | ") for section in chinese.sections.values()]
    assert [key for key, pair in translations.TEXTS.items() if len(pair) != 2 or not all(pair)] == []
    marks = {key: [sorted(re.findall(r"{[a-z]+}", text)) for text in pair] for key, pair in translations.TEXTS.items()}
    assert [key for key, (one, other) in marks.items() if one != other] == []


def test_language_that_is_shown_first() -> None:
    built = model.build(run([VERDICT]))
    assert '<input class="pick" type="radio" name="language" id="zh" aria-label="中文" checked>' in pages.render(built, "zh")
    assert '<html lang="zh-CN">' in pages.render(built, "zh")
    assert '<input class="pick" type="radio" name="language" id="en" aria-label="English" checked>' in pages.render(built)


def test_page_makes_no_requests_and_runs_only_its_own_script() -> None:
    text = page([DEVICE, RDMA, COLLECTIVE, VERDICT, BROKEN], [TASK])
    seen = read(text)
    assert {value[:5] for _name, value in seen.fetching if value and not value.startswith("#")} == {"data:"}
    assert {"iframe", "object", "embed", "base", "form"} & set(seen.tags) == set()
    assert re.findall(r"https?://|url\(|@import", text) == []
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in text


EVIL = "<script>alert(1)</script>\" onload=\"x"


def evil(value: Any) -> Any:
    """Return the structure with every text replaced, except those on which the model branches."""
    if isinstance(value, dict):
        return {key: item if key in ("kind", "status", "schema") else evil(item) for key, item in value.items()}
    if isinstance(value, list):
        return [evil(item) for item in value]
    return EVIL if isinstance(value, str) else value


def test_texts_of_records_are_escaped() -> None:
    records = [evil(record) for record in (DEVICE, RDMA, COLLECTIVE, VERDICT, PATH, BROKEN)]
    matrix = {"kind": "matrix", "status": "ok", "source": {"host": EVIL, "device": 0}, "hosts": ["n1", EVIL + "2"], "samples": [{"bandwidth_gbit_s": [1, 2]}]}
    leaves = [{**DEVICE, "source": {"host": host, "device": 0}, "samples": [{"lldp": {"system_name": EVIL + host}}]} for host in ("n1", EVIL)]
    given = Run(run([]).file, evil(HEADER), [*records, *leaves, matrix], [evil(TASK)], evil(END))
    text = pages.render(model.build(given, title=EVIL))
    seen = read(text)
    assert text.count("<script") == 2 and text.count("</script") == 2
    assert {value[:5] for _name, value in seen.fetching if value and not value.startswith("#")} == {"data:"}
    assert not any(name.startswith("on") for name, _value in seen.fetching)
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;&#34; onload=&#34;x") > 20
    assert EVIL in seen.sections["verdict"]
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    maps = {one["name"]: one["rows"] for one in json.loads(data)["maps"]}
    assert sorted(maps["leaves"]) == sorted([EVIL + "n1", EVIL + EVIL]) and EVIL in maps["pairs"]


def test_colours_follow_the_colour_scheme_and_classes_have_symbols() -> None:
    text = page([VERDICT])
    assert "@media (prefers-color-scheme:dark)" in text
    assert "@media print" in text
    assert '<span class="label slow"><span aria-hidden="true">◐</span> <span lang="en">slow</span>' in text


def test_unknown_class_is_shown_unchanged() -> None:
    record = {**VERDICT, "samples": [{"class": "odd <b>", "message": ""}]}
    assert '<span class="label other"><span aria-hidden="true">?</span> odd &lt;b&gt;</span>' in page([record])


@pytest.mark.parametrize(
    ("end", "current", "state", "sentence"),
    [
        (END, False, "complete", "State | complete"),
        (None, True, "running", "State | Written by the run itself, before it ended."),
        (None, False, "incomplete", "State | Incomplete. The run was interrupted; this page shows what was recorded until then."),
    ],
)
def test_completeness_of_the_run(end: Any, current: bool, state: str, sentence: str) -> None:
    built = model.build(run([RDMA], end=end), current=current)
    assert built.facts.state == state
    text = pages.render(built)
    assert sentence in read(text).sections["about"]
    assert ('<p class="failed"><strong>' in text) is (state == "incomplete")


def test_same_run_gives_the_same_page() -> None:
    assert page([DEVICE, RDMA], [TASK]) == page([DEVICE, RDMA], [TASK])


def test_check_mode_and_missing_facts() -> None:
    given = Run(run([]).file, {"schema": "hccn.cluster/history/1", "started_at": "soon", "check_mode": True}, [], [], END)
    seen = read(pages.render(model.build(given))).sections["about"]
    assert seen == (
        "About this run | Run | State | complete | Started | soon | Duration | – | Playbook | – ( | check mode: nothing was changed | ) | "
        "Products | – | Tools | – | Controller | –, ansible-core , hccn.cluster"
    )


def test_malformed_records_do_not_break_the_page() -> None:
    odd: list[Any] = [None, "x", 7, [], {}]
    records = [
        {"kind": kind, "status": status, "source": what, "target": what, "samples": what, "error": what, "tool": what, "context": what, "hosts": what}
        for kind in ("rdma", "matrix", "collective", "ping", "device", "verdict", "plan", None, 7)
        for status in ("ok", "failed", "not_run", None)
        for what in odd
    ]
    text = page([{}, *records], [{}, {"event": None, "host": None}], end={"end": True, "hosts": []})
    assert text.endswith("</html>")


def test_failures_are_records_that_failed_or_were_not_run_with_an_error() -> None:
    skipped = {"kind": "rdma", "status": "not_run", "hosts": ["n1", "n2"], "error": {"code": "busy", "message": "pid 7"}}
    quiet = {"kind": "rdma", "status": "not_run", "source": {"host": "n1"}}
    assert model.build(run([skipped, quiet, VERDICT, RDMA])).failures == [model.Failure("n1, n2", "rdma", "not_run", "busy", "pid 7", "")]


def test_rows_beyond_the_limit_are_counted() -> None:
    many = [{**BROKEN, "source": {"host": f"n{number}"}} for number in range(pages.LISTED + 3)]
    events = [{**TASK, "host": f"n{number}"} for number in range(pages.LISTED + 1)]
    latencies = [RDMA] * (pages.LISTED + 2)
    seen = read(page(many + latencies, events)).sections
    assert seen["failures"].count("connection_refused") == 100
    assert "| 3 more are in the history of the run. |" in seen["failures"]
    assert seen["failures"].endswith("| 1 more are in the history of the run.")
    assert "The worst 10 of 205 pairs are listed." in seen["worst"]
    assert seen["latency"].endswith("| 92 more are in the history of the run.")
    assert seen["latency"].count("rdma write") == 10
    assert "3 more hosts are not shown here; see the history." in seen["verdict"]


def test_good_hosts_are_listed_and_collapsed_if_many() -> None:
    def judged(count: int) -> str:
        records = [{**VERDICT, "status": "ok", "source": {"host": f"n{number}"}, "samples": [{"class": "good", "message": ""}]} for number in range(count)]
        return page(records)

    assert "Good | : | n0, n1 |" in read(judged(2)).sections["verdict"]
    assert "<details>" not in judged(40)
    assert "Good | (41) | n0, n1, n2" in read(judged(41)).sections["verdict"]


@pytest.mark.parametrize(
    ("records", "events", "end", "state"),
    [
        ([("n1", "good"), ("n2", "failed"), ("n3", "slow")], [], END, "failed"),
        ([("n1", "unreachable")], [], END, "failed"),
        ([("n1", "good"), ("n3", "busy")], [], END, "slow"),
        ([("n1", "good"), ("n3", "good")], [], END, "good"),
        ([("n1", "good"), ("n3", "not_measured")], [], END, "not_judged"),
        ([("n1", "good")], [], None, "incomplete"),
        ([], [TASK], END, "not_judged"),
        ([], [{**TASK, "ignored": False}], END, "failed"),
    ],
)
def test_state_of_the_run(records: Any, events: Any, end: Any, state: str) -> None:
    made = [{**VERDICT, "source": {"host": host}, "samples": [{"class": name, "message": "m"}]} for host, name in records]
    assert model.build(run(made, events, end=end)).state == state
    fabric = {"kind": "verdict", "status": "failed", "samples": [{"kind": "leaf", "name": "L1", "class": "failed", "message": "m"}]}
    assert model.build(run([*made, fabric], events, end=end)).state == "failed"


def test_collective_without_a_size_or_a_name() -> None:
    bare, wide = {"kind": "collective", "status": "not_run"}, {**COLLECTIVE, "hosts": [f"n{number}" for number in range(20)]}
    seen = read(page([bare, wide])).sections
    assert "| Collectives | , | ? ranks, 0 hosts | ? | not run | No size was measured. | all_reduce, | 16 ranks, 20 hosts |" in seen["collectives"]
    assert "n14, n15, … |" in seen["collectives"]


def test_classes_are_counted_worst_first() -> None:
    judged = {"n5": "good", "n6": "failed", "n7": "good"}
    others = [{**VERDICT, "source": {"host": host}, "samples": [{"class": name}]} for host, name in judged.items()]
    assert list(model.build(run([VERDICT, *others])).classes.items()) == [("failed", 1), ("slow", 1), ("good", 2)]


def test_duration_is_unknown_if_the_clock_was_set_back() -> None:
    built = model.build(run([RDMA], end={**END, "finished_at": "2026-11-20T09:15:30.000Z"}))
    assert built.facts.duration_s is None
    assert "| Duration | – |" in read(pages.render(built)).sections["about"]
