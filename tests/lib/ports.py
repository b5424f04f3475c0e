"""TCP ports for tests."""

from __future__ import annotations

import socket

_RETURNED: set[int] = set()


def free_port() -> int:
    """Return a TCP port of the loopback address that nothing listens on now, another one for each call."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in _RETURNED:
            _RETURNED.add(port)
            return port
