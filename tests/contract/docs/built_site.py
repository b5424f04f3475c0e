"""Check the site that ``make docs`` has built: links in both languages, and the layout of each page in headless Chromium. ``make docs`` runs this file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.integration.report import browser as chromium
from tests.lib.project import ROOT

SITE = ROOT / "build/docs/html"
CHINESE = SITE / "zh"
PROBLEMS = Path(__file__).with_name("site_problems.js").read_text()
LANGUAGES = {"en": SITE, "zh-CN": CHINESE}


@dataclass
class Page(HTMLParser):
    """The anchors and links of a page, and its link to the other language."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    language: str | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value for name, value in attrs if value}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        if tag == "html":
            self.language = attributes.get("lang")
        if tag == "a" and "hreflang" in attributes:
            self.other = attributes["href"]

    def target(self, link: str) -> tuple[Path, str] | None:
        """Return the file and the anchor of a link, or None if it leaves the site."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        return ((self.path.parent / unquote(parts.path)).resolve() if parts.path else self.path), unquote(parts.fragment)


@cache
def page(path: Path) -> Page:
    return Page(path)


def pages(language: str) -> list[Path]:
    """Return all pages of a language, also those of the search and of the index."""
    return sorted(path for path in LANGUAGES[language].rglob("*.html") if language == "zh-CN" or not path.is_relative_to(CHINESE))


def broken(path: Path) -> Iterator[str]:
    for link in page(path).links:
        target = page(path).target(link)
        if target and not target[0].is_file():
            yield f"{path.relative_to(SITE)}: {link}: no such file"
        elif target and target[1] and target[0].suffix == ".html" and target[1] not in page(target[0]).anchors:
            yield f"{path.relative_to(SITE)}: {link}: no such anchor"


@pytest.mark.parametrize("language", LANGUAGES)
def test_links_and_anchors_of_the_site_resolve(language: str) -> None:
    found = pages(language)
    assert len(found) > 120
    assert sum(page(path).target(link) is not None for path in found for link in page(path).links) > 10_000
    assert [line for path in found for line in broken(path)] == []


def test_each_page_links_to_itself_in_the_other_language() -> None:
    english, chinese = ({path.relative_to(folder): path for path in pages(language)} for language, folder in LANGUAGES.items())
    assert set(english) == set(chinese)
    for name, path in english.items():
        assert (page(path).language, page(chinese[name]).language) == ("en", "zh-CN")
        assert page(path).target(page(path).other or "") == (chinese[name], "")
        assert page(chinese[name]).target(page(chinese[name]).other or "") == (path, "")


def is_translated(path: Path) -> bool:
    return "本页尚未翻译" not in path.read_text()


def test_chinese_pages_say_what_is_not_translated() -> None:
    assert is_translated(CHINESE / "tutorial.html") and "本页内容" in (CHINESE / "tutorial.html").read_text()
    untranslated = [path.relative_to(CHINESE).as_posix() for path in pages("zh-CN") if not is_translated(path)]
    assert "reference/device_info_module.html" in untranslated
    assert all(map(is_translated, pages("en")))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser_or_skip(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_fit_the_screen_in_light_and_dark(browser: chromium.Browser, language: str) -> None:
    """A page without a translation has the same layout in both languages."""
    found, texts = [], 0
    for path in [path for path in pages(language) if is_translated(path) or path.name == "device_info_module.html"]:
        browser.show(path)
        for width, dark in ((1400, False), (420, True)):  # layout does not depend on colors, nor colors on the width
            browser.screen(width, 900, dark)
            result = browser.value(PROBLEMS)
            assert result["dark"] is dark
            texts += result["texts"]
            found += [f"{path.relative_to(SITE)}, {width} px, {'dark' if dark else 'light'}: {problem}" for problem in result["found"]]
    assert found == []
    assert texts > {"en": 50_000, "zh-CN": 10_000}[language]


def test_layout_problems_are_found(browser: chromium.Browser) -> None:
    browser.screen(420, 900)
    browser.show(SITE / "index.html")
    assert browser.value(PROBLEMS)["found"] == []
    wide = "<p style='white-space: nowrap; color: #bbb; background: white'>" + 20 * "one long line " + "</p>"
    browser.value(f"document.querySelector('article').insertAdjacentHTML('beforeend', {wide!r})")
    words = [problem.partition(":")[0].partition(" (")[0] for problem in browser.value(PROBLEMS)["found"]]
    assert words == ["the content is too wide", "beyond the screen", "contrast 1.92"]


@pytest.mark.parametrize(("language", "query", "expected"), [("en", "optical power", "explanation/evidence"), ("zh-CN", "光模块", "troubleshooting"),
                                                              ("zh-CN", "线缆", "tutorial")])
def test_search_finds_words(browser: chromium.Browser, language: str, query: str, expected: str) -> None:
    browser.show(LANGUAGES[language] / "search.html")
    browser.value(f"Search.performSearch({query!r})")
    browser.until(f"[...document.querySelectorAll('#search-results a')].some((link) => link.getAttribute('href').startsWith({expected + '.html'!r}))")
