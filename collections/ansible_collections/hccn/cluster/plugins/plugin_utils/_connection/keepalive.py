# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The keepalive of ssh: the connection to a host that stops answering ends, so that Ansible reports the host as unreachable."""

from __future__ import annotations

import hashlib
from typing import Any

INTERVAL_S, COUNT = 10, 3
"""The connection to a silent host ends after INTERVAL_S * COUNT seconds."""

ARGUMENTS = f"-o ServerAliveInterval={INTERVAL_S} -o ServerAliveCountMax={COUNT}"
OPTIONS = ("ssh_extra_args", "scp_extra_args", "sftp_extra_args")


def keep_alive(connection: Any) -> None:
    """Add the keepalive to a connection of Ansible's plugin ssh; other connections are not changed.

    ssh uses the first value of an option and these arguments come last, so settings of the user win. A shared connection (ControlPersist) that was opened
    without a keepalive does not get one later, so these connections get a separate control path unless the user has set one.
    """
    if getattr(connection, "transport", None) != "ssh":
        return
    for name in OPTIONS:
        given = connection.get_option(name) or ""
        if ARGUMENTS not in given:
            connection.set_option(name, f"{given} {ARGUMENTS}".strip())
    if not connection.get_option("control_path"):
        connection.set_option("control_path", "%(directory)s/" + _socket_name(connection))


def _socket_name(connection: Any) -> str:
    """Return a name for host, port and user as short as Ansible's, since paths of sockets are limited to about 100 characters."""
    target = [connection.get_option(name) for name in ("host", "port", "remote_user")]
    return hashlib.sha256(repr([*target, ARGUMENTS]).encode()).hexdigest()[:10]
