# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Compose and check the rank table that the options of the action rank_table describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.garbage import collection_paused
from ansible_collections.hccn.cluster.plugins.module_utils._core.numbers import is_count
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import printable
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import assemble, checks, document, formats, selection, table_merge
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Group, Model, Server
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars

Options = Mapping[str, Any]

LONGEST_FAILURE = 10_000
"""Characters of the failure message, which may name all hosts of a cluster."""

_PLACES = (re.compile(r"(?:server_group_list\[(\d+)\]\.)?server_list\[(\d+)\]"), re.compile(r"(prefill|decode)_device_list\[(\d+)\]"),
           re.compile(r"(rank_list)\[(\d+)\]"))
_PLACE = re.compile(r"(?:server_group_list\[(\d{1,9})\]\.)?server_list\[(\d{1,9})\](?:\.device\[(\d{1,9})\])?")
"""A path in the message of a rule, which refers to another server or NPU."""


@dataclass(frozen=True)
class Composed:
    """A table and its problems. ``failure`` is the reason why the table must not be written, or None. ``table`` is None if it could not be assembled."""

    table: dict[str, Any] | None
    problems: tuple[Problem, ...]
    server_count: int = 0
    rank_count: int = 0
    failure: str | None = None


@collection_paused()
def compose(options: Options, hosts: HostVars, read_file: Callable[[str], bytes]) -> Composed:
    """Return the checked table. Raises InputError for errors that do not concern a single host."""
    if options["tables"] is not None:
        groups, version, product, problems = _from_tables(options, hosts, read_file)
    else:
        assembly = _from_results(options, hosts)
        if any(problem.severity == "error" for problem in assembly.problems):
            requested = len(assembly.hosts) + len({problem.host for problem in assembly.problems if problem.severity == "error"}.difference(assembly.hosts))
            return Composed(None, assembly.problems, failure=printable(assemble.exclusion_message(assembly.problems, requested), LONGEST_FAILURE))
        version, product = assembly.version, assembly.product
        groups, problems = _in_groups(options, assembly.servers, hosts)
        problems = [*assembly.problems, *problems]
    if options["device_ids"] == "logical":
        groups, more = _logical(groups)
        problems += more
    model = Model(groups, version)
    table = formats.build(options["format"], model)
    found = _check(table, model, options, product)
    errors = [problem for problem in found if problem.severity == "error"]
    owner = f"{errors[0].host}: " if errors and errors[0].host else ""
    failure = printable(f"the rank table is not written: {owner}{checks.failure_message(errors)}", LONGEST_FAILURE) if errors else None
    servers = {server.server_id for server in model.servers}
    return Composed(table, (*problems, *found), len(servers), model.rank_count, failure)


def _from_results(options: Options, hosts: HostVars) -> assemble.Assembly:
    results = options["nodes"]
    if results is None:
        results = {host: hosts.result(host, options["register_name"]) for host in options["hosts"]}
    elif options["hosts"] is not None:
        results = {host: results.get(host) for host in options["hosts"]}
    table_options = assemble.TableOptions(options["format"], options["version"], options["devices"], _strings_by_host(options["host_devices"]),
                                          options["levels"])
    return assemble.assemble(results, lambda host: hosts.addresses(host, options), table_options, expand)


def _strings_by_host(by_host: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the option ``host_devices`` with lists of strings. A value that is not a list is its only element."""
    return {host: [str(word) for word in (words if isinstance(words, (list, tuple)) else [words])] for host, words in by_host.items()}


def _in_groups(options: Options, servers: Sequence[Server], hosts: HostVars) -> tuple[tuple[Group, ...], list[Problem]]:
    return selection.grouped(options["format"], _ordered(options, servers, hosts), options["groups"], lambda host: hosts.addresses(host, options), expand)


def _ordered(options: Options, servers: Sequence[Server], hosts: HostVars) -> tuple[Server, ...]:
    return selection.ordered(servers, options["rank_order"], lambda host: hosts.rack(host, options["racks"]))


def _from_tables(options: Options, hosts: HostVars, read_file: Callable[[str], bytes]) -> tuple[tuple[Group, ...], str, None, list[Problem]]:
    """Return groups, version, product and problems of tables that are merged or converted to another format."""
    sources = [_source(number, table, read_file) for number, table in enumerate(options["tables"], 1)]
    version = table_merge.version_for(options["format"], options["version"], sources)
    per_host = _strings_by_host(options["host_devices"])
    groups = table_merge.selected(table_merge.merged(sources, options["format"], version), options["hosts"],
                                  lambda host, present: expand(per_host.get(host) or options["devices"], present))
    groups = tuple(group._replace(servers=tuple(_renamed(server, options) for server in group.servers)) for group in groups)
    if options["groups"] or not all(group.name for group in groups):
        groups, problems = _in_groups(options, [server for group in groups for server in group.servers], hosts)
        return groups, version, None, problems
    return tuple(group._replace(servers=_ordered(options, group.servers, hosts)) for group in groups), version, None, []


def _source(number: int, table: Any, read_file: Callable[[str], bytes]) -> table_merge.SourceTable:
    """Read an element of the option ``tables``: a dictionary, text, or a path. Raises InputError."""
    name = f"tables[{number - 1}]"
    try:
        if isinstance(table, Mapping):
            return table_merge.SourceTable(name, formats.read(dict(table)))
        text = str(table)
        if text.lstrip("\ufeff").lstrip().startswith("{"):
            return table_merge.SourceTable(name, formats.read(document.parse(text)))
        name = text
        return table_merge.SourceTable(name, formats.read(document.parse(read_file(text))))
    except HccnError as error:
        raise InputError(f"{name}: {error.message}", error.hint) from error


def _renamed(server: Server, options: Options) -> Server:
    """Return the server with the addresses of the options, which are found by its server_id in the table."""
    def given(option: str, value: str | None) -> str | None:
        return str(options[option][server.host]) if options[option].get(server.host) else value

    return server._replace(server_id=given("server_ids", server.server_id) or "", host_ip=given("host_ips", server.host_ip),
                           container_ip=given("container_ips", server.container_ip))


def _logical(groups: Sequence[Group]) -> tuple[tuple[Group, ...], list[Problem]]:
    """Return the groups with device ids as containers see them. A container has the devices of its group."""
    found, problems = [], []
    for group in groups:
        servers, warnings = selection.logical(group.servers)
        found.append(group._replace(servers=servers))
        problems += warnings
    return tuple(found), problems[:1]


def readers(options: Options) -> Sequence[str]:
    """Return the readers by whose rules the table is checked."""
    return options["readers"] if options["readers"] is not None else formats.WRITERS[options["format"]].readers


def _check(table: dict[str, Any], model: Model, options: Options, product: str | None) -> list[Problem]:
    names = readers(options)
    problems = checks.check_name(options["path"]) if "hccl" in names else []
    return problems + with_hosts(checks.check(table, names, product, named=options["readers"] is not None), model)


def with_hosts(problems: Sequence[Problem], model: Model) -> list[Problem]:
    """Return the problems with inventory names in place of paths to servers and NPUs."""
    return [replace(problem, host=_host(problem.where or "", model), message=_PLACE.sub(lambda found: _name(found, model), problem.message))
            for problem in problems]


def _name(found: re.Match[str], model: Model) -> str:
    """Return the host, or the host and NPU, for a path in the table; the path itself if it does not exist."""
    group, server, device = (None if number is None else int(number) for number in found.groups())
    try:
        owner = (model.servers if group is None else model.groups[group].servers)[server or 0]
        return owner.host if device is None else f"{owner.host} NPU {owner.devices[device].id}"
    except IndexError:
        return found.group()


def _host(where: str, model: Model) -> str | None:
    for pattern in _PLACES:
        found = pattern.match(where)
        if found is None:
            continue
        group, place = found.group(1), int(found.group(2))
        if group is None:
            return model.servers[place].host
        if is_count(group):
            return model.groups[int(group)].servers[place].host
        owners = [server.host for part in model.groups if group in (part.name, "rank_list") for server in part.servers for _device in server.devices]
        return owners[place]
    return None
