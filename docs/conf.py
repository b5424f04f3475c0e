"""Settings of Sphinx for ``make docs``. Nothing is downloaded: links to the documentation of Ansible are derived from its labels.

The pages are written in English. The Chinese site is built from the same pages with ``-D language=zh_CN`` and the catalogs in ``locale``, into the folder
``zh`` of the English site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.pofile import read_po
from docutils import nodes
from sphinx.search.zh import SearchChinese

project = "hccn.cluster"
author = "The hccn.cluster authors"
copyright = author  # noqa: A001 - Sphinx requires this name
extensions = ["sphinx_antsibull_ext", "sphinx_copybutton"]
exclude_patterns = ["reference/index.rst"]  # the list of all plugins; plugins.rst orders them by topic
nitpicky = True

locale_dirs = ["locale"]
gettext_compact = False  # one catalog for each page
gettext_location = False  # line numbers would change with every edit

html_theme = "furo"
html_theme_options = {"top_of_page_buttons": ["view"]}  # _templates/components/view-this-page.html, the language link
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_copy_source = False
html_show_copyright = False
copybutton_prompt_text = "$ "  # copies the commands of a console block, without their output

ANSIBLE = "https://docs.ansible.com/ansible/latest/"
PAGES = {"action_plugins": "plugins/action.html", "callback_plugins": "plugins/callback.html", "lookup_plugins": "plugins/lookup.html",
         "ansible_configuration_settings": "reference_appendices/config.html", "common_return_values": "reference_appendices/common_return_values.html"}
NOT_TRANSLATED = "本页尚未翻译，以下为英文原文。"
PARTLY_TRANSLATED = "本页有 {} 段尚未翻译，以英文显示。"
CONTENTS = re.compile(r"^\.\. contents::\n(?: +:.*\n)*", re.MULTILINE)
WORDS = re.compile(r"[\u3400-\u9fff]+")


def address(label: str) -> str | None:
    """Return the address of a label or environment variable in the documentation of Ansible, or None if it is not Ansible's."""
    if label.startswith("ansible_collections.ansible.builtin."):
        page, _, anchor = label.removeprefix("ansible_collections.").partition("__")
        return ANSIBLE + "collections/" + page.replace(".", "/") + ".html" + (f"#{anchor}" if anchor else "")
    if label.startswith("ANSIBLE_"):
        return f"{ANSIBLE}reference_appendices/config.html#envvar-{label}"
    return ANSIBLE + PAGES[label] if label in PAGES else None


def link(_app: Any, _env: Any, node: Any, content: Any) -> nodes.reference | None:
    uri = address(node["reftarget"])
    return nodes.reference("", "", content, internal=False, refuri=uri) if uri else None


def without_contents(_app: Any, page: str, source: list[str]) -> None:
    """Remove the table of contents of generated pages, since the theme has its own."""
    if page.startswith("reference/"):
        source[0] = CONTENTS.sub("", source[0])


def add_language_link(app: Any, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Set the address of the same page in the other language."""
    chinese, up = app.config.language == "zh_CN", "../" * page.count("/")
    context["other_language"] = {"address": f"{up}../{page}.html" if chinese else f"{up}zh/{page}.html", "name": "English" if chinese else "中文",
                                 "code": "en" if chinese else "zh-CN"}


def untranslated(folder: Path, page: str) -> int | None:
    """Return the number of messages of a page without a translation, or None if the page has no catalog."""
    catalog = folder / "locale/zh_CN/LC_MESSAGES" / f"{page}.po"
    if not catalog.exists():
        return None
    with catalog.open("rb") as opened:
        return sum(not message.string for message in read_po(opened) if message.id)


def add_note(app: Any, doctree: nodes.document, page: str) -> None:
    """Say at the top of a Chinese page how much of it is in English."""
    if app.config.language != "zh_CN" or app.builder.format != "html":
        return
    missing = untranslated(Path(app.srcdir), page)
    section = next(iter(doctree.findall(nodes.section)), None)
    if missing != 0 and section is not None:
        text = NOT_TRANSLATED if missing is None else PARTLY_TRANSLATED.format(missing)
        section.insert(1, nodes.note("", nodes.paragraph("", text), classes=["untranslated"]))


class ChineseSearch(SearchChinese):
    """Find Chinese words without a dictionary: index every run of characters, of which a query may be a part, and every pair of characters."""

    language_name = "English"  # Sphinx derives from it the name of the JavaScript class that stems Latin words, which is the English one for Chinese

    def split(self, input: str) -> list[str]:
        return [*chinese_words(input), *super().split(input)]


def chinese_words(text: str) -> Iterator[str]:
    for run in WORDS.findall(text):
        yield run
        yield from (run[start:start + 2] for start in range(len(run) - 2 + 1) if len(run) > 2)


def setup(app: Any) -> None:
    app.connect("missing-reference", link)
    app.connect("source-read", without_contents)
    app.connect("html-page-context", add_language_link)
    app.connect("doctree-resolved", add_note)
    app.add_search_language(ChineseSearch)
