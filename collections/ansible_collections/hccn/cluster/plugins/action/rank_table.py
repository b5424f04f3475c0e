# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assemble and check a rank table once for all hosts of a task, and write it to each host with ansible.builtin.copy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.utils.hashing import checksum

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem, as_dicts
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import LONGEST_TEXT, printable
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, document, formats, selection
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounds import CONNECTION_S
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table import access, staging
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.compose import Composed, compose
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

GROUP = {
    "name": {"type": "str", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "devices": {"type": "list", "elements": "str", "default": ["all"]},
    "container_ips": {"type": "dict", "default": {}},
    "deploy_server": {"type": "str"},
}

ARGUMENTS = {
    "nodes": {"type": "dict"},
    "hosts": {"type": "list", "elements": "str"},
    "register_name": {"type": "str"},
    "tables": {"type": "list", "elements": "raw"},
    "src": {"type": "str"},
    "server_ids": {"type": "dict", "default": {}},
    "host_ips": {"type": "dict", "default": {}},
    "container_ips": {"type": "dict", "default": {}},
    "devices": {"type": "list", "elements": "str", "default": ["all"]},
    "host_devices": {"type": "dict", "default": {}},
    "device_ids": {"type": "str", "choices": ["physical", "logical"], "default": "physical"},
    "rank_order": {"type": "str", "choices": list(selection.ORDERS), "default": "given"},
    "racks": {"type": "dict", "default": {}},
    "groups": {"type": "list", "elements": "dict", "options": GROUP},
    "levels": {"type": "dict", "default": {}},
    "path": {"type": "str", "required": True},
    "write": {"type": "bool", "default": True},
    "format": {"type": "str", "choices": list(formats.WRITERS), "default": "hccl"},
    "version": {"type": "str", "choices": [formats.AUTO, *formats.VERSIONS], "default": formats.AUTO},
    "readers": {"type": "list", "elements": "str", "choices": list(checks.READERS)},
    "mode": {"type": "raw", "default": "0640"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "reader_uid": {"type": "int"},
    "reader_gid": {"type": "int"},
    "return_content": {"type": "bool", "default": False},
}

FILE_OPTIONS = ("path", "src", "write", "mode", "owner", "group", "reader_uid", "reader_gid", "return_content")
"""Options that do not change the table. Only the problems of the name of the path affect the result."""

EXCLUSIVE = [("nodes", "register_name"), *((name, other) for name in ("tables", "src") for other in ("nodes", "register_name")), ("tables", "src"),
             ("hosts", "src")]


WRITE_S = 5 * CONNECTION_S
"""The time limit of the calls on a host that read the state of the file and its folders and write the file."""


class ActionModule(BoundedAction):
    """Compose, check and write a rank table. Only writing uses the connection, so a refused table opens none."""

    _supports_check_mode = True
    _supports_async = False

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run for one host, to which the file is written."""
        result = super().run(tmp, task_vars)
        variables = task_vars or {}
        _validation, options = self.validate_argument_spec(
            ARGUMENTS, mutually_exclusive=EXCLUSIVE, required_one_of=[("nodes", "hosts", "tables", "src")], required_by={"register_name": "hosts"})
        if options["src"] == "":
            with self.answered_within(WRITE_S):
                result.update(self._predicted(options, variables))
            return result
        if options["src"] is not None:
            staged = Path(self._loader.path_dwim(options["src"]))
            result["sha256"] = self._sha256(staged)
        else:
            made = self._made_once(options, variables)
            result.update(made["result"])
            if result.get("failed"):
                return result
            staged = Path(made["staged"])
            if options["return_content"]:
                result["rank_table"] = document.parse(staged.read_bytes())
        if not options["write"]:
            return dict(result, changed=False, path=options["path"], src=str(staged))
        with self.answered_within(WRITE_S):
            result.update(self._write(staged, options, variables))
            if options["reader_uid"] is not None and not result.get("failed"):
                result["problems"] = result.get("problems", []) + as_dicts(self._access_problem(result["path"], options, variables))
        return result

    def _made_once(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``result`` of the host and the path ``staged`` of the table, which is made once for all hosts of a task with the same options."""
        host = variables.get("inventory_hostname")
        table_options = {name: value for name, value in options.items() if name not in FILE_OPTIONS}
        # Hosts of another batch (serial) may have different results in the same variable.
        key = staging.key_of(self._task._uuid, variables.get("ansible_play_batch"), as_dicts(checks.check_name(options["path"])), table_options)
        folder = Path(constants.DEFAULT_LOCAL_TMP)
        staged = folder / f"rank_table_{key}.json"

        def make() -> dict[str, Any]:
            return {"host": host, "staged": str(staged), "result": self._result(options, variables, staged)}

        # A retried task must compose the table again.
        made, is_maker = (make(), True) if self._task.until else staging.once(folder, key, make)
        if is_maker:
            return made
        if made["result"].get("failed"):
            return {"result": {"failed": True, "msg": f"the rank table is not written, see the error of {made['host']}", "problems": []}}
        return dict(made, result=dict(made["result"], problems=[]))

    def _result(self, options: Mapping[str, Any], variables: Mapping[str, Any], staged: Path) -> dict[str, Any]:
        """Compose, check and stage the table."""
        if options["hosts"] is not None and not any(options[name] is not None for name in ("register_name", "nodes", "tables")):
            return {"failed": True, "msg": "hosts requires register_name, nodes or tables"}
        try:
            composed = compose(options, HostVars(variables.get("hostvars", {})), self._read)
        except HccnError as error:
            return {"failed": True, "msg": printable(error.sentence(), LONGEST_TEXT), "problems": []}
        if composed.failure is not None or composed.table is None:
            return {"failed": True, "msg": composed.failure and printable(composed.failure, LONGEST_TEXT), "problems": as_dicts(composed.problems)}
        text = document.to_text(composed.table)
        staging.write(staged, text)
        return _success(composed, hashlib.sha256(text.encode()).hexdigest())

    def _read(self, path: str) -> bytes:
        """Read a table on the controller. Raises InputError."""
        try:
            return Path(self._find_needle("files", path)).read_bytes()
        except (OSError, AnsibleError) as error:
            raise InputError(f"cannot be read on the controller: {error}") from error

    def _predicted(self, options: Mapping[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Return the expected result of a write in check mode, when the table is not known yet. An existing file counts as unchanged."""
        if not self._task.check_mode:
            raise AnsibleActionFail("src is empty, which is allowed only in check mode, where the table may not exist yet")
        path = self._remote_expand_user(options["path"])
        folder = str(PurePosixPath(path).parent)
        if not self._execute_remote_stat(folder, all_vars=variables, follow=True, checksum=False).get("isdir"):
            return {"failed": True, "changed": False, "path": path, "msg": f"the rank table cannot be written to {path}: {folder} is not a folder on the host"}
        found = self._execute_remote_stat(path, all_vars=variables, follow=True, checksum=False)
        return {"changed": not found.get("exists"), "path": path}

    @staticmethod
    def _sha256(staged: Path) -> str:
        try:
            return hashlib.sha256(staged.read_bytes()).hexdigest()
        except OSError as error:
            raise AnsibleActionFail(f"src: cannot read {staged} on the controller: {error.strerror}") from error

    def _write(self, staged: Path, options: Mapping[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Write the table with the copy action. A file with the same data keeps its content, and only gets mode and owner."""
        path = self._remote_expand_user(options["path"])
        found = self._same_data(path, staged, variables)
        task = self._task.copy()
        task.args = {"src": str(staged), "dest": path} if found is None else {"content": found, "dest": path}
        task.args.update((key, options[key]) for key in ("mode", "owner", "group") if options[key] is not None)
        copy = self._shared_loader_obj.action_loader.get(
            "ansible.legacy.copy", task=task, connection=self._connection, play_context=self._play_context, loader=self._loader,
            templar=self._templar, shared_loader_obj=self._shared_loader_obj)
        copied = copy.run(task_vars=variables)
        written = {key: copied[key] for key in ("changed", "failed", "msg", "diff", "mode", "owner", "group") if key in copied}
        if found is not None:
            written["sha256"] = hashlib.sha256(found).hexdigest()
        return {"changed": False, "path": path, **written}

    def _same_data(self, path: str, staged: Path, variables: dict[str, Any]) -> bytes | None:
        """Return the content of the file if it is the same table in another form; otherwise None."""
        status = self._execute_remote_stat(path, all_vars=variables, follow=False, checksum=True)
        if not status.get("isreg") or status.get("size", 0) > document.MAX_TEXT or status.get("checksum") == checksum(str(staged)):
            return None
        answer = self._execute_module(module_name="ansible.legacy.slurp", module_args={"src": path}, task_vars=variables)
        try:
            found = base64.b64decode(answer["content"])
            return found if document.parse(found) == document.parse(staged.read_bytes()) else None
        except (KeyError, ValueError, ParseError):
            return None

    def _access_problem(self, path: str, options: Mapping[str, Any], variables: dict[str, Any]) -> list[Problem]:
        """Return a problem if the reader has no access to the file, which may be missing in check mode."""
        def path_mode(name: str) -> access.PathMode | None:
            status = self._execute_remote_stat(name, all_vars=variables, follow=True, checksum=False)
            return access.PathMode(name, int(status["mode"], 8), status["uid"], status["gid"]) if status.get("exists") else None

        file = path_mode(path)
        folders = [path_mode(str(folder)) for folder in reversed(PurePosixPath(path).parents)]
        if file is None:
            return []
        reason = access.read_barrier(file, [folder for folder in folders if folder], options["reader_uid"], options["reader_gid"])
        hint = "give the file to that user or its group with owner or group, and let them into the folder"
        return [Problem("reader_access", "warning", reason, host=variables.get("inventory_hostname"), hint=hint)] if reason else []


def _success(composed: Composed, sha256: str) -> dict[str, Any]:
    return {"problems": as_dicts(composed.problems), "server_count": composed.server_count, "rank_count": composed.rank_count, "sha256": sha256}
