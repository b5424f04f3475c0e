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
from .._plan.endpoint_words import of_ports
from . import charts, pictures, plots, texts_findings, translations
from .formatting import bytes_text, duration, group_text, instant, metric_text, percent, rounded, with_unit
from .health import CHANGES
from .model import DEFAULT_TITLE, Page
from .texts import TEXTS

LISTED = 100
"""Rows that a table shows. The number of the others is stated; the history has all."""
LONGEST = 10
"""Latencies that are listed if there are more than LISTED."""
FINDINGS, CARDS_OPEN = 50, 8
"""Cards of findings, and those that are not folded. Findings that several hosts share are one card, so this suffices for any number of hosts."""
EVIDENCE_SHOWN = 4
"""Pieces of evidence of a card that are not folded."""
LOWEST_SHOWN = 3
"""NPUs with the lowest medians that are listed if none is below the limit."""
SYMBOLS = {"good": "●", "slow": "◐", "degraded": "◔", "failed": "✕", "busy": "◇", "unreachable": "⊘", "not_measured": "○", "not_judged": "◌", "unknown": "○",
           "note": "•", "regression": "◐", "incomplete_run": "◌"}
_HERE = Path(__file__).parent
_SCRIPTS, _STYLES = ("page.js", "map.js"), ("pictures.css", "page.css")
_TAGS = {"en": "en", "zh": "zh-CN"}


def render(page: Page, language: str = "en", nav: Markup | None = None, meta: str = "") -> str:
    """Return the HTML of ``page``; equal pages give equal texts.

    ``language``: the one that is shown first, en or zh. ``nav``: links to other reports. ``meta``: what the index of the reports shows about this one.
    """
    in_words: Callable[[str], str] = str if page.has_npus else of_ports
    script = in_words("".join(map(_file, _SCRIPTS)))
    plotted = plots.build(page.maps)
    # Notes do not need attention: such a page is one line, and the rest is folded.
    calm = page.state == "good" and not page.bad
    return in_words(_template().render(
        page=page, language=language, listed=LISTED, most_findings=FINDINGS, cards_open=CARDS_OPEN, evidence_shown=EVIDENCE_SHOWN,
        longest=LONGEST, calm=calm,
        least_runs=LEAST_RUNS, lowest_shown=LOWEST_SHOWN, changes_shown=CHANGES, plots=plotted,
        nav=nav or "", meta=meta,
        titles=_spans(lambda one: _title(page, one)), title_of=lambda one: _title(page, one),
        style=style() + Markup(_columns()),  # noqa: S704
        script=Markup(script), script_hash=_hash(script), data=_data(plotted)))  # noqa: S704


def style() -> Markup:
    """Return the style sheet of the page and of the index."""
    return Markup("".join(map(_file, _STYLES)) + f".ramp{{background:linear-gradient(90deg,{plots.gradient()})}}")  # noqa: S704


@functools.cache
def _template() -> jinja2.Template:
    return environment().get_template("page.html.j2")


@functools.cache
def environment() -> jinja2.Environment:
    """Return the environment of the templates of the page and of the index."""
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(bytes=bytes_text, value=rounded, unit=with_unit, percent=percent, duration=duration, moment=instant, c_key=lambda name: f"c_{name}")
    made.globals.update(
        t=bilingual, headline=_headline, plain=plain, symbols=SYMBOLS, named=_of(group_text), metric=_of(metric_text),
        metric_in=_metric_in, trend_chart=_trend, size_chart=_sizes,
        state_images=plots.STATE_IMAGES, cause=_by(translations.title), component=lambda one: _by(translations.component)(one.name),
        said=_by(translations.sentence), proof=_by(translations.evidence), next_step=_step, documentation=documentation, when=charts.when, counted=_counted,
        join=lambda *parts: Markup(" ").join(filter(None, parts)), sign=pictures.sign, span_sign=pictures.span_sign, topology_blocks=pictures.blocks,
        run_timeline=pictures.timeline, histogram=_histogram, state_word=_state_word, word=_word)
    return made


def bilingual(key: str, **values: Any) -> Markup:
    """Return a text in both languages; the style sheet shows one of them."""
    if key not in TEXTS:
        return escape(translations.translate(key, "en"))
    return _spans(lambda language: translations.translate(key, language, **{name: _in(value, language) for name, value in values.items()}))


def _in(value: Any, language: str) -> Any:
    return value(language) if callable(value) else value


def _title(page: Page, language: str) -> str:
    return translations.translate("title", language) if page.title == DEFAULT_TITLE else page.title


def _headline(page: Page) -> Markup:
    return _spans(lambda language: translations.headline(page, language))


def _spans(text: Callable[[str], str | None], tag: str = "span") -> Markup:
    """Return a text in both languages, once if it is the same or has no translation."""
    english, chinese = text("en"), text("zh")
    if chinese is None or chinese == english:
        return escape(english or "")
    return Markup("").join(Markup("<{} lang={}>{}</{}>").format(Markup(tag), Markup(_TAGS[one]), found, Markup(tag))  # noqa: S704
                           for one, found in (("en", english), ("zh", chinese)))


def _by(function: Callable[[Any, str], str | None]) -> Callable[[Any], Markup]:
    return lambda given: _spans(lambda language: function(given, language))


def _of(function: Callable[[Any, Callable[[str], str]], str]) -> Callable[[Any], Markup]:
    return lambda given: _spans(lambda language: function(given, lambda word: translations.translate(word, language) if word else ""))


def _metric_in(given: Any) -> Callable[[str], str]:
    return lambda language: metric_text(given, lambda word: translations.translate(word, language) if word else "")


def _step(text: str) -> dict[str, Any]:
    """Return the words of a next step in both languages and its command."""
    found = {language: translations.step(text, language) for language in translations.LANGUAGES}
    return {"words": _spans(lambda language: found[language].words), "command": found["en"].command if found["zh"].command else ""}


def documentation(cause: str) -> str:
    """Return the address of the documentation of a cause."""
    return texts_findings.DOCUMENTATION + texts_findings.PAGES.get(cause, texts_findings.CAUSES_PAGE)


def _state_word(value: str) -> Markup:
    return bilingual(value.lower()) if value.lower() in ("enabled", "disabled", "up", "down", "success") else escape(value)


def _word(name: str) -> Callable[[str], str]:
    return lambda language: translations.translate(name, language)


def _counted(page: Page) -> Markup:
    return _spans(lambda language: translations.translate("between", language).join(
        translations.translate("class_count", language, count=count, name=translations.translate(name, language)) for name, count in page.classes.items()))


def plain(key: str, **values: Any) -> str:
    """Return a text in both languages without markup, for labels of screen readers."""
    return " / ".join(translations.translate(key, language, **values) for language in translations.LANGUAGES)


def _file(name: str) -> str:
    """Return a file of the page without its licence header, which the page contains once."""
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if "SPDX-" not in line)


def _columns() -> str:
    """Return the style rules that show a row as a card on narrow screens, with the column name in each cell."""
    rules = []
    for key, (english, chinese) in TEXTS.items():
        if key.startswith("c_"):
            rules.append(f'.{key}::before{{content:"{english}"}}#zh:checked~main .{key}::before{{content:"{chinese}"}}')
    return "@media screen and (max-width:40rem){" + "".join(rules) + "}"


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _data(plotted: list[plots.Plot]) -> Markup:
    """Return the data of the script as JSON that cannot close its element."""
    states = ("diagonal", "cell_failed", "cell_not_measured", "cell_lost", "shown_rows", "copied")
    words = {language: {key: translations.translate(key, language) for key in states}
             for language in translations.LANGUAGES}
    content = json.dumps({"maps": [plot.data for plot in plotted], "words": words, "palette": plots.palette()}, ensure_ascii=False, separators=(",", ":"))
    return Markup(content.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def _trend(found: Any) -> Markup:
    return charts.trend(found, f"{found.endpoint} {group_text(found.group)}".strip())


def _histogram(found: Any) -> Markup:
    words = {key: _spans(lambda language, key=key: translations.translate(key, language), "tspan") for key in ("limit", "expected")}  # type: ignore[misc]
    return pictures.distribution(found, words, plain("below_digest", count=found.below, pairs=found.pairs))


def _sizes(collectives: Any) -> Markup:
    lines = []
    for run in collectives:
        points = [(step.size_bytes, step.busbw) for step in run.steps if step.size_bytes is not None and step.busbw is not None]
        lines.append(charts.Line(f"{run.operation} {run.ranks}", points))
    return charts.sizes([line for line in lines if line.points], plain("over_size"), bytes_text)
