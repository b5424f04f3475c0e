"""``python -m tests.lab.roce.switch FOLDER COUNT``: an Ethernet switch between virtual machines, with one Unix socket per port (FOLDER/cable1, ...).

Like a real switch, it stores and forwards: frames for a machine that accepts none are buffered, and dropped when the buffer is full. Other machines are not
affected; with a hub of QEMU they would be. A machine that ends leaves the others connected. FOLDER/cable1.rate, if it exists, limits what the first machine
sends, in bytes per second: the switch delays its frames, and drops them when too many wait. On stream sockets of QEMU, each frame is preceded by its length in
four bytes, big-endian.
"""

from __future__ import annotations

import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

BUFFER_BYTES = 8 << 20
CHUNK_BYTES = 1 << 18
RATE_SECONDS = 0.5
"""Time after which a changed rate applies."""
HEAD, ADDRESS = 4, 6


class Port:
    """The port of a machine. ``rate``: file with the bytes per second that the machine may send."""

    def __init__(self, sock: socket.socket, rate: Path) -> None:
        self.sock = sock
        self._rate_file, self._rate, self._read_at = rate, 0.0, 0.0
        self._delayed: deque[tuple[float, bytes]] = deque()
        self._delayed_bytes, self._free_at = 0, 0.0
        self._inbox, self._outbox = bytearray(), bytearray()
        self._sent = 0  # bytes of the outbox; removing them from its front would copy the rest each time

    @property
    def waits(self) -> bool:
        return len(self._outbox) > self._sent

    def frames(self) -> Iterator[bytes]:
        """Yield the complete frames with their headers. Raise ConnectionError if the machine has ended."""
        data = self.sock.recv(CHUNK_BYTES)
        if not data:
            raise ConnectionError("closed")
        self._inbox += data
        start = 0
        while len(self._inbox) - start >= HEAD:
            end = start + HEAD + int.from_bytes(self._inbox[start:start + HEAD], "big")
            if end > len(self._inbox):
                break
            yield bytes(self._inbox[start:end])
            start = end
        del self._inbox[:start]

    def delay(self, frame: bytes, now: float) -> bool:
        """Return whether a frame of the machine is delayed or dropped, because the machine may only send at a lower rate."""
        if now - self._read_at > RATE_SECONDS:
            self._rate, self._read_at = float(self._rate_file.read_text()) if self._rate_file.exists() else 0.0, now
        if not self._rate and not self._delayed:
            return False
        if self._delayed_bytes + len(frame) <= BUFFER_BYTES:
            self._free_at = max(self._free_at, now) + (len(frame) / self._rate if self._rate else 0.0)
            self._delayed.append((self._free_at, frame))
            self._delayed_bytes += len(frame)
        return True

    def due(self, now: float) -> Iterator[bytes]:
        """Yield the delayed frames whose time has come."""
        while self._delayed and self._delayed[0][0] <= now:
            frame = self._delayed.popleft()[1]
            self._delayed_bytes -= len(frame)
            yield frame

    @property
    def due_at(self) -> float:
        """The time of the next delayed frame."""
        return self._delayed[0][0] if self._delayed else float("inf")

    def put(self, frame: bytes) -> None:
        if len(self._outbox) - self._sent < BUFFER_BYTES:
            self._outbox += frame
            self.push()

    def push(self) -> None:
        """Send as much of the outbox as the machine accepts now."""
        try:
            while self.waits:
                self._sent += self.sock.send(memoryview(self._outbox)[self._sent:self._sent + CHUNK_BYTES])
        except BlockingIOError:
            pass
        except ConnectionError:  # the machine has ended, which frames() finds
            self._outbox.clear()
            self._sent = 0
        if self._sent > CHUNK_BYTES or not self.waits:
            del self._outbox[:self._sent]
            self._sent = 0


class Switch:
    """Learns the port of each address. Frames to unknown addresses go to all other ports."""

    def __init__(self, ports: list[Port]) -> None:
        self.ports = ports
        self._known: dict[bytes, Port] = {}

    def take(self, source: Port, now: float) -> None:
        for frame in source.frames():
            if not source.delay(frame, now):
                self._forward(source, frame)

    def forward_due(self, now: float) -> float:
        """Forward the delayed frames whose time has come. Return the time of the next one."""
        for port in self.ports:
            for frame in port.due(now):
                self._forward(port, frame)
        return min((port.due_at for port in self.ports), default=float("inf"))

    def remove(self, port: Port) -> None:
        self.ports.remove(port)
        self._known = {address: known for address, known in self._known.items() if known is not port}

    def _forward(self, source: Port, frame: bytes) -> None:
        target, sender = frame[HEAD:HEAD + ADDRESS], frame[HEAD + ADDRESS:HEAD + 2 * ADDRESS]
        self._known[sender] = source
        known = self._known.get(target)
        for port in [known] if known else self.ports:
            if port is not source:
                port.put(frame)


def main(folder: Path, count: int) -> None:
    """Run until all machines have ended."""
    listeners = []
    for number in range(1, count + 1):
        listener = socket.socket(socket.AF_UNIX)
        name = folder / f"cable{number}"
        listener.bind(f"{name}.new")
        listener.listen(1)
        name.with_name(f"{name.name}.new").rename(name)  # a client that sees the socket can connect
        listeners.append(listener)
    ports = [Port(listener.accept()[0], folder / f"cable{number}.rate") for number, listener in enumerate(listeners, 1)]
    switch, ready = Switch(ports), selectors.DefaultSelector()
    for port in ports:
        port.sock.setblocking(False)
        ready.register(port.sock, selectors.EVENT_READ, port)
    next_due = float("inf")
    while switch.ports:
        wait = None if next_due == float("inf") else max(0.0, next_due - time.monotonic())
        for key, events in ready.select(wait):
            port = key.data
            try:
                if events & selectors.EVENT_WRITE:
                    port.push()
                if events & selectors.EVENT_READ:
                    switch.take(port, time.monotonic())
            except ConnectionError:
                ready.unregister(port.sock)
                switch.remove(port)
        next_due = switch.forward_due(time.monotonic())
        for port in switch.ports:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if port.waits else 0)
            if ready.get_key(port.sock).events != wanted:
                ready.modify(port.sock, wanted, port)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
