"""The page as Markdown in a real renderer: texts of hosts never become links, images, mentions, formulas, lists or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import markdown, model
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ALLOWED_INLINE = {"text", "text_special", "code_inline", "strong_open", "strong_close"}
"""Allowed types of inline tokens, besides <br>."""
ALLOWED_BLOCKS = {"heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "bullet_list_open", "bullet_list_close", "list_item_open",
          "list_item_close"} | {f"{part}_{side}" for part in ("table", "thead", "tbody", "tr", "th", "td") for side in ("open", "close")}
REFERENCES = [re.compile(pattern) for pattern in (
    # GitHub: extended autolinks, mentions, issues, commits, emoji, formulas
    r"(?i)(https?|ftp)://", r"(?i)\bwww\.", r"(?i)\b(mailto|xmpp):\S", r"[\w.+-]+@[\w.-]+", r"@\w", r"#\d", r"(?i)\bGH-\d", r"\b[0-9a-f]{7,40}\b",
    r":(?=[\w+-]*[a-z+])[\w+-]+:", r"\$",
    # GitLab: requests, milestones, epics, labels, snippets, alerts
    r"[!%&~^][\w\"]",
    # linkify of markdown-it, as in chat clients
    r"(?i)\b[\w-]+\.(com|org|net|io|cn|example)\b")]
HOSTILE = ["https://a.example/x", "www.a.example", "a@b.example", "@everyone", "@user", "#1", "!1", "org/repo#1", "GH-7", "594b89506ba876ec", ":x:", ":+1:",
           "$a$", "$$", "%3", "~bug", "~\"a b\"", "&1", "&lt;", "&#64;user", "<b>", "</td>", "<!--", "-->", "<script>", "<https://a.example>", "![a](b)",
           "[a](b)", "[a][b]", "[b]:", "[^1]", "`", "``", "```", "~~~", "|", "||", "\\",
           "\\`", "\\|", "*a*", "**", "_a_", "~~a~~", "#", "##", "-", "+", "1.",
           "---", "===", ">", "\n", "\n\n", "    ", "\t", "\r", "\u2028", "\u202e", "\x00", "x", " ", "b.example", "：", "。", "ſ", "K"]
TEXTS = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=4)), max_size=6).map("".join)


def texts(page: str) -> Iterator[str]:
    """Yield the texts between code and markup, in which GitHub, GitLab and chats search for references."""
    for block in RENDERER.parse(page):
        assert block.type in ALLOWED_BLOCKS, block
        found = [""]
        for token in block.children or ():
            if token.type in ("text", "text_special"):
                found[-1] += token.content
            else:
                assert token.type in ALLOWED_INLINE or token.type == "html_inline" and token.content == "<br>", token
                found.append("")
        yield from found


def of_hosts(word: str) -> Run:
    """Return a run with the same text in every field that a host determines."""
    common = {"schema": "hccn.cluster/measurement/1", "status": "failed", "source": {"host": word, "device": word, "address": word},
              "target": {"host": word + "2", "device": 1}, "tool": {"name": word, "version": word}, "operation": word, "measure": "bandwidth",
              "error": {"code": word, "message": word, "hint": word}, "context": {"product": word, "firmware": word, "leaf": word, "rail": 0}}
    ok = {**common, "status": "ok", "samples": [{"size_bytes": 64, "bandwidth_gbit_s": 10.0}]}
    verdict = {"class": word, "kind": word, "name": word, "message": word, "evidence": [word]}
    records = [
        {**common, "kind": "rdma", "id": "1"}, {**ok, "kind": "rdma", "id": "2", "target": {"host": "n3", "device": 1}},
        {**ok, "kind": "rdma", "id": "3", "source": {"host": "n3", "device": 1}, "target": {"host": word, "device": 0}},
        {**common, "kind": "verdict", "id": "4", "samples": [verdict]}, {**common, "kind": "verdict", "id": "5", "source": {}, "samples": [verdict]},
        {**common, "kind": word, "id": "6"},
        {**common, "kind": "collective", "id": "7", "ranks": word, "hosts": [word], "samples": [{"size_bytes": 8, "busbw_gbyte_s": 1.0, "check": word}]},
        {**common, "kind": "device", "id": "8", "samples": [{"id": word, "link": word, "health": word, "errors": [{"message": word}]}]},
        {**common, "kind": "plan", "id": "9", "samples": [{"plan": word, "text": [word], "left_out": [{"code": word, "message": word, "npus": [[word, word]]}],
                                                          "hosts_left_out": {"count": 1, "names": [word]}}]}]
    events = [{"event": word, "host": word, "task": word, "message": word}]
    header = {"schema": "hccn.cluster/history/1", "run_id": word, "started_at": word, "playbook": word, "controller": word}
    return Run(RunFile(Path("x"), "r", "20261120T101500Z", part=False), header, records, events, None)


@settings(max_examples=300, deadline=None)
@given(word=TEXTS, language=st.sampled_from(["en", "zh"]))
def test_texts_of_hosts_are_escaped(word: str, language: str) -> None:
    page = markdown.render(model.build(of_hosts(word), title=word), language)
    assert [(pattern.pattern, text) for text in texts(page) for pattern in REFERENCES if pattern.search(text)] == []


@settings(max_examples=100, deadline=None)
@given(word=TEXTS, language=st.sampled_from(["en", "zh"]))
def test_texts_of_findings_are_escaped(word: str, language: str) -> None:
    shown = of_hosts(word)
    sample = {"component": {"kind": "host", "name": word or "n1"}, "cause": "failed_task", "severity": "failed", "message": word or "m", "hosts": [word],
              "evidence": [word], "next_step": word, "stage": word}
    shown.records.extend([
        {"kind": "finding", "id": "conclusion/finding/1", "samples": [sample]},
        {"kind": "conclusion", "id": "conclusion/run", "samples": [{"result": "failed", "hosts": {"failed": [word], word: [word + "2"]}}]}])
    page = markdown.render(model.build(shown, title=word), language)
    assert "## Findings" in page or "## 发现的问题" in page
    assert [(pattern.pattern, text) for text in texts(page) for pattern in REFERENCES if pattern.search(text)] == []


@pytest.mark.parametrize("word", HOSTILE)
def test_text_is_shown_unchanged(word: str) -> None:
    """In a paragraph and in a table cell, the rendered text equals the original, except for white space and invisible characters."""
    seen = re.sub("[\x00\u202e]", "\ufffd", " ".join(f"a {word} b {word}".split()))
    for page in (markdown.safe(f"a {word} b {word}"), f"| {markdown.safe(f'a {word} b {word}')} | c |\n| --- | --- |"):
        first = next(token for token in RENDERER.parse(page) if token.type == "inline")
        assert "".join(token.content for token in first.children or ()) == seen
