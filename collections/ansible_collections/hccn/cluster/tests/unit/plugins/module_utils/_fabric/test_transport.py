from __future__ import annotations

import json
import os
import socket
import threading
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import transport
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Control
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.transport import Channel, ConnectionLimiter, Listener, call

KEY = bytes(range(16))
OTHER_KEY = bytes(16)
SOON = 10.0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def place():
    """A listener that answers every body with itself, its address, and the bodies that it has received."""
    control = Control("127.0.0.1", free_port())
    listener = Listener(control)
    seen = []

    def handle(channel, body):
        seen.append(body)
        channel.send({"echo": body})

    listener.serve(KEY, "r1", handle)
    listener.control, listener.seen = control, seen
    yield listener
    listener.close()


def until(condition):
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def works(place):
    channel = call("x", place.control, KEY, "r1", SOON)
    channel.send({"type": "claim"})
    answer = channel.receive(SOON)
    channel.close()
    return answer == {"echo": {"type": "claim"}}


def code_of(action, *arguments):
    with pytest.raises(HccnError) as raised:
        action(*arguments)
    return raised.value.code


def test_lines_are_exchanged(place):
    assert works(place)
    assert place.seen == [{"type": "claim"}]
    assert place.refused == {}


def test_a_caller_with_another_key_is_refused(place):
    assert code_of(call, "x", place.control, OTHER_KEY, "r1", SOON) == "wrong_key"
    assert works(place)
    assert place.seen == [{"type": "claim"}]


def test_a_caller_of_another_run_is_refused(place):
    with pytest.raises(HccnError) as raised:
        call("x", place.control, KEY, "r2", SOON)
    assert raised.value.message == "another runner answers at x (127.0.0.1 port %d): a line of another run: r1" % place.control.port


def signed_line(greeting, key=KEY, number=0):
    """Return the first line of a caller, as an attacker may have recorded or changed it."""
    session = json.loads(greeting.decode())["session"] + "0" * 32
    fields = {"v": 1, "run": "r1", "session": session, "caller": True, "n": number, "body": {"type": "claim"}}
    return json.dumps({**fields, "mac": transport.sign(key, fields)}).encode() + b"\n"


def connected(place):
    return socket.create_connection(("127.0.0.1", place.control.port), SOON)


def test_a_line_signed_with_another_key_is_refused(place):
    with connected(place) as sock:
        sock.sendall(signed_line(sock.recv(65536), OTHER_KEY))
        assert sock.recv(65536) == b""
    until(lambda: place.refused == {"wrong_key": 1})
    assert works(place)
    assert place.seen == [{"type": "claim"}]


@pytest.mark.parametrize("line, reason", [
    (b"GET / HTTP/1.1\r\n", "bad_line"),
    (b"\xff\xfe\n", "bad_line"),
    (b"[]\n", "bad_line"),
    (b"[" * 40000 + b"\n", "bad_line"),
    (b'{"v": 2, "body": {}}\n', "bad_line"),
    (b'{"v": 1, "body": []}\n', "bad_line"),
    (b'{"v": 1, "run": "r2", "body": {}}\n', "wrong_run"),
    (b'{"v": 1, "run": "r1", "body": {}, "mac": "\\ud800"}\n', "wrong_key"),
    (b"x" * (2 * transport.LINE_LIMIT), "bad_line"),
    (b"x" * (transport.LINE_LIMIT + 1) + b"\n", "bad_line"),
    (b"", "peer_lost"),
])
def test_invalid_lines_are_refused_and_the_listener_continues(place, line, reason):
    with socket.create_connection(("127.0.0.1", place.control.port), SOON) as sock:
        sock.recv(65536)
        try:
            sock.sendall(line)
            sock.shutdown(socket.SHUT_WR)
        except OSError:  # refused before all of it was sent
            pass
        until(lambda: place.refused == {reason: 1})
    assert works(place)
    assert place.seen == [{"type": "claim"}]


def test_a_replayed_line_is_refused(place):
    with connected(place) as first, connected(place) as second:
        line = signed_line(first.recv(65536))
        second.sendall(line)
        until(lambda: place.refused.get("bad_line") == 1)
        assert place.seen == []
        first.sendall(line)
        until(lambda: place.seen == [{"type": "claim"}])


def test_a_line_with_another_number_is_refused(place):
    with connected(place) as sock:
        sock.sendall(signed_line(sock.recv(65536), number=1))
        until(lambda: place.refused.get("bad_line") == 1)
    assert place.seen == []


def test_a_reflected_line_is_refused(place):
    with socket.create_connection(("127.0.0.1", place.control.port), SOON) as sock:
        sock.sendall(sock.recv(65536))
        until(lambda: place.refused == {"bad_line": 1})
    assert place.seen == []


def test_a_slow_sender_is_dropped(place, monkeypatch):
    monkeypatch.setattr(transport, "HELLO_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", place.control.port), SOON) as sock:
        stop = threading.Event()

        def drip():
            while not stop.wait(0.02):
                try:
                    sock.sendall(b"{")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        until(lambda: place.refused == {"peer_silent": 1})
        stop.set()
        dripping.join(SOON)
    assert works(place)


def test_a_flood_of_silent_callers_does_not_keep_out_a_runner(place):
    flood = [socket.create_connection(("127.0.0.1", place.control.port), SOON) for _number in range(transport.MAX_UNAUTHENTICATED + 20)]
    try:
        until(lambda: place.refused.get("crowded_out", 0) >= 20)
        assert works(place)
    finally:
        for sock in flood:
            sock.close()


def test_the_address_with_most_connections_loses_its_oldest():
    room = ConnectionLimiter(3)
    assert [room.add(name, address) for name, address in (("a", "x"), ("b", "y"), ("c", "y"))] == [None, None, None]
    assert [room.add(name, address) for name, address in (("d", "y"), ("e", "x"), ("f", "z"))] == ["b", "a", "c"]
    assert (len(room), room.remove("d"), room.remove("d"), len(room)) == (3, True, False, 2)


def test_authenticated_connections_above_the_limit_are_closed(place, monkeypatch):
    monkeypatch.setattr(transport, "MAX_AUTHENTICATED", 0)
    channel = call("x", place.control, KEY, "r1", SOON)
    channel.send({"type": "claim"})
    assert code_of(channel.receive, SOON) == "peer_lost"
    assert place.seen == []


def test_a_broken_connection_after_authentication_is_released_and_not_counted(monkeypatch):
    monkeypatch.setattr(transport, "MAX_AUTHENTICATED", 1)
    control = Control("127.0.0.1", free_port())
    listener = Listener(control)
    received = []

    def handle(channel, body):
        received.append(body)
        channel.receive(SOON)

    listener.serve(KEY, "r1", handle)

    def is_served():
        before = len(received)
        channel = call("x", control, KEY, "r1", SOON)
        channel.send({"type": "claim"})
        channel.waiting(0.2)  # a refused connection is closed at once
        channel.close()
        return len(received) > before

    assert is_served()
    until(is_served)
    assert listener.refused == {}
    listener.close()


def test_a_port_without_a_listener_is_reported():
    port = free_port()
    with pytest.raises(HccnError) as raised:
        call("n7", Control("127.0.0.1", port), KEY, "r1", 1.0)
    assert raised.value.code == "peer_unreachable"
    assert raised.value.message == "the runner of n7 (127.0.0.1 port %d) cannot be reached: connection refused" % port
    assert raised.value.hint == "check that the host is up, that rdma_perf started on it, and that TCP port %d is open between the hosts" % port


def test_a_silent_listener_is_reported():
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(1)
        port = mute.getsockname()[1]
        with pytest.raises(HccnError) as raised:
            call("n7", Control("127.0.0.1", port), KEY, "r1", 0.1)
    assert (raised.value.code, raised.value.message) == ("peer_unreachable", "the runner of n7 (127.0.0.1 port %d) does not answer: no answer in time" % port)


def test_a_port_in_use_is_reported():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        port = other.getsockname()[1]
        with pytest.raises(HccnError) as raised:
            Listener(Control("127.0.0.1", port))
    assert raised.value.code == "control_port_in_use"
    assert raised.value.message.startswith("127.0.0.1 port %d is in use on this host by pid %d (" % (port, os.getpid()))


def test_a_port_in_use_by_an_invisible_process_is_reported(monkeypatch):
    monkeypatch.setattr(transport, "listeners", lambda address, port: [])
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        with pytest.raises(HccnError, match="is in use on this host by a process that cannot be seen from here"):
            Listener(Control("127.0.0.1", other.getsockname()[1]))


def test_an_address_of_another_host_is_refused():
    assert code_of(Listener, Control("192.0.2.1", 18514)) == "control_address_unusable"


def test_an_unresolvable_name_is_refused():
    assert code_of(Listener, Control("no-such-name.invalid", 18514)) == "control_address_unusable"


def test_the_port_is_free_after_closing():
    control = Control("127.0.0.1", free_port())
    first = Listener(control)
    first.serve(KEY, "r1", lambda channel, body: None)
    first.close()
    again = Listener(control)
    again.close()


def test_an_abandoned_listener_continues_in_the_other_process():
    control = Control("127.0.0.1", free_port())
    listener = Listener(control)
    heir = socket.socket(fileno=socket.dup(listener.fileno()))
    listener.abandon()
    with socket.create_connection(("127.0.0.1", control.port), SOON):
        heir.accept()[0].close()
    heir.close()


def connection():
    """Return the channels of caller and listener after the first line, and the socket of the listener."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        caller = socket.create_connection(listener.getsockname(), SOON)
        called = listener.accept()[0]
    one, other = Channel(caller, KEY, "r1", calling=True), Channel(called, KEY, "r1", calling=False)
    other.greet()
    one.answer_greeting(SOON)
    one.send({"n": 0})
    assert other.receive(SOON) == {"n": 0}
    return one, other, called


def test_lines_that_arrive_together_are_received_in_order():
    one, other, _sock = connection()
    for number in range(3):
        one.send({"n": number + 1})
    assert other.waiting(SOON)
    assert [other.receive(SOON)["n"] for _number in range(3)] == [1, 2, 3]
    assert not other.waiting(0.0)
    one.close()
    assert other.waiting(SOON)
    assert code_of(other.receive, SOON) == "peer_lost"
    other.close()


def test_waiting_sees_buffered_lines():
    one, other, sock = connection()
    one.send({"n": 1})
    one.send({"n": 2})
    until(lambda: len(sock.recv(65536, socket.MSG_PEEK).splitlines()) == 2)
    other.receive(SOON)
    assert other.waiting(0.0)
    one.close()
    other.close()


def test_a_listener_without_greeting_is_refused():
    one, other, _sock = connection()
    other.send({"type": "bye"})
    assert code_of(one.answer_greeting, SOON) == "bad_line"
    one.close()
    other.close()


def test_sending_on_a_closed_connection_fails():
    one, other, _sock = connection()
    one.close()

    def send_much():
        for _number in range(1000):
            other.send({"fill": "x" * 10000})

    assert code_of(send_much) == "peer_lost"
    other.close()


def test_the_signature_covers_every_field_except_itself():
    fields = {"v": 1, "body": {"b": 1, "a": 2}}
    assert transport.sign(KEY, fields) == transport.sign(KEY, json.loads(json.dumps({"body": {"a": 2, "b": 1}, "v": 1, "mac": "x"})))
    assert transport.sign(KEY, fields) != transport.sign(KEY, {**fields, "v": 2})
    assert transport.sign(bytes(16), {"v": 1}) == "c6fc71ee267004b4d3d9d6a6daf417bc7f0363ba065fce38c55ed83b345982a8"
