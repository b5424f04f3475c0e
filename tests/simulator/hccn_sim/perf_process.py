"""The process on the device that runs one test and writes its report into the file with the order."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

from .perf_device import DONE, ERROR
from .perf_report import Order, Rows, report, sizes, waiting
from .perf_traffic import MEBI, Broken, echo, ping_pong, receive_stream, send_stream
from .process import start_time
from .json_files import read_json, write_json
from .state import State

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECT_SECONDS = 2.0
DEVICE_NICENESS = -15


class Failed(Exception):
    """The test ends with status 3; the text is the report."""


class Meeting:
    """Two connected sides: their connections, and the introduction of the other side."""

    def __init__(self, forward: socket.socket, backward: socket.socket | None, other: Order) -> None:
        self.forward, self.backward, self.other = forward, backward, other


def say(connection: socket.socket, value: object) -> None:
    connection.sendall(json.dumps(value).encode() + b"\n")


def hear(connection: socket.socket) -> Any:
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            raise Broken
        line += byte
    return json.loads(line)


def introduction(order: Order, direction: str) -> Order:
    names = ("operation", "measure", "bidirectional", "own", "tx_mbit", "rx_mbit", "size", "iterations", "duration", "all_sizes")
    return {"way": direction, **{name: order[name] for name in names}}


def connect(order: Order, direction: str) -> tuple[socket.socket, Order]:
    refused = Failed(f" Couldn't connect to {order['peer']}:{order['port']}\n")
    if not order["link"] or not order["own_socket"]:
        raise refused
    family = socket.AF_INET6 if ":" in order["peer"] else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_SECONDS)
    try:
        connection.bind((order["own_socket"], 0))
        connection.connect((order["peer_socket"], order["port"]))
        connection.settimeout(order["server_seconds"])
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        say(connection, introduction(order, direction))
        answer = hear(connection)
    except (OSError, Broken):
        raise refused from None
    if not answer["ok"]:
        raise Failed(" Failed to exchange data between server and clients\n")
    return connection, answer


def meet_server(order: Order) -> Meeting:
    forward, other = connect(order, "forward")
    backward = connect(order, "backward")[0] if order["bidirectional"] else None
    return Meeting(forward, backward, other)


def listen(order: Order) -> socket.socket:
    family = socket.AF_INET6 if ":" in order["own_socket"] else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if not order["own_socket"]:
            raise OSError
        listener.bind((order["own_socket"], order["port"]))
        listener.listen(4)
    except OSError:
        raise Failed(f" Couldn't listen to port {order['port']}\n") from None
    return listener


def meet_client(order: Order, listener: socket.socket) -> Meeting:
    wanted = ["forward", "backward"] if order["bidirectional"] else ["forward"]
    found: dict[str, socket.socket] = {}
    other: Order = {}
    listener.settimeout(order["server_seconds"])
    while len(found) < len(wanted):
        try:
            connection = listener.accept()[0]
        except OSError:  # no client came in time
            raise Failed(waiting(order)) from None
        connection.settimeout(order["server_seconds"])
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            greeting = hear(connection)
        except (OSError, Broken, ValueError):
            continue  # a port scan: the connection sent nothing
        if not order["link"]:
            connection.close()
            continue
        same = ("operation", "measure", "bidirectional", "all_sizes")
        agreed = all(greeting.get(name) == order[name] for name in same) and greeting.get("way") in wanted
        say(connection, {"ok": agreed, **introduction(order, "answer")})
        if not agreed:
            raise Failed(" Failed to exchange data between server and clients\n")
        found[greeting["way"]] = connection
        other = greeting
    listener.close()
    return Meeting(found["forward"], found.get("backward"), other)


def slowest(*rates: float) -> float:
    return min((rate for rate in rates if rate), default=0.0)


def bandwidth(order: Order, meeting: Meeting) -> list[tuple[int, int, float, float]]:
    """Return one row per size. The client decides how much is moved."""
    leader = order if order["peer"] else {**order, **{name: meeting.other[name] for name in ("size", "iterations", "duration")}}
    every = sizes(leader)
    sends = (order["operation"] != "read") == bool(order["peer"])
    seconds = order["measure_seconds"] / len(every)
    rows = []
    for size in every:
        total = min(order["measure_bytes"] // len(every), size * leader["iterations"] if not leader["duration"] else sys.maxsize)
        moved, rate = move(order, meeting, sends, (total, seconds))
        rate *= order["rate_scale"]
        iterations = max(1, moved // size) if leader["duration"] else leader["iterations"]
        receives_only = order["operation"] == "send" and not order["peer"] and not order["bidirectional"]
        rows.append((size, iterations, 0.0 if leader["duration"] or receives_only else rate, rate))
    return rows


def move(order: Order, meeting: Meeting, sends: bool, bounds: tuple[int, float]) -> tuple[int, float]:
    """Return bytes and MiB/s of one size; in bidirectional tests the sum of both directions."""
    results: list[tuple[int, float]] = []

    def one(connection: socket.socket, sending: bool) -> None:
        if sending:
            results.append(send_stream(connection, *bounds, slowest(order["tx_mbit"], meeting.other["rx_mbit"])))
        else:
            results.append(receive_stream(connection))

    if meeting.backward is None:
        one(meeting.forward, sends)
    else:
        second = threading.Thread(target=one, args=(meeting.backward, not sends), daemon=True)
        second.start()
        one(meeting.forward, sends)
        second.join()
    if len(results) != (1 if meeting.backward is None else 2):
        raise Broken
    return sum(count for count, _seconds in results), sum(count / seconds / MEBI for count, seconds in results)


def latency(order: Order, meeting: Meeting) -> list[tuple[int, list[float]]]:
    """The client measures and sends the result to the server. A read takes a whole round trip, other operations half of it."""
    if not order["peer"]:
        leader = {**order, "size": meeting.other["size"]}
        for _size in sizes(leader):
            echo(meeting.forward)
        return [(size, trips) for size, trips in hear(meeting.forward)]
    rows = []
    for size in sizes(order):
        trips = ping_pong(meeting.forward, size, order["iterations"], order["measure_seconds"] / len(sizes(order)))
        rows.append((size, [trip if order["operation"] == "read" else trip / 2 for trip in trips]))
    say(meeting.forward, rows)
    return rows


def count(order: Order, rows: Rows, meeting: Meeting) -> None:
    """Add the moved bytes to the device's counters."""
    both = meeting.backward is not None
    sends = (order["operation"] != "read") == bool(order["peer"])
    octets = sum(row[0] * row[1] if order["measure"] == "bw" else row[0] * len(row[1]) for row in rows)
    packets = octets // 4096 + 1
    amounts: dict[str, int] = {}
    for direction in ("tx", "rx"):
        if both or order["measure"] == "lat" or (direction == "tx") == sends:
            amounts.update({f"stat.mac_{direction}_total_oct_num": octets, f"stat.mac_{direction}_total_pkt_num": packets})
            amounts.update({f"stat.roce_{direction}_all_pkt_num": packets, f"stat.roce_{direction}_rc_pkt_num": packets})
    State(order["state"]).add(order["device"], amounts)


def shown(order: Order, rows: Rows) -> Rows:
    """The server of a read latency test prints a table without rows."""
    return [] if not order["peer"] and order["operation"] == "read" and order["measure"] == "lat" else rows


def be_a_device() -> None:
    """Raise the priority, because a device does not depend on its host's processors. Only root may do so."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, DEVICE_NICENESS)


def run(order: Order, ready: Callable[[], None]) -> str:
    if order["peer"]:
        ready()
        meeting = meet_server(order)
    else:
        listener = listen(order)
        ready()
        meeting = meet_client(order, listener)
    be_a_device()
    try:
        rows = bandwidth(order, meeting) if order["measure"] == "bw" else latency(order, meeting)
    except (OSError, Broken, ValueError):
        raise Failed(" Failed to complete run_iter function successfully\n") from None
    count(order, rows, meeting)
    return report(order, shown(order, rows), order["own"], meeting.other["own"])


def main(path: str) -> None:
    """If a reset came first, the order is gone and there is nothing to do."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with State(os.path.dirname(path)).locked():
        record = read_json(path)
        if record is None:
            return
        signal.alarm(record["order"]["deadline_seconds"])
        record.update(pid=os.getpid(), started=start_time(os.getpid()))
        write_json(path, record)

    def ready() -> None:
        write_json(path, {**record, "ready": True})

    try:
        text, status = run(record["order"], ready), DONE
    except Failed as failure:
        text, status = str(failure), ERROR
    write_json(path, {**record, "ready": True, "status": status, "report": text})
