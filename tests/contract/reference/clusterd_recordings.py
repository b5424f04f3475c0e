"""The recorded exchanges with the real ClusterD, and a client that repeats their requests at a server.

An outcome is what a client sees of an exchange: its messages in order, without ids that vary between runs, and its end. An end at the deadline is ``deadline``,
with or without an error, since client and server race there. Details count only where they are the server's own text.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import grpc

from tests.lib.project import shared
from tests.simulator.clusterd_sim import proto
from tests.simulator.clusterd_sim.server import FILES, as_dict, fill

Row = dict[str, Any]
OWN_TEXT = ("UNKNOWN", "UNIMPLEMENTED", "INTERNAL", "RESOURCE_EXHAUSTED")
DEADLINE = "deadline"
_VARIES = ("uuid", "clientId", "ReportTime", "time", "deleteTime", "sid", "masterAddr", "sharedTorIp")
_ID = re.compile(r"clientId: [0-9a-f-]{36}")
_UUID = re.compile(r"uuid=[^,]+")
_CUT = re.compile(r"\(cut, (\d+) characters\)$")
METHODS = {method.path: (name, method) for name in FILES for method in proto.load(name).methods.values()}


class Outcome(NamedTuple):
    """``end``: the name of the status, or ``deadline``."""

    messages: list[Any]
    end: str
    details: str = ""


@cache
def rows() -> dict[str, Row]:
    """Return the recordings by id."""
    return {row["id"]: row for row in map(json.loads, shared("oracle/clusterd.jsonl").read_text().splitlines())}


def cases(area: str) -> dict[str, dict[str, Row]]:
    """Return the recordings of an area as ``{case: {version: row}}``."""
    found: dict[str, dict[str, Row]] = {}
    for name, row in rows().items():
        version, its_area, case = name.split("/", 2)
        if its_area == area:
            found.setdefault(case, {})[version] = row
    return found


def request_of(row: Row) -> bytes:
    """Return the bytes of the request; long ones are not recorded, and are ids of 5000 characters."""
    request = row["request"]
    if request["b64"] is not None:
        return base64.b64decode(request["b64"])
    _name, method = METHODS[row["rpc"]]
    data: bytes = method.request(jobId="x" * 5000, role="r").SerializeToString()
    return data


def _comparable(message: Any) -> Any:
    """Return a message without what varies between runs, and without empty fields."""
    if isinstance(message, dict):
        fields = {key: _comparable(value) for key, value in message.items() if key not in _VARIES}
        if isinstance(fields.get("info"), str):
            fields["info"] = _UUID.sub("uuid=ID", fields["info"])
        if "rankTable" in fields:
            fields["rankTable"] = _table(fields["rankTable"])
        return {key: value for key, value in fields.items() if value not in ("", [], {}, None, 0, "0", False)}
    return [_comparable(one) for one in message] if isinstance(message, list) else message


def _table(text: str) -> Any:
    """Return a rank table without the numbers of its instances, which vary, and in the order of their texts."""
    table = json.loads(text)
    groups = table["server_group_list"]
    return [groups[:2], sorted(json.dumps({**group, "group_id": ""}) for group in groups[2:])]


def recorded(row: Row) -> Outcome:
    end, code = row["end"], row["end"]["code"]
    at_deadline = code == "DEADLINE_EXCEEDED" or (
        code == "OK" and row["rpc"] in METHODS and METHODS[row["rpc"]][1].streams and end["at_s"] >= row["request"]["deadline_s"] - 0.1)
    return Outcome([_comparable(one["json"]) for one in row["responses"]], DEADLINE if at_deadline else code, _own_text(code, end["details"]))


def _own_text(code: str, details: str) -> str:
    """Return the details if they are the server's own text, without ids that vary. Of a long text, which is cut in the recordings, only the length counts."""
    if code not in OWN_TEXT:
        return ""
    cut = _CUT.search(details)
    if cut or len(details) > 1000:
        return f"{cut[1] if cut else len(details)} characters"
    return _ID.sub("clientId: ID", details)


class Client:
    """A client without any logic, over one connection."""

    def __init__(self, address: str, *options: tuple[str, Any], credentials: grpc.ChannelCredentials | None = None) -> None:
        every = [("grpc.max_send_message_length", -1), *options]
        self._channel = grpc.insecure_channel(address, every) if credentials is None else grpc.secure_channel(address, credentials, every)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def open(self, path: str, data: bytes, seconds: float) -> Any:
        """Start an exchange; ``outcome`` waits for its end."""
        return self._channel.unary_stream(path)(data, timeout=seconds)

    def exchange(self, path: str, data: bytes, seconds: float) -> Outcome:
        return outcome(path, self.open(path, data, seconds))

    def repeat(self, row: Row, seconds: float) -> Outcome:
        """Repeat the request of a recording."""
        return self.exchange(row["rpc"], request_of(row), seconds)

    def ask(self, path: str, **fields: Any) -> dict[str, Any]:
        """Return the answer to one request that is not recorded."""
        name, method = METHODS[path]
        (message,) = self.open(path, fill(method.request(), fields).SerializeToString(), 10)
        return as_dict(name, method.response.FromString(message))


def _decoded(path: str, call: Any) -> Iterator[Any]:
    for data in call:
        name, method = METHODS[path]
        yield _comparable(as_dict(name, method.response.FromString(data)))


def outcome(path: str, call: Any) -> Outcome:
    """Wait for the end of an exchange. An end without an error is that of the server: the stand-in loses the race at the deadline."""
    messages: list[Any] = []
    try:
        for message in _decoded(path, call):
            messages.append(message)
    except grpc.RpcError as error:
        code = error.code().name
        if code == "DEADLINE_EXCEEDED":
            return Outcome(messages, DEADLINE)
        return Outcome(messages, code, _own_text(code, error.details() or ""))
    return Outcome(messages, "OK")
