"""Heat maps in headless Chromium: colours, values, keyboard, zoom, search and filter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import heatmaps, model, png

from tests.integration.report import browser as chromium
from tests.integration.report import pages
from tests.integration.report.test_browser import LARGE, SMALL, click, show, text


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser_or_skip(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def small() -> model.Page:
    return pages.page(SMALL, devices=2, with_history=True, concluded=True)


@pytest.fixture(scope="module")
def small_page(small: model.Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("pages") / "small.html", small)


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("pages") / "large.html", pages.page(LARGE, concluded=True))


def show_maps(browser: chromium.Browser, path: Path, width: int = 1280, dark: bool = False, script: bool = True) -> None:
    show(browser, path, width, 800, dark, script)
    browser.value("document.querySelector('#maps details').open = true")


def cell(browser: chromium.Browser, row: int, column: int, plot: int = 0) -> tuple[int, int]:
    """Scroll a map into view and return the centre of one of its cells on the screen."""
    left, top, width, height, rows, columns = browser.value(
        f"(() => {{ const e = document.querySelectorAll('.cells')[{plot}]; e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
        "const s = e.parentElement.style; return [b.x, b.y, b.width, b.height, Number(s.getPropertyValue('--r')), Number(s.getPropertyValue('--c'))]; })()")
    assert width % columns == 0 and height % rows == 0, "a cell is whole pixels"
    return int(left + (column + 0.5) * width / columns), int(top + (row + 0.5) * height / rows)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False)])
def test_colours_of_cells(browser: chromium.Browser, small: model.Page, small_page: Path, width: int, dark: bool) -> None:
    show_maps(browser, small_page, width, dark, False)
    assert small.maps is not None
    for row, column in ((0, 1), (pages.SLOW, 2), (9, 25), (40, 41)):
        at = cell(browser, row, column)
        wanted = png.shade(heatmaps.level(small.maps.pairs.share(row, column), small.maps.expected.limit))[:3]
        assert browser.pixel(*at) == wanted
    x, y = cell(browser, 0, pages.dead(SMALL))
    red, green, blue = browser.pixel(x, y - (3 if width == 1280 else 1))
    assert red > 100 and green < 120 and blue < 140
    if width == 1280:
        x, y = cell(browser, SMALL - 9, 3)
        assert browser.pixel(x - 3, y - 3) == ((20, 23, 27) if dark else (255, 255, 255))


def test_value_under_the_pointer(browser: chromium.Browser, small: model.Page, small_page: Path) -> None:
    show_maps(browser, small_page)
    assert small.maps is not None

    def tooltip(row: int, column: int, plot: int = 0) -> str:
        browser.move(1, 1)
        browser.move(*cell(browser, row, column, plot))
        return browser.until("(() => { const t = document.getElementById('tip'); return t.style.visibility === 'visible' && t.textContent; })()")

    value = small.maps.pairs.values[pages.SLOW][2]
    assert value is not None
    share = round(value / small.maps.expected.value * 100)
    assert tooltip(pages.SLOW, 2) == f"npu-node-017 → npu-node-003 (NPU 0): {value:.4g} Gbit/s, {share} %"
    assert tooltip(0, 0) == "npu-node-001 → npu-node-001: itself"
    assert tooltip(0, pages.dead(SMALL)) == f"npu-node-001 → npu-node-{pages.dead(SMALL) + 1:03d} (NPU 1): failed"
    click(browser, "label[for=zh]")
    assert tooltip(SMALL - 9, 3).endswith(": 未测量")
    assert tooltip(1, pages.SLOW, 1).startswith("NPU 1 · npu-node-017: 195")


def test_values_are_readable_with_the_keyboard(browser: chromium.Browser, small_page: Path) -> None:
    show_maps(browser, small_page)
    browser.value("document.querySelector('.cells').focus()")
    for key in ("ArrowRight", "ArrowRight"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert browser.until("document.getElementById('tip').textContent").startswith("npu-node-001 → npu-node-002 (NPU ")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert browser.value("document.getElementById('tip').style.visibility") == "hidden"


def test_legend_has_the_limit_and_the_unit(browser: chromium.Browser, small_page: Path) -> None:
    show_maps(browser, small_page)
    legend = text(browser, ".legend")
    assert legend.startswith("50 % or less 97.") and legend.count("Gbit/s") >= 4
    assert "95 % limit 185" in legend and ", the baseline" in legend
    assert "failed: 61" in legend and "itself" in legend and "lost: 126" in legend and "not measured: 62" in legend


def rows(browser: chromium.Browser) -> list[str]:
    """Return the names beside the first map."""
    found: list[str] = browser.value("[...document.querySelectorAll('.plot')[0].querySelectorAll('.rows span')].map((e) => e.textContent)")
    return found


def test_large_map_is_searched_filtered_and_zoomed(browser: chromium.Browser, large_page: Path) -> None:
    show_maps(browser, large_page)
    before = browser.value("document.querySelector('.cells').getBoundingClientRect().height")
    assert 512 <= before <= 1100
    browser.value("(() => { const e = document.querySelector('.find'); e.value = 'NODE-01'; e.dispatchEvent(new Event('input')); })()")
    assert browser.until("document.querySelector('.controls output').textContent") == "10 / 512 rows"
    browser.value("(() => { const e = document.querySelector('.find'); e.value = ''; e.dispatchEvent(new Event('input')); })()")
    browser.until("document.querySelector('.controls output').textContent === ''")
    assert browser.value("document.querySelector('.cells').getBoundingClientRect().height") == before
    browser.value("(() => { const e = document.querySelector('.bad'); e.checked = true; e.dispatchEvent(new Event('change')); })()")
    browser.until("document.querySelector('.controls output').textContent")
    browser.value("(() => { const e = document.querySelector('.find'); e.value = 'node-017'; e.dispatchEvent(new Event('input')); })()")
    browser.until("document.querySelector('.controls output').textContent === '1 / 512 rows'")
    for _press in range(4):
        click(browser, ".controls .in")
    assert browser.until("document.querySelector('.cells').getBoundingClientRect().height > 10")
    assert rows(browser) == ["npu-node-017"]
    left, top, height = browser.value("(() => { const b = document.querySelector('.cells').getBoundingClientRect(); return [b.x, b.y, b.height]; })()")
    browser.move(left + 20, top + height / 2)
    assert browser.until("document.getElementById('tip').textContent").startswith("npu-node-017 → npu-node-001")
    assert browser.value("document.documentElement.scrollWidth <= innerWidth"), "the map scrolls on its own"


def test_canvas_has_the_colours_of_the_image(browser: chromium.Browser, small: model.Page, small_page: Path) -> None:
    """Filtered rows are drawn by the script, the whole map is an image. Both have the same colours."""
    show_maps(browser, small_page)
    assert small.maps is not None
    browser.value("(() => { const e = document.querySelector('.find'); e.value = 'node-0'; e.dispatchEvent(new Event('input')); })()")
    browser.until("document.querySelector('.cells canvas') !== null")
    for row, column in ((0, 1), (pages.SLOW, 2), (9, 25), (40, 41)):
        wanted = png.shade(heatmaps.level(small.maps.pairs.share(row, column), small.maps.expected.limit))
        pixel = browser.value(f"[...document.querySelector('.cells canvas').getContext('2d').getImageData({column}, {row}, 1, 1).data]")
        assert [abs(one - other) <= 3 for one, other in zip(pixel, wanted)] == [True] * 4, (row, column, pixel, wanted)
