# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""How runners talk: one TCP connection a pair, a JSON object a line, each with version, run id and an HMAC under the run's key.

The listener speaks first, with a nonce; the caller adds its own; every later line is bound to both, its direction and its number, so
that nothing can be replayed or sent back. What does not prove the key within HELLO_SECONDS is dropped; the run goes on.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import select
import socket
import time
from typing import Any, Dict, Mapping, Optional

from .._core.errors import HccnError
from .._core.process import Child
from .plan import Control

VERSION = 1
LINE_LIMIT = 64 * 1024
NAMES_A_LINE = 500
"""Pair ids, or hosts, in one line of at most LINE_LIMIT bytes, at 64 characters each."""
HELLO_SECONDS = 5.0
CONNECT_SECONDS = 3.0

_NONCE_BYTES = 16
_KEEPALIVE = (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 20000))

Body = Dict[str, Any]


def sign(key: bytes, fields: Mapping[str, Any]) -> str:
    """HMAC-SHA256 of the fields, without ``mac``, in one canonical form."""
    text = json.dumps({name: value for name, value in fields.items() if name != "mac"}, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Channel:
    """One connection. ``calling``: this side connected."""

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
        """The listener's first line, with its nonce."""
        self._session = os.urandom(_NONCE_BYTES).hex()
        self.send({"type": "hello"})

    def answer_greeting(self, timeout: float) -> None:
        """The caller's part: checks the listener's first line, adds its own nonce to the session. Raises HccnError."""
        body = self.receive(timeout)
        if body.get("type") != "hello":
            raise HccnError("bad_line", "expected a greeting")
        self._session += os.urandom(_NONCE_BYTES).hex()

    def send(self, body: Body) -> None:
        """Raises HccnError ``peer_lost``."""
        fields = {"v": VERSION, "run": self._run_id, "session": self._session, "caller": self._calling, "n": self._sent, "body": body}
        fields["mac"] = sign(self._key, fields)
        self._sent += 1
        try:
            self._sock.settimeout(HELLO_SECONDS)
            self._sock.sendall(json.dumps(fields).encode() + b"\n")
        except OSError as error:
            raise HccnError("peer_lost", "the connection broke: %s" % (error.strerror or error)) from None

    def receive(self, timeout: float) -> Body:
        """The next line's body, within ``timeout`` however slowly it comes.

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
            raise HccnError("bad_line", "a line that is no JSON") from None
        if not isinstance(fields, dict) or fields.get("v") != VERSION or not isinstance(fields.get("body"), dict):
            raise HccnError("bad_line", "a line of another protocol or version")
        if fields.get("run") != self._run_id:
            raise HccnError("wrong_run", "a line of another run: %s" % str(fields.get("run"))[:64])
        if not hmac.compare_digest(str(fields.get("mac")).encode("utf-8", "replace"), sign(self._key, fields).encode()):
            raise HccnError("wrong_key", "a line signed with another key")
        self._bind(fields)
        return dict(fields["body"])

    def _bind(self, fields: Mapping[str, Any]) -> None:
        """Is it the next line of this very conversation? The first one of the other side sets the rest of the session."""
        session = str(fields.get("session"))
        if self._received == 0 and len(session) == len(self._session) + 2 * _NONCE_BYTES and session.startswith(self._session):
            self._session = session
        if session != self._session or fields.get("caller") is self._calling or fields.get("n") != self._received:
            raise HccnError("bad_line", "a line of another conversation")
        self._received += 1

    def waiting(self, timeout: float, child: Optional[Child] = None) -> bool:
        """Is there something to receive (a line, or the end), now or within ``timeout``? The end of ``child`` ends the wait."""
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
    """Also wakes a thread that waits there; closing alone would not."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    sock.close()


def call(host: str, control: Control, key: bytes, run_id: str, timeout: float) -> Channel:
    """Connects to the runner of ``host``.

    Raises HccnError ``peer_unreachable`` (nothing listens or answers there), ``wrong_run`` or ``wrong_key``, naming host and port.
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
                            "end the other run, or take another port") from None
        raise HccnError("peer_unreachable", "the runner of %s does not answer: %s" % (where, error.message), _hint(control)) from None


def _reason(error: OSError) -> str:
    if isinstance(error, socket.timeout):
        return "no answer"
    return (error.strerror or str(error)).lower()


def _hint(control: Control) -> str:
    return "is the host up, did rdma_perf start there, and is TCP port %d open between the hosts?" % control.port
