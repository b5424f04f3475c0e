from __future__ import annotations

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._core import words
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import all_printable, natural, printable, some


@pytest.mark.parametrize("names, shown, count, text", [
    ([], 8, None, ""), (["a", "b"], 2, None, "a, b"), (["a", "b", "c"], 2, None, "a, b and 1 more"), (["a", "b"], 8, 5, "a, b and 3 more"),
    (["a", "b"], 8, 2, "a, b"), (["a", "b"], 8, 1, "a, b"), (["a", "b", "c"], 1, 7, "a and 6 more"),
])
def test_first_names_and_number_of_others(names, shown, count, text):
    assert some(names, shown, count) == text


def test_natural_order() -> None:
    assert sorted(["n10", "n2", "n02b", "10", "2", "a", ""], key=natural) == ["", "2", "10", "a", "n2", "n02b", "n10"]


@pytest.mark.parametrize("text, shown", [
    ("n3 NPU 1", "n3 NPU 1"), ("Knoten-ä 节点", "Knoten-ä 节点"), ("\x1b[2Jn1", "?[2Jn1"), ("\x9b31mn1", "?31mn1"), ("a\u202egnp.exe", "a?gnp.exe"),
    ("a\nb\r\tc", "a?b??c"), ("a\u2028b\u2066c\u200bd", "a?b?c?d"), ("\ud800", "?"), ("\0", "?"), (7, "7"), (None, "None"),
    ("x" * 64, "x" * 64), ("x" * 65, "x" * 61 + "..."), ("\x1b" * 65, "?" * 61 + "..."),
    ("a word " * 20, "a word a word a word a word a word a word a word a word a..."),
])
def test_untrusted_text_is_one_limited_line(text, shown):
    assert printable(text) == shown


def test_all_texts_of_a_value_are_made_printable():
    assert all_printable({"a\x1b": ["b\x1b", 1, None, ("c\n", True)], "d": {"e": 1.5}}) == {"a?": ["b?", 1, None, ["c?", True]], "d": {"e": 1.5}}
    assert all_printable(["x" * 10], 8) == ["xxxxx..."]


@pytest.mark.parametrize(("text", "limit", "kept"), [
    ("short", 5, "short"),
    ("", 0, ""),
    ("token abcdefgh refused", 22, "token abcdefgh refused"),
    ("token abcdefgh refused", 21, "token abcdefgh ..."),
    ("token abcdefgh refused", 14, "token abcdefgh ..."),
    ("token abcdefgh refused", 13, "token ..."),
    ("token\nabcdefgh", 8, "token ..."),
    ("abcdefghij", 9, "(10 characters without a space)"),
    ("设备忙，请稍后", 5, "设备忙， ..."),
    ("设备忙。", 2, "(4 characters without a space)"),
])
def test_beginning_is_cut_between_two_words(text: str, limit: int, kept: str) -> None:
    assert words.beginning(text, limit) == kept


@pytest.mark.parametrize(("text", "limit", "kept"), [
    ("short", 5, "short"),
    ("token abcdefgh refused", 21, "... abcdefgh refused"),
    ("token abcdefgh refused", 16, "... abcdefgh refused"),
    ("token abcdefgh refused", 15, "... refused"),
    ("abcdefghij", 9, "(10 characters without a space)"),
    ("设备忙，请稍后", 4, "... ，请稍后"),
])
def test_ending_is_cut_between_two_words(text: str, limit: int, kept: str) -> None:
    assert words.ending(text, limit) == kept


@pytest.mark.parametrize("devices, name", [
    ([3], "NPU 3"), (range(8), "NPUs 0-7"), ([7, 0, 2, 1, 7], "NPUs 0-2, 7"), ([0, 2], "NPUs 0, 2"), ([8, 9], "NPUs 8-9")])
def test_names_of_npus(devices, name):
    assert words.npus(devices) == name


@pytest.mark.parametrize("text, general", [
    ("hccn_tool -i 3 -ip -g: device 3 and NPU 3", "hccn_tool -i N -ip -g: device N and NPU N"), ("device id 3 is busy", "device id N is busy"),
    ("tls_enable_3", "tls_enable_N"), ("device 31, NPU 3.5, 3 packets", "device 31, NPU 3.5, 3 packets")])
def test_device_number_is_replaced(text, general):
    assert words.without_device_number(text, 3) == general
