# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Learn the secrets in the variables of a play, which the callback hides in everything that it writes.

Computing the variables of a host is expensive, and a cluster has thousands of hosts. The variables of a host are therefore read once per play, when
its first record or event is written, and again only after a task that set a secret without returning it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from ansible.template import Templar
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.secret_variables import is_secret_name, is_template, secret_values
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.redact import Redactor

_LOCAL = "env|file|unvault|ini|csvfile"
# Other lookups query a server, run a program or generate a password, so they must not be evaluated a second time.
_EXTERNAL = re.compile(
    rf"\b(?:lookup|query|q)\b(?!\s*\(\s*[\"'](?:ansible\.builtin\.)?(?:{_LOCAL})[\"'])|\b(?:hostvars|vars)\b|\bansible_delegated_vars\b"
)
_NAMES = re.compile(r"[A-Za-z_]\w*")
_MOST_EXAMINED = 1000
_FACTS = ("set_fact", "include_vars")


class PlaySecrets:
    """Passes the secrets of hosts and results to a redactor."""

    def __init__(self, redactor: Redactor) -> None:
        self._learn = redactor.learn
        self._play: Any = None
        self._templar: Any = None
        self._variables: Mapping[str, Any] = {}
        self._known_hosts: set[str] = set()
        self._changed: dict[str, Any] = {}
        self._tasks_with_secrets: dict[str, bool] = {}
        self._vaulted: dict[str, str | None] = {}

    def start_play(self, play: Any) -> None:
        self._play = play
        self._known_hosts.clear()
        self._tasks_with_secrets.clear()

    def learn_from_result(self, host: Any, task: Any, content: Mapping[str, Any]) -> None:
        """Learn the secrets among the variables that a result has set."""
        registered = _names(getattr(task, "register", None))
        secret = any(map(is_secret_name, registered))
        facts = content.get("ansible_facts")
        action = str(task.action).rpartition(".")[2]
        if "censored" in content:
            if secret or action == "include_vars" or action == "set_fact" and any(is_secret_name(name) or name == "_raw_params" for name in task.args):
                self._changed[host.get_name()] = host
            return
        if secret:
            self._learn(secret_values(dict.fromkeys(registered, content)))
        if action in _FACTS and isinstance(facts, Mapping) and facts:
            if action == "set_fact":
                self._learn(secret_values(facts))
            else:  # its values are still templates
                self._changed[host.get_name()] = host

    def learn_host(self, host: Any, task: Any) -> None:
        """Learn the secrets among the variables of a host before an entry about it is written, and those of hosts whose variables have changed."""
        if self._play is None:
            return
        changed = self._changed
        for name in [name for name in changed if name != host.get_name()]:
            self._learn_variables(changed[name])
            del changed[name]
        task_with_secrets = task if self._has_secrets(task) else None
        if task_with_secrets is not None or host.get_name() in changed or host.get_name() not in self._known_hosts:
            self._learn_variables(host, task_with_secrets)
            self._known_hosts.add(host.get_name())
            changed.pop(host.get_name(), None)

    def _learn_variables(self, host: Any, task: Any = None) -> None:
        self._variables = self._play.get_variable_manager().get_vars(play=self._play, host=host, task=task, include_hostvars=False)
        self._learn(secret_values(self._variables, self._evaluate))

    def _has_secrets(self, task: Any) -> bool:
        """Return True if a task, its blocks or its role have variables that are secrets."""
        if task._uuid not in self._tasks_with_secrets:
            sources = [task.get_vars(), *([task._role.get_vars(), task._role.get_default_vars()] if task._role else [])]
            self._tasks_with_secrets[task._uuid] = any(bool(secret_values(source, lambda value: "unknown")) for source in sources)
        return self._tasks_with_secrets[task._uuid]

    def _evaluate(self, value: Any) -> Any:
        """Return the value of a template or vaulted text; the template itself if it cannot be evaluated without external lookups."""
        cipher = getattr(value, "_ciphertext", None)
        if cipher is not None:
            if str(cipher) not in self._vaulted:
                self._vaulted[str(cipher)] = None
                with contextlib.suppress(Exception):  # a text that cannot be decrypted reveals nothing
                    self._vaulted[str(cipher)] = str(value)
            return self._vaulted[str(cipher)]
        if self._uses_external_lookup(value):
            return str(value)
        with contextlib.suppress(Exception):
            if self._templar is None:
                self._templar = Templar(loader=self._play.get_loader() or self._play.get_variable_manager()._loader, variables={})
            self._templar.available_variables = self._variables
            return self._templar.template(value)
        return str(value)

    def _uses_external_lookup(self, template: str) -> bool:
        """Return True if the template, or a variable that it refers to, may use an external lookup."""
        left: list[Any] = [template]
        seen: set[str] = set()
        for _step in range(_MOST_EXAMINED):
            if not left:
                return False
            value = left.pop()
            if isinstance(value, Mapping):
                left.extend(value.values())
            elif isinstance(value, (list, tuple)):
                left.extend(value)
            elif is_template(value):
                if _EXTERNAL.search(value):
                    return True
                fresh = set(_NAMES.findall(value)) - seen
                seen |= fresh
                left.extend(self._variables[name] for name in fresh if name in self._variables)
        return True


def _names(register: Any) -> list[str]:
    """Return the names that ``register`` sets; newer releases of ansible-core allow several."""
    return [register] if isinstance(register, str) else [name for name in register or [] if isinstance(name, str)]
