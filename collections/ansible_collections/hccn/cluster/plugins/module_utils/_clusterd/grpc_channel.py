# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A gRPC channel to ClusterD with plain text, TLS or mutual TLS. Every call has a deadline, and every failure becomes an HccnError."""

from __future__ import annotations

import re
import time
import traceback
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from .._core.errors import HccnError, InputError
from .._core.numbers import is_count
from . import schema, wire

try:
    import grpc
except ImportError:
    GRPC_ERROR: Optional[str] = traceback.format_exc()
else:
    GRPC_ERROR = None

PORT = 8899
"""constant.GrpcPort of ClusterD. The nginx that terminates TLS for it listens on 9500, but is reached through the same Service and port."""
MAX_RECEIVE = 8 * 1024 * 1024
"""The most bytes that ClusterD sends (MaxGRPCSendMsgSize). The default of a client is 4 MiB."""
MAX_SEND = 4 * 1024 * 1024
"""The most bytes that ClusterD accepts (MaxGRPCRecvMsgSize)."""
KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS = 330000, 10000
"""ClusterD before 26.0 has the default enforcement of grpc-go: it closes the connection of a client that pings more often than every 5 min. From 26.0 on, it
allows one ping every 3 s. The version is not known before the call."""
AT_DEADLINE_S = 0.1
"""When the time of a stream is over, client and server race: the server may end it without an error, at most this long before the client's deadline."""
STREAM_LOST = frozenset(("server_unreachable", "too_many_pings", "proxy_timeout", "stream_reset", "rate_limited", "grpc_cancelled"))
"""Codes of errors after which a new subscription may succeed."""


@dataclass(frozen=True)
class Server:
    """The address and TLS options of ClusterD. If ``ca`` is empty, TLS uses the CAs of the system. ``certificate`` and ``key`` are files for mutual TLS."""

    address: str
    tls: bool = False
    ca: str = ""
    certificate: str = ""
    key: str = ""
    name: str = ""

    @property
    def secure(self) -> bool:
        return self.tls or bool(self.ca or self.certificate or self.key)

    @property
    def target(self) -> str:
        """Host and port, by default the port of ClusterD."""
        host, colon, port = self.address.rpartition(":")
        if self.address.startswith("[") or self.address.count(":") < 2:
            if colon and is_count(port):
                return self.address
            return "%s:%d" % (self.address, PORT)
        return "[%s]:%d" % (self.address, PORT)


def _file(option: str, path: str) -> Optional[bytes]:
    if not path:
        return None
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise InputError("%s: cannot read %s: %s" % (option, path, error.strerror)) from error


def _credentials(server: Server) -> Any:
    """Return the TLS credentials. Raises InputError if a file cannot be read, or only one of certificate and key is given."""
    if bool(server.certificate) != bool(server.key):
        raise InputError("mutual TLS needs both client_cert and client_key")
    return grpc.ssl_channel_credentials(_file("ca_cert", server.ca), _file("client_key", server.key), _file("client_cert", server.certificate))


def _options(server: Server) -> List[Tuple[str, Any]]:
    options: List[Tuple[str, Any]] = [
        ("grpc.max_receive_message_length", MAX_RECEIVE), ("grpc.max_send_message_length", MAX_SEND),
        ("grpc.keepalive_time_ms", KEEPALIVE_MS), ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
        ("grpc.http2.max_pings_without_data", 0), ("grpc.enable_retries", 0),
        # Channels share subchannels by default: this one would inherit the reconnect backoff of an earlier one that failed.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if server.name:
        options.append(("grpc.ssl_target_name_override", server.name))
    return options


class Channel:
    """A channel, used as a context manager. It connects at the first call, and never retries a call."""

    def __init__(self, server: Server, timeout: float) -> None:
        """Open a channel; ``timeout`` in seconds applies to calls without a stream. Raises InputError."""
        self._server = server
        self._timeout = timeout
        self._channel = (grpc.secure_channel(server.target, _credentials(server), _options(server)) if server.secure
                         else grpc.insecure_channel(server.target, _options(server)))

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: Any) -> None:
        self._channel.close()

    def _callable(self, file: str, method: str) -> Callable[..., Any]:
        described = schema.FILES[file].methods[method]
        make = self._channel.unary_stream if described.streams else self._channel.unary_unary
        callable_: Callable[..., Any] = make(
            schema.path_of(file, method),
            request_serializer=lambda values: wire.encode(file, described.request, values),
            response_deserializer=lambda data: wire.decode(file, described.response, data))
        return callable_

    def call(self, file: str, method: str, values: Mapping[str, Any]) -> Dict[str, Any]:
        """Return the answer to one request. Raises HccnError."""
        try:
            answer: Dict[str, Any] = self._callable(file, method)(values, timeout=self._timeout)
            return answer
        except grpc.RpcError as error:
            raise _error_of_status(error.code(), error.details() or "", schema.path_of(file, method), self._server, self._timeout) from None

    def stream(self, file: str, method: str, values: Mapping[str, Any], seconds: float) -> "Stream":
        """Open a stream of messages that lasts at most ``seconds``."""
        call = self._callable(file, method)(values, timeout=seconds)
        path = schema.path_of(file, method)
        return Stream(call, seconds, lambda code, text: _error_of_status(code, text, path, self._server, seconds))


class Stream:
    """An open stream. ``close`` may be called from any thread; it ends the iteration and sets ``closed``."""

    def __init__(self, call: Any, seconds: float, make_error: Callable[[str, Any], HccnError]) -> None:
        self._call = call
        self._make_error = make_error
        self._seconds = seconds
        self.closed = False
        self.started = time.monotonic()

    def close(self) -> None:
        self.closed = True
        self._call.cancel()

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Yield the messages until the server ends the stream early and without an error. Raises HccnError, with code ``deadline`` when the time is over."""
        try:
            yield from self._call
        except grpc.RpcError as error:
            if self.closed:
                return
            raise self._make_error(error.code(), error.details() or "") from None
        finally:
            self._call.cancel()
        if not self.closed and time.monotonic() - self.started >= self._seconds - AT_DEADLINE_S:
            raise self._make_error(grpc.StatusCode.DEADLINE_EXCEEDED, "")


_NGINX = re.compile(r"http2 header with status: ([0-9]{3})")
"""The text of gRPC for an answer of a proxy that is no gRPC message."""
_CUT = ("RST_STREAM", "END_STREAM flag received")
"""Texts of gRPC for a stream that a proxy cut after a message, or ended with a page of its own."""
_SENT = re.compile(r"SERVER: Received|CLIENT: Sent|received message larger than max \([0-9]+ vs\. %d\)" % MAX_SEND)
"""Texts for a request that is too large, of the libraries in C++ and Go."""
_TOO_MANY_PINGS = "too_many_pings"
_LIMITS = "ClusterD accepts 64 streams per connection, 512 connections from one address and 1024 connections in total"
"""MaxGRPCConcurrentStreams, MaxIPConnectionLimit, MaxConcurrentLimit. A connection beyond the limit is closed at once, a stream beyond it waits."""
_READ_TIMEOUT = "set grpc_read_timeout 900s in the nginx: proxy_read_timeout has no effect on gRPC, and the default of 60 s ends silent streams"
_CERTIFICATE = ("CERTIFICATE_VERIFY_FAILED", "certificate verify failed", "Peer name", "Hostname Verification Check failed")
_HANDSHAKE = ("handshake", "SSL_ERROR", "WRONG_VERSION_NUMBER", "CERTIFICATE_REQUIRED", "bad_certificate", "unknown_ca")


def _of_proxy(status: int, text: str, server: Server) -> Optional[HccnError]:
    """Return the error for an answer of the nginx before ClusterD, None for a status that says nothing about it."""
    if status == 400 and not server.certificate:
        return HccnError("client_certificate", "the proxy of ClusterD at %s refuses the request, since no client certificate was sent: %s" % (
            server.target, text), "set client_cert and client_key to a certificate that is signed by the CA of the proxy (its ssl_client_certificate)")
    if status == 400:
        return HccnError("client_certificate", "the proxy of ClusterD at %s does not accept the client certificate %s: %s" % (
            server.target, server.certificate, text), "set client_cert and client_key to a valid certificate that is signed by the CA of the proxy (its "
                                                      "ssl_client_certificate)")
    if status in (401, 403):
        return HccnError("forbidden", "the proxy of ClusterD at %s forbids the request: %s" % (server.target, text),
                         "check the access rules of the proxy, and whether this host and its client certificate are allowed")
    if status == 503:
        return HccnError("rate_limited", "the proxy of ClusterD at %s refuses the request: %s" % (server.target, text),
                         "the nginx of its security guide accepts 20 requests per second and 20 streams for all clients: try again in a second")
    if status == 504:
        return HccnError("proxy_timeout", "the proxy of ClusterD at %s ended a silent stream: %s" % (server.target, text), _READ_TIMEOUT)
    if status == 502:
        return HccnError("server_unreachable", "the proxy at %s cannot reach ClusterD: %s" % (server.target, text), "check that ClusterD runs")
    return None


def _unavailable(text: str, server: Server) -> HccnError:
    target = server.target
    if _TOO_MANY_PINGS in text.lower().replace(" ", "_"):
        return HccnError("too_many_pings", "the server at %s closed the connection because of too many pings: %s" % (target, text),
                         "this client pings every %d s, and ClusterD allows one ping every 5 min: check the proxies between this host and ClusterD" % (
                             KEEPALIVE_MS // 1000))
    if any(word in text for word in _CERTIFICATE):
        return HccnError("tls_failed", "the certificate of %s is not accepted: %s" % (target, text),
                         "set ca_cert to the CA that signed the certificate, and server_name to the name in it if it differs from server")
    if any(word in text for word in _HANDSHAKE):
        return HccnError("tls_failed", "the TLS handshake with %s failed: %s" % (target, text),
                         "check that the server uses TLS, and whether it requires client_cert and client_key. ClusterD has no TLS, only its nginx has")
    hint = ("check that ClusterD runs at this address, and whether it requires client_cert and client_key" if server.secure
            else "check that ClusterD runs at this address, and whether it requires TLS")
    if "reset by peer" in text:
        hint += ". It may also have too many clients: " + _LIMITS
    return HccnError("server_unreachable", "ClusterD at %s cannot be reached or closed the connection: %s" % (target, text), hint)


def _error_of_status(code: Any, text: str, path: str, server: Server, seconds: float) -> HccnError:
    """Return the error for a gRPC status."""
    status, target = grpc.StatusCode, server.target
    answer = _NGINX.search(text)
    of_proxy = _of_proxy(int(answer.group(1)), text, server) if answer else None
    if of_proxy is not None:
        return of_proxy
    if code == status.UNAVAILABLE:
        return _unavailable(text, server)
    if code in (status.INTERNAL, status.UNKNOWN) and any(word in text for word in _CUT):
        return HccnError("stream_reset", "the stream of %s at %s was cut: %s" % (path, target, text), "if there is an nginx before ClusterD, " + _READ_TIMEOUT)
    if code == status.DEADLINE_EXCEEDED:
        return HccnError("deadline", "ClusterD at %s did not answer %s within %g s" % (target, path, seconds),
                         "check address and port. Through a proxy, the call may wait for a free stream: " + _LIMITS)
    if code == status.UNIMPLEMENTED:
        return HccnError("not_implemented", "the server at %s does not implement %s" % (target, path),
                         "check that it is ClusterD, and its version: SwitchNicTrack, faults and jobs need 7.1.RC1, lists of jobs need 26.0")
    if code == status.RESOURCE_EXHAUSTED:
        hint = ("ClusterD accepts at most %d MiB: send a smaller request" % (MAX_SEND >> 20) if _SENT.search(text)
                else "ClusterD sends at most %d MiB: check that the server is ClusterD" % (MAX_RECEIVE >> 20))
        return HccnError("too_large", "%s: %s" % (path, text), hint)
    if "qps exceeded" in text or "rate limited" in text:
        return HccnError("rate_limited", "ClusterD refuses %s: %s" % (path, text), "the limit applies to all clients together: try again in a second")
    if code == status.UNKNOWN:
        return HccnError("refused", "ClusterD refuses %s: %s" % (path, text))
    return HccnError("grpc_" + code.name.lower(), "%s at %s: %s" % (path, target, text or code.name))
