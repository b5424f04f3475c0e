"""Check that no task that runs on every host iterates over all hosts: with a thousand hosts it would take a million steps.

Such an iteration runs once, and its result is kept as a fact. The check searches the YAML of the roles for the forms in ITERATION, because unit
tests of filters cannot show how often Ansible evaluates them. ``make bench-scale`` measures the cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lib.project import COLLECTION

LATE = re.escape("else lookup('ansible.builtin.vars', '")
ROLES = sorted(path.parent.parent for path in COLLECTION.glob("roles/*/tasks/main.yml"))
ALL_HOSTS = r"(?:ansible_play_hosts(?:_all)?|ansible_play_batch|groups)\b"
FILTERS = (r"map|select|reject|difference|union|intersect|"
           r"hccn\.cluster\.(?:by_host|measurable_hosts|address_hosts|tls_differences|tls_rollout|collective_placement)")
ITERATION = re.compile(rf"for \w+ in \(?{ALL_HOSTS}|\*{ALL_HOSTS}|{ALL_HOSTS}[^|}}]*\|\s*(?:{FILTERS})")
"""A loop over the hosts of the play, a lookup with all of them as its terms, or a filter that reads each of them."""


def iterating_variables(variables: dict[str, Any]) -> set[str]:
    """Return the names of variables that iterate over all hosts, directly or through other variables.

    A name counts in every branch of an expression, because Ansible evaluates all names of an expression before it selects a branch. The argument of a lookup is
    a text, which is evaluated only in the selected branch: such a lookup replaces a fact that is not defined.
    """
    texts = {name: str(value) for name, value in variables.items()}
    found = {name for name, text in texts.items() if ITERATION.search(text)}
    while True:
        more = {name for name, text in texts.items() if name not in found and any(re.search(rf"(?<!{LATE})\b{other}\b", text) for other in found)}
        if not more:
            return found
        found |= more


def tasks(entries: list[dict[str, Any]], once: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield every task, and whether it runs once for all hosts. A keyword of a block applies to its tasks."""
    for entry in entries:
        here = once or entry.get("run_once") is True
        inner = [part for key in ("block", "rescue", "always") for part in entry.get(key, [])]
        if inner:
            yield {key: value for key, value in entry.items() if key not in ("block", "rescue", "always", "vars")}, here
            yield from tasks(inner, here)
        else:
            yield entry, here


def violations(variables: dict[str, Any], entries: list[dict[str, Any]]) -> list[str]:
    """Return the tasks of all hosts that iterate over all hosts, each with the variable that does so."""
    found = []
    for task, once in tasks(entries):
        if not once:
            text = str({key: value for key, value in task.items() if key != "name"})
            own = iterating_variables({**variables, **task.get("vars", {})})
            found += [f"{task.get('name')}: {name}" for name in sorted(own) if re.search(rf"\b{name}\b", text)]
            found += [f"{task.get('name')}: by itself"] if ITERATION.search(text) else []
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda role: str(role.name))
def test_iterations_over_all_hosts_run_once(role: Path) -> None:
    variables: dict[str, Any] = {}
    for path in (role / "defaults/main.yml", COLLECTION / "roles/tls/vars/main.yml", role / "vars/main.yml"):
        variables.update(yaml.safe_load(path.read_text()) or {} if path.exists() else {})
    assert {path.name: violations(variables, yaml.safe_load(path.read_text()) or []) for path in sorted(role.glob("tasks/*.yml"))} == {
        path.name: [] for path in sorted(role.glob("tasks/*.yml"))}


def test_iterations_are_detected() -> None:
    variables = {"a": "{% for host in ansible_play_hosts_all %}{{ host }}{% endfor %}", "b": "{{ a | length }}", "c": "{{ d }}",
                 "e": "{{ ansible_play_hosts | first }}", "f": "{{ (ansible_play_hosts | select('in', d))[:2] }}"}
    assert iterating_variables(variables) == {"a", "b", "f"}
    assert iterating_variables({"a": "{{ ansible_play_hosts | hccn.cluster.measurable_hosts(hostvars) }}", "b": "{{ a.left_out }}"}) == {"a", "b"}
    assert iterating_variables({"a": "{{ query('hccn.cluster.fabric_verdicts', *ansible_play_hosts) | first }}", "b": "{{ a.clean }}"}) == {"a", "b"}
    late = {"g": "{{ fact if fact is defined else lookup('ansible.builtin.vars', 'a') }}", "h": "{{ fact | default(a) }}", "i": "{{ fact if fact else a }}"}
    assert iterating_variables({**variables, **late}) == {"a", "b", "f", "h", "i"}
    entries = [{"name": "one", "when": "b > 1"}, {"name": "two", "when": "b > 1", "run_once": True}, {"name": "three", "when": "c or e"},
               {"block": [{"name": "four", "debug": {"msg": "{{ groups['npu'] | map('upper') }}"}}], "run_once": True},
               {"block": [{"name": "five", "debug": {"msg": "{{ groups['npu'] | map('upper') }}"}}]}]
    assert violations(variables, entries) == ["one: b", "five: by itself"]
