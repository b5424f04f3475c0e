from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf.tool_output import tail, with_last_line


def test_short_streams_are_kept_whole():
    assert tail(" a b \n", "c\n") == "a b\nc"
    assert (tail("", "c"), tail("a", ""), tail("", "")) == ("c", "a", "")


def test_the_ends_of_long_streams_are_kept():
    out, err = " ".join(map(str, range(1000, 2000))), " ".join(map(str, range(2000, 3000)))
    kept = tail(out, err, 101)
    assert "1998 1999\n" in kept and kept.endswith("2998 2999") and "1000" not in kept and len(kept) < 130
    assert tail(out, "short", 101).split("\n")[1] == "short"
    assert len(tail(out, "short", 101)) > 90


def test_words_are_not_split():
    assert "secret" not in tail("x secretword " + "y" * 20, "", 26)


@pytest.mark.parametrize(("output", "hint"), [
    ("first\nlast line\n\n", "the program stopped early; the output ends with: last line"), ("", "the program stopped early; there is no output")])
def test_the_hint_quotes_the_last_line(output, hint):
    error = HccnError("rows_missing", "1 of 2 sizes have no row", "the program stopped early; see the output for the reason")
    found = with_last_line(error, output)
    assert (found.code, found.message, found.hint) == ("rows_missing", "1 of 2 sizes have no row", hint)


def test_other_hints_are_kept():
    error = HccnError("x", "y", "install it")
    assert with_last_line(error, "z") is error
