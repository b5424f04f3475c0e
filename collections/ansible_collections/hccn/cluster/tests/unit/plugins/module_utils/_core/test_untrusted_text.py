from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.untrusted_text import has_template, without_templates


@pytest.mark.parametrize("text, found", [
    ("leaf-1", False), ("", False), ("{ { x } }", False), ("100 % {1}", False), ("}}", False),
    ("{{ x }}", True), ("a{{", True), ("{% if x %}", True), ("x{#", True)])
def test_has_template(text, found):
    assert has_template(text) is found


def test_templates_are_removed_and_their_paths_returned():
    value = {"a": "{{ x }}", "b": ["fine", "{% y %}", {"c": "{# z #}", "d": 1.5}], "{{ key }}": "fine", "msg": "{{ kept }}", "n": None, "t": ("x", "{{")}
    assert without_templates(value, lambda key: key == "msg") == (
        {"a": None, "b": ["fine", None, {"c": None, "d": 1.5}], "msg": "{{ kept }}", "n": None, "t": ["x", None]},
        ["a", "b[1]", "b[2].c", "a key of the answer", "t[1]"])
