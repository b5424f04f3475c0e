"""The stand-in's server: it makes a world available on a real port and records every call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from . import proto
from .gate import Gate
from .limits import Bucket, Message, Refused
from .world import World

FORBIDDEN = frozenset(f"/Recover/{name}" for name in (
    "Init", "Register", "SubscribeProcessManageSignal", "ReportStopComplete", "ReportRecoverStrategy", "ReportRecoverStatus", "ReportProcessFault",
    "SubscribeNotifySwitch", "ReplySwitchNicResult"))
"""Services of the training process, which no other client may call."""

FILES = ("config", "recover", "fault", "job")
RACE_S = 0.05
"""How long before the deadline of the client the server ends a stream, where it wins the race."""


@dataclass(frozen=True)
class Tls:
    """PEM files. ``ca``: clients must have a certificate that it signed."""

    key: bytes
    certificate: bytes
    ca: bytes | None = None


def as_dict(name: str, message: Any) -> Message:
    """Return all fields; maps and lists become dictionaries and lists."""
    found: Message = {}
    for field in proto.load(name).numbers[message.DESCRIPTOR.name]:
        value = getattr(message, field)
        described = message.DESCRIPTOR.fields_by_name[field]
        if described.message_type is not None and described.message_type.GetOptions().map_entry:
            found[field] = {key: as_dict(name, value[key]) for key in value}
        elif hasattr(value, "extend"):
            found[field] = [as_dict(name, one) if hasattr(one, "DESCRIPTOR") else one for one in value]
        else:
            found[field] = as_dict(name, value) if hasattr(value, "DESCRIPTOR") else value
    return found


def fill(message: Any, values: Message) -> Any:
    """Return the message with these fields."""
    for field, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, field), value)
        elif isinstance(value, list):
            for one in value:
                fill(getattr(message, field).add(), one) if isinstance(one, dict) else getattr(message, field).append(one)
        else:
            setattr(message, field, value)
    return message


class ClusterD(grpc.GenericRpcHandler):
    """``calls``: path and request of every call in order. ``port``: on 127.0.0.1. ``lacking``: paths that an older release does not know."""

    def __init__(self, world: World | None = None, tls: Tls | None = None, lacking: frozenset[str] = frozenset()) -> None:
        self.world = world or World()
        self.calls: list[tuple[str, Message]] = []
        self.came = threading.Condition()
        self._lacking = lacking
        world, profile = self.world, self.world.profile
        self._qps = Bucket(world.limits.unary, profile.unary_refill if world.limits.unary and world.limits.unary >= 1000 else None)
        self._methods = {method.path: (name, method) for name in FILES for method in proto.load(name).methods.values()}
        self._served: dict[str, Callable[..., Any]] = {
            "/config.Config/Register": self.world.register,
            "/config.Config/SubscribeRankTable": self.world.rank_tables,
            "/Recover/SwitchNicTrack": world.switches.order,
            "/Recover/SubscribeSwitchNicSignal": world.switches.result,
            "/Recover/Init": world.switches.init,
            "/Recover/Register": world.switches.register,
            "/Recover/SubscribeNotifySwitch": world.switches.notifications,
            "/Recover/ReportStopComplete": world.switches.report("ReportStopComplete"),
            "/Recover/ReportRecoverStatus": world.switches.report("ReportRecoverStatus"),
            "/Recover/ReplySwitchNicResult": world.switches.reply,
            "/fault.Fault/Register": world.faults.register,
            "/fault.Fault/GetFaultMsgSignal": world.faults.query,
            "/fault.Fault/SubscribeFaultMsgSignal": world.faults.signals,
            "/job.Job/Register": world.summaries.register,
            "/job.Job/SubscribeJobSummarySignal": world.summaries.signals,
            "/job.Job/SubscribeJobSummarySignalList": world.summaries.lists,
        }
        # The settings for pings, streams and bytes of ClusterD's main.go. The two strikes are those of Go's server.
        limits = world.limits
        ping_ms = profile.ping_ms if limits.ping_ms is None else limits.ping_ms
        if not profile.job_list:
            self._lacking |= {"/job.Job/SubscribeJobSummarySignalList"}
        self._server = grpc.server(ThreadPoolExecutor(160), (self,), options=[
            ("grpc.http2.min_ping_interval_without_data_ms", ping_ms), ("grpc.http2.max_ping_strikes", 2), ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.max_concurrent_streams", limits.streams), ("grpc.max_receive_message_length", 64 << 20),
            ("grpc.max_send_message_length", 64 << 20), ("grpc.so_reuseport", 0)])
        if tls is None:
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            credentials = grpc.ssl_server_credentials([(tls.key, tls.certificate)], tls.ca, tls.ca is not None)
            self.port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self._server.start()
        self.gate: Gate | None = None
        if limits.connections is not None or limits.connections_of_one is not None:
            self.gate = Gate(self.port, limits.connections or 1024, limits.connections_of_one or 512)
            self.port = self.gate.port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        """End every connection at once."""
        if self.gate is not None:
            self.gate.close()
            self.gate = None
        self._server.stop(0).wait(5)

    @property
    def forbidden(self) -> list[str]:
        """Return calls that only the training process may make."""
        return [path for path, _ in self.calls if path in FORBIDDEN]

    def paths(self) -> list[str]:
        return [path for path, _ in self.calls]

    def wait_for(self, path: str, count: int = 1, seconds: float = 10) -> None:
        """Wait until this many calls of the path have arrived."""
        with self.came:
            if not self.came.wait_for(lambda: self.paths().count(path) >= count, seconds):
                raise TimeoutError(f"{path}: {self.paths().count(path)} of {count} calls came")

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        path = details.method
        known = self._methods.get(path)
        if known is None or path not in self._served or path in self._lacking:
            return grpc.unary_stream_rpc_method_handler(functools.partial(self._unimplemented, path))
        name, method = known

        def encode(values: Message) -> bytes:
            return fill(method.response(), values).SerializeToString()

        def answer(data: bytes, context: grpc.ServicerContext) -> bytes:
            request = self._decoded(name, method, data, context)
            with _Refusing(context):
                if not self._qps.take():
                    raise Refused(f"qps exceeded, method={path}")
                return self._sent(encode(self._served[path](request)), context)

        def stream(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            request = self._decoded(name, method, data, context)
            with _Refusing(context):
                for values in self._served[path](request, functools.partial(self._goes_on, context)):
                    yield self._sent(encode(values), context)

        return grpc.unary_stream_rpc_method_handler(stream) if method.streams else grpc.unary_unary_rpc_method_handler(answer)

    def _goes_on(self, context: grpc.ServicerContext) -> bool:
        """Return False if the client has gone, or if the server notices its deadline first and ends the stream without an error."""
        left = context.time_remaining() if self.world.times.ok_at_deadline else None
        return context.is_active() and (left is None or left > RACE_S)

    def _decoded(self, name: str, method: proto.Method, data: bytes, context: grpc.ServicerContext) -> Message:
        """Return the request, or end the call as a Go server does."""
        limit = self.world.limits.receive
        if len(data) > limit:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"grpc: received message larger than max ({len(data)} vs. {limit})")
        try:
            request = as_dict(name, method.request.FromString(data))
        except DecodeError:
            context.abort(grpc.StatusCode.INTERNAL, "grpc: error unmarshalling request: string field contains invalid UTF-8")
        self._note(method.path, request)
        return request

    def _sent(self, data: bytes, context: grpc.ServicerContext) -> bytes:
        limit = self.world.limits.send
        if limit is not None and len(data) > limit:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"trying to send message larger than max ({len(data)} vs. {limit})")
        return data

    def _unimplemented(self, path: str, _data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        self._note(path, {})
        service, method = path.lstrip("/").rsplit("/", 1)
        services = {known.lstrip("/").rsplit("/", 1)[0] for known in self._methods}
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"unknown method {method} for service {service}" if service in services else f"unknown service {service}")
        yield b""

    def _note(self, path: str, request: Message) -> None:
        with self.came:
            self.calls.append((path, request))
            self.came.notify_all()


class _Refusing:
    """Translate ``Refused`` to the error that a client of a Go server receives."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, Refused):
            self._context.abort(grpc.StatusCode.UNKNOWN, str(error))
