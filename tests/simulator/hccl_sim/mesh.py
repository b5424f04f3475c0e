"""TCP connections between all ranks. All sends and receives of a step happen at once, in one function."""

from __future__ import annotations

import os
import re
import select
import socket
import struct

from .pmi import Pmi

_PIECE = 256 * 1024


def own_address() -> str:
    """Return HCCN_SIM_ADDRESS, or else the name of this host in ssh or mpirun (HCCN_SIM_NODE, PMI_HOSTNAME) if it is an IPv4 address, or else loopback."""
    names = (os.environ.get(name, "") for name in ("HCCN_SIM_NODE", "PMI_HOSTNAME"))
    return os.environ.get("HCCN_SIM_ADDRESS") or next((name for name in names if re.fullmatch(r"[0-9]+(\.[0-9]+){3}", name)), "127.0.0.1")


class Mesh:
    def __init__(self, pmi: Pmi) -> None:
        self.rank, self.size = pmi.rank, pmi.size
        self._peers: dict[int, socket.socket] = {}
        address = own_address()
        with socket.create_server((address, 0), backlog=max(pmi.size, 1)) as server:
            pmi.put(f"hccl-sim-{pmi.rank}", f"{address}:{server.getsockname()[1]}")
            pmi.barrier()
            for peer in range(pmi.rank):
                host, port = pmi.get(f"hccl-sim-{peer}").rsplit(":", 1)
                connection = socket.create_connection((host, int(port)), source_address=(address, 0))
                connection.sendall(struct.pack("!I", pmi.rank))
                self._peers[peer] = connection
            while len(self._peers) < pmi.size - 1:
                connection = server.accept()[0]
                self._peers[struct.unpack("!I", connection.recv(4, socket.MSG_WAITALL))[0]] = connection
        for connection in self._peers.values():
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)

    def exchange(self, sends: dict[int, bytes | memoryview], receives: dict[int, int]) -> dict[int, bytearray]:
        """Send to and receive from all given peers at the same time, and return the received data by peer. Raise ConnectionError if a peer exits."""
        out = {peer: memoryview(data).cast("B") for peer, data in sends.items() if len(data)}
        came = {peer: bytearray(size) for peer, size in receives.items()}
        room = {peer: memoryview(buffer) for peer, buffer in came.items() if len(buffer)}
        by_fd = {self._peers[peer].fileno(): peer for peer in set(out) | set(room)}
        while out or room:
            poll = select.poll()
            for fd, peer in by_fd.items():
                flags = (select.POLLOUT if peer in out else 0) | (select.POLLIN if peer in room else 0)
                if flags:
                    poll.register(fd, flags)
            for fd, event in poll.poll():
                peer = by_fd[fd]
                if peer in room and event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                    got = self._peers[peer].recv_into(room[peer])
                    if not got:
                        raise ConnectionError(f"rank {peer} is gone")
                    _advance(room, peer, got)
                if peer in out and event & select.POLLOUT:
                    _advance(out, peer, self._peers[peer].send(out[peer][:_PIECE]))
        return came

    def barrier(self) -> None:
        """Wait until all ranks have entered, so that everything sent before has been received."""
        distance = 1
        while distance < self.size:
            self.exchange({(self.rank + distance) % self.size: b"."}, {(self.rank - distance) % self.size: 1})
            distance *= 2

    def close(self) -> None:
        for connection in self._peers.values():
            connection.close()


def _advance(views: dict[int, memoryview], peer: int, count: int) -> None:
    rest = views[peer][count:]
    if len(rest):
        views[peer] = rest
    else:
        del views[peer]
