# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Checks before and after the work of every controller plugin of the collection.

Before the work, releases of ansible-core that run text of hosts as code are refused and, in actions, options that the host sent as facts. After it, the
result is marked as data, so that no text in it is evaluated as a template. An InputError of a filter becomes an error that names the filter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var

from ...module_utils._core.errors import InputError
from . import core_release, sent_options

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Run = Callable[..., dict[str, Any]]


def marked(result: Result) -> Result:
    """Return ``result`` with all its texts marked as data: unsafe before ansible-core 2.19, without a tag of trust from 2.19 on.

    Lists are copied here, since wrap_var cannot copy lists that a filter got from a variable.
    """
    return cast(Result, _marked(result))


def _marked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {wrap_var(key): _marked(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_marked, value))
    return list(map(_marked, value)) if isinstance(value, list) else wrap_var(value)


def action(run: Run) -> Run:
    """Decorate the method ``run`` of an action plugin."""
    @functools.wraps(run)
    def guarded(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        return marked(host_action(run)(self, tmp, task_vars))
    return guarded


def host_action(run: Run) -> Run:
    """Decorate the method ``run`` of an action plugin that returns the answer of a host. It is not marked: Ansible treats it as data, and it may be large."""
    @functools.wraps(run)
    def guarded(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        core_release.require_fixed()
        sent_options.refuse(task_vars or {})
        return run(self, tmp, task_vars)
    return guarded


def lookup(run: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Decorate the method ``run`` of a lookup plugin."""
    @functools.wraps(run)
    def guarded(self: Any, terms: list[Any], variables: Mapping[str, Any] | None = None, **options: Any) -> list[Any]:
        core_release.require_fixed()
        return marked(run(self, terms, variables, **options))
    return guarded


def reads_hosts(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a filter that reads variables of hosts: an error in one of them, such as that of its template, becomes an error that names the filter."""
    @functools.wraps(function)
    def guarded(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        try:
            return function(*arguments, **options)
        except AnsibleError as error:
            raise AnsibleFilterError(f"{function.__name__}: a variable of a host cannot be read: {error}") from error
    return guarded


def filters(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return the filters of a plugin. They return marked results, and raise AnsibleFilterError for an InputError."""
    return {name: _filter(name, function) for name, function in functions.items()}


def _filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*arguments: Any, **options: Any) -> Any:
        core_release.require_fixed()
        try:
            return marked(function(*arguments, **options))
        except InputError as error:
            raise AnsibleFilterError(f"{name}: {error.sentence()}") from None
    return guarded
