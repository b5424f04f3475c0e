# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assembles a rank table from results of device_info, checks it, and has ansible.builtin.copy write it."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.hashing import checksum_s

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem, as_dicts
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import assemble, checks, document, hccl
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.view import packed

FORMATS = {"hccl": hccl.build}
"""By format: the function from servers to the table. The reader that checks it has the same name."""

ARGUMENTS = {
    "nodes": {"type": "dict"},
    "hosts": {"type": "list", "elements": "str"},
    "register_name": {"type": "str"},
    "server_ids": {"type": "dict", "default": {}},
    "devices": {"type": "list", "elements": "str", "default": ["all"]},
    "path": {"type": "str", "required": True},
    "format": {"type": "str", "choices": list(FORMATS), "default": "hccl"},
    "version": {"type": "str", "choices": ["auto", "1.0"], "default": "auto"},
    "mode": {"type": "raw", "default": "0640"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "return_content": {"type": "bool", "default": False},
}

_SERVER = re.compile(r"server_list\[(\d+)\]")


def resolve(name: str) -> str | None:
    """An address of a name, IPv4 before IPv6 and the lowest of several; None where there is none."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return None
    return min(found, key=lambda address: (":" in address, packed(address) or b""), default=None)


def server_id(host: str, given: Mapping[str, Any], variables: Callable[[], Mapping[str, Any]], look_up: Callable[[str], str | None] = resolve) -> str:
    """The address that stands for ``host`` in the table. ``variables`` are those of the host, asked for only where ``given`` has none.

    Raises InputError where there is no address.
    """
    if given.get(host):
        return str(given[host])
    known = variables()
    if known.get("rank_table_server_id"):
        return str(known["rank_table_server_id"])
    names = list(dict.fromkeys(str(name) for name in (known.get("ansible_host"), host) if name))
    addresses = (name for name in names if packed(name) is not None)
    looked_up = (address for address in map(look_up, names) if address is not None)
    # Lazily: a look-up may take seconds.
    for address in chain(addresses, looked_up):
        return address
    raise InputError("no server_id: neither ansible_host nor the host's name is an IP address or resolves to one; "
                     "set the variable rank_table_server_id of the host, or the option server_ids")


class _HostVars:
    """The variables of the hosts, each host read once and only when asked for."""

    def __init__(self, hostvars: Mapping[str, Mapping[str, Any]]) -> None:
        self._hostvars = hostvars
        self._read: dict[str, Mapping[str, Any]] = {}

    def of(self, host: str) -> Mapping[str, Any]:
        """An unknown host has none. A variable that cannot be templated raises AnsibleError when it is read."""
        if host not in self._read:
            self._read[host] = self._hostvars[host] if host in self._hostvars else {}
        return self._read[host]

    def server_id(self, host: str, given: Mapping[str, Any]) -> str:
        try:
            return server_id(host, given, lambda: self.of(host))
        except AnsibleError as error:
            raise InputError(f"no server_id: {error}") from error

    def result(self, host: str, name: str) -> Any:
        """What the host registered under ``name``: None where it has nothing, an InputError where it cannot have it."""
        try:
            return self.of(host).get(name) if host in self._hostvars else InputError("not in the inventory")
        except AnsibleError as error:
            return InputError(f"the variable {name} cannot be read: {error}")


def with_hosts(problems: list[Problem], hosts: tuple[str, ...]) -> list[Problem]:
    """The problems of a table with the inventory name of the server that they are about."""
    named = []
    for problem in problems:
        found = _SERVER.match(problem.where or "")
        named.append(replace(problem, host=hosts[int(found.group(1))]) if found else problem)
    return named


class ActionModule(ActionBase):
    """Only writing needs the host's connection (``_requires_connection``): a table that is refused makes none."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Runs for one host: the one where the file goes."""
        result = super().run(tmp, task_vars)
        variables = task_vars or {}
        _validation, options = self.validate_argument_spec(
            ARGUMENTS, mutually_exclusive=[("nodes", "hosts"), ("nodes", "register_name")],
            required_one_of=[("nodes", "hosts")], required_together=[("hosts", "register_name")])
        try:
            assembly = self._assemble(options, variables)
        except HccnError as error:
            raise AnsibleActionFail(error.message) from error
        unfit = [problem for problem in assembly.problems if problem.severity == "error"]
        if unfit:
            message = assemble.sentence(assembly.problems, len(assembly.hosts) + len({problem.host for problem in unfit}))
            return dict(result, failed=True, msg=message, problems=as_dicts(assembly.problems))
        table = FORMATS[options["format"]](assembly.servers)
        problems = list(assembly.problems) + checks.check_name(options["path"])
        problems += with_hosts(checks.check(table, (options["format"],), assembly.product), assembly.hosts)
        result.update(problems=as_dicts(problems))
        errors = [problem for problem in problems if problem.severity == "error"]
        if errors:
            return dict(result, failed=True, msg=f"the rank table is not written: {checks.sentence(errors)}")
        result.update(server_count=len(assembly.servers), rank_count=hccl.rank_count(table))
        if options["return_content"]:
            result["rank_table"] = table
        result.update(self._write(table, options, variables))
        return result

    def _assemble(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> assemble.Assembly:
        hosts = _HostVars(variables.get("hostvars", {}))
        nodes = options["nodes"]
        if nodes is None:
            nodes = {host: hosts.result(host, options["register_name"]) for host in options["hosts"]}
        return assemble.assemble(nodes, lambda host: hosts.server_id(host, options["server_ids"]), options["devices"], expand)

    def _write(self, table: dict[str, Any], options: Mapping[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Has the copy action put the table in place. A file with the same data keeps its content, and gets mode and owner only."""
        path = self._remote_expand_user(options["path"])
        content = document.text_of(table).encode()
        content = self._same_data(path, table, content, variables) or content
        task = self._task.copy()
        task.args = {"content": content, "dest": path}
        task.args.update((key, options[key]) for key in ("mode", "owner", "group") if options[key] is not None)
        copy = self._shared_loader_obj.action_loader.get(
            "ansible.legacy.copy", task=task, connection=self._connection, play_context=self._play_context, loader=self._loader,
            templar=self._templar, shared_loader_obj=self._shared_loader_obj)
        copied = copy.run(task_vars=variables)
        written = {key: copied[key] for key in ("changed", "failed", "msg", "diff", "mode", "owner", "group") if key in copied}
        return {"changed": False, "path": path, "sha256": hashlib.sha256(content).hexdigest(), **written}

    def _same_data(self, path: str, table: dict[str, Any], content: bytes, variables: dict[str, Any]) -> bytes | None:
        """What the file holds, where that is the same table in another form."""
        status = self._execute_remote_stat(path, all_vars=variables, follow=False, checksum=True)
        if not status.get("isreg") or status.get("size", 0) > document.MAX_TEXT or status.get("checksum") == checksum_s(content):
            return None
        answer = self._execute_module(module_name="ansible.legacy.slurp", module_args={"src": path}, task_vars=variables)
        try:
            found = base64.b64decode(answer["content"])
            return found if document.parse(found) == table else None
        except (KeyError, ValueError, ParseError):
            return None
