# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The addresses that hosts declare, checked over all hosts as far as they are known without asking a host.

Of a host whose inventory has no validate_product, neither product nor NPUs are known: what it declares by hand is checked, and whether its number is right
for its subnets, but not the planned addresses themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError

from ...module_utils._core.errors import InputError
from ...module_utils._core.problems import Problem
from .._plan.addresses import plan
from .._plan.brought_up import hosts_of
from .._plan.expected import DEVICES, expected_look
from .._plan.numbers import whole_number
from .._rank_table.host_vars import plain
from .job_problem import ADDRESS_CONFLICT, ADDRESS_INVALID, INVALID_VARIABLE, JobProblem

LISTS = ("bring_up_network", "bring_up_config", "bring_up_subnets")
SUBNETS = "bring_up_subnets"
NUMBERS = "bring_up_numbers"
OF_PRODUCT = ("validate_product", "validate_devices", "validate_server_index")
LOOK = "look"
CONFLICTS = frozenset(("duplicate_address", "number_collision"))
NUMBERING = frozenset(("number_collision", "no_number", "number_too_small", "pool_too_small"))
"""Rules that hold for a host with one NPU at least, whatever its product is."""

Variables = Callable[[str], Mapping[str, Any]]


class NotEvaluated(Exception):
    """A variable refers to what is not known before the job, or is no data."""


def with_subnets(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the hosts that declare subnets, by their variables as they are written."""
    return [host for host, variables in hosts.items() if variables.get(SUBNETS)]


def problems_of(hosts: Sequence[str], variables: Variables, can_plan: bool) -> tuple[list[JobProblem], list[JobProblem]]:
    """Return what is wrong with the declared addresses, and what could not be evaluated. Without ``can_plan`` only what is declared by hand is checked."""
    wrong: list[JobProblem] = []
    skipped: list[JobProblem] = []
    known: dict[str, Mapping[str, Any]] = {}
    for host in hosts:
        try:
            known[host] = _declared(variables(host), can_plan)
        except InputError as error:
            wrong.append(JobProblem(INVALID_VARIABLE, error.sentence(), (host,)))
        except NotEvaluated as error:
            skipped.append(JobProblem(ADDRESS_INVALID, f"the declared addresses are not checked, since {error} cannot be evaluated yet", (host,)))
    numbers = known[hosts[0]].get(NUMBERS) if hosts and hosts[0] in known else None
    entries = hosts_of(known, known.__getitem__, LOOK, [], [], [])
    wrong += _planned(entries, numbers)
    unknown = [{"host": host, "subnets": own[SUBNETS], "devices": [0]} for host, own in known.items()
               if own.get(SUBNETS) and not any(own.get(name) for name in (*LISTS[:2], LOOK))]
    wrong += _planned(unknown, numbers, NUMBERING)
    return wrong, skipped


def _declared(variables: Mapping[str, Any], can_plan: bool) -> dict[str, Any]:
    """Return what a host declares of its addresses. Values of a wrong type are left out: they have a problem of their own."""
    known = {name: _evaluated(variables, name) for name in (*LISTS, NUMBERS, *OF_PRODUCT) if name in variables}
    found: dict[str, Any] = {name: known[name] for name in LISTS if isinstance(known.get(name), list)}
    if not can_plan:
        found.pop(SUBNETS, None)
    if isinstance(known.get(NUMBERS), dict):
        found[NUMBERS] = known[NUMBERS]
    if any(found.get(name) for name in LISTS) and known.get("validate_product") in tuple(DEVICES):
        found[LOOK] = expected_look([], known["validate_product"], **_whole(known, "devices", "server_index"))
    return found


def _evaluated(variables: Mapping[str, Any], name: str) -> Any:
    """Return the value of a variable. Before ansible-core 2.19 what is undefined stays in it as a template. Raise NotEvaluated."""
    try:
        value, whole = plain(variables[name])
    except AnsibleError:
        whole = False
    if not whole:
        raise NotEvaluated(name)
    return value


def _whole(variables: Mapping[str, Any], *names: str) -> dict[str, int]:
    given = {name: variables.get(f"validate_{name}") for name in names}
    return {name: whole_number(f"validate_{name}", value) for name, value in given.items() if value is not None}


def _planned(entries: Sequence[Mapping[str, Any]], numbers: Any, rules: frozenset[str] | None = None) -> list[JobProblem]:
    """Return what is wrong with the plan of these hosts; ``rules``: only what breaks one of these. A host that cannot be read hides no other."""
    try:
        return list(_told(plan(list(entries), [], numbers, number_by_place=False).errors, rules))
    except InputError:
        pass
    refused, readable = [], []
    for entry in entries:
        try:
            plan([entry], [], numbers, number_by_place=False)
            readable.append(entry)
        except InputError as error:
            refused.append(JobProblem(ADDRESS_INVALID, _without_host(error.sentence(), entry["host"]), (entry["host"],)))
    return refused + list(_told(plan(readable, [], numbers, number_by_place=False).errors, rules))


def _told(problems: Iterable[Problem], rules: frozenset[str] | None) -> Iterable[JobProblem]:
    for problem in problems:
        if rules is None or problem.rule in rules:
            told = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
            hosts = (problem.host,) if problem.host else ()
            devices = ((problem.host, problem.device),) if problem.host and problem.device is not None else ()
            yield JobProblem(ADDRESS_CONFLICT if problem.rule in CONFLICTS else ADDRESS_INVALID, told, hosts, devices)


def _without_host(sentence: str, host: str) -> str:
    """Return the sentence of the plan as it is the same for all hosts that share the value."""
    return sentence.replace(f"subnets of {host}", SUBNETS).replace(f"host {host}: ", "")
