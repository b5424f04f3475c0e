# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Is a port of this host free? Told by binding it for a moment, without listening; nobody is connected to."""

from __future__ import annotations

import errno
import socket
from typing import Any, Dict

FREE, USED, NO_ADDRESS = "free", "used", "no_address"


def state(ip: str, port: int) -> str:
    """``free``, ``used``, or ``no_address`` where the host does not have the address. Raises OSError for all else."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Connections that are closing do not count, listeners do.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ip, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return USED
            if error.errno in (errno.EADDRNOTAVAIL, errno.EINVAL) or isinstance(error, socket.gaierror):
                return NO_ADDRESS
            raise
    return FREE


def probe(ip: str, port: int) -> Dict[str, Any]:
    """An element of ``probed``."""
    return {"ip": ip, "port": port, "state": state(ip, port)}
