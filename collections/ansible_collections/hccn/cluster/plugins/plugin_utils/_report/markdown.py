# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Render the page as Markdown for a ticket or a chat, without heatmaps."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...module_utils._core.words import some
from .._history.baseline import LEAST_RUNS
from .._plan.endpoint_words import of_ports
from . import translations
from .coverage import Planned
from .model import DEFAULT_TITLE, Page
from .formatting import bytes_text, duration, group_text, instant, metric_text, percent, rounded, with_unit
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
    t = functools.partial(translations.translate, language=language)
    parts = [_head(page, t), _findings(page, t), _verdicts(page, t), _worst(page, t), _regressions(page, t),
             _collectives(page, t), _devices(page, t), _coverage(page, t), _failures(page, t)]
    made = "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n"
    return made if page.has_npus else of_ports(made)


def safe(text: Any) -> str:
    """Return an untrusted text as one line without meaning for Markdown and for programs that display it.

    Special characters of Markdown are escaped. Words that would become links, mentions or emoji after rendering are formatted as code.
    """
    words = _UNSEEN.sub("\ufffd", " ".join(str(text).split())).split(" ")
    return " ".join([_word(word, is_first=not place) for place, word in enumerate(words)])


def _word(word: str, is_first: bool) -> str:
    if _REFERENCE.search(word) or is_first and _MARKER.fullmatch(word):
        # A bar ends a table cell, even in code.
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


def _head(page: Page, t: Any) -> list[str]:
    facts = page.facts
    title = t("title") if page.title == DEFAULT_TITLE else page.title
    lines = [f"# {safe(title)}", "", f"**{safe(translations.headline(page, t.keywords['language']))}**", ""]
    if facts.state == "incomplete":
        lines += [f"**{t('incomplete')}**", ""]
    lines.append(f"{t('run')} {safe(facts.run_id)}, {safe(instant(facts.started_at))}, {safe(facts.playbook)}, {duration(facts.duration_s)}")
    return lines


def _findings(page: Page, t: Any) -> list[str]:
    if not page.rows:
        return [f"## {t('findings')}", "", t("no_findings")] if page.conclusion else []
    rows = [(safe(t(row.severity)), safe(translations.component(row.component.name, _language(t))), _why(row.message, row.evidence, t),
             safe(_step(row.next_step, t))) for row in page.rows[:LISTED]]
    lines = [f"## {t('findings')}", "", *_table([t(key) for key in ("c_severity", "c_component", "c_message", "c_next")], rows)]
    return lines + (["", t("more_findings", count=len(page.rows) - LISTED)] if len(page.rows) > LISTED else [])


def _verdicts(page: Page, t: Any) -> list[str]:
    lines = [f"## {t('verdict')}", "", ", ".join(f"{count} {safe(t(name))}" for name, count in page.classes.items())]
    if page.conclusion:
        # The reasons are in the findings.
        named = {name: [row.host for row in page.bad if row.verdict == name] for name in page.classes if name != "good"}
        return lines + ["", *(f"- {safe(t(name))}: {safe(some(hosts, LISTED))}" for name, hosts in named.items())] if named else lines
    rows = [(safe(row.name or row.kind), safe(t(row.state)), _why(row.sentence, row.evidence, t)) for row in page.fabric[:LISTED]]
    rows += [(safe(row.host), safe(t(row.verdict)), _why(row.sentence, row.evidence, t)) for row in page.bad[:LISTED]]
    if rows:
        lines += ["", *_table([t("c_host"), t("c_class"), t("c_why")], rows)]
    if len(page.bad) > LISTED:
        lines += ["", t("more_hosts", count=len(page.bad) - LISTED)]
    return lines


def _why(sentence: str, evidence: Sequence[str], t: Any) -> str:
    """Return a message and its evidence in the language of the page, as far as there is a translation."""
    language = _language(t)
    return "<br>".join([safe(translations.sentence(sentence, language) or sentence), *(safe(translations.evidence(one, language) or one) for one in evidence)])


def _language(t: Any) -> str:
    return str(t.keywords["language"])


def _words(t: Any) -> Callable[[str], str]:
    return lambda word: t(word) if word else ""


def _step(text: str, t: Any) -> str:
    found = translations.step(text, _language(t))
    return " ".join(filter(None, found[:2])) if found.translated else text


def _worst(page: Page, t: Any) -> list[str]:
    if page.maps is None:
        return []
    expected = t(f"expected_{page.maps.expected.basis}", value=with_unit(page.maps.expected.value, page.maps.metric.unit))
    rows = [(safe(row.source), safe(row.target), t("failed") if row.value is None else with_unit(row.value, row.unit), percent(row.share),
             _evidence(row, t)) for row in page.worst]
    columns = [t(key) for key in ("c_sender", "c_receiver", "c_value", "c_share", "c_evidence")]
    return [f"## {t('worst')}", "", f"{safe(metric_text(page.maps.metric, _words(t)))}. {expected}.", "", *_table(columns, rows)]


def _evidence(row: WorstPair, t: Any) -> str:
    parts = [safe(row.message)] if row.message else []
    if row.source_median is not None or row.target_median is not None:
        parts.append(t("others", sender=with_unit(row.source_median, row.unit), receiver=with_unit(row.target_median, row.unit)))
    return "; ".join(parts + ([t("reverse", value=with_unit(row.reverse, row.unit))] if row.reverse is not None else []))


def _regressions(page: Page, t: Any) -> list[str]:
    if not page.regressions:
        compared, without = page.compared
        lines = ([t("no_worse_of", count=compared)] if compared else []) + ([t("not_compared", count=without, least=LEAST_RUNS)] if without else [])
        return [f"## {t('trends')}", "", *lines] if lines else []
    rows = [(safe(", ".join(filter(None, (str(row.endpoint) if row.endpoint else "", group_text(row.group, _words(t)))))), with_unit(row.now, row.group.unit),
             with_unit(row.before, row.group.unit), f"{row.drop_percent} %", t(row.reason)) for row in page.regressions]
    return [f"## {t('trends')}", "", *_table([t(key) for key in ("c_what", "c_now", "c_before", "c_drop", "c_status")], rows)]


def _collectives(page: Page, t: Any) -> list[str]:
    lines: list[str] = []
    for run in page.collectives:
        title = f"### {safe(run.operation)}, {t('ranks', ranks=safe(run.ranks or '?'), hosts=len(run.hosts))}: {safe(t(run.status))}"
        lines += ["", title, *([safe(run.message)] if run.message else [])]
        rows = [(bytes_text(step.size_bytes), rounded(step.time_us), rounded(step.algbw), rounded(step.busbw), safe(step.check or "–"))
                for step in run.steps[:LISTED]]
        lines += ["", *_table([t(key) for key in ("c_size", "c_time", "c_algbw", "c_busbw", "c_check")], rows)] if rows else []
    return [f"## {t('collectives')}", *lines] if lines else []


def _devices(page: Page, t: Any) -> list[str]:
    if not page.devices.count:
        return []
    rows = [(safe(group.host), safe(device.id), safe(", ".join(f"{t(f'c_{key}')}: {_shown(device, key)}" for key in device.odd)))
            for group in page.devices.hosts for device in group.devices if device.odd]
    table = ["", *_table([t("c_host"), t("c_npu"), t("c_what")], rows[:LISTED])] if rows else []
    if page.devices.odd > LISTED:
        table += ["", t("devices_hidden_odd", count=page.devices.odd - LISTED)]
    return [f"## {t('devices')}", "", t("devices_all", count=page.devices.count, odd=page.devices.odd), *table]


def _shown(device: Any, key: str) -> str:
    value = getattr(device, key)
    return ", ".join(value) if isinstance(value, list) else str(value)


def _coverage(page: Page, t: Any) -> list[str]:
    covered = page.coverage
    lines = [f"- {t('cov_hosts')}: {t('of', one=covered.hosts_measured, all=covered.hosts)}"]
    if covered.directions or covered.failed or covered.not_run:
        lines += [f"- {t('cov_pairs')}: {t('of', one=covered.pairs_met, all=covered.pairs_possible)}", f"- {t('cov_failed')}: {covered.failed}",
                  f"- {t('cov_not_run')}: {covered.not_run}"]
    lines += _planned(covered.planned, t) if covered.planned else []
    if covered.not_measured:
        lines.append(f"- {t('cov_missing')}: {safe(', '.join(covered.not_measured[:LISTED]))}")
    return [f"## {t('coverage')}", "", *lines, *(f"- {safe(note)}" for note in covered.notes)]


def _planned(planned: Planned, t: Any) -> list[str]:
    numbers = t("cov_planned_is", pairs=planned.pairs, plan=safe(planned.plan), measured=planned.measured, failed=planned.failed, not_run=planned.not_run,
                not_measured=planned.not_measured)
    lines = [f"- {t('cov_planned')}: {numbers}"]
    if planned.missing:
        lines.append(f"- {t('cov_without')}: {safe(', '.join(planned.missing))}{', …' if planned.not_measured > len(planned.missing) else ''}")
    lines += [f"- {t('cov_left_out')}: {safe(line)}" for line in planned.left_out]
    if planned.leaves:
        known = t("cov_leaves_are", leaves=planned.leaves, known=sum(planned.npus_by_leaf_source.values()), npus=planned.npus)
        lines.append(f"- {t('cov_leaves')}: {known} ({', '.join(f'{safe(t(source))} {count}' for source, count in planned.npus_by_leaf_source.items())})")
    return lines + ([f"- {t('cov_pods')}: {planned.super_pods}"] if planned.super_pods else [])


def _failures(page: Page, t: Any) -> list[str]:
    rows = [(safe(row.where), safe(row.what), safe(row.code), safe(row.message)) for row in page.failures[:LISTED]]
    rows += [(safe(row.host), safe(t(row.event)), safe(row.task), safe(row.message)) for row in page.task_failures[:LISTED] if not row.ignored]
    if not rows:
        return []
    return [f"## {t('failures')}", "", *_table([t("c_where"), t("c_what"), t("c_status"), t("c_message")], rows)]
