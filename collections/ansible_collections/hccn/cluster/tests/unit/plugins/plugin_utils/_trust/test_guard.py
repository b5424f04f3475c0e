"""Every controller plugin is guarded, and its result is not evaluated as a template."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from ansible.errors import AnsibleActionFail, AnsibleFilterError
from ansible.release import __version__ as ansible_version
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import core_release, guard

PLUGINS = Path(guard.__file__).parents[2]
NAME = "ansible_collections.hccn.cluster.plugins.%s.%s"
EVIL = "{{ lookup('pipe', 'id') }}"


def of(kind):
    return sorted(path.stem for path in (PLUGINS / kind).glob("*.py") if path.stem != "__init__")


def is_data(text):
    """Return True if Ansible would print the text unchanged."""
    if tuple(map(int, re.match(r"(\d+)\.(\d+)", ansible_version).groups())) >= (2, 19):
        from ansible._internal._datatag._tags import TrustedAsTemplate
        return not TrustedAsTemplate.is_tagged_on(text)
    from ansible.utils.unsafe_proxy import AnsibleUnsafe
    return isinstance(text, AnsibleUnsafe)


def as_template(text):
    """Return the text marked as a template, as an inventory marks its values."""
    if tuple(map(int, re.match(r"(\d+)\.(\d+)", ansible_version).groups())) >= (2, 19):
        from ansible.template import trust_as_template
        return trust_as_template(text)
    return text


def test_texts_are_marked_at_any_depth():
    found = guard.marked({"a": [as_template(EVIL)], as_template("{{ k }}"): {"b": (as_template(EVIL),)}, "n": 1, "x": None})
    assert found == {"a": [EVIL], "{{ k }}": {"b": (EVIL,)}, "n": 1, "x": None}
    assert all(map(is_data, [found["a"][0], found["{{ k }}"]["b"][0], *found]))
    assert not is_data(as_template(EVIL))


@pytest.mark.parametrize("name", of("filter"))
def test_every_filter_is_guarded(name, monkeypatch):
    filters = importlib.import_module(NAME % ("filter", name)).FilterModule().filters()
    assert filters
    monkeypatch.setattr(core_release, "_THIS_IS_FIXED", False)
    for function in filters.values():
        with pytest.raises(AnsibleActionFail, match="CVE-2024-11079"):
            function()


@pytest.mark.parametrize("kind, name, plugin", [
    *(("action", name, "ActionModule") for name in of("action")), *(("lookup", name, "LookupModule") for name in of("lookup"))])
def test_every_action_and_lookup_is_guarded(kind, name, plugin, monkeypatch):
    run = getattr(importlib.import_module(NAME % (kind, name)), plugin).run
    monkeypatch.setattr(core_release, "_THIS_IS_FIXED", False)
    with pytest.raises(AnsibleActionFail, match="CVE-2024-11079"):
        run(None, [])


@pytest.mark.parametrize("name", of("action"))
def test_every_action_refuses_options_that_a_host_sent(name):
    run = importlib.import_module(NAME % ("action", name)).ActionModule.run
    with pytest.raises(AnsibleActionFail, match="^n1 sent report_path as facts"):
        run(None, task_vars={"inventory_hostname": "n1", "ansible_facts": {"report_path": "/etc/x"}})


@pytest.mark.parametrize("name", of("action"))
def test_an_action_that_calls_a_host_cleans_the_answer(name):
    module = importlib.import_module(NAME % ("action", name))
    calls = re.search("_execute_module|_execute_remote_stat|NormalAction", Path(module.__file__).read_text())
    assert calls is None or "CleanAnswers" in [base.__name__ for base in module.ActionModule.__mro__]


def test_an_input_error_names_the_filter():
    def run():
        raise InputError("x is 1", "give 2")

    with pytest.raises(AnsibleFilterError, match=r"^f: x is 1 \(give 2\)$"):
        guard.filters({"f": run})["f"]()


def test_the_result_of_a_plugin_is_marked():
    def run(self, *arguments, **options):
        return [as_template(EVIL)]

    assert is_data(guard.filters({"f": run})["f"](None)[0])
    assert is_data(guard.lookup(run)(None, [])[0])
    assert is_data(guard.action(run)(None)[0])
