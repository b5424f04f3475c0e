"""The Chinese catalogs of the pages: they match the pages, and nothing in them is fuzzy, obsolete or without a translation."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.contract.docs.pages import DOCS
from tests.lib.project import ROOT, skip

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

PAGES = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.rst"))
FOLDER = DOCS / "locale/zh_CN/LC_MESSAGES"
TRANSLATED = sorted({path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.po")} - {"sphinx"})
PARTLY: dict[str, int] = {}
"""Pages with a catalog that is not complete, and the number of messages that have no translation."""

UPDATE = "python -m tests.contract.docs.translations, then translate"
KEPT = re.compile(r"``[^`]+``|(?P<role>:\w+:)`(?:[^`<]+<)?(?P<target>[^`>]+)>?`|\bEI\d{4}\b|\bretcode: \d+")


def kept(text: str) -> list[str]:
    """Return the parts of a message that its translation must have, too: literals, roles with their targets, and error codes."""
    return sorted(f"{found['role']}{found['target']}" if found["role"] else found[0] for found in KEPT.finditer(text))


@pytest.fixture(scope="module")
def templates() -> dict[str, Catalog]:
    if find_spec("sphinx") is None:
        skip("sphinx")
    from tests.contract.docs import translations

    return translations.templates()


def catalog(page: str) -> Catalog:
    if find_spec("babel") is None:
        skip("sphinx")
    from tests.contract.docs import translations

    return translations.read(FOLDER / f"{page}.po")


def test_first_pages_of_a_reader_are_translated() -> None:
    assert {"index", "tutorial", "troubleshooting"} <= set(TRANSLATED) <= set(PAGES)


def test_parts_that_a_translation_keeps() -> None:
    message = "Run ``a b``, see :doc:`the page </howto/eda>` or :doc:`jobs`: EI0006, retcode: 7"
    assert kept(message) == [":doc:/howto/eda", ":doc:jobs", "EI0006", "``a b``", "retcode: 7"]
    assert kept("见\\ :doc:`事件 </howto/eda>`") == [":doc:/howto/eda"]


@pytest.mark.parametrize("page", TRANSLATED)
def test_catalog_matches_its_page(templates: dict[str, Catalog], page: str) -> None:
    present, expected = catalog(page), templates[page]
    assert [message.id for message in present if message.id] == [message.id for message in expected if message.id], UPDATE
    assert list(present.obsolete) == [], UPDATE


@pytest.mark.parametrize("page", TRANSLATED)
def test_messages_are_translated(page: str) -> None:
    messages = [message for message in catalog(page) if message.id]
    missing = [message.id for message in messages if not message.string]
    assert [message.id for message in messages if message.fuzzy] == []
    assert len(missing) == PARTLY.get(page, 0), f"{len(messages) - len(missing)} of {len(messages)} messages are translated; not: {missing}"
    translated = [message for message in messages if message.string]
    changed = [message.string for message in translated if kept(message.id) != kept(message.string)]
    assert changed == [], "literals, references and error codes differ"


def test_both_readmes_have_the_same_commands_links_and_sections() -> None:
    texts = {language: (ROOT / name).read_text() for language, name in (("en", "README.md"), ("zh", "README.zh-CN.md"))}
    commands, targets, sections = ({language: pattern.findall(text) for language, text in texts.items()}
                                   for pattern in (re.compile(r"^ {4}.*", re.MULTILINE), re.compile(r"\]\(([^)#]+)"), re.compile("^#+ ", re.MULTILINE)))
    assert commands["zh"] == commands["en"]
    assert set(targets["en"]) ^ set(targets["zh"]) == {"README.md", "README.zh-CN.md"}
    assert [target for target in targets["en"] if not target.startswith("https://") and not (ROOT / target).exists()] == []
    assert sections["zh"] == sections["en"]
