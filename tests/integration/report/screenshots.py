"""Make the screenshots of README and docs: the findings of a simulated run, and its pictures.

Usage: ``python -m tests.integration.report.screenshots``
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from tests.integration.report import browser as chromium
from tests.integration.report import pages
from tests.lib.project import ROOT

FOLDER = ROOT / "docs/images"
WIDTH, HEIGHT, QUALITY = 1280, 820, 62
MOST_BYTES = 200_000
SHOTS = {"report.webp": ("en", "document.body"), "report-pictures.webp": ("zh", "document.querySelector('#topology')")}
"""The language of each picture and the element at its top."""


def make(browser: chromium.Browser, folder: Path, scratch: Path) -> list[Path]:
    """Write the pictures into ``folder`` and return their paths."""
    shown = pages.page(64, devices=8, with_history=True, concluded=True)
    found = []
    for name, (language, top) in SHOTS.items():
        page = pages.write(scratch / f"{language}.html", shown, language)
        browser.screen(WIDTH, HEIGHT)
        browser.scripts(True)
        browser.open(page)
        browser.value("for (const name of ['topology', 'maps']) document.querySelector(`#${name} details`).open = true")
        browser.value("document.querySelector('#worst').hidden = true")
        y = browser.value(f"{top}.getBoundingClientRect().y + scrollY")
        clip = {"x": 0, "y": y, "width": WIDTH, "height": HEIGHT, "scale": 1}
        picture = browser.call("Page.captureScreenshot", format="webp", quality=QUALITY, captureBeyondViewport=True, clip=clip)["data"]
        (folder / name).write_bytes(base64.b64decode(picture))
        found.append(folder / name)
    return found


def main() -> int:
    chromium.install()
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, chromium.browser(Path(scratch)) as browser:
        for path in make(browser, FOLDER, Path(scratch)):
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")
            if path.stat().st_size > MOST_BYTES:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
