# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The keepalive of ssh: a host that stops answering ends the connection, so that Ansible calls it unreachable."""

from __future__ import annotations

import hashlib
from typing import Any

INTERVAL_S, COUNT = 10, 3
"""A silent host is given up after INTERVAL_S * COUNT seconds."""

ARGUMENTS = f"-o ServerAliveInterval={INTERVAL_S} -o ServerAliveCountMax={COUNT}"
OPTIONS = ("ssh_extra_args", "scp_extra_args", "sftp_extra_args")


def keep_alive(connection: Any) -> None:
    """Add the keepalive to a connection of Ansible's plugin ssh; others are left as they are.

    ssh takes the first value of an option, and these arguments come last: what the user has set wins. A shared connection (ControlPersist) that was opened
    without a keepalive has none, so that with Ansible's default path these connections have one of their own.
    """
    if getattr(connection, "transport", None) != "ssh":
        return
    for name in OPTIONS:
        given = connection.get_option(name) or ""
        if ARGUMENTS not in given:
            connection.set_option(name, f"{given} {ARGUMENTS}".strip())
    if not connection.get_option("control_path"):
        connection.set_option("control_path", "%(directory)s/" + _own(connection))


def _own(connection: Any) -> str:
    """A name as short as Ansible's, for the host, port and user: paths of sockets are limited to some 100 characters."""
    of = [connection.get_option(name) for name in ("host", "port", "remote_user")]
    return hashlib.sha256(repr([*of, ARGUMENTS]).encode()).hexdigest()[:10]
