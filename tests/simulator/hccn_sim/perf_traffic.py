"""Bytes over a TCP connection: a paced stream measured to its last byte, and ping-pong."""

from __future__ import annotations

import socket
import struct
import time

CHUNK_BYTES, SMALLEST_CHUNK = 65536, 1024
BURST_SECONDS = 0.005
LENGTH, RESULT = struct.Struct("!I"), struct.Struct("!Qd")
MEBI = 1048576


class Broken(Exception):
    """The other side disconnected."""


def exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise Broken
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class Bucket:
    """A token bucket that saves up at most BURST_SECONDS."""

    def __init__(self, mbit: float) -> None:
        self.bytes_per_second = mbit * 1e6 / 8
        self.free_at = time.monotonic()

    def take(self, count: int) -> None:
        if not self.bytes_per_second:
            return
        now = time.monotonic()
        self.free_at = max(self.free_at, now - BURST_SECONDS) + count / self.bytes_per_second
        if self.free_at > now:
            time.sleep(self.free_at - now)


def send_stream(connection: socket.socket, total: int, seconds: float, mbit: float) -> tuple[int, float]:
    """Send at most ``total`` bytes for at most ``seconds``; return what the other side received, and in which time."""
    bucket = Bucket(mbit)
    chunk = CHUNK_BYTES if not mbit else int(min(CHUNK_BYTES, max(SMALLEST_CHUNK, bucket.bytes_per_second * BURST_SECONDS)))
    payload = bytes(chunk)
    start, sent = time.monotonic(), 0
    while sent < total and (sent == 0 or time.monotonic() - start < seconds):
        count = min(chunk, total - sent)
        bucket.take(count)
        connection.sendall(LENGTH.pack(count) + payload[:count])
        sent += count
    connection.sendall(LENGTH.pack(0))
    exactly(connection, 1)
    elapsed = max(time.monotonic() - start, 1e-6)
    connection.sendall(RESULT.pack(sent, elapsed))
    return sent, elapsed


def receive_stream(connection: socket.socket) -> tuple[int, float]:
    while True:
        count = LENGTH.unpack(exactly(connection, LENGTH.size))[0]
        if not count:
            break
        exactly(connection, count)
    connection.sendall(b"!")
    sent, elapsed = RESULT.unpack(exactly(connection, RESULT.size))
    return sent, elapsed


def ping_pong(connection: socket.socket, size: int, iterations: int, seconds: float) -> list[float]:
    """Return round trips in microseconds."""
    message = LENGTH.pack(size) + bytes(size)
    trips: list[float] = []
    deadline = time.monotonic() + seconds
    while len(trips) < iterations and (not trips or time.monotonic() < deadline):
        before = time.perf_counter()
        connection.sendall(message)
        exactly(connection, len(message))
        trips.append((time.perf_counter() - before) * 1e6)
    connection.sendall(LENGTH.pack(0))
    return trips


def echo(connection: socket.socket) -> None:
    while True:
        head = exactly(connection, LENGTH.size)
        count = LENGTH.unpack(head)[0]
        if not count:
            return
        connection.sendall(head + exactly(connection, count))
