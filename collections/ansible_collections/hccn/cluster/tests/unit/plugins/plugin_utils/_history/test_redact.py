"""Secrets are removed from entries, and everything else is kept."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import yaml
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import known_values, redact
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.redact import Bounds, NotKept, Redactor

sre = pytest.importorskip("re._parser" if hasattr(re, "_parser") else "sre_parse")


def cleaned(text: str, *known: str) -> str:
    redactor = Redactor()
    redactor.learn(known)
    return redactor.text(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("login with hunter2 failed", "login with (hidden) failed"),
        ("password=s3cr3t, user=op", "password=(hidden), user=op"),
        ("db_password: 's3cr3t' refused", "db_password: '(hidden)' refused"),
        ("the password is s3cr3t now", "the password is (hidden) now"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer (hidden)"),
        ("https://op:s3cr3t@mirror.example/x", "https://(hidden)@mirror.example/x"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a (hidden) b"),
        ("a -----BEGIN PRIVATE KEY-----\nMII", "a (hidden)"),
        ("https://mirror.example/x is down", "https://mirror.example/x is down"),
        ("3 tokens, 2 passes over the data, keyed by host", "3 tokens, 2 passes over the data, keyed by host"),
        ("", ""),
    ],
)
def test_secrets_in_texts_are_hidden(text: str, kept: str) -> None:
    assert cleaned(text, "hunter2") == kept


def test_common_words_are_not_hidden() -> None:
    assert cleaned("root said true", "root", "true") == "root said true"


def test_longest_value_is_hidden_first_and_short_values_are_ignored() -> None:
    assert cleaned("abcdef abcd abc", "abcd", "abcdef", "abc") == "(hidden) (hidden) abc"


def test_values_learned_later_are_hidden() -> None:
    redactor = Redactor()
    for number in range(200):
        redactor.learn([f"password{number}"])
        assert redactor.text("nothing here") == "nothing here"
    assert redactor.text("password19 password199 password7") == "(hidden) (hidden) (hidden)"
    redactor.learn(["password19 and more"])
    assert redactor.text("password19 and more") == "(hidden)"


def test_overlapping_values_are_hidden_completely() -> None:
    assert cleaned("x abcdefghij y", "abcdefg", "efghij", "cdef") == "x (hidden) y"


def test_adjacent_values_have_one_mark() -> None:
    assert cleaned("hunter2zebra99, zebra99hunter2 hunter2", "hunter2", "zebra99") == "(hidden), (hidden) (hidden)"


ODD = "p'a\"s\\s&w ö%+\n\tx/é漢="


@pytest.mark.parametrize("quoted", [
    pytest.param(ODD, id="as it is"),
    pytest.param(json.dumps(ODD), id="JSON"),
    pytest.param(json.dumps(ODD, ensure_ascii=False), id="JSON in UTF-8"),
    pytest.param(json.dumps({"stdout": json.dumps([ODD])}), id="JSON in JSON"),
    pytest.param(json.dumps({"stdout": json.dumps([ODD], ensure_ascii=False)}), id="JSON in JSON, in UTF-8 and ASCII"),
    pytest.param(repr(ODD), id="repr"),
    pytest.param(repr(["it's", ODD]), id="repr of a list"),
    pytest.param(repr(ODD.encode()), id="repr of bytes"),
    pytest.param(json.dumps({"msg": repr([ODD])}), id="repr in JSON"),
    pytest.param(yaml.safe_dump(ODD, width=1000), id="YAML"),
    pytest.param(yaml.safe_dump(ODD, default_style='"', allow_unicode=True, width=1000), id="YAML in UTF-8"),
    pytest.param(quote(ODD), id="path of an address"),
    pytest.param(quote(ODD, safe=""), id="word of an address"),
    pytest.param(quote_plus(ODD), id="form"),
    pytest.param(shlex.quote(ODD), id="shell"),
])
def test_quoted_secrets_are_hidden(quoted: str) -> None:
    left = cleaned(f"before {quoted} after", ODD)
    assert redact.HIDDEN in left
    for part in ("a\\", "s\\", "w ", "%C3", "\\u", "\\x", "ö", "é", "漢", "/x", "x/"):
        assert part not in left, left


def test_secret_in_single_quoted_yaml_is_hidden() -> None:
    assert cleaned(yaml.safe_dump({"pin": "it's: so"}), "it's: so") == "pin: '(hidden)'\n"


def test_lines_of_a_multi_line_secret_are_hidden() -> None:
    key = "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0B\nQkFEZ2tuaGtpRzl3MEJBUUVG\n-----END X-----\n"
    assert cleaned("bad line: QkFEZ2tuaGtpRzl3MEJBUUVG in -----BEGIN X-----", key) == "bad line: (hidden) in -----BEGIN X-----"


@pytest.mark.parametrize(("text", "left"), [
    ("it said correct horse battery ...", "it said (hidden) ..."),
    ("it said correct horse ...", "it said (hidden) ..."),
    ("it said correct ...", "it said correct ..."),
    ("... horse battery staple", "... (hidden)"),
])
def test_parts_of_a_cut_phrase_are_hidden(text: str, left: str) -> None:
    assert cleaned(text, "correct horse battery staple") == left


def test_pieces_of_a_long_secret_are_hidden() -> None:
    token = "".join(chr(65 + number * 7 % 26) for number in range(1000))
    assert cleaned(f"x {token} y", token) == "x (hidden) y"
    left = cleaned(f"x {token[:700]}", token)
    assert left.startswith("x (hidden)") and len(left) < len("x (hidden)") + known_values.PIECE


def test_keys_that_readers_need_are_kept() -> None:
    redactor = Redactor()
    redactor.learn(["rdma", "n1 NPU 0 secret"])
    record = {
        "schema": "hccn.cluster/measurement/1",
        "kind": "rdma",
        "status": "ok",
        "source": {"host": "n1", "device": 0},
        "command": ["tool", "--password=hunter2", "-d", "rdma"],
        "options": {"api_token": "s3cr3t", "qps": 1, "rdma": 2},
        "samples": [{"bandwidth_gbit_s": [195.9, None, 3]}, {"output": ("n1 NPU 0 secret",)}],
    }
    assert redactor.entry(record) == {
        "schema": "hccn.cluster/measurement/1",
        "kind": "rdma",
        "status": "ok",
        "source": {"host": "n1", "device": 0},
        "command": ["tool", "--password=(hidden)", "-d", "(hidden)"],
        "options": {"api_token": "(hidden)", "qps": 1, "(hidden)": 2},
        "samples": [{"bandwidth_gbit_s": [195.9, None, 3]}, {"output": ["(hidden)"]}],
    }


def test_values_without_a_json_form_are_left_to_the_writer() -> None:
    value = object()
    assert Redactor().entry({"a": value, "b": [value]}) == {"a": value, "b": [value]}


@pytest.mark.parametrize(("text", "left"), [
    (r'"{\"db_password\": \"s3 cr3t\", \"b\": 1}"', r'"{\"db_password\": \"(hidden)\", \"b\": 1}"'),
    ("password='two words' b", "password='(hidden)' b"),
    (r'password="a\"b c" d', 'password="(hidden)" d'),
    ("password='cut off he", "password='(hidden)"),
    ("Password :              s3cr3t x", "Password :              (hidden) x"),
    ("MIIEvQIBADANBg\nkqhkiG9w0B\n-----END RSA PRIVATE KEY-----\nrest", "(hidden)\nrest"),
    ("http://op:(hidden)@x", "http://(hidden)@x"),
])
def test_texts_that_look_like_secrets_are_hidden(text: str, left: str) -> None:
    assert cleaned(text) == left
    assert cleaned(left) == left


def nested(depth: int) -> Any:
    value: Any = "hunter2"
    for _level in range(depth):
        value = [value]
    return value


def test_deeply_nested_entries_are_rejected() -> None:
    redactor = Redactor()
    redactor.learn(["hunter2"])
    assert redactor.entry({"a": nested(redact.MOST_DEPTH - 1)})["a"] != nested(redact.MOST_DEPTH - 1)
    for depth in (redact.MOST_DEPTH, 300, 100_000):
        with pytest.raises(NotKept, match="^it is nested deeper than 32 levels$"):
            redactor.entry({"a": nested(depth)})


@pytest.mark.parametrize("entry", [
    {"a": ["x" * 60_000] * 20},
    {"a": ["x" * 1_000_000] * 20},
    {"a": [[] for _item in range(600_000)]},
    {"a": [1, "x"] * 300_000},
    {"x" * 2_000_000: 1},
    {f"k{number}": number for number in range(400_000)},
], ids=["texts", "long texts", "lists", "values", "key", "keys"])
def test_large_entries_are_rejected(entry: dict[str, Any]) -> None:
    with pytest.raises(NotKept, match="^it is too large$"):
        Redactor().entry(entry)


def test_size_limit_of_all_entries_of_a_result() -> None:
    whole = Bounds(1000)
    Redactor().entry({"a": "x" * 900}, whole)
    with pytest.raises(NotKept, match="^it is too large$"):
        Redactor().entry({"a": "x" * 900}, whole)


def test_long_text_is_cut_between_words() -> None:
    text = "word hunter2 " * 20_000
    left = cleaned(text, "hunter2")
    assert left.startswith("word (hidden) word (hidden) ") and left.endswith(" (hidden) ...") and len(left) < redact.MOST_TEXT * 1.2
    assert cleaned("x" * 70_000 + "hunter2", "hunter2") == "(70007 characters without a space)"


class Counting(set):  # type: ignore[type-arg]
    """A set that counts its lookups."""

    count = 0

    def __contains__(self, value: object) -> bool:
        self.count += 1
        return super().__contains__(value)


@pytest.mark.parametrize("text", ["aaaa", "aaab", "token ", "hunter2 ", "password: \"", "a-"])
def test_work_is_linear_in_the_text_and_independent_of_the_number_of_values(text: str) -> None:
    """All values have a common prefix, which occurs at every position of the text."""
    values = known_values.KnownValues()
    values.learn(["a" * length + "b" for length in range(4, 200)] + [f"token {number}" for number in range(2000)])
    values._forms = looked_up = Counting(values._forms)
    for size in (1_000, 10_000, 100_000):
        looked_up.count = 0
        values.hidden((text * size)[:size], redact.HIDDEN)
        assert looked_up.count <= known_values.PIECE * size


REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
MOST_STEPS = 5000


def parts(pattern: Any) -> Iterator[Any]:
    """Yield all parts of a parsed pattern, each before its children."""
    for part in pattern:
        yield part
        yield from inside(part[1])


def inside(value: Any) -> Iterator[Any]:
    if isinstance(value, sre.SubPattern):
        yield from parts(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from inside(item)


@pytest.mark.parametrize("pattern", [pattern for pattern, _instead in redact._SHAPES] + [redact._SUSPICIOUS], ids=range(len(redact._SHAPES) + 1))
def test_patterns_take_linear_time(pattern: re.Pattern[str]) -> None:
    """No repetition contains another one, and the bounded ones limit the steps at one position of the text.

    An unbounded repetition does not backtrack, since nothing after it can fail: it ends the pattern, or the rest also matches the end of the text. Otherwise
    the pattern is anchored at the start of the text.
    """
    parsed = sre.parse(pattern.pattern, pattern.flags)
    cost = 1
    for name, arguments in parts(parsed):
        if str(name) in REPEATS:
            least, most, repeated = arguments
            if most > 1:
                assert not [part for part in parts(repeated) if str(part[0]) in REPEATS and part[1][1] > 1]
            if most is not sre.MAXREPEAT:
                cost += most
    assert cost <= MOST_STEPS
    unbounded = [place for place, (name, arguments) in enumerate(parsed)
                 if any(str(one) in REPEATS and found[1] is sre.MAXREPEAT for one, found in parts([(name, arguments)]))]
    assert len(unbounded) <= 1
    if unbounded:
        is_last = unbounded[0] == len(parsed) - 1
        assert is_last or pattern.pattern.endswith(r"\Z)") or pattern.pattern.startswith(r"\A")
