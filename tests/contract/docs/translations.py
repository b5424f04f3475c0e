"""Update the Chinese catalogs in docs/locale after a change of the pages, and print how many messages of each page are translated.

Usage: ``python -m tests.contract.docs.translations [PAGE ...]``; a page that is named, such as ``howto/awx``, gets a catalog if it has none.

A message that is new has an empty translation; one that resembles an earlier message keeps its translation and is marked fuzzy. The tests refuse both.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from tests.contract.docs.pages import DOCS

FOLDER = DOCS / "locale/zh_CN/LC_MESSAGES"
THEME = "sphinx"
"""The catalog with words of the theme, which belongs to no page."""
HEADER = '''\
# Chinese translation of docs/{page}.rst. Updated by: python -m tests.contract.docs.translations
msgid ""
msgstr ""
"Language: zh_CN\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

'''


def templates() -> dict[str, Catalog]:
    """Return the messages of all pages, by the page's name. The reference, which ``make docs`` adds, is not among them."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "sphinx", "-Q", "-b", "gettext", "-d", f"{folder}/doctrees", str(DOCS), f"{folder}/pot"], check=True, timeout=120)
        return {path.relative_to(f"{folder}/pot").with_suffix("").as_posix(): read(path) for path in sorted(Path(folder, "pot").rglob("*.pot"))}


def read(path: Path) -> Catalog:
    with path.open("rb") as opened:
        return read_po(opened, locale=None)


def messages(catalog: Catalog) -> list[Message]:
    return [message for message in catalog if message.id]


def catalogs() -> dict[str, Path]:
    """Return the catalogs by the name of their page."""
    found = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in sorted(FOLDER.rglob("*.po"))}
    return {page: path for page, path in found.items() if page != THEME}


def write(page: str, catalog: Catalog) -> None:
    text = io.BytesIO()
    write_po(text, catalog, width=0, omit_header=True, ignore_obsolete=True)
    path = FOLDER / f"{page}.po"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER.format(page=page) + text.getvalue().decode().rstrip("\n") + "\n")


def update(names: list[str]) -> None:
    current = templates()
    unknown = sorted(set(names) - set(current))
    if unknown:
        sys.exit(f"no page docs/{unknown[0]}.rst")
    present = catalogs()
    for page in sorted({*names, *present}):
        if page not in current:
            present[page].unlink()
            continue
        catalog = read(present[page]) if page in present else Catalog()
        catalog.update(current[page])
        write(page, catalog)
    present = catalogs()
    for page, template in current.items():
        translated = sum(bool(message.string) and not message.fuzzy for message in messages(read(present[page]))) if page in present else 0
        print(f"{translated:4} of {len(messages(template)):4}  {page}")


if __name__ == "__main__":
    update(sys.argv[1:])
