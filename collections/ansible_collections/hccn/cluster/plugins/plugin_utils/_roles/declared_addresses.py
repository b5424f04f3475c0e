# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the declared addresses of all hosts as far as possible without contacting a host.

Without validate_product in the inventory, the product and the NPUs of a host are unknown. For such a host, the listed addresses are checked, and its number
is checked against the subnets, but addresses are not planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError

from ...module_utils._core.errors import InputError
from ...module_utils._core.problems import Problem
from .._plan.address_plan import plan_addresses
from .._plan.bring_up_hosts import hosts_for_address_plan
from .._plan.declared_device_info import DEVICES, declared_device_info
from .._plan.input_numbers import whole_number
from .._rank_table.host_vars import plain
from .job_problem import ADDRESS_CONFLICT, ADDRESS_INVALID, INVALID_VARIABLE, JobProblem

LISTS = ("bring_up_network", "bring_up_config", "bring_up_subnets")
SUBNETS = "bring_up_subnets"
NUMBERS = "bring_up_numbers"
OF_PRODUCT = ("validate_product", "validate_devices", "validate_server_index")
DEVICE_INFO = "device_info"
CONFLICTS = frozenset(("duplicate_address", "number_collision"))
NUMBERING = frozenset(("number_collision", "no_number", "number_too_small", "pool_too_small"))
"""Rules that apply to any host with at least one NPU, whatever its product is."""

Variables = Callable[[str], Mapping[str, Any]]


class NotEvaluated(Exception):
    """A variable depends on something that is unknown before the job, or is not plain data."""


def with_subnets(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the hosts whose variables, before templating, declare subnets."""
    return [host for host, variables in hosts.items() if variables.get(SUBNETS)]


def problems_of(hosts: Sequence[str], variables: Variables, can_plan: bool) -> tuple[list[JobProblem], list[JobProblem]]:
    """Return the problems of the declared addresses, and warnings for hosts that cannot be evaluated. Without ``can_plan``, no addresses are planned."""
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
    entries = hosts_for_address_plan(known, known.__getitem__, DEVICE_INFO, [], [], [])
    wrong += _planned(entries, numbers)
    unknown = [{"host": host, "subnets": own[SUBNETS], "devices": [0]} for host, own in known.items()
               if own.get(SUBNETS) and not any(own.get(name) for name in (*LISTS[:2], DEVICE_INFO))]
    wrong += _planned(unknown, numbers, NUMBERING)
    return wrong, skipped


def _declared(variables: Mapping[str, Any], can_plan: bool) -> dict[str, Any]:
    """Return the declarations of a host. Values of a wrong type are omitted; they are reported as invalid variables."""
    known = {name: _evaluated(variables, name) for name in (*LISTS, NUMBERS, *OF_PRODUCT) if name in variables}
    found: dict[str, Any] = {name: known[name] for name in LISTS if isinstance(known.get(name), list)}
    if not can_plan:
        found.pop(SUBNETS, None)
    if isinstance(known.get(NUMBERS), dict):
        found[NUMBERS] = known[NUMBERS]
    if any(found.get(name) for name in LISTS) and known.get("validate_product") in tuple(DEVICES):
        found[DEVICE_INFO] = declared_device_info([], known["validate_product"], **_whole(known, "devices", "server_index"))
    return found


def _evaluated(variables: Mapping[str, Any], name: str) -> Any:
    """Return the value of a variable. Raise NotEvaluated if a template remains in it, which ansible-core before 2.19 does for undefined variables."""
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
    """Return the problems of the plan of these hosts; ``rules`` limits them to these rules. An invalid host does not hide the problems of others."""
    try:
        return list(_job_problems(plan_addresses(list(entries), [], numbers, number_by_place=False).errors, rules))
    except InputError:
        pass
    refused, readable = [], []
    for entry in entries:
        try:
            plan_addresses([entry], [], numbers, number_by_place=False)
            readable.append(entry)
        except InputError as error:
            refused.append(JobProblem(ADDRESS_INVALID, _without_host(error.sentence(), entry["host"]), (entry["host"],)))
    return refused + list(_job_problems(plan_addresses(readable, [], numbers, number_by_place=False).errors, rules))


def _job_problems(problems: Iterable[Problem], rules: frozenset[str] | None) -> Iterable[JobProblem]:
    for problem in problems:
        if rules is None or problem.rule in rules:
            message = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
            hosts = (problem.host,) if problem.host else ()
            devices = ((problem.host, problem.device),) if problem.host and problem.device is not None else ()
            yield JobProblem(ADDRESS_CONFLICT if problem.rule in CONFLICTS else ADDRESS_INVALID, message, hosts, devices)


def _without_host(sentence: str, host: str) -> str:
    """Return the sentence without the name of the host, so that it is the same for all hosts with this value."""
    return sentence.replace(f"subnets of {host}", SUBNETS).replace(f"host {host}: ", "")
