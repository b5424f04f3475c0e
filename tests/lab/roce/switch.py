"""``python -m tests.lab.roce.switch FOLDER COUNT``: an Ethernet switch between virtual machines, with one Unix socket per port (FOLDER/cable1, ...).

Like a real switch, it stores and forwards: frames for a machine that accepts none are buffered, and dropped when the buffer is full. Other machines are not
affected; with a hub of QEMU they would be. On stream sockets of QEMU, each frame is preceded by its length in four bytes, big-endian.
"""

from __future__ import annotations

import selectors
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

BUFFER_BYTES = 8 << 20
CHUNK_BYTES = 1 << 18
HEAD, ADDRESS = 4, 6


class Port:
    """The port of a machine."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
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
        if self._sent > CHUNK_BYTES or not self.waits:
            del self._outbox[:self._sent]
            self._sent = 0


class Switch:
    """Learns the port of each address. Frames to unknown addresses go to all other ports."""

    def __init__(self, ports: list[Port]) -> None:
        self._ports = ports
        self._known: dict[bytes, Port] = {}

    def take(self, source: Port) -> None:
        for frame in source.frames():
            target, sender = frame[HEAD:HEAD + ADDRESS], frame[HEAD + ADDRESS:HEAD + 2 * ADDRESS]
            self._known[sender] = source
            known = self._known.get(target)
            for port in [known] if known else self._ports:
                if port is not source:
                    port.put(frame)


def main(folder: Path, count: int) -> None:
    """Run until the first machine has ended."""
    listeners = []
    for number in range(1, count + 1):
        listener = socket.socket(socket.AF_UNIX)
        name = folder / f"cable{number}"
        listener.bind(f"{name}.new")
        listener.listen(1)
        name.with_name(f"{name.name}.new").rename(name)  # a client that sees the socket can connect
        listeners.append(listener)
    ports = [Port(listener.accept()[0]) for listener in listeners]
    switch, ready = Switch(ports), selectors.DefaultSelector()
    for port in ports:
        port.sock.setblocking(False)
        ready.register(port.sock, selectors.EVENT_READ, port)
    while True:
        for key, events in ready.select():
            port = key.data
            if events & selectors.EVENT_WRITE:
                port.push()
            if events & selectors.EVENT_READ:
                switch.take(port)
        for port in ports:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if port.waits else 0)
            if ready.get_key(port.sock).events != wanted:
                ready.modify(port.sock, wanted, port)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]))
    except ConnectionError:
        sys.exit(0)
