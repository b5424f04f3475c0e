# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The transport between runners: one TCP connection for each pair, and the listener that accepts them.

Each line is a JSON object with the protocol version, the run id and an HMAC under the run's key. The listener sends the first line, with a nonce; the caller
adds a nonce of its own. Every later line is bound to both nonces, its direction and its sequence number, so that no line can be replayed or reflected.
A connection that does not prove the key within HELLO_SECONDS is dropped, and the run goes on.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import select
import socket
import threading
import time
from collections import Counter
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from .._core.errors import HccnError
from .._core.process import Child
from .._core.words import some
from .._perf.listening import listeners
from .plan import Control

VERSION = 1
LINE_LIMIT = 64 * 1024
NAMES_A_LINE = 500
"""Pair ids or host names of up to 64 characters each that fit into a line of LINE_LIMIT bytes."""
HELLO_SECONDS = 5.0
CONNECT_SECONDS = 3.0

_NONCE_BYTES = 16
_KEEPALIVE = (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 20000))

Body = Dict[str, Any]


def sign(key: bytes, fields: Mapping[str, Any]) -> str:
    """Return the HMAC-SHA256 of the fields except ``mac``, in canonical form."""
    text = json.dumps({name: value for name, value in fields.items() if name != "mac"}, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Channel:
    """An authenticated connection. ``calling``: this side connected."""

    def __init__(self, sock: socket.socket, key: bytes, run_id: str, calling: bool) -> None:
        self._sock = sock
        self._key = key
        self._run_id = run_id
        self._calling = calling
        self._session = ""
        self._sent = 0
        self._received = 0
        self._buffer = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def greet(self) -> None:
        """Send the first line of the listener, with its nonce."""
        self._session = os.urandom(_NONCE_BYTES).hex()
        self.send({"type": "hello"})

    def answer_greeting(self, timeout: float) -> None:
        """Check the first line of the listener, and add the caller's own nonce to the session. Raises HccnError."""
        body = self.receive(timeout)
        if body.get("type") != "hello":
            raise HccnError("bad_line", "expected a greeting")
        self._session += os.urandom(_NONCE_BYTES).hex()

    def send(self, body: Body) -> None:
        """Send a line. Raises HccnError ``peer_lost``."""
        fields = {"v": VERSION, "run": self._run_id, "session": self._session, "caller": self._calling, "n": self._sent, "body": body}
        fields["mac"] = sign(self._key, fields)
        self._sent += 1
        try:
            self._sock.settimeout(HELLO_SECONDS)
            self._sock.sendall(json.dumps(fields).encode() + b"\n")
        except OSError as error:
            raise HccnError("peer_lost", "the connection broke: %s" % (error.strerror or error)) from None

    def receive(self, timeout: float) -> Body:
        """Return the body of the next line, which must arrive completely within ``timeout`` seconds.

        Raises HccnError ``peer_silent``, ``peer_lost``, ``bad_line``, ``wrong_run`` or ``wrong_key``.
        """
        end = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            if len(self._buffer) > LINE_LIMIT:
                raise HccnError("bad_line", "a line of more than %d bytes" % LINE_LIMIT)
            self._buffer += self._some(end - time.monotonic())
        line, self._buffer = self._buffer.split(b"\n", 1)
        if len(line) > LINE_LIMIT:
            raise HccnError("bad_line", "a line of more than %d bytes" % LINE_LIMIT)
        return self._open(line)

    def _some(self, seconds: float) -> bytes:
        try:
            if seconds <= 0:
                raise socket.timeout()
            self._sock.settimeout(seconds)
            data = self._sock.recv(65536)
        except socket.timeout:
            raise HccnError("peer_silent", "no answer in time") from None
        except OSError as error:
            raise HccnError("peer_lost", "the connection broke: %s" % (error.strerror or error)) from None
        if not data:
            raise HccnError("peer_lost", "the connection was closed")
        return data

    def _open(self, line: bytes) -> Body:
        try:
            fields = json.loads(line.decode())
        except (ValueError, RecursionError):
            raise HccnError("bad_line", "a line that is not JSON") from None
        if not isinstance(fields, dict) or fields.get("v") != VERSION or not isinstance(fields.get("body"), dict):
            raise HccnError("bad_line", "a line of another protocol or version")
        if fields.get("run") != self._run_id:
            raise HccnError("wrong_run", "a line of another run: %s" % str(fields.get("run"))[:64])
        if not hmac.compare_digest(str(fields.get("mac")).encode("utf-8", "replace"), sign(self._key, fields).encode()):
            raise HccnError("wrong_key", "a line signed with another key")
        self._bind(fields)
        return dict(fields["body"])

    def _bind(self, fields: Mapping[str, Any]) -> None:
        """Check that a line is the next one of this connection. The first line of the other side completes the session. Raises HccnError."""
        session = str(fields.get("session"))
        if self._received == 0 and len(session) == len(self._session) + 2 * _NONCE_BYTES and session.startswith(self._session):
            self._session = session
        if session != self._session or fields.get("caller") is self._calling or fields.get("n") != self._received:
            raise HccnError("bad_line", "a line of another connection")
        self._received += 1

    def waiting(self, timeout: float, child: Optional[Child] = None) -> bool:
        """Return whether a line, or the end of the connection, can be received within ``timeout`` seconds. The end of ``child`` ends the wait."""
        if self._buffer:
            return True
        if child is not None:
            return child.listen(timeout, self._sock.fileno())
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def close(self) -> None:
        shut(self._sock)


def shut(sock: socket.socket) -> None:
    """Close a socket and wake a thread that waits for it, which closing alone would not do."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    sock.close()


def call(host: str, control: Control, key: bytes, run_id: str, timeout: float) -> Channel:
    """Connect to the runner of ``host``.

    Raises HccnError ``peer_unreachable`` if no runner listens or answers, or ``wrong_run`` or ``wrong_key``; the message names host and port.
    """
    where = "%s (%s)" % (host, control)
    end = time.monotonic() + timeout
    try:
        sock = socket.create_connection((control.address, control.port), timeout)
    except OSError as error:
        raise HccnError("peer_unreachable", "the runner of %s cannot be reached: %s" % (where, _reason(error)), _hint(control)) from None
    channel = Channel(sock, key, run_id, calling=True)
    try:
        channel.answer_greeting(end - time.monotonic())
        return channel
    except HccnError as error:
        channel.close()
        if error.code in ("wrong_run", "wrong_key"):
            raise HccnError(error.code, "another runner answers at %s: %s" % (where, error.message),
                            "end the other run, or use another port") from None
        raise HccnError("peer_unreachable", "the runner of %s does not answer: %s" % (where, error.message), _hint(control)) from None


def _reason(error: OSError) -> str:
    if isinstance(error, socket.timeout):
        return "no answer"
    return (error.strerror or str(error)).lower()


def _hint(control: Control) -> str:
    return "check that the host is up, that rdma_perf started on it, and that TCP port %d is open between the hosts" % control.port


MAX_CLOSING = 32
"""Threads of unauthenticated connections that were closed by the limiter and have not ended yet: a flood must not start them faster than they end."""
MAX_AUTHENTICATED = 1024
"""Connections that have proved the key. A run needs far fewer: one for each pair that is being measured."""
MAX_UNAUTHENTICATED = 128
"""During a flood of 5,000 connections a second from the address of a partner, the partner still has 25 ms to prove the key."""


class ConnectionLimiter:
    """Bounds the number of unauthenticated connections, so that one address cannot keep out those of others. Not thread-safe."""

    def __init__(self, most: int = MAX_UNAUTHENTICATED) -> None:
        self._most = most
        self._known: Dict[socket.socket, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, sock: socket.socket, address: str) -> Optional[socket.socket]:
        """Add a connection. Return the connection to close if there are too many: the oldest one of the address with most connections."""
        self._known[sock] = address
        if len(self._known) <= self._most:
            return None
        busiest = Counter(self._known.values()).most_common(1)[0][0]
        oldest = next(known for known, known_address in self._known.items() if known_address == busiest)
        del self._known[oldest]
        return oldest

    def remove(self, sock: socket.socket) -> bool:
        """Remove a connection. Return False if it was removed before."""
        return self._known.pop(sock, None) is not None


class Listener:
    """The TCP server of a runner. It is created before the runner forks, so that a port in use is reported at once."""

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
        """Accept connections in a thread. ``handle(channel, body)`` is called in a thread for each connection whose first line proves the key."""
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
        """Authenticate a connection, then handle it. Runs in a thread of its own."""
        try:
            first = self._first_line(sock, key, run_id)
        finally:
            self._threads.release()
        try:
            if first is not None and self._authenticate(sock):
                self._handle(first[0], first[1], handle)
        finally:
            self._close(sock)

    def _first_line(self, sock: socket.socket, key: bytes, run_id: str) -> Optional[Tuple[Channel, Body]]:
        """Return the channel and its first line, None if that does not prove the key."""
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
        """Handle an authenticated connection. Errors concern its pair, not the listener."""
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
        """Close the socket in this process only: a forked process continues to listen."""
        self._sock.close()


def _cannot_listen(control: Control, error: OSError) -> HccnError:
    if error.errno == errno.EADDRINUSE:
        return HccnError("control_port_in_use", "%s is in use on this host by %s" % (control, _listener(control)),
                         "end that process, or use another control_port (check_fabric_control_port)")
    return HccnError("control_address_unusable", "this host cannot listen at %s: %s" % (control, (error.strerror or str(error)).lower()),
                     "control_address must be an address of this host")


def _listener(control: Control) -> str:
    try:
        address = str(socket.getaddrinfo(control.address, control.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][4][0])
        found = listeners(address, control.port)
    except (OSError, ValueError):
        found = []
    return some([str(one) for one in found], 3) if found else "a process that cannot be seen from here"
