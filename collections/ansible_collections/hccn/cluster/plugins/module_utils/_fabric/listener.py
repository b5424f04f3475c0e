# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The TCP server of a runner, and the bound on its unauthenticated connections.

A connection that does not prove the key within HELLO_SECONDS is dropped, and the run goes on. The protocol is in channel.py.
"""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections import Counter
from typing import Callable, Dict, Optional, Tuple

from .._core.errors import HccnError
from .._core.words import some
from .._perf.listening import listeners
from .channel import HELLO_SECONDS, Body, Channel, shut
from .plan import Control

MAX_CLOSING = 32
"""Threads of unauthenticated connections that were crowded out and have not ended yet: a flood must not start them faster than they end."""
MAX_AUTHENTICATED = 1024
"""Connections that have proved the key: one for each pair in work, so far fewer."""
MAX_UNAUTHENTICATED = 128
"""A flood of 5,000 connections a second from a partner's own address still leaves that partner 25 ms to prove the key."""


class ConnectionLimiter:
    """The unauthenticated connections: so many and no more, and none of them can keep those of other addresses out. Not thread-safe."""

    def __init__(self, most: int = MAX_UNAUTHENTICATED) -> None:
        self._most = most
        self._known: Dict[socket.socket, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, sock: socket.socket, address: str) -> Optional[socket.socket]:
        """Add a connection; return the one to be closed for it: the oldest of the address that has most."""
        self._known[sock] = address
        if len(self._known) <= self._most:
            return None
        crowd = Counter(self._known.values()).most_common(1)[0][0]
        oldest = next(known for known, where in self._known.items() if where == crowd)
        del self._known[oldest]
        return oldest

    def remove(self, sock: socket.socket) -> bool:
        """Remove a connection; return whether it was still here."""
        return self._known.pop(sock, None) is not None


class Listener:
    """Made before the runner forks, so that a port in use is reported at once."""

    def __init__(self, control: Control) -> None:
        """Raises HccnError ``control_port_in_use`` or ``control_address_unusable``."""
        try:
            family, kind, protocol, _name, address = socket.getaddrinfo(
                control.address, control.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            self._sock = socket.socket(family, kind, protocol)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._sock.bind(address)
            self._sock.listen(256)
        except OSError as error:
            raise _cannot_listen(control, error) from None
        self._lock = threading.Lock()
        self._limiter = ConnectionLimiter()
        self._authenticated = 0
        self._threads = threading.Semaphore(MAX_UNAUTHENTICATED + MAX_CLOSING)
        self._closed = False
        self.refused: Dict[str, int] = {}

    def fileno(self) -> int:
        return self._sock.fileno()

    def serve(self, key: bytes, run_id: str, handle: Callable[[Channel, Body], None]) -> None:
        """From now on ``handle(channel, body)`` runs in a thread of its own for each connection whose first line proves the key."""
        threading.Thread(target=self._accept, args=(key, run_id, handle), daemon=True).start()

    def _accept(self, key: bytes, run_id: str, handle: Callable[[Channel, Body], None]) -> None:
        while not self._closed:
            try:
                sock, address = self._sock.accept()
            except OSError:
                if not self._closed:
                    time.sleep(0.05)
                continue
            self._make_room(sock, str(address[0]))
            self._threads.acquire()
            try:
                threading.Thread(target=self._serve_connection, args=(sock, key, run_id, handle), daemon=True).start()
            except RuntimeError:
                self._close(sock)
                self._threads.release()

    def _make_room(self, sock: socket.socket, address: str) -> None:
        with self._lock:
            oldest = self._limiter.add(sock, address)
        if oldest is not None:
            self._count("crowded_out")
            shut(oldest)

    def _serve_connection(self, sock: socket.socket, key: bytes, run_id: str, handle: Callable[[Channel, Body], None]) -> None:
        """The thread of one connection: authenticate it, then handle it."""
        try:
            said = self._first_line(sock, key, run_id)
        finally:
            self._threads.release()
        try:
            if said is not None and self._authenticate(sock):
                self._handle(said[0], said[1], handle)
        finally:
            self._close(sock)

    def _first_line(self, sock: socket.socket, key: bytes, run_id: str) -> Optional[Tuple[Channel, Body]]:
        """The first line, None where it does not prove the key."""
        try:
            channel = Channel(sock, key, run_id, calling=False)
            channel.greet()
            return channel, channel.receive(HELLO_SECONDS)
        except HccnError as error:
            self._count(error.code)
        except OSError:
            self._count("peer_lost")
        return None

    def _close(self, sock: socket.socket) -> None:
        with self._lock:
            self._limiter.remove(sock)
        shut(sock)

    def _authenticate(self, sock: socket.socket) -> bool:
        with self._lock:
            if not self._limiter.remove(sock) or self._authenticated >= MAX_AUTHENTICATED:
                return False
            self._authenticated += 1
            return True

    def _handle(self, channel: Channel, body: Body, handle: Callable[[Channel, Body], None]) -> None:
        """What goes wrong from here on concerns the pair, not the listener."""
        try:
            handle(channel, body)
        except HccnError:
            pass
        finally:
            with self._lock:
                self._authenticated -= 1

    def _count(self, code: str) -> None:
        with self._lock:
            self.refused[code] = self.refused.get(code, 0) + 1

    def close(self) -> None:
        self._closed = True
        shut(self._sock)

    def abandon(self) -> None:
        """Leave listening to a process forked from this one."""
        self._sock.close()


def _cannot_listen(control: Control, error: OSError) -> HccnError:
    if error.errno == errno.EADDRINUSE:
        return HccnError("control_port_in_use", "%s is in use on this host by %s" % (control, _listener(control)),
                         "end that process, or take another control_port (check_fabric_control_port)")
    return HccnError("control_address_unusable", "this host cannot listen at %s: %s" % (control, (error.strerror or str(error)).lower()),
                     "control_address must be an address of this host")


def _listener(control: Control) -> str:
    try:
        address = str(socket.getaddrinfo(control.address, control.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][4][0])
        found = listeners(address, control.port)
    except (OSError, ValueError):
        found = []
    return some([str(one) for one in found], 3) if found else "a process that cannot be seen from here"
