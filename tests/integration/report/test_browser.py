"""The report in headless Chromium: large and small screens, light and dark, both languages, with and without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._report import heatmaps, model, png
from tests.integration.report import browser as chromium
from tests.integration.report import pages

LOOKS = Path(__file__).with_name("looks.js").read_text()
SMALL, LARGE = 64, 512


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser_or_skip(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def small() -> model.Page:
    return pages.page(SMALL, devices=2, with_past=True)


@pytest.fixture(scope="module")
def small_page(small: model.Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("pages") / "small.html", small)


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("pages") / "large.html", pages.page(LARGE))


@pytest.fixture(scope="module")
def concluded_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("pages") / "concluded.html", pages.page(SMALL, concluded=True))


@pytest.fixture(scope="module")
def large_concluded_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("pages") / "large-concluded.html", pages.page(LARGE, concluded=True))


def test_sizes(small_page: Path, large_page: Path, large_concluded_page: Path) -> None:
    assert large_concluded_page.stat().st_size <= 1_000_000
    assert small_page.stat().st_size <= 200_000
    assert large_page.stat().st_size <= 1_000_000


def show(browser: chromium.Browser, path: Path, width: int = 1280, height: int = 800, dark: bool = False, script: bool = True, chinese: bool = False) -> None:
    browser.screen(width, height, dark)
    browser.scripts(script)
    browser.open(path)
    if chinese:
        click(browser, "label[for=zh]")


def click(browser: chromium.Browser, selector: str) -> None:
    box = browser.value(f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}}); "
                        "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
    browser.click(*box)


def text(browser: chromium.Browser, selector: str) -> str:
    return " ".join(browser.value(f"document.querySelector({selector!r}).innerText").split())


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("chinese", [False, True])
def test_layout_has_no_overlapping_truncated_or_faint_text(browser: chromium.Browser, small_page: Path, width: int, dark: bool, chinese: bool) -> None:
    show(browser, small_page, width, 800, dark, chinese=chinese)
    seen = browser.value(LOOKS)
    assert seen["found"] == []
    assert seen["lines"] > 300


@pytest.mark.parametrize("width", [360, 420, 1280])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("chinese", [False, True])
def test_findings_are_visible_on_every_screen(browser: chromium.Browser, concluded_page: Path, width: int, dark: bool, chinese: bool) -> None:
    show(browser, concluded_page, width, 800, dark, chinese=chinese)
    folded = browser.value(LOOKS)
    browser.value("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    opened = browser.value(LOOKS)
    assert (folded["found"], opened["found"]) == ([], [])
    assert opened["lines"] > folded["lines"] + 50


def test_text_of_the_findings(browser: chromium.Browser, concluded_page: Path) -> None:
    show(browser, concluded_page)
    assert text(browser, ".head") == "Result: failed. 64 hosts: 1 failed, 1 slow, 24 degraded, 1 busy, 37 good."
    rows = browser.value("[...document.querySelector('table').rows].map((row) => [...row.cells].map((cell) => cell.innerText.split('\\n')[0].trim()))")
    assert rows == [
        ["Severity", "Component", "Message", "Next step"],
        ["✕ failed", "npu-node-060 NPU 0", "the link is down", "On npu-node-060: hccn_tool -i 0 -optical -g"],
        ["◐ slow", "npu-node-017 NPU 0", "it is slow with 3 of 3 proven-good partners, 74 % below normal", "On npu-node-017: hccn_tool -i 0 -optical -g"],
        ["◐ slow", "path leaf1-leaf3", "64 of its pairs are slow, 20 % below normal",
         "Compare the ports, PFC, ECN and MTU of the switches on it with those of another one"],
        ["◔ degraded", "npu-node-025, npu-node-026, npu-node-027 ... (24 hosts)", "its MTU is 1500, that of most hosts 4096",
         "ansible-playbook hccn.cluster.bring_up --check --diff -e hccn_hosts=npu-node-025"],
        ["○ unknown", "npu-node-056", "NPUs 0-1 are at work, pid 4711",
         "ansible-playbook hccn.cluster.check_fabric -e hccn_hosts=npu-node-056"],
        ["• note", "cluster", "a host is busy", "–"]]
    assert browser.value("document.querySelector('table caption').innerText") == "Findings"
    assert browser.value("[...document.querySelectorAll('#verdict details')].map((fold) => [fold.open, fold.querySelector('summary').innerText])") == [
        [False, "Evidence (2)"], [False, "Evidence (1)"], [False, "Hosts that are not good (27)"]]
    click(browser, "#verdict td summary")
    assert browser.value("document.querySelector('#verdict td details').open")
    click(browser, "label[for=zh]")
    assert text(browser, ".head") == "结论：失败。64 台主机：1 台失败，1 台慢，24 台降级，1 台占用中，37 台正常。"


@pytest.mark.parametrize(("width", "height"), [(360, 640), (1280, 720)])
def test_worst_finding_is_visible_without_scrolling(browser: chromium.Browser, large_concluded_page: Path, width: int, height: int) -> None:
    show(browser, large_concluded_page, width, height)
    seen = browser.value("[...document.querySelectorAll('#verdict tbody tr')].filter((row) => row.getBoundingClientRect().bottom <= innerHeight)"
                         ".map((row) => row.cells[1].innerText.trim())")
    assert seen[0] == "npu-node-508 NPU 0"


def test_layout_checks_detect_defects(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page, 360)
    browser.value("document.querySelector('h2').style.cssText = 'color:#999;margin-top:-1.5rem;white-space:nowrap;width:500px'")
    found = " ".join(browser.value(LOOKS)["found"])
    assert "contrast 2.8" in found and " lies on " in found and "the page is 5" in found


@pytest.mark.parametrize("width", [360, 1280])
def test_large_map_scrolls_separately(browser: chromium.Browser, large_page: Path, width: int) -> None:
    show(browser, large_page, width)
    assert browser.value(LOOKS)["found"] == []


@pytest.mark.parametrize(("width", "height"), [(360, 640), (1280, 720)])
def test_worst_cell_is_visible_without_scrolling(browser: chromium.Browser, large_page: Path, width: int, height: int) -> None:
    show(browser, large_page, width, height)
    assert text(browser, ".head") == "3 of 512 hosts are not good. 1 component of the fabric is not good."
    seen = browser.value("[...document.querySelectorAll('#verdict tbody tr')].filter((row) => row.getBoundingClientRect().bottom <= innerHeight)"
                         ".map((row) => row.cells[0].innerText.split('\\n')[0].trim())")
    assert seen[:2] == ["path leaf1-leaf3 of the fabric", "npu-node-508"]


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("page", ["small_page", "large_page"])
def test_page_loads_nothing_from_the_network(browser: chromium.Browser, page: str, script: bool, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(page)
    show(browser, path, script=script)
    assert [address for address in browser.requests if not address.startswith("data:image/png")] in ([path.as_uri()], [path.as_uri(), "data:,"])
    assert browser.errors == []


def cell(browser: chromium.Browser, row: int, column: int, plot: int = 0) -> tuple[int, int]:
    """Scroll a map into view and return the center of one of its cells on the screen."""
    left, top, width, height, rows, columns = browser.value(
        f"(() => {{ const e = document.querySelectorAll('.cells')[{plot}]; e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
        "const s = e.parentElement.style; return [b.x, b.y, b.width, b.height, Number(s.getPropertyValue('--r')), Number(s.getPropertyValue('--c'))]; })()")
    assert width % columns == 0 and height % rows == 0, "a cell is whole pixels"
    return int(left + (column + 0.5) * width / columns), int(top + (row + 0.5) * height / rows)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False)])
def test_color_of_known_cells(browser: chromium.Browser, small: model.Page, small_page: Path, width: int, dark: bool) -> None:
    show(browser, small_page, width, dark=dark, script=False)
    assert small.maps is not None
    for row, column in ((0, 1), (pages.SLOW, 2), (9, 25), (40, 41)):
        at = cell(browser, row, column)
        wanted = png.shade(heatmaps.level(small.maps.pairs.share(row, column)))[:3]
        assert browser.pixel(*at) == wanted
    x, y = cell(browser, 0, pages.dead(SMALL))
    red, green, blue = browser.pixel(x, y - (3 if width == 1280 else 1))
    assert red > 100 and green < 120 and blue < 140
    if width == 1280:
        x, y = cell(browser, SMALL - 9, 3)
        assert browser.pixel(x - 3, y - 3) == ((20, 23, 27) if dark else (255, 255, 255))


def test_value_under_the_pointer(browser: chromium.Browser, small: model.Page, small_page: Path) -> None:
    show(browser, small_page)
    assert small.maps is not None

    def told(row: int, column: int, plot: int = 0) -> str:
        browser.move(1, 1)
        browser.move(*cell(browser, row, column, plot))
        return browser.until("(() => { const t = document.getElementById('tip'); return t.style.visibility === 'visible' && t.textContent; })()")

    value = small.maps.pairs.values[pages.SLOW][2]
    assert value is not None
    share = round(value / small.maps.expected.value * 100)
    assert told(pages.SLOW, 2) == f"npu-node-017 → npu-node-003 (npu 0): {value:.4g} Gbit/s, {share} %"
    assert told(0, 0) == "npu-node-001 → npu-node-001: itself"
    assert told(0, pages.dead(SMALL)) == f"npu-node-001 → npu-node-{pages.dead(SMALL) + 1:03d} (npu 1): failed"
    click(browser, "label[for=zh]")
    assert told(SMALL - 9, 3).endswith(": 未测量")
    assert told(1, pages.SLOW, 1).startswith("npu 1 · npu-node-017: 195")


def test_map_is_readable_with_the_keyboard(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    browser.value("document.querySelector('.cells').focus()")
    for key in ("ArrowRight", "ArrowRight"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert browser.until("document.getElementById('tip').textContent").startswith("npu-node-001 → npu-node-002 (npu ")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert browser.value("document.getElementById('tip').style.visibility") == "hidden"


def test_page_is_complete_without_javascript(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page, script=False)
    assert browser.value("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert browser.value("document.querySelectorAll('svg.chart').length") >= 4
    assert browser.value("[...document.querySelectorAll('.hover')].every((hint) => hint.hidden)")
    assert browser.value("document.querySelectorAll('#worst tbody tr').length") == 10
    click(browser, "label[for=zh]")
    assert text(browser, ".head").startswith("64 台主机中有 3 台不正常。")
    assert text(browser, "#about h2") == "关于本次运行"


def test_both_languages(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    english = browser.value("document.body.innerText")
    click(browser, "label[for=zh]")
    chinese = browser.value("document.body.innerText")
    assert "未测量" not in english and "The worst pairs" in english
    assert "The worst pairs" not in chinese and "最差的链路" in chinese
    click(browser, "label[for=en]")
    assert browser.value("document.body.innerText") == english


def test_legend_has_the_unit(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    legend = text(browser, ".legend")
    assert legend.startswith("50 % or less 97.") and legend.count("Gbit/s") >= 4
    assert "normal by the history" in legend and "failed: 63" in legend and "itself" in legend


def test_print_layout(browser: chromium.Browser, small_page: Path) -> None:
    browser.screen(700, 1000, dark=True, media="print")
    browser.scripts(True)
    browser.open(small_page)
    assert browser.value("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert browser.value("[...document.querySelectorAll('nav, .langs, .hover')].every((e) => getComputedStyle(e).display === 'none')")
    assert browser.value("document.querySelector('details .names').checkVisibility({contentVisibilityAuto: true})")
    seen = browser.value(LOOKS)
    assert seen["found"] == []
