"""Make message classes of the .proto files in this folder. Only the part of the language that they use is supported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTOS = Path(__file__).with_name("protos")
SCALARS = {"string": 9, "int32": 5, "int64": 3, "bool": 8}
OPTIONAL, REPEATED, MESSAGE = 1, 3, 11

_BLOCK = re.compile(r"(message|service)\s+(\w+)\s*\{((?:[^{}]|\{\})*)\}")
_FIELD = re.compile(r"(repeated\s+)?(?:map<string,\s*(\w+)>|(\w+))\s+(\w+)\s*=\s*(\d+)\s*;")
_RPC = re.compile(r"rpc\s+(\w+)\((\w+)\)\s+returns\s+\((stream\s+)?(\w+)\)")


@dataclass(frozen=True)
class Method:
    """``path``: as sent in HTTP/2."""

    path: str
    request: Any
    response: Any
    streams: bool


@dataclass(frozen=True)
class Proto:
    """Message classes and methods by name; ``numbers``: field numbers by message."""

    messages: dict[str, Any]
    methods: dict[str, Method]
    numbers: dict[str, dict[str, int]]


@cache
def load(name: str) -> Proto:
    """Load a file of ``protos`` into a separate pool."""
    text = re.sub(r"//[^\n]*", "", (PROTOS / f"{name}.proto").read_text())
    declared = re.search(r"package\s+(\w+);", text)
    package = declared[1] if declared else ""
    file = descriptor_pb2.FileDescriptorProto(name=f"sim/{name}.proto", package=package, syntax="proto3")
    prefix = f"{package}." if package else ""
    blocks = _BLOCK.findall(text)
    numbers: dict[str, dict[str, int]] = {}
    for _, title, body in (block for block in blocks if block[0] == "message"):
        message = file.message_type.add(name=title)
        fields = _FIELD.findall(body)
        assert len(fields) == body.count(";"), f"{name}.proto: not all of {title} is understood"
        numbers[title] = {field: int(number) for _, _, _, field, number in fields}
        for repeated, of_map, kind, field, number in fields:
            if of_map:
                entry = message.nested_type.add(name=field[0].upper() + field[1:] + "Entry")
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, label=OPTIONAL, type=SCALARS["string"])
                entry.field.add(name="value", number=2, label=OPTIONAL, type=MESSAGE, type_name=f".{prefix}{of_map}")
                message.field.add(name=field, number=int(number), label=REPEATED, type=MESSAGE, type_name=f".{prefix}{title}.{entry.name}")
            elif kind in SCALARS:
                message.field.add(name=field, number=int(number), label=REPEATED if repeated else OPTIONAL, type=SCALARS[kind])
            else:
                message.field.add(name=field, number=int(number), label=REPEATED if repeated else OPTIONAL, type=MESSAGE, type_name=f".{prefix}{kind}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    make = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    messages = {title: make(pool.FindMessageTypeByName(prefix + title)) for title in numbers}
    methods = {}
    for _, service, body in (block for block in blocks if block[0] == "service"):
        for method, request, stream, response in _RPC.findall(body):
            methods[method] = Method(f"/{prefix}{service}/{method}", messages[request], messages[response], bool(stream))
    return Proto(messages, methods, numbers)
