# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Base class of the tools whose servers are processes of the host, each on a port of its own."""

from __future__ import annotations

from typing import List, Optional, Tuple

from . import listening

KILLED_HINT = "find out what ended it on that host: see dmesg (out of memory) and the process manager of the host"


class HostServer:
    """A tool whose server for device N listens on ``base_port`` plus N."""

    def __init__(self, base_port: int) -> None:
        self._base_port = base_port

    def port(self, device: int) -> int:
        """Return the port of the server of a device, the same on every host."""
        return self._base_port + device

    def ready(self, device: int, pid: int) -> Optional[bool]:
        """Return True if the server with this ``pid`` listens."""
        return listening.listens(pid, self.port(device))

    def routers(self, device: int, address: str, target: str) -> List[str]:
        """Return no routers: the path of a test is not known."""
        return []

    def cleanup(self, device: int) -> Tuple[str, ...]:
        """Return no command: a test ends with its processes."""
        return ()

    def reset(self, device: int) -> None:
        """Do nothing: a test ends with its processes."""
