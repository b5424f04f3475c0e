# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The page as Markdown for a ticket or a chat: findings, the worst pairs and the coverage, without maps."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...module_utils._core.words import some
from . import translations
from .coverage import Planned
from .model import Page
from .formatting import bytes_text, duration, group_text, instant, measured_what, percent, rounded, with_unit
from .worst_pairs import WorstPair

LISTED = 50
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#|~!&^])")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Control characters, and characters that change the direction of text or are invisible."""
_REFERENCE = re.compile(
    r"@|//|\$"  # a mention, a mail address or URL, a formula
    r"|(?i:\bwww\.|\b(?:mailto|xmpp):|\bGH-\d)"
    r"|\w\.[^\W\d]"  # a name that may be a domain
    r"|[#!%&~^][\w\"]"  # an issue, a merge request, a milestone, an epic, a label
    r"|(?<![0-9A-Za-z])[0-9A-Fa-f]{7,}(?![0-9A-Za-z])"  # a commit
    r"|:(?!\d\d:)[\w+-]+:"  # an emoji, but not a time
)
"""Texts that GitHub, GitLab and chats turn into links, mentions or images after rendering Markdown, so that escaping them has no effect."""
_MARKER = re.compile(r"[-+=]+|\d+[.)]")
"""Words that begin a list or a heading at the beginning of a line."""


def render(page: Page, language: str = "en") -> str:
    """Return the page in GitHub's Markdown in one language. Texts of records never become markup."""
    say = functools.partial(translations.say, language=language)
    parts = [_head(page, say), _findings(page, say), _verdicts(page, say), _worst(page, say), _regressions(page, say),
             _collectives(page, say), _devices(page, say), _coverage(page, say), _failures(page, say)]
    return "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n"


def safe(text: Any) -> str:
    """Return an untrusted text as one line without meaning for Markdown and for programs that display it.

    Special characters of Markdown are escaped. Words that would become links, mentions or emoji after rendering are formatted as code.
    """
    words = _UNSEEN.sub("\ufffd", " ".join(str(text).split())).split(" ")
    return " ".join([_word(word, is_first=not place) for place, word in enumerate(words)])


def _word(word: str, is_first: bool) -> str:
    if _REFERENCE.search(word) or is_first and _MARKER.fullmatch(word):
        # A bar ends a cell of a table, even in code.
        return r"\|".join(_code(part) for part in word.split("|"))
    return _SPECIAL.sub(r"\\\1", word)


def _code(text: str) -> str:
    """Return a code span whose fence is longer than any in the text and does not touch one."""
    if not text:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if "`" in (text[0], text[-1]) else ""
    return f"{fence}{space}{text}{space}{fence}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(columns) + " |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _head(page: Page, say: Any) -> list[str]:
    facts = page.facts
    lines = [f"# {safe(page.title)}", "", f"**{safe(translations.headline(page, say.keywords['language']))}**", ""]
    if facts.state == "incomplete":
        lines += [f"**{say('incomplete')}**", ""]
    lines.append(f"{say('run')} {safe(facts.run_id)}, {safe(instant(facts.started_at))}, {safe(facts.playbook)}, {duration(facts.duration_s)}")
    return lines


def _findings(page: Page, say: Any) -> list[str]:
    if not page.rows:
        return [f"## {say('findings')}", "", say("no_findings")] if page.conclusion else []
    rows = [(safe(say(row.severity)), safe(row.component.name), _why(row.message, row.evidence), safe(row.next_step)) for row in page.rows[:LISTED]]
    lines = [f"## {say('findings')}", "", *_table([say(key) for key in ("c_severity", "c_component", "c_message", "c_next")], rows)]
    return lines + (["", say("more_findings", count=len(page.rows) - LISTED)] if len(page.rows) > LISTED else [])


def _verdicts(page: Page, say: Any) -> list[str]:
    lines = [f"## {say('verdict')}", "", ", ".join(f"{count} {safe(say(name))}" for name, count in page.classes.items())]
    if page.conclusion:
        # The reasons are in the findings.
        named = {name: [row.host for row in page.bad if row.verdict == name] for name in page.classes if name != "good"}
        return lines + ["", *(f"- {safe(say(name))}: {safe(some(hosts, LISTED))}" for name, hosts in named.items())] if named else lines
    rows = [(safe(row.name or row.kind), safe(say(row.state)), _why(row.sentence, row.evidence)) for row in page.fabric[:LISTED]]
    rows += [(safe(row.host), safe(say(row.verdict)), _why(row.sentence, row.evidence)) for row in page.bad[:LISTED]]
    if rows:
        lines += ["", *_table([say("c_host"), say("c_class"), say("c_why")], rows)]
    if len(page.bad) > LISTED:
        lines += ["", say("more_hosts", count=len(page.bad) - LISTED)]
    return lines


def _why(sentence: str, evidence: Sequence[str]) -> str:
    return "<br>".join([safe(sentence), *map(safe, evidence)])


def _worst(page: Page, say: Any) -> list[str]:
    if page.maps is None:
        return []
    expected = say(f"expected_{page.maps.expected.basis}", value=with_unit(page.maps.expected.value, page.maps.what.unit))
    rows = [(safe(row.source), safe(row.target), say("failed") if row.value is None else with_unit(row.value, row.unit), percent(row.share),
             _evidence(row, say)) for row in page.worst]
    columns = [say(key) for key in ("c_sender", "c_receiver", "c_value", "c_share", "c_evidence")]
    return [f"## {say('worst')}", "", f"{safe(measured_what(page.maps.what))}. {expected}.", "", *_table(columns, rows)]


def _evidence(row: WorstPair, say: Any) -> str:
    parts = [safe(row.message)] if row.message else []
    if row.source_median is None and row.target_median is None:
        parts.append(say("no_others"))
    else:
        parts.append(say("others", sender=with_unit(row.source_median, row.unit), receiver=with_unit(row.target_median, row.unit)))
    return "; ".join(parts + ([say("reverse", value=with_unit(row.reverse, row.unit))] if row.reverse is not None else []))


def _regressions(page: Page, say: Any) -> list[str]:
    if not page.regressions:
        return [f"## {say('trends')}", "", say("no_worse" if page.trends else "no_trends")]
    rows = [(safe(", ".join(filter(None, (str(row.end) if row.end else "", group_text(row.group))))), with_unit(row.now, row.group.unit),
             with_unit(row.before, row.group.unit), f"{row.drop_percent} %", say(row.reason)) for row in page.regressions]
    return [f"## {say('trends')}", "", *_table([say(key) for key in ("c_what", "c_now", "c_before", "c_drop", "c_status")], rows)]


def _collectives(page: Page, say: Any) -> list[str]:
    lines: list[str] = []
    for run in page.collectives:
        title = f"### {safe(run.operation)}, {say('ranks', ranks=safe(run.ranks or '?'), hosts=len(run.hosts))}: {safe(say(run.status))}"
        lines += ["", title, *([safe(run.message)] if run.message else [])]
        rows = [(bytes_text(step.size_bytes), rounded(step.time_us), rounded(step.algbw), rounded(step.busbw), safe(step.check or "–"))
                for step in run.steps[:LISTED]]
        lines += ["", *_table([say(key) for key in ("c_size", "c_time", "c_algbw", "c_busbw", "c_check")], rows)] if rows else []
    return [f"## {say('collectives')}", *lines] if lines else []


def _devices(page: Page, say: Any) -> list[str]:
    if not page.devices.count:
        return []
    rows = [(safe(group.host), safe(device.id), safe(", ".join(f"{say(f'c_{key}')}: {_shown(device, key)}" for key in device.odd)))
            for group in page.devices.hosts for device in group.devices if device.odd]
    table = ["", *_table([say("c_host"), say("c_npu"), say("c_what")], rows[:LISTED])] if rows else []
    if page.devices.odd > LISTED:
        table += ["", say("devices_hidden_odd", count=page.devices.odd - LISTED)]
    return [f"## {say('devices')}", "", say("devices_all", count=page.devices.count, odd=page.devices.odd), *table]


def _shown(device: Any, key: str) -> str:
    value = getattr(device, key)
    return ", ".join(value) if isinstance(value, list) else str(value)


def _coverage(page: Page, say: Any) -> list[str]:
    covered = page.coverage
    lines = [f"- {say('cov_hosts')}: {say('of', one=covered.hosts_measured, all=covered.hosts)}"]
    if covered.directions or covered.failed or covered.not_run:
        lines += [f"- {say('cov_pairs')}: {say('of', one=covered.pairs_met, all=covered.pairs_possible)}", f"- {say('cov_failed')}: {covered.failed}",
                  f"- {say('cov_not_run')}: {covered.not_run}"]
    lines += _planned(covered.planned, say) if covered.planned else []
    if covered.not_measured:
        lines.append(f"- {say('cov_missing')}: {safe(', '.join(covered.not_measured[:LISTED]))}")
    return [f"## {say('coverage')}", "", *lines, *(f"- {safe(note)}" for note in covered.notes)]


def _planned(planned: Planned, say: Any) -> list[str]:
    numbers = say("cov_planned_is", pairs=planned.pairs, plan=safe(planned.plan), measured=planned.measured, failed=planned.failed, not_run=planned.not_run,
                  not_measured=planned.not_measured)
    lines = [f"- {say('cov_planned')}: {numbers}"]
    if planned.missing:
        lines.append(f"- {say('cov_without')}: {safe(', '.join(planned.missing))}{', …' if planned.not_measured > len(planned.missing) else ''}")
    lines += [f"- {say('cov_left_out')}: {safe(line)}" for line in planned.left_out]
    if planned.leaves:
        known = say("cov_leaves_are", leaves=planned.leaves, known=sum(planned.told.values()), npus=planned.npus)
        lines.append(f"- {say('cov_leaves')}: {known} ({', '.join(f'{safe(say(source))} {count}' for source, count in planned.told.items())})")
    return lines + ([f"- {say('cov_pods')}: {planned.super_pods}"] if planned.super_pods else [])


def _failures(page: Page, say: Any) -> list[str]:
    rows = [(safe(row.where), safe(row.what), safe(row.code), safe(row.message)) for row in page.failures[:LISTED]]
    rows += [(safe(row.host), safe(say(row.event)), safe(row.task), safe(row.message)) for row in page.task_failures[:LISTED] if not row.ignored]
    if not rows:
        return []
    return [f"## {say('failures')}", "", *_table([say("c_where"), say("c_what"), say("c_status"), say("c_message")], rows)]
