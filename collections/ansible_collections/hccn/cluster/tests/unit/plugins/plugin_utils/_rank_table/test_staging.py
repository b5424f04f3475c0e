from __future__ import annotations

import multiprocessing

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table import staging


def _ask(folder):
    def make():
        with open(folder / "made", "a", encoding="utf-8") as stream:
            stream.write("x")
        return {"table": 1}

    return staging.once(folder, "key", make)


def test_concurrent_processes_make_a_table_once(tmp_path):
    pool = multiprocessing.get_context("fork").Pool(4)
    try:
        found = pool.map(_ask, [tmp_path] * 8)
    finally:
        pool.close()  # not SIGTERM, for which this process may have inherited a handler
        pool.join()
    assert [made for made, _own in found] == [{"table": 1}] * 8
    assert sum(own for _made, own in found) == 1
    assert (tmp_path / "made").read_text() == "x"


def test_a_failed_attempt_is_repeated(tmp_path):
    def fail():
        raise ValueError

    with pytest.raises(ValueError):
        staging.once(tmp_path, "key", fail)
    assert staging.once(tmp_path, "key", lambda: {"a": "b"}) == ({"a": "b"}, True)
    assert staging.once(tmp_path, "key", fail) == ({"a": "b"}, False)


def test_a_staged_file_is_for_its_user_only(tmp_path):
    staging.write(tmp_path / "t.json", "text")
    assert ((tmp_path / "t.json").read_text(), (tmp_path / "t.json").stat().st_mode & 0o777) == ("text", 0o600)


def test_the_key_depends_on_the_options():
    one = staging.key_of("uuid", ["n1"], {"a": 1, "b": {2, }})
    assert one == staging.key_of("uuid", ["n1"], {"b": {2, }, "a": 1})
    assert one != staging.key_of("uuid", ["n2"], {"a": 1, "b": {2, }})
