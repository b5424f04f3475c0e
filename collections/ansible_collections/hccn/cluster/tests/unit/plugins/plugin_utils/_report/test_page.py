# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a run to the page: what is on it, and that it is one safe file."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html as pages
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import model

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
    "samples": [{"class": "slow", "message": "npu 0 is slow", "evidence": ["slow with 3 of 3 good partners"]}],
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
    """A run that came to its end, unless ``end`` says otherwise."""
    file = RunFile(Path("/h/20261120T101530Z-r1.jsonl"), "r1", "20261120T101530Z", part=False)
    return Run(file, HEADER, records, events or [], more.pop("end", END), **more)


def page(records: list[dict[str, Any]], events: list[dict[str, Any]] | None = None, **more: Any) -> str:
    return pages.render(model.build(run(records, events, **more)))


FETCHING = ("src", "href", "srcset", "action", "data", "poster")


class Text(html.parser.HTMLParser):
    """The text of every section as a reader sees it, and every attribute that could fetch or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.fetching: list[tuple[str, str | None]] = []
        self.tags: list[str] = []
        self._section = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetching += [(name, value) for name, value in attrs if name in FETCHING or name.startswith("on")]
        if tag == "section":
            self._section = dict(attrs)["id"] or ""

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        if self._section and words:
            self.sections[self._section] = f"{self.sections.get(self._section, '')} | {words}".removeprefix(" | ")


def read(text: str) -> Text:
    parser = Text()
    parser.feed(text)
    return parser


def test_every_section_of_a_full_run() -> None:
    seen = read(page([DEVICE, RDMA, COLLECTIVE, VERDICT, BROKEN], [TASK], bad_lines=1, unknown_lines=2))
    assert list(seen.sections) == ["verdict", "run", "failures", "bandwidth", "latency", "collectives", "devices"]
    assert seen.sections["verdict"] == (
        "Verdict | 1 | ✕ | failed | 1 | ◐ | slow | 1 | ○ | not measured | Host | Class | Why | "
        "n1 | ✕ | failed | 1 of 4 results failed, the last: nobody listens | "
        "n2 | ◐ | slow | npu 0 is slow | slow with 3 of 3 good partners | "
        "n3 | ○ | not measured | Nothing was measured on this host in this run."
    )
    assert seen.sections["run"] == (
        "What was run | Run | r1 | State | complete | Started | 2026-11-20 10:15:30 UTC | Duration | 1 h 2 min 3 s | Playbook | check_fabric.yml | "
        "Hosts with results | 3 | Products | A3 | Tools | all_reduce_test (1 result), hccn_tool (1 result), ib_write_bw 6.29 (sim) (1 result) | "
        "Controller | c1, ansible-core 2.19.14, hccn.cluster 1.0.0 | "
        "Not on this page: lines of the history that could not be read (1) or are of a kind that this version does not know (2). | "
        "Results by kind | Kind | ok | failed | not run | collective | 1 | 0 | 0 | device | 1 | 0 | 0 | rdma | 1 | 1 | 0 | verdict | 0 | 1 | 0"
    )
    assert seen.sections["failures"] == (
        "Failures | Results that failed or could not be had | Where | What | Status | Code | Message | "
        "n2 npu 1 to n1 npu 1 | rdma read | failed | connection_refused | nobody listens | look at the firewall | "
        "Failed tasks and unreachable hosts | Host | What | Task | Message | n3 | failed (ignored) | Measure | it broke"
    )
    assert seen.sections["bandwidth"] == (
        "Bandwidth | All pairs, worst first, compared with pairs of the same tool, operation and size | "
        "Source | Target | Operation | Size | Gbit/s | of median | of best | Status | "
        "n2 npu 1 | n1 npu 1 | read | – | – | – | failed: nobody listens | "
        "n1 npu 0 | n2 npu 0 | write | ib_write_bw 6.29 (sim) | 64 KiB | 195.9 | 100 % | ok"
    )
    assert seen.sections["latency"] == (
        "Latency | Microseconds, longest first | Source | Target | What | Size | typical | average | 99 % | Status | "
        "n1 npu 0 | n2 npu 0 | rdma write | 64 KiB | 2.010 | – | – | ok"
    )
    assert seen.sections["collectives"] == (
        "Collectives | all_reduce, 16 ranks on 2 hosts | all_reduce_test; status ok; n1, n2 | "
        "Size | Time, µs | algbw, GB/s | busbw, GB/s | Check | 1 MiB | 120.2 | 8.720 | 16.35 | success"
    )
    assert seen.sections["devices"] == (
        "Devices | n1, A3 | NPU | Address | TLS | Link | Health | Errors | 0 | 192.0.2.1 | enabled | UP | Success | –"
    )


def test_empty_sections_say_so_in_one_sentence() -> None:
    seen = read(page([])).sections
    assert {name: seen[name] for name in ("verdict", "failures", "bandwidth", "latency", "collectives", "devices")} == {
        "verdict": "Verdict | No host left a result in this run.",
        "failures": "Failures | Nothing failed in this run: no result, no task, no connection.",
        "bandwidth": "Bandwidth | No bandwidth was measured in this run.",
        "latency": "Latency | No latency was measured in this run.",
        "collectives": "Collectives | No collective was measured in this run.",
        "devices": "Devices | No device was read in this run.",
    }


def test_the_page_fetches_nothing_and_runs_nothing() -> None:
    text = page([DEVICE, RDMA, COLLECTIVE, VERDICT, BROKEN], [TASK])
    seen = read(text)
    assert seen.fetching == [("href", "data:,")]
    assert {"script", "img", "iframe", "object", "embed", "base"} & set(seen.tags) == set()
    assert re.findall(r"https?://|url\(|@import", text) == []
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"" in text


EVIL = "<script>alert(1)</script>\" onload=\"x"


def evil(value: Any) -> Any:
    """The same structure with every text replaced, but for those that the model branches on."""
    if isinstance(value, dict):
        return {key: item if key in ("kind", "status", "schema") else evil(item) for key, item in value.items()}
    if isinstance(value, list):
        return [evil(item) for item in value]
    return EVIL if isinstance(value, str) else value


def test_no_text_of_a_record_becomes_markup() -> None:
    records = [evil(record) for record in (DEVICE, RDMA, COLLECTIVE, VERDICT, BROKEN)]
    given = Run(run([]).file, evil(HEADER), records, [evil(TASK)], evil(END))
    text = pages.render(model.build(given, title=EVIL))
    seen = read(text)
    assert "<script" not in text
    assert seen.fetching == [("href", "data:,")]
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;&#34; onload=&#34;x") > 30
    assert EVIL in seen.sections["verdict"]


def test_colours_follow_the_reader_and_never_speak_alone() -> None:
    text = page([VERDICT])
    assert "@media (prefers-color-scheme: dark)" in text
    assert "@media print" in text
    assert '<span class="label slow"><span aria-hidden="true">◐</span> slow</span>' in text


def test_a_class_that_is_not_known_is_shown_as_it_is() -> None:
    record = {**VERDICT, "samples": [{"class": "odd <b>", "message": ""}]}
    assert '<span class="label other"><span aria-hidden="true">?</span> odd &lt;b&gt;</span>' in page([record])


@pytest.mark.parametrize(
    ("end", "current", "state", "sentence"),
    [
        (END, False, "complete", "State | complete"),
        (None, True, "running", "State | this page was made by the run itself, before its end"),
        (None, False, "incomplete", "State | INCOMPLETE: the run was ended before its end; what follows is what was kept until then"),
    ],
)
def test_how_far_the_run_came(end: Any, current: bool, state: str, sentence: str) -> None:
    built = model.build(run([RDMA], end=end), current=current)
    assert built.facts.state == state
    text = pages.render(built)
    assert sentence in read(text).sections["run"]
    assert ('<p class="failed"><strong>INCOMPLETE' in text) is (state == "incomplete")


def test_the_same_run_gives_the_same_page() -> None:
    assert page([DEVICE, RDMA], [TASK]) == page([DEVICE, RDMA], [TASK])


def test_check_mode_and_missing_facts() -> None:
    given = Run(run([]).file, {"schema": "hccn.cluster/history/1", "started_at": "soon", "check_mode": True}, [], [], END)
    seen = read(pages.render(model.build(given))).sections["run"]
    assert seen == (
        "What was run | Run | State | complete | Started | soon | Duration | not known | Playbook | – (check mode: nothing was changed) | "
        "Hosts with results | 0 | Products | – | Tools | – | Controller | –, ansible-core , hccn.cluster"
    )


def test_records_that_are_not_what_they_should_be_do_not_break_the_page() -> None:
    odd: list[Any] = [None, "x", 7, [], {}]
    records = [
        {"kind": kind, "status": status, "source": what, "target": what, "samples": what, "error": what, "tool": what, "context": what, "hosts": what}
        for kind in ("rdma", "collective", "ping", "device", "verdict", None, 7)
        for status in ("ok", "failed", "not_run", None)
        for what in odd
    ]
    text = page([{}, *records], [{}, {"event": None, "host": None}], end={"end": True, "hosts": []})
    assert text.endswith("</html>")


def test_devices_are_listed_by_host_in_natural_order_as_last_seen() -> None:
    def device(host: str, number: int, tls: Any, **more: Any) -> dict[str, Any]:
        return {**DEVICE, "source": {"host": host, "device": number}, "samples": [{"tls": tls}], **more}

    failed = device("n2", 10, None, status="failed", error={"message": "device not ready"}, samples=[], context={})
    built = model.build(run([device("n10", 0, False), failed, device("n2", 9, True), device("n2", 9, False)]))
    assert built.devices == [
        model.DeviceHost("n2", "A3", [model.Device("9", "", "disabled", "", "", ""), model.Device("10", "", "", "", "", "device not ready")]),
        model.DeviceHost("n10", "A3", [model.Device("0", "", "disabled", "", "", "")]),
    ]


def test_a_link_that_is_down_stands_out() -> None:
    down = {**DEVICE, "samples": [{"link": "down", "tls": None}]}
    assert '<td>unknown</td><td><strong class="failed">✕ down</strong></td><td>unknown</td>' in page([down])


def test_failures_are_those_that_failed_or_could_not_be_run() -> None:
    skipped = {"kind": "rdma", "status": "not_run", "hosts": ["n1", "n2"], "error": {"code": "busy", "message": "pid 7"}}
    quiet = {"kind": "rdma", "status": "not_run", "source": {"host": "n1"}}
    assert model.build(run([skipped, quiet, VERDICT, RDMA])).failures == [model.Failure("n1, n2", "rdma", "not_run", "busy", "pid 7", "")]


def test_what_is_too_long_for_a_page_is_counted() -> None:
    many = [{**BROKEN, "source": {"host": f"n{number}"}} for number in range(pages.LISTED + 3)]
    events = [{**TASK, "host": f"n{number}"} for number in range(pages.LISTED + 1)]
    latencies = [RDMA] * (pages.LISTED + 2)
    seen = read(page(many + latencies, events)).sections
    assert seen["failures"].count("connection_refused") == 500
    assert "3 more failures are in the history of the run." in seen["failures"]
    assert "1 more failed tasks are in the history of the run." in seen["failures"]
    assert "505 more pairs are in the history of the run." in seen["bandwidth"]
    assert "The worst 10 of 1005, compared" in seen["bandwidth"]
    assert "2 more latencies are in the history of the run." in seen["latency"]


def test_a_collective_without_a_size_or_a_name() -> None:
    bare, wide = {"kind": "collective", "status": "not_run"}, {**COLLECTIVE, "hosts": [f"n{number}" for number in range(20)]}
    seen = read(page([bare, wide])).sections
    assert seen["collectives"].startswith(
        "Collectives | collective | tool not named; status not run | No size was measured. | all_reduce, 16 ranks on 20 hosts"
    )
    assert "n14, n15, … |" in seen["collectives"]


def test_classes_are_counted_worst_first() -> None:
    judged = {"n5": "good", "n6": "failed", "n7": "good"}
    others = [{**VERDICT, "source": {"host": host}, "samples": [{"class": name}]} for host, name in judged.items()]
    assert list(model.build(run([VERDICT, *others])).classes.items()) == [("failed", 1), ("slow", 1), ("good", 2)]


@pytest.mark.parametrize(
    ("count", "text"), [(None, "–"), (0, "0 B"), (2, "2 B"), (1023, "1,023 B"), (65536, "64 KiB"), (1e6, "1,000,000 B"), (2**40 * 1024, "1,024 TiB")]
)
def test_sizes(count: float | None, text: str) -> None:
    assert pages.size(count) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(None, "–"), (0, "0.000"), (0.5123, "0.512"), (21.345, "21.34"), (195.94, "195.9"), (1234.5, "1234"), (-2.5, "-2.500")]
)
def test_values(amount: float | None, text: str) -> None:
    assert pages.value(amount) == text


@pytest.mark.parametrize(("seconds", "text"), [(None, "not known"), (0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (3725.4, "1 h 2 min 5 s")])
def test_durations(seconds: float | None, text: str) -> None:
    assert pages.duration(seconds) == text


@pytest.mark.parametrize(("share", "text"), [(None, "0"), (0.5, "50"), (1.7, "100"), (-1, "0")])
def test_bars(share: float | None, text: str) -> None:
    assert pages.fill_width(share) == text
