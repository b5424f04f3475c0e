# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creates, changes or removes the objects of the role awx in AWX, or writes them as data. The logic is in plugin_utils/_awx."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import data_file, objects
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import inventory, specs, variables
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ABSENT, DATA = "absent", "data"
ALREADY_GONE = re.compile(r"(?!.*organizations).*(was not found|returned 0 items)", re.DOTALL)
"""What the modules say if the object to which an object belongs does not exist, and the object therefore neither."""

CALL_S = 300.0
"""Seconds for one object. A module sends a few requests to AWX, each with a limit of its own (10 seconds by default)."""


class ActionModule(BoundedAction):
    """Calls a module for each object, in the order in which they depend on each other."""

    _VALID_ARGS = frozenset()

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        known = task_vars or {}
        try:
            settings = self._settings(known)
            if settings["state"] == ABSENT:
                return {**result, **self._apply(objects.removals(settings), settings, known)}
            made = objects.objects(settings, objects.surveys(_not_asked(known, settings, self._loader), specs.ROLES))
            if settings["state"] == DATA:
                return {**result, **self._write(Path(settings["data_path"]), data_file.text(made, settings))}
        except InputError as error:
            raise AnsibleActionFail(error.sentence()) from None
        return {**result, **self._apply(objects.calls(made), settings, known)}

    def _settings(self, task_vars: Mapping[str, Any]) -> objects.Settings:
        """Return the variables of the role ``awx`` that are set, without their prefix. Raise InputError."""
        options = specs.of_role("awx")
        given = {name: self._templar.template(task_vars[name]) for name in options if name in task_vars}
        checked = ArgumentSpecValidator(options, required_if=[("awx_state", DATA, ["awx_data_path"])]).validate(given)
        if checked.error_messages:
            raise InputError("; ".join(checked.error_messages))
        return {name.removeprefix("awx_"): value for name, value in checked.validated_parameters.items() if value is not None}

    def _apply(self, calls: Iterable[tuple[str, dict[str, Any]]], settings: objects.Settings, task_vars: dict[str, Any]) -> dict[str, Any]:
        modules = settings["modules"]
        if not _is_installed(modules):
            raise AnsibleActionFail(f"The collection {modules} is not installed: ansible-galaxy collection install {modules}, or for awx.awx "
                                    "pip install ansible==12.3.0, which brings it")
        changed: list[str] = []
        for module, arguments in calls:
            with self.answered_within(CALL_S):
                answer = self._execute_module(module_name=f"{modules}.{module}", module_args=arguments, task_vars=task_vars)
            name = f"{module} {arguments.get('name') or arguments.get('identifier') or arguments.get('role')}"
            if answer.get("failed"):
                if settings["state"] == ABSENT and ALREADY_GONE.match(str(answer.get("msg"))):
                    continue
                return {"failed": True, "changed": bool(changed), "objects": changed, "msg": f"{name}: {answer.get('msg')}"}
            if answer.get("changed"):
                changed.append(name)
        return {"changed": bool(changed), "objects": changed}

    def _write(self, path: Path, text: str) -> dict[str, Any]:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != before and not self._task.check_mode:
            part = path.with_name(f".{path.name}.{os.getpid()}.part")
            part.write_text(text, encoding="utf-8")
            os.replace(part, path)
        return {"changed": text != before, "objects": [], "diff": {"before": before, "after": text, "before_header": str(path), "after_header": str(path)}}


def _not_asked(task_vars: Mapping[str, Any], settings: objects.Settings, loader: Any) -> set[str]:
    """Return the variables of the inventory. No survey asks for them, since its answer would override them."""
    hosts = inventory.matched(loader, task_vars.get("groups", {}), str(task_vars.get("hccn_hosts", "npu")), None)
    written = variables.written(hosts, HostVars(task_vars.get("hostvars", {})).raw)
    return {name for own in written.values() for name in own}.union(settings.get("not_asked", []))


def _is_installed(collection: str) -> bool:
    try:
        return importlib.util.find_spec(f"ansible_collections.{collection}") is not None
    except ImportError:
        return False
