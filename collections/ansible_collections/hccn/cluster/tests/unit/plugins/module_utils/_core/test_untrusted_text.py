from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.untrusted_text import has_template, json_object, without_templates


@pytest.mark.parametrize("text, value", [
    ('{"a": 1}', {"a": 1}), (b'{"a": "\xc3\xa9"}', {"a": "\u00e9"}), ("[1]", None), ("null", None), ("", None), ("{", None), (b"\xff", None),
    ("{}".encode("utf-16"), None), ("[" * 100000, None), ('{"a":' * 100000, None)])
def test_json_object(text, value):
    assert json_object(text) == value


@pytest.mark.parametrize("text, found", [
    ("leaf-1", False), ("", False), ("{ { x } }", False), ("100 % {1}", False), ("}}", False),
    ("{{ x }}", True), ("a{{", True), ("{% if x %}", True), ("x{#", True),
    ("#jinja2: variable_start_string: '<<'\n<< x", True), ("# jinja2", False)])
def test_has_template(text, found):
    assert has_template(text) is found


def test_templates_are_removed_and_their_paths_returned():
    value = {"a": "{{ x }}", "b": ["fine", "{% y %}", {"c": "{# z #}", "d": 1.5}], "{{ key }}": "fine", "msg": "{{ kept }}", "n": None, "t": ("x", "{{")}
    assert without_templates(value, lambda key: key == "msg") == (
        {"a": None, "b": ["fine", None, {"c": None, "d": 1.5}], "msg": "{{ kept }}", "n": None, "t": ["x", None]},
        ["a", "b[1]", "b[2].c", "a key of the answer", "t[1]"])
