# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What tools have in common whose tests are processes of the host: a port for each device, readiness by it, and nothing that outlives them."""

from __future__ import annotations

from typing import Optional, Tuple

from . import listening


class HostServer:
    """``base_port``: where the server of device 0 listens."""

    def __init__(self, base_port: int) -> None:
        self._base_port = base_port

    def port(self, device: int) -> int:
        """Where the server of a device listens, on whatever host."""
        return self._base_port + device

    def ready(self, device: int, pid: int) -> Optional[bool]:
        """Does the server, started as ``pid``, wait for its client?"""
        return listening.listens(pid, self.port(device))

    def cleanup(self, device: int) -> Tuple[str, ...]:
        """Nothing: a test ends with its processes."""
        return ()

    def reset(self, device: int) -> None:
        """Nothing, as ``cleanup``."""
