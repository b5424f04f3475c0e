"""Attacks on the control ports of a run with three hosts: the results are those of a run without attacks, and no runner uses much more memory."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import transport
from tests.integration.check_fabric.cluster import Cluster, result
from tests.lib.waiting import until

MEASURE = {"duration": 1, "iterations": None, "server_start_delay": 1}
MOST_MORE_KIB = 64 * 1024
OWN_THREADS = transport.MAX_CLOSING + 24
"""Threads of a runner without attacks, with a margin."""

Attack = Callable[[int, threading.Event, "Baseline"], None]


@dataclass
class Baseline:
    """A run without attacks. ``calls``: those of the measuring tool by host. ``received``: the bytes that n2 received from callers, by connection."""

    summary: list[tuple[Any, ...]]
    calls: dict[str, list[str]]
    servers: dict[str, int]
    memory: dict[str, int]
    received: list[bytes]


def summary(results: dict[str, dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the results of a run without details that differ from run to run, such as the number of attempts."""
    return sorted((found["state"], record["id"].rpartition("/")[0], record["status"], record["source"]["host"], record["target"]["host"],
                   len(record["samples"])) for found in results.values() for record in found["measurements"])


def servers_of(cluster: Cluster) -> dict[str, int]:
    """Return the number of servers per host: one for each pair with the host as target."""
    return {name: cluster.calls(name).count("0 server") for name in cluster.ports}


def run(cluster: Cluster, seen: dict[str, tuple[int, int]], plans: dict[str, dict[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
    """Return the results by host. ``seen`` receives the peak memory in KiB and the peak number of threads of each runner."""
    plan = cluster.plan("full")
    processes = {name: cluster.perf(name, (plans or {}).get(name, plan), **MEASURE) for name in cluster.ports}
    while any(process.poll() is None for process in processes.values()):
        for name, process in processes.items():
            seen[name] = max(seen.get(name, (0, 0)), _size(process.pid))
        threading.Event().wait(0.05)
    return {name: result(process) for name, process in processes.items()}


def _size(pid: int) -> tuple[int, int]:
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
        return int(fields["VmHWM"].split()[0]), int(fields["Threads"])
    except (OSError, KeyError):
        return 0, 0


@contextlib.contextmanager
def relay(port: int, received: list[bytes]) -> Iterator[int]:
    """Yield the port of a relay to a runner, which records the bytes of callers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)

        def serve() -> None:
            while True:
                try:
                    caller, _address = listener.accept()
                except OSError:
                    return
                try:
                    runner = socket.create_connection(("127.0.0.1", port), 5)
                except OSError:
                    caller.close()
                    continue
                place = len(received)
                received.append(b"")
                threading.Thread(target=pass_on, args=(caller, runner, place), daemon=True).start()
                threading.Thread(target=pass_on, args=(runner, caller, None), daemon=True).start()

        def pass_on(one: socket.socket, other: socket.socket, place: int | None) -> None:
            with contextlib.suppress(OSError):
                while data := one.recv(65536):
                    if place is not None:
                        received[place] += data
                    other.sendall(data)
            for sock in (one, other):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    cluster = Cluster(tmp_path_factory.mktemp("baseline") / "cluster", 3)
    received: list[bytes] = []
    seen: dict[str, tuple[int, int]] = {}
    try:
        with relay(cluster.ports["n2"], received) as port:
            through = cluster.plan("full")
            through["hosts"]["n2"]["control_port"] = port
            results = run(cluster, seen, {"n1": through, "n3": through})
        refused = {name: cluster.journal(name)[-1]["refused"] for name in cluster.ports}
        assert refused == {"n1": {}, "n2": {}, "n3": {}}
        calls = {name: cluster.calls(name) for name in cluster.ports}
        return Baseline(summary(results), calls, servers_of(cluster), {name: size for name, (size, _threads) in seen.items()}, received)
    finally:
        cluster.close()


def test_npus_are_reset_before_and_after_each_test(baseline: Baseline) -> None:
    assert [entry[2] for entry in baseline.summary] == ["ok", "ok", "ok"]
    for calls in baseline.calls.values():
        kinds = [call.split()[1] for call in calls]
        tests = [number for number, kind in enumerate(kinds) if kind != "reset"]
        assert len(tests) == 2
        assert all(kinds[number - 1] == kinds[number + 1] == "reset" for number in tests)
        assert len(kinds) == 5, "one reset first, one after each test"


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 2)


def wrong_key(port: int, stop: threading.Event, _baseline: Baseline) -> None:
    """Send well-formed lines of the run, signed with another key."""
    while not stop.wait(0.02):
        with contextlib.suppress(OSError, ValueError), connected(port) as sock:
            session = json.loads(sock.recv(65536))["session"] + os.urandom(16).hex()
            fields = {"v": 1, "run": "r1", "session": session, "caller": True, "n": 0, "body": {"type": "claim", "pair": "p0001", "trial": False}}
            fields["mac"] = transport.sign(b"another key of it", fields)
            sock.sendall(json.dumps(fields).encode() + b"\n")
            assert sock.recv(65536) == b"", "the runner does not answer"


def garbage(port: int, stop: threading.Event, _baseline: Baseline) -> None:
    lines = [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\n", b"[" * 60000 + b"\n", b'{"v": 1}\n', b'{"v": ' + b"9" * 60000 + b"}\n", b"\n" * 1000]
    while not stop.wait(0.02):
        with contextlib.suppress(OSError), connected(port) as sock:
            sock.sendall(lines[0])
            sock.recv(65536)
        lines.append(lines.pop(0))


def replay(port: int, stop: threading.Event, baseline: Baseline) -> None:
    """Send recorded lines of a run with the same name and key."""
    kept = [data for data in baseline.received if data]
    while not stop.wait(0.02):
        with contextlib.suppress(OSError), connected(port) as sock:
            sock.recv(65536)
            sock.sendall(kept[0])
            assert sock.recv(65536) == b"", "the runner does not answer"
        kept.append(kept.pop(0))


def slow(port: int, stop: threading.Event, _baseline: Baseline) -> None:
    """Keep forty connections that send single bytes and never a line."""
    held: list[socket.socket] = []
    while not stop.wait(0.1):
        with contextlib.suppress(OSError):
            while len(held) < 40:
                held.append(connected(port))
        for sock in list(held):
            try:
                sock.sendall(b"{")
            except OSError:
                held.remove(sock)
                sock.close()
    for sock in held:
        sock.close()


def many_connections(port: int, stop: threading.Event, _baseline: Baseline) -> None:
    held: list[socket.socket] = []
    while not stop.wait(0.001):
        with contextlib.suppress(OSError):
            held.append(connected(port))
        while len(held) > 200:
            held.pop(0).close()
    for sock in held:
        sock.close()


def many_bytes(port: int, stop: threading.Event, _baseline: Baseline) -> None:
    """Send as many bytes as possible without an end of line."""
    while not stop.wait(0.01):
        with contextlib.suppress(OSError), connected(port) as sock:
            while not stop.is_set():
                sock.sendall(b"x" * 65536)


@contextlib.contextmanager
def attacked(ports: list[int], attacks: list[Attack], baseline: Baseline) -> Iterator[list[BaseException]]:
    """Run all attacks on all ports. Yield the failed assertions of the attacks."""
    stop = threading.Event()
    found: list[BaseException] = []

    def work(attack: Attack, port: int) -> None:
        try:
            attack(port, stop, baseline)
        except AssertionError as error:
            found.append(error)

    threads = [threading.Thread(target=work, args=(attack, port)) for attack in attacks for port in ports]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


@pytest.mark.parametrize("attacks, refused", [
    ([wrong_key, garbage, replay, slow], {"wrong_key", "bad_line"}),
    ([many_connections, many_bytes], {"crowded_out", "bad_line"}),
])
def test_attack_does_not_change_the_results(make: Callable[..., Cluster], baseline: Baseline, attacks: list[Attack], refused: set[str]) -> None:
    cluster = make(3)
    seen: dict[str, tuple[int, int]] = {}
    with attacked(list(cluster.ports.values()), attacks, baseline) as found:
        results = run(cluster, seen)
    assert found == []
    assert summary(results) == baseline.summary
    assert [entry[0] for entry in baseline.summary] == ["finished"] * 3
    assert [entry[2] for entry in baseline.summary] == ["ok"] * 3
    assert servers_of(cluster) == baseline.servers, "each planned pair was measured once, and no other pair"
    assert sum(baseline.servers.values()) == 3
    for name in cluster.ports:
        assert refused <= set(cluster.journal(name)[-1]["refused"]), name
        memory, threads = seen[name]
        assert memory < baseline.memory[name] + MOST_MORE_KIB
        assert threads <= transport.MAX_UNAUTHENTICATED + OWN_THREADS
    until(lambda: cluster.nothing_left(*cluster.ports))
