"""Components that refuse connections before they reach ClusterD's services: its listener, which limits connections, its transport, and the nginx of the
security guide."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

Reply = Callable[[int], bytes]
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with 0 seconds: closing sends a reset."""


class Gate:
    """Forward connections to ``port`` of 127.0.0.1. Connections above a limit are closed at once, as ClusterD's listener does."""

    def __init__(self, port: int, together: int, of_one_address: int) -> None:
        self._behind, self._together, self._of_one = port, together, of_one_address
        self._open: Counter[str] = Counter()
        self._sockets: set[socket.socket] = set()
        self._flowing = threading.Event()
        self._flowing.set()
        self._changed = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def freeze(self) -> None:
        """Pass on nothing more from the server; what it sends is lost when the connections are cut."""
        self._flowing.clear()

    def cut(self) -> None:
        """Close all connections; new ones pass again."""
        for one in list(self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._flowing.set()

    def wait_until_free(self, seconds: float = 10) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._open.total() == 0, seconds):
                raise TimeoutError(f"{self._open.total()} connections are open still")

    def _accept(self) -> None:
        while True:
            try:
                client, (address, _port) = self._listener.accept()
            except OSError:
                return
            with self._changed:
                if self._open.total() >= self._together or self._open[address] >= self._of_one:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    client.close()
                    continue
                self._open[address] += 1
            threading.Thread(target=self._pass, args=(client, address), daemon=True).start()

    def _pass(self, client: socket.socket, address: str) -> None:
        with client, socket.create_connection(("127.0.0.1", self._behind)) as server:
            self._sockets |= {client, server}
            back = threading.Thread(target=pass_on, args=(server, client, self._flowing), daemon=True)
            back.start()
            pass_on(client, server)
            back.join()
            self._sockets -= {client, server}
        with self._changed:
            self._open[address] -= 1
            self._changed.notify_all()


def pass_on(source: socket.socket, target: socket.socket, flowing: threading.Event | None = None) -> None:
    """Pass on what a socket receives until it ends, then close both. While ``flowing`` is cleared, it is lost."""
    try:
        while data := source.recv(65536):
            if flowing is None or flowing.is_set():
                target.sendall(data)
    except OSError:
        pass
    for one in (source, target):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


HEADERS, SETTINGS, GOAWAY = 1, 4, 7
END_STREAM_AND_HEADERS, ACKNOWLEDGED = 5, 1
PREFACE = 24


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2 (RFC 9113 section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def status(code: bytes) -> Reply:
    """Return an answer of nginx. It sends 503 for limit_conn and limit_req."""
    return lambda stream: _frame(HEADERS, END_STREAM_AND_HEADERS, stream, b"\x48\x03" + code)  # :status is 8 in the static table of RFC 7541


def too_many_pings(_stream: int) -> bytes:
    """Return what Go's server sends to a client that pings too often: ENHANCE_YOUR_CALM, and the end of all streams."""
    return _frame(GOAWAY, 0, 0, struct.pack(">II", 0, 11) + b"too_many_pings")


class Refuser:
    """A server with just enough HTTP/2 to refuse every request. ``requests``: number of requests."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Refuser:
        return self

    def __exit__(self, *_: Any) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as stream:
            client.sendall(_frame(SETTINGS, 0, 0))
            stream.read(PREFACE)
            while len(head := stream.read(9)) == 9:
                length, kind, flags, number = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big")
                stream.read(length)
                if kind == SETTINGS and not flags & ACKNOWLEDGED:
                    client.sendall(_frame(SETTINGS, ACKNOWLEDGED, 0))
                elif kind == HEADERS:
                    self.requests += 1
                    client.sendall(self._reply(number))
                    if self._reply is too_many_pings:
                        return
