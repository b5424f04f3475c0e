# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read variables of hosts: results of device_info, and the addresses and racks for rank tables."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.untrusted_text import has_template
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import HostAddresses
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.json_fields import packed

from .._connection.packed_result import unpacked


def resolve(name: str) -> str | None:
    """Return the lowest address of a name, IPv4 before IPv6; None if the name does not resolve."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return None
    return min(found, key=lambda address: (":" in address, packed(address) or b""), default=None)


def server_id(host: str, given: Mapping[str, Any], variables: Callable[[], Mapping[str, Any]], look_up: Callable[[str], str | None] = resolve) -> str:
    """Return the server_id of ``host``. ``variables`` returns the variables of the host; it is called only if ``given`` has no address.

    Raises InputError if there is no address.
    """
    if given.get(host):
        return str(given[host])
    known = variables()
    if known.get("rank_table_server_id"):
        return str(known["rank_table_server_id"])
    names = list(dict.fromkeys(str(name) for name in (known.get("ansible_host"), host) if name))
    addresses = (name for name in names if packed(name) is not None)
    looked_up = (address for address in map(look_up, names) if address is not None)
    # Resolve lazily, since a lookup may take seconds.
    for address in chain(addresses, looked_up):
        return address
    raise InputError("no server_id: neither ansible_host nor the host's name is an IP address or resolves to one; "
                     "set the variable rank_table_server_id of the host, or the option server_ids")


def plain(value: Any) -> tuple[Any, bool]:
    """Return a copy of a value and True if it is JSON without templates; otherwise None and False.

    Results of modules are such values. Templating visits every element, which would take longer than all other work on the NPUs of a cluster.
    """
    if isinstance(value, str):
        return (None, False) if has_template(value) else (str(value), True)
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return None, False
    return (None, False) if has_template(text) else (json.loads(text), True)


class Variables(Mapping[str, Any]):
    """The variables of one host, templated only if they contain a template.

    ``latest``: by name, the object that was read last, on any host, and its value. What a task registered or set once for all hosts is one object, and may be
    as large as the cluster.
    """

    def __init__(self, raw: Mapping[str, Any], templated: Callable[[], Mapping[str, Any]], latest: dict[str, tuple[Any, Any]]) -> None:
        self._raw = raw
        self._templated = templated
        self._latest = latest

    def __getitem__(self, name: str) -> Any:
        raw = self._raw[name]
        if name not in self._latest or self._latest[name][0] is not raw:
            value, whole = plain(raw)
            if not whole:
                return unpacked(self._templated()[name])
            self._latest[name] = raw, unpacked(value)
        return self._latest[name][1]

    def __contains__(self, name: object) -> bool:
        return name in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


class HostVars:
    """The variables of the hosts. Each host is read once, on the first access."""

    def __init__(self, hostvars: Mapping[str, Mapping[str, Any]]) -> None:
        self._hostvars = hostvars
        self._read: dict[str, Mapping[str, Any]] = {}
        self._written: dict[str, Mapping[str, Any]] = {}
        self._latest: dict[str, tuple[Any, Any]] = {}
        self._raw = getattr(hostvars, "raw_get", None)

    def of(self, host: str) -> Mapping[str, Any]:
        """Return the variables of a host, none for an unknown host. Reading a variable that cannot be templated raises AnsibleError."""
        if host not in self._read:
            self._read[host] = self._variables(host) if host in self._hostvars else {}
        return self._read[host]

    def raw(self, host: str) -> Mapping[str, Any]:
        """Return the untemplated variables of a host of the inventory: of inventory, group_vars and the command line, and facts.

        Defaults of roles and variables of plays are not included.
        """
        if host not in self._written:
            self._written[host] = self._raw(host) if self._raw is not None else self._hostvars[host]
        return self._written[host]

    def _variables(self, host: str) -> Mapping[str, Any]:
        if self._raw is None:
            return self._hostvars[host]
        return Variables(self.raw(host), lambda: self._hostvars[host], self._latest)

    def _text(self, host: str, given: Mapping[str, Any], name: str) -> str | None:
        """Return the value of a host in an option, else a variable of the host. Raises InputError."""
        if given.get(host):
            return str(given[host])
        try:
            value = self.of(host).get(name)
        except AnsibleError as error:
            raise InputError(f"the variable {name} cannot be read: {error}") from error
        return str(value) if value else None

    def addresses(self, host: str, options: Mapping[str, Mapping[str, Any]]) -> HostAddresses:
        """Return the addresses of a host by the options ``server_ids``, ``host_ips`` and ``container_ips``. Raises InputError."""
        try:
            name = server_id(host, options["server_ids"], lambda: self.of(host))
        except AnsibleError as error:
            raise InputError(f"no server_id: {error}") from error
        return HostAddresses(name, self._text(host, options["host_ips"], "rank_table_host_ip"),
                             self._text(host, options["container_ips"], "rank_table_container_ip"))

    def rack(self, host: str, racks: Mapping[str, Any]) -> str | None:
        return self._text(host, racks, "rank_table_rack")

    def result(self, host: str, name: str) -> Any:
        """Return the value of the registered variable ``name``; None if the host does not have it, an InputError if it cannot be read."""
        try:
            return self.of(host).get(name) if host in self._hostvars else InputError("not in the inventory")
        except AnsibleError as error:
            return InputError(f"the variable {name} cannot be read: {error}")
