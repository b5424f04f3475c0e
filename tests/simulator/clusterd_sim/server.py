"""The stand-in's server: it makes a world available on a real port and records every call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc

from . import proto
from .gate import Gate
from .world import Bucket, Message, Refused, World

FORBIDDEN = frozenset(f"/Recover/{name}" for name in (
    "Init", "Register", "SubscribeProcessManageSignal", "ReportStopComplete", "ReportRecoverStrategy", "ReportRecoverStatus", "ReportProcessFault",
    "SubscribeNotifySwitch", "ReplySwitchNicResult"))
"""Services of the training process, which no other client may call."""

FILES = ("config", "recover", "fault", "job")


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
        self._qps = Bucket(self.world.limits.unary)
        self._methods = {method.path: (name, method) for name in FILES for method in proto.load(name).methods.values()}
        self._served: dict[str, Callable[..., Any]] = {
            "/config.Config/Register": self.world.register,
            "/config.Config/SubscribeRankTable": self.world.rank_tables,
            "/Recover/SwitchNicTrack": self.world.switch,
            "/Recover/SubscribeSwitchNicSignal": self.world.switch_result,
            "/fault.Fault/Register": self.world.fault_register,
            "/fault.Fault/GetFaultMsgSignal": self.world.fault_query,
            "/fault.Fault/SubscribeFaultMsgSignal": self.world.fault_signals,
            "/job.Job/Register": self.world.job_register,
            "/job.Job/SubscribeJobSummarySignalList": self.world.job_list,
        }
        # The settings for pings, streams and bytes of ClusterD's main.go. The two strikes are those of Go's server.
        limits = self.world.limits
        self._server = grpc.server(ThreadPoolExecutor(32), (self,), options=[
            ("grpc.http2.min_ping_interval_without_data_ms", limits.ping_ms), ("grpc.http2.max_ping_strikes", 2), ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.max_concurrent_streams", limits.streams), ("grpc.max_receive_message_length", limits.receive),
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

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        known = self._methods.get(details.method)
        if known is None:
            self._note(details.method, {})
            return None
        name, method = known

        def decode(data: bytes) -> Message:
            return as_dict(name, method.request.FromString(data))

        def encode(values: Message) -> bytes:
            return fill(method.response(), values).SerializeToString()

        def answer(request: Message, context: grpc.ServicerContext) -> Message:
            with self._refusing(method.path, request, context):
                if not self._qps.take():
                    raise Refused(f"qps exceeded, method={method.path}")
                return self._served[method.path](request)

        def stream(request: Message, context: grpc.ServicerContext) -> Iterator[Message]:
            with self._refusing(method.path, request, context):
                yield from self._served[method.path](request, context.is_active)

        if method.streams:
            return grpc.unary_stream_rpc_method_handler(stream, decode, encode)
        return grpc.unary_unary_rpc_method_handler(answer, decode, encode)

    def _note(self, path: str, request: Message) -> None:
        with self.came:
            self.calls.append((path, request))
            self.came.notify_all()

    def _refusing(self, path: str, request: Message, context: grpc.ServicerContext) -> _Refusing:
        self._note(path, request)
        if path not in self._served or path in self._lacking:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"unknown method {path.rsplit('/', 1)[1]}")
        return _Refusing(context)


class _Refusing:
    """Translate ``Refused`` to the error that a client of a Go server receives."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, Refused):
            self._context.abort(grpc.StatusCode.UNKNOWN, str(error))
