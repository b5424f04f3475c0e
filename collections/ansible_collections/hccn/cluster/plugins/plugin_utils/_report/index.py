# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The index of a folder of reports, and the links between them. Each page contains what the index shows about it, so the index reads only their beginnings."""

from __future__ import annotations

import html as markup
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from .._history import files
from . import html, translations
from .fields import mapping, text
from .model import Page

NAME = "index.html"
HEAD_BYTES = 8192
"""Bytes at the beginning of a page that are searched for its entry."""
MOST_ENTRIES = 500
_ENTRY = re.compile(rb'<meta name="hccn-report" content="([^"]*)">')
_NAV = re.compile(rb"<!--nav-->.*?<!--/nav-->", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """A report: the name of its file, and the facts about its run. ``hosts`` by class, ``findings`` by severity."""

    name: str
    run_id: str
    started_at: str
    playbook: str
    state: str
    hosts: dict[str, int]
    findings: dict[str, int]

    @property
    def order(self) -> tuple[str, str]:
        return self.started_at, self.run_id

    @property
    def address(self) -> str:
        return quote(self.name)

    @property
    def day(self) -> str:
        return self.started_at[:10]


def of_page(page: Page, name: str) -> Entry:
    """Return the entry of a page that is written to a file of this name."""
    facts = page.facts
    return Entry(name, facts.run_id, facts.started_at, facts.playbook, page.state, page.classes, page.severities)


def encoded(entry: Entry) -> str:
    """Return the entry as it is kept in its page."""
    fields = {"run_id": entry.run_id, "started_at": entry.started_at, "playbook": entry.playbook, "state": entry.state, "hosts": entry.hosts,
              "findings": entry.findings}
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))


def entries(folder: Path) -> list[Entry]:
    """Return the entries of the pages in a folder, newest first. Files without an entry are skipped."""
    found = []
    for path in folder.glob("*.html"):
        entry = _read(path) if path.name != NAME else None
        found += [entry] if entry else []
    return sorted(found, key=lambda one: one.order, reverse=True)


def _read(path: Path) -> Entry | None:
    try:
        with path.open("rb") as stream:
            match = _ENTRY.search(stream.read(HEAD_BYTES))
        kept = mapping(json.loads(markup.unescape(match[1].decode("utf-8")))) if match else {}
    except (OSError, ValueError):
        return None
    if not kept:
        return None
    return Entry(path.name, text(kept.get("run_id")), text(kept.get("started_at")), text(kept.get("playbook")), text(kept.get("state")),
                 _counts(kept.get("hosts")), _counts(kept.get("findings")))


def _counts(found: Any) -> dict[str, int]:
    return {str(key): count for key, count in mapping(found).items() if isinstance(count, int)}


def neighbours(entry: Entry, others: Sequence[Entry]) -> tuple[Entry | None, Entry | None]:
    """Return the reports before and after ``entry``. ``others``: newest first."""
    rest = [other for other in others if other.name != entry.name]
    before = next((other for other in rest if other.order < entry.order), None)
    after = next((other for other in reversed(rest) if other.order > entry.order), None)
    return before, after


def nav(before: Entry | None, after: Entry | None, has_changes: bool) -> Markup:
    """Return the links of a page to the index, its neighbours, and what changed since the run before."""
    links = [_link(NAME, "index")]
    links += [_link(before.address, "previous", "prev")] if before else []
    links += [_link(after.address, "next", "next")] if after else []
    links += [_link("#changes", "compare")] if has_changes else []
    return Markup("<!--nav--><nav class=\"runs\">{}</nav><!--/nav-->").format(Markup("").join(links))


def _link(address: str, key: str, relation: str = "") -> Markup:
    rel = Markup(' rel="{}"').format(relation) if relation else Markup("")
    return Markup('<a href="{}"{}>{}</a>').format(address, rel, html.bilingual(key))


def update(folder: Path, entry: Entry, language: str, mode: int) -> None:
    """Write the index with ``entry``, and link the pages before and after it to it. Raise OSError."""
    others = [other for other in entries(folder) if other.name != entry.name]
    known = sorted([*others, entry], key=lambda one: one.order, reverse=True)
    _replace(folder / NAME, render(known, language).encode("utf-8", "replace"), mode)
    for other in filter(None, neighbours(entry, others)):
        _relink(folder / other.name, *neighbours(other, known), mode)


def _relink(path: Path, before: Entry | None, after: Entry | None, mode: int) -> None:
    content = path.read_bytes()
    links = nav(before, after, b'<section id="changes">' in content).encode("utf-8")
    _replace(path, _NAV.sub(lambda _old: links, content, count=1), mode)


def _replace(path: Path, content: bytes, mode: int) -> None:
    if not path.exists() or path.read_bytes() != content:
        files.replace(path, content, mode)


def render(known: Sequence[Entry], language: str = "en") -> str:
    """Return the index as HTML. ``known``: newest first; at most MOST_ENTRIES are shown."""
    return html.environment().get_template("index.html.j2").render(
        entries=known[:MOST_ENTRIES], hidden=max(0, len(known) - MOST_ENTRIES), language=language, style=html.style(),
        title=translations.translate("index_title", language))
