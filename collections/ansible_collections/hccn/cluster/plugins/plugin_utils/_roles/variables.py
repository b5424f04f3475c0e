# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the names and values of the variables of hosts for the collection's roles before any template is evaluated."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import ArgumentTypeError, ArgumentValueError, ElementError, UnsupportedError

from ...module_utils._core.words import LONGEST_TEXT, printable
from .._findings import conclusion
from .._rank_table.host_vars import plain
from .._trust import sent_options
from .job_problem import INVALID_VARIABLE, MOST, UNKNOWN_VARIABLE, JobProblem

Written = Mapping[str, Mapping[str, Any]]
"""The untemplated variables of each host for the collection."""

TYPES = {"bool": "true or false", "dict": "a dictionary", "float": "a number", "int": "a whole number", "list": "a list", "path": "a path", "str": "text"}
SIMILAR = 0.8
"""The least similarity of a name that is suggested (difflib)."""


def written(hosts: Iterable[str], raw: Callable[[str], Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the variables of the hosts with the prefix of a role or playbook, except facts sent by hosts, which the roles refuse."""
    return {host: _own(raw(host)) for host in hosts}


def _own(variables: Mapping[str, Any]) -> dict[str, Any]:
    facts = set(sent_options.names_of(variables.get("ansible_facts")))
    return {name: variables[name] for name in variables if isinstance(name, str) and name.startswith(sent_options.ROLE_PREFIXES) and name not in facts}


def fail_on(hosts: Written) -> str:
    """Return the strictest ``hccn_fail_on`` of the hosts, or the default. Templates are ignored."""
    order = list(conclusion.FAILING_RESULTS)
    values = [plain(variables["hccn_fail_on"])[0] for variables in hosts.values() if "hccn_fail_on" in variables]
    return max((value for value in values if value in order), key=order.index, default=conclusion.FAIL_ON)


def unknown(hosts: Written, known: frozenset[str], set_by_tasks: Callable[[], frozenset[str]]) -> list[JobProblem]:
    """Return a problem per name that the collection does not know. ``set_by_tasks`` is called only if there is such a name."""
    found: dict[str, list[str]] = {}
    for host, variables in hosts.items():
        for name in variables.keys() - known:
            found.setdefault(name, []).append(host)
    wrong = sorted(found.keys() - set_by_tasks()) if found else []
    return [JobProblem(UNKNOWN_VARIABLE, f"{printable(name)} is not a variable of the collection{_suggestion(name, known) if place < MOST else ''}",
                       tuple(found[name])) for place, name in enumerate(wrong)]


def _suggestion(name: str, known: Iterable[str]) -> str:
    similar = difflib.get_close_matches(name[:100], sorted(known), n=1, cutoff=SIMILAR)
    return f". Did you mean {similar[0]}?" if similar else ""


def invalid(hosts: Written, specs: Mapping[str, Mapping[str, Any]]) -> list[JobProblem]:
    """Return a problem per value of a wrong type or choice. Templates are skipped."""
    # Hosts of a group share the object of a value, which exists as long as ``hosts``, so its id is unique.
    checked: dict[tuple[str, int], str | None] = {}
    found: dict[str, list[str]] = {}
    for host, variables in hosts.items():
        for name in variables.keys() & specs.keys():
            value = variables[name]
            place = (name, id(value))
            if place not in checked:
                checked[place] = wrong_value(name, value, specs[name])
            sentence = checked[place]
            if sentence is not None:
                found.setdefault(sentence, []).append(host)
    return [JobProblem(INVALID_VARIABLE, sentence, tuple(found[sentence])) for sentence in sorted(found)]


def wrong_value(name: str, value: Any, option: Mapping[str, Any]) -> str | None:
    """Return why the role would refuse the value, None if it would accept it or it contains a template."""
    shown, whole = plain(value)
    if not whole:
        return None
    errors = ArgumentSpecValidator({name: dict(option)}).validate({name: shown}).errors.errors
    if not errors:
        return None
    kind = type(errors[0])
    given = f"{name} has a wrong value: it" if option.get("no_log") else f"{name} is {printable(repr(shown))}, but"
    if kind is UnsupportedError:
        keys = sorted(set(map(str, shown)) - set(option["options"]))
        return f"{name} has unknown keys: {printable(', '.join(keys))}. Known keys are {', '.join(sorted(option['options']))}"
    if option.get("options") or kind not in (ArgumentValueError, ArgumentTypeError, ElementError):
        return f"{name}: {printable(errors[0], LONGEST_TEXT)}"
    if kind is ArgumentValueError:
        return f"{given} must be {'made of' if option.get('type') == 'list' else 'one of'} {', '.join(map(str, option['choices']))}"
    elements = f", each element {_type(option['elements'])}" if "elements" in option else ""
    return f"{given} must be {_type(option.get('type'))}{elements}"


def _type(name: Any) -> str:
    return TYPES.get(str(name or "str"), str(name))
