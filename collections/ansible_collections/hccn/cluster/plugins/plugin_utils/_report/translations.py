# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Translate the texts of a page. Output of tools is not translated; sentences that the collection makes are recognized by their form."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._findings.finding import STAGES
from . import texts_findings
from .model import Page
from .texts import TEXTS

LANGUAGES = ("en", "zh")
_COMMAND = re.compile(r"(?<!\S)(?:hccn_tool|npu-smi|ansible(?:-[a-z]+)?|callbacks_enabled|kubectl|scontrol) .*")
_GROUP = re.compile(r"{(\w+)}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


class NextStep(NamedTuple):
    """The next step of a finding: words, followed by a command to copy, which may be empty. ``translated``: the words are in the language."""

    words: str
    command: str
    translated: bool = True


def translate(key: str, language: str, **values: Any) -> str:
    """Return a text in one language. An unknown key is a word of a record; it is returned with spaces instead of underscores."""
    found = TEXTS.get(key)
    if found is None or "{" in found[0] and not values:
        return key.replace("_", " ")
    return found[LANGUAGES.index(language)].format(**values)


def title(cause: str, language: str) -> str:
    """Return the title of a cause; that of an unknown one is its name."""
    found = texts_findings.TITLES.get(cause)
    return found[LANGUAGES.index(language)] if found else cause.replace("_", " ")


def sentence(text: str, language: str) -> str | None:
    """Return a message of a finding or verdict in one language, None if there is no translation of it."""
    if language == "en":
        return text
    parts = [_matched(part, texts_findings.MESSAGES) for part in text.split("; ")]
    return _matched(text, texts_findings.MESSAGES) if None in parts else "；".join(filter(None, parts))


def evidence(piece: Any, language: str) -> str | None:
    """Return a piece of evidence in one language, None if there is no translation of it."""
    if language == "en":
        return str(piece)
    template = texts_findings.EVIDENCE.get(getattr(piece, "code", ""))
    if template is None:
        stage, _colon, rest = str(piece).partition(": ") if str(piece).partition(": ")[0] in STAGES else ("", "", str(piece))
        found = _matched(rest, texts_findings.PAIRS) or _matched(rest, texts_findings.MESSAGES)
        return f"{stage}：{found}" if stage and found else found
    try:
        return _GROUP.sub(lambda found: str({**piece.values, **piece.place}[found[1]]), template)
    except KeyError:
        return None


def component(name: str, language: str) -> str:
    """Return the name of a component; names of hosts, switches and NPUs are the same in all languages."""
    return name if language == "en" else _matched(name, texts_findings.COMPONENTS) or name


def step(text: str, language: str) -> NextStep:
    """Return a next step with its command separated."""
    found = None if language == "en" else _matched(text, texts_findings.STEPS)
    if found is not None:
        return NextStep(found, "")
    match = _COMMAND.search(text)
    words, command = (text[:match.start()], match[0]) if match else (text, "")
    if language == "en" or not words:
        return NextStep(words.strip(), command)
    introduced = _matched(words, texts_findings.INTRODUCTIONS)
    return NextStep(words.strip() if introduced is None else introduced, command, introduced is not None)


def _matched(text: str, table: Sequence[tuple[str, str]]) -> str | None:
    for pattern, template in _compiled(table):
        match = pattern.fullmatch(text)
        if match:
            groups = {name: value or "" for name, value in match.groupdict().items()}
            note = groups.get("note")
            return _filled(template, {**groups, "note": _matched(note, texts_findings.MESSAGES) or note} if note else groups)
    return None


@functools.cache
def _compiled(table: tuple[tuple[str, str], ...]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), template) for pattern, template in table]


def _filled(template: str, groups: Mapping[str, str]) -> str:
    """Return the template with the groups. Parts in brackets that name an empty group are left out."""
    kept = _OPTIONAL.sub(lambda part: part[1] if all(groups.get(name) for name in _GROUP.findall(part[1])) else "", template)
    return _GROUP.sub(lambda found: texts_findings.WORDS.get(groups.get(found[1], ""), groups.get(found[1], "")), kept)


def headline(page: Page, language: str) -> str:
    """Return the headline of a run: its conclusion, else its verdicts, and the number of regressions."""
    first = [_concluded(page, language)] if page.conclusion else _judged(page, language)
    regressions = [translate("worse_one" if page.regression_count == 1 else "worse", language, count=page.regression_count)] if page.regression_count else []
    return " ".join([*first, *regressions])


def _concluded(page: Page, language: str) -> str:
    result, count = translate(page.conclusion.result if page.conclusion else "", language), len(page.verdicts)
    if not count:
        return translate("concluded_none", language, result=result)
    parts = translate("between", language).join(
        translate("class_count", language, count=number, name=translate(name, language)) for name, number in page.classes.items())
    return translate("concluded_one" if count == 1 else "concluded", language, result=result, count=count, parts=parts)


def _judged(page: Page, language: str) -> list[str]:
    bad, count = len(page.bad), len(page.verdicts)
    if not count:
        first = translate("nothing", language)
    elif not page.judged:
        first = translate("no_verdict", language)
    elif bad:
        first = translate("one_bad", language, count=count) if bad == 1 else translate("some_bad", language, bad=bad, count=count)
    else:
        first = translate("one_good", language) if count == 1 else translate("all_good", language, count=count)
    return [first, *([translate("fabric_one" if len(page.fabric) == 1 else "fabric_bad", language, count=len(page.fabric))] if page.fabric else [])]
