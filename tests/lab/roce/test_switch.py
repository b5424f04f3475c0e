"""The switch without machines, with sockets of the test in their place."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.roce.switch import BUFFER_BYTES
from tests.lib.waiting import happens

ALL = b"\xff" * 6
SIZE = 9000


def address(number: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, number])


def frame(target: bytes, source: int, text: bytes) -> bytes:
    body = target + address(source) + b"\x08\x00" + text
    return len(body).to_bytes(4, "big") + body


def received(cable: socket.socket) -> bytes:
    """Return the text of the next frame."""
    return _exactly(cable, int.from_bytes(_exactly(cable, 4), "big"))[14:]


def _exactly(cable: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += cable.recv(count - len(data))
    return data


def _is_flooded(one: socket.socket, two: socket.socket) -> bool:
    """Return whether a frame from port 1 to the machine of port 3 reaches port 2."""
    one.sendall(frame(address(3), 1, b"to 3"))
    try:
        return received(two) == b"to 3"
    except TimeoutError:
        return False


@pytest.fixture
def cables(tmp_path: Path) -> Iterator[list[socket.socket]]:
    script = Path(__file__).with_name("switch.py")
    with subprocess.Popen([sys.executable, str(script), str(tmp_path), "3"]) as process:
        assert happens(lambda: (tmp_path / "cable3").exists(), 30)
        ends = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for number, end in enumerate(ends, 1):
            end.settimeout(30)
            end.connect(str(tmp_path / f"cable{number}"))
        yield ends
        for end in ends:
            end.close()
        assert process.wait(30) == 0


def test_frames_go_to_the_port_of_their_address(cables: list[socket.socket]) -> None:
    one, two, three = cables
    one.sendall(frame(ALL, 1, b"who is 2?"))
    assert (received(two), received(three)) == (b"who is 2?", b"who is 2?")
    whole = frame(address(1), 2, b"me") + frame(address(1), 2, b"and again")
    two.sendall(whole[:7])
    two.sendall(whole[7:])
    assert (received(one), received(one)) == (b"me", b"and again")
    three.sendall(frame(address(2), 3, b"to 2"))
    one.sendall(frame(address(3), 1, b"to 3"))
    assert (received(two), received(three)) == (b"to 2", b"to 3")


def test_blocked_port_does_not_stop_the_others(cables: list[socket.socket]) -> None:
    one, two, three = cables
    for number, end in enumerate(cables, 1):
        end.sendall(frame(address(9), number, b"here"))
    assert (received(one), received(one), received(two), received(three)) == (b"here",) * 4
    sent = 2 * BUFFER_BYTES // SIZE
    for number in range(sent):
        text = b"%08d" % number
        one.sendall(frame(address(3), 1, text.ljust(SIZE - 14)))
        one.sendall(frame(address(2), 1, text))
    assert received(two) == b"here"
    assert [received(two) for _ in range(sent)] == [b"%08d" % number for number in range(sent)]
    assert received(three) == b"here"
    kept = [received(three)[:8] for _ in range(BUFFER_BYTES // SIZE)]
    assert kept == [b"%08d" % number for number in range(len(kept))]


def test_other_ports_work_after_one_has_ended(cables: list[socket.socket]) -> None:
    one, two, three = cables
    for number, end in enumerate(cables, 1):
        end.sendall(frame(address(9), number, b"here"))
    assert (received(one), received(one), received(two), received(two)) == (b"here",) * 4
    three.close()
    two.settimeout(0.1)
    assert happens(lambda: _is_flooded(one, two), 30), "the address is unknown again as soon as the switch has found the end of the port"
    two.settimeout(30)
    one.sendall(frame(address(2), 1, b"to 2"))
    text = received(two)
    while text == b"to 3":  # sent again while the first one was on its way
        text = received(two)
    assert text == b"to 2"
    two.sendall(frame(address(1), 2, b"to 1"))
    assert received(one) == b"to 1"


def test_rate_of_a_port_delays_what_it_sends(cables: list[socket.socket], tmp_path: Path) -> None:
    one, two, _three = cables
    (tmp_path / "cable1.rate").write_text("100000")
    start = time.monotonic()
    two.sendall(frame(ALL, 2, b"not delayed"))
    assert received(one) == b"not delayed"
    assert time.monotonic() - start < 5
    for number in range(10):
        one.sendall(frame(address(2), 1, b"%d" % number * (SIZE - 14)))
    assert [received(two)[:1] for _ in range(10)] == [b"%d" % number for number in range(10)]
    assert time.monotonic() - start > 0.8
