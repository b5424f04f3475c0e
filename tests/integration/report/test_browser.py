"""The page in headless Chromium: large and small screens, light and dark, both languages, with and without its script.

The values of heat maps are in test_heatmaps.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.report import browser as chromium
from tests.integration.report import pages

LAYOUT_PROBLEMS = Path(__file__).with_name("layout_problems.js").read_text()
SMALL, LARGE = 64, 512


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser_or_skip(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def small_page(folder: Path) -> Path:
    """Return a page with every part, in English and in Chinese beside it."""
    shown = pages.page(SMALL, devices=2, with_history=True, concluded=True)
    pages.write(folder / "small-zh.html", shown, "zh")
    return pages.write(folder / "small.html", shown)


@pytest.fixture(scope="module")
def large_page(folder: Path) -> Path:
    shown = pages.page(LARGE, concluded=True)
    pages.write(folder / "large-zh.html", shown, "zh")
    return pages.write(folder / "large.html", shown)


@pytest.fixture(scope="module")
def good_page(folder: Path) -> Path:
    return pages.write(folder / "good.html", pages.good_page(SMALL))


def test_sizes(small_page: Path, large_page: Path, good_page: Path) -> None:
    assert good_page.stat().st_size <= 150_000
    assert small_page.stat().st_size <= 300_000
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


def opened(browser: chromium.Browser) -> None:
    browser.value("document.querySelectorAll('details').forEach((e) => { e.open = true; })")


ENGLISH = r"""
(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (["SCRIPT", "STYLE", "TITLE", "title", "CODE"].includes(element.tagName) || element.closest(".original, #failures, h1")) continue;
    if (!element.checkVisibility()) continue;
    if (/[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test(node.data) && !/[\u4e00-\u9fff]/.test(node.data)) found.push(node.data.trim());
  }
  return found;
})()
"""
"""Visible English sentences, except quotes within Chinese ones. Output of tools is not translated: notes of the plan and messages of failed tasks."""


@pytest.mark.parametrize("width", [420, 1400])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_nothing_is_invisible_cut_off_or_without_contrast(browser: chromium.Browser, small_page: Path, large_page: Path, size: str, width: int, dark: bool,
                                                          language: str) -> None:
    page = {"small": small_page, "large": large_page}[size]
    show(browser, page if language == "en" else page.with_name(f"{size}-zh.html"), width, 900, dark)
    folded = browser.value(LAYOUT_PROBLEMS)
    opened(browser)
    unfolded = browser.value(LAYOUT_PROBLEMS)
    assert (folded["found"], unfolded["found"]) == ([], [])
    assert folded["lines"] > 80 and unfolded["lines"] > folded["lines"] + 300
    assert browser.value("document.documentElement.lang") == {"en": "en", "zh": "zh-CN"}[language]


def test_page_in_chinese_is_chinese(browser: chromium.Browser, small_page: Path) -> None:
    """The language that is shown first is visible without a click, also without the script, and everything that the collection says is translated."""
    show(browser, small_page.with_name("small-zh.html"), script=False)
    assert text(browser, ".head") == "结论：失败。64 台主机：失败 1 台，不可达 1 台，慢 1 台，降级 24 台，被占用 1 台，正常 36 台。 有 2 项比基线差。"
    show(browser, small_page.with_name("small-zh.html"))
    opened(browser)
    assert browser.value(ENGLISH) == []
    assert text(browser, ".card.slow p") == "与 3 个已确认正常的对端中的 3 个通信慢，比正常值低 74 %（npu-node-001, npu-node-002, npu-node-009）"


def test_cards(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    assert text(browser, ".head") == ("Result: failed. 64 hosts: 1 failed, 1 unreachable, 1 slow, 24 degraded, 1 busy, 36 good. "
                                      "2 values are worse than their baseline.")
    heads = browser.value("[...document.querySelectorAll('.card h2')].map((e) => e.innerText.split(/\\s+/).join(' '))")
    assert heads == [
        "✕ failed npu-node-060 NPU 0 Link down", "✕ failed npu-node-062 Host unreachable", "◐ slow npu-node-017 NPU 0 Slow NPU",
        "◐ slow path leaf1-leaf3 Slow part of the fabric", "◔ degraded npu-node-025, npu-node-026, npu-node-027 ... (24 hosts) MTU differs",
        "○ unknown npu-node-056 Host in use", "• note cluster Collective skipped"]
    facts = browser.value("[...document.querySelectorAll('.card')[2].querySelectorAll('dt')].map((e) => [e.innerText, e.nextElementSibling.innerText])")
    assert facts == [
        ["Since", "2026-11-18 10:15, in 3 runs in a row"],
        ["Switch port", "port 400GE1/0/1:1 of leaf2"],
        ["Evidence", "npu-node-017 NPU 0 to npu-node-001 NPU 0: 50.2 Gbit/s, normal is 195.9\n"
                     "NPU 0 of npu-node-017: lane 2 receives 0.08 mW, the module's lower limit is 0.5 mW\n"
                     "NPU 0 of npu-node-017: mac_rx_fcs_err_pkt_num grew by 812 during the run, from 3 to 815"],
        ["Next step", "On npu-node-017: hccn_tool -i 0 -optical -g Copy"]]
    assert browser.value("document.querySelectorAll('.card')[2].querySelector('a').href").endswith("/docs/howto/slow_link.rst")
    assert browser.value("document.querySelectorAll('.card svg.chart').length") == 1
    assert browser.value("[...document.querySelectorAll('main details')].every((e) => !e.open)")


def test_command_is_copied(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    browser.value("navigator.clipboard.writeText = async (words) => { window.copied = words; }")
    click(browser, ".card button.copy")
    assert browser.until("window.copied") == "hccn_tool -i 0 -optical -g"
    assert browser.until("document.getElementById('tip').textContent") == "Copied"


def test_good_run_is_one_line(browser: chromium.Browser, good_page: Path) -> None:
    show(browser, good_page)
    assert text(browser, "#verdict") == "Result: good. 64 hosts: 64 good."
    assert browser.value("document.querySelectorAll('article').length") == 0
    assert browser.value("document.documentElement.scrollHeight") <= 900


@pytest.mark.parametrize(("width", "height"), [(420, 700), (1280, 720)])
def test_worst_finding_is_visible_without_scrolling(browser: chromium.Browser, large_page: Path, width: int, height: int) -> None:
    show(browser, large_page, width, height)
    seen = browser.value("[...document.querySelectorAll('.card')].filter((card) => card.getBoundingClientRect().bottom <= innerHeight)"
                         ".map((card) => card.querySelector('b').innerText)")
    assert seen[0] == "npu-node-508 NPU 0"


def test_layout_check_finds_problems(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page, 360)
    browser.value("document.querySelector('.card b').style.cssText = 'color:#999'")
    browser.value("document.querySelector('.card p').style.cssText = 'margin-top:-1.4rem'")
    found = " ".join(browser.value(LAYOUT_PROBLEMS)["found"])
    assert "contrast 2." in found and " lies on " in found
    browser.value("document.querySelector('.head').style.cssText = 'white-space:nowrap;width:1500px'")
    assert "beyond the screen (1" in " ".join(browser.value(LAYOUT_PROBLEMS)["found"])
    browser.value("document.querySelector('main').style.visibility = 'hidden'")
    assert browser.value(LAYOUT_PROBLEMS)["lines"] < 20, "invisible text is not counted"


def test_pictures_have_descriptions(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    opened(browser)
    names = browser.value("[...document.querySelectorAll('svg[role=img], .cells')].map((e) => e.getAttribute('aria-label'))")
    assert len(names) > 15 and all(names)
    assert "leaf2, 8 hosts, npu-node-017 NPU 0" in names and "leaf7, 8 hosts, npu-node-060 NPU 0, npu-node-062" in names
    assert browser.value("[...document.querySelectorAll('#nights tbody tr')].map((row) => row.innerText.split(/\\s+/).slice(0, 1)[0]).slice(0, 2)") == [
        "npu-node-017", "npu-node-025"]
    assert browser.value("document.querySelector('#nights tbody tr').querySelectorAll('.slow').length") == 3


def test_parts_open_with_the_keyboard(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    browser.value("document.querySelector('#topology summary').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    assert browser.value("document.querySelector('#topology details').open")


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("page", ["small_page", "large_page"])
def test_page_makes_no_requests(browser: chromium.Browser, page: str, script: bool, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(page)
    show(browser, path, script=script)
    assert [address for address in browser.requests if not address.startswith("data:image/png")] in ([path.as_uri()], [path.as_uri(), "data:,"])
    assert browser.errors == []


def test_page_is_complete_without_javascript(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page, script=False)
    assert browser.value("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert browser.value("document.querySelectorAll('svg.chart').length") >= 4
    assert browser.value("[...document.querySelectorAll('.hover, .controls, .copy')].every((hint) => hint.hidden)")
    assert browser.value("document.querySelectorAll('#worst tbody tr').length") == 10
    click(browser, "label[for=zh]")
    assert text(browser, ".head").startswith("结论：失败。64 台主机：失败 1 台")
    assert text(browser, "#about h2") == "关于本次运行"


def test_both_languages(browser: chromium.Browser, small_page: Path) -> None:
    show(browser, small_page)
    opened(browser)
    english = browser.value("document.body.innerText")
    click(browser, "label[for=zh]")
    chinese = browser.value("document.body.innerText")
    assert "未测量" not in english and "Worst pairs" in english
    assert "Worst pairs" not in chinese and "最差的链路" in chinese
    assert browser.value("document.documentElement.lang") == "zh-CN"
    click(browser, "label[for=en]")
    assert browser.value("document.body.innerText") == english


def test_printed_page(browser: chromium.Browser, small_page: Path) -> None:
    browser.screen(700, 1000, dark=True, media="print")
    browser.scripts(True)
    browser.open(small_page)
    assert browser.value("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert browser.value("[...document.querySelectorAll('nav, .langs, .hover, button, .controls')].every((e) => getComputedStyle(e).display === 'none')")
    assert browser.value("document.querySelector('details .names').checkVisibility({contentVisibilityAuto: true})")
    seen = browser.value(LAYOUT_PROBLEMS)
    assert seen["found"] == []
