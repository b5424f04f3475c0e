# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Render the page as a single HTML file in two languages. It makes no requests, is complete without its script, and readable in grey and on paper."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from .._history.baseline import LEAST_RUNS
from . import charts, plots, translations
from .model import Page
from .formatting import bytes_text, duration, group_text, instant, metric_text, percent, rounded, with_unit

LISTED = 100
"""Rows that a table shows. The number of the others is stated; the history has all."""
LONGEST = 10
"""Latencies that are listed if there are more than LISTED."""
FOLDED = 40
"""Number of good hosts above which their names are collapsed."""
FINDINGS = 50
"""Rows of the table of findings. Findings that several hosts share are one row, so this suffices for any number of hosts."""
SYMBOLS = {"good": "●", "slow": "◐", "degraded": "◔", "failed": "✕", "busy": "◇", "unreachable": "⊘", "not_measured": "○", "not_judged": "◌", "unknown": "○",
           "note": "•"}
_HERE = Path(__file__).parent


def render(page: Page, language: str = "en") -> str:
    """Return the HTML of ``page``; equal pages give equal texts. ``language``: the one that is shown first, en or zh."""
    script = _file("page.js")
    plotted = plots.build(page.maps)
    return _template().render(
        page=page, language=language, listed=LISTED, most_findings=FINDINGS, longest=LONGEST, folded=FOLDED, least_runs=LEAST_RUNS, plots=plotted,
        style=Markup(_file("page.css") + _columns()), script=Markup(script), script_hash=_hash(script), data=_data(plotted))  # noqa: S704


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(bytes=bytes_text, value=rounded, unit=with_unit, percent=percent, duration=duration, moment=instant,
                               metric=metric_text, c_key=lambda name: f"c_{name}")
    environment.globals.update(t=bilingual, headline=_headline, plain=_plain, symbols=SYMBOLS, named=group_text, trend_chart=_trend, size_chart=_sizes,
                               place_of=plots.place_of, state_images=plots.STATE_IMAGES)
    return environment.from_string(_file("page.html.j2"))


def bilingual(key: str, **values: Any) -> Markup:
    """Return a text in both languages; the style sheet shows one of them."""
    if key not in translations.TEXTS:
        return escape(translations.translate(key, "en"))
    return _spans(lambda language: translations.translate(key, language, **values))


def _headline(page: Page) -> Markup:
    return _spans(lambda language: translations.headline(page, language))


def _spans(text: Callable[[str], str]) -> Markup:
    return Markup("").join(Markup('<span lang="{}">{}</span>').format(tag, text(language)) for language, tag in (("en", "en"), ("zh", "zh-CN")))


def _plain(key: str, **values: Any) -> str:
    """Return a text in both languages without markup, for labels of screen readers."""
    return " / ".join(translations.translate(key, language, **values) for language in translations.LANGUAGES)


def _file(name: str) -> str:
    """Return a file of the page without its licence header, which the page contains once."""
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if "SPDX-" not in line)


def _columns() -> str:
    """Return the style rules that show a row as a card on narrow screens, with the column name in each cell."""
    rules = []
    for key, (english, chinese) in translations.TEXTS.items():
        if key.startswith("c_"):
            rules.append(f'.{key}::before{{content:"{english}"}}#zh:checked~main .{key}::before{{content:"{chinese}"}}')
    return "@media screen and (max-width:40rem){" + "".join(rules) + "}"


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _data(plotted: list[plots.Plot]) -> Markup:
    """Return the data of the script as JSON that cannot close its element."""
    states = ("diagonal", "cell_failed", "cell_not_measured")
    words = {language: {key: translations.translate(key, language) for key in states} for language in translations.LANGUAGES}
    content = json.dumps({"maps": [plot.data for plot in plotted], "words": words}, ensure_ascii=False, separators=(",", ":"))
    return Markup(content.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def _trend(found: Any) -> Markup:
    return charts.trend(found, f"{found.endpoint} {group_text(found.group)}".strip())


def _sizes(collectives: Any) -> Markup:
    lines = []
    for run in collectives:
        points = [(step.size_bytes, step.busbw) for step in run.steps if step.size_bytes is not None and step.busbw is not None]
        lines.append(charts.Line(f"{run.operation} {run.ranks}", points))
    return charts.sizes([line for line in lines if line.points], _plain("over_size"), bytes_text)
