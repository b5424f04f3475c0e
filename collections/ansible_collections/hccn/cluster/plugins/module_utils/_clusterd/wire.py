# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Encode and decode protocol buffers without generated code, by descriptors built from the table in ``schema``.

Generated code works only with few releases of protobuf, and names such as ``Status`` would clash in the default descriptor pool. These descriptors
work with protobuf 3.20 to 7 (tests/lab/versions/versions.yml lists the tested releases).
"""

from __future__ import annotations

import traceback
from typing import Any, Dict, Mapping, Optional, Tuple

from . import schema

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    PROTOBUF_ERROR: Optional[str] = traceback.format_exc()
else:
    PROTOBUF_ERROR = None

_SCALARS = {"string": 9, "int32": 5, "bool": 8}
"""FieldDescriptorProto.Type."""
_MESSAGE = 11
_OPTIONAL, _REPEATED = 1, 3


def _qualified(file: schema.File, message: str) -> str:
    return ".%s%s" % (file.package + "." if file.package else "", message)


def _entry_name(field: str) -> str:
    """Return the name that protoc gives to the entries of a map."""
    return field[0].upper() + field[1:] + "Entry"


def _add_field(file: schema.File, owner: str, message: Any, name: str, number: int, kind: str) -> None:
    field = message.field.add(name=name, number=number, label=_REPEATED if kind.startswith(("[]", "map:")) else _OPTIONAL)
    if kind.startswith("map:"):
        entry = message.nested_type.add(name=_entry_name(name))
        entry.options.map_entry = True
        _add_field(file, owner, entry, "key", 1, "string")
        _add_field(file, owner, entry, "value", 2, kind[len("map:"):])
        field.type, field.type_name = _MESSAGE, "%s.%s" % (_qualified(file, owner), entry.name)
        return
    scalar = kind[2:] if kind.startswith("[]") else kind
    if scalar in _SCALARS:
        field.type = _SCALARS[scalar]
    else:
        field.type, field.type_name = _MESSAGE, _qualified(file, scalar)


def _classes(name: str) -> Dict[str, Any]:
    """Return the message classes of one file of the table."""
    file = schema.FILES[name]
    proto = descriptor_pb2.FileDescriptorProto(name=name + ".proto", package=file.package, syntax="proto3")
    for title, fields in file.messages.items():
        message = proto.message_type.add(name=title)
        for field, (number, kind) in fields.items():
            _add_field(file, title, message, field, number, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(proto.SerializeToString())
    # protobuf 3 has only the method of the factory, protobuf 4 also the function, and protobuf 5 only the function.
    make = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return {title: make(pool.FindMessageTypeByName(_qualified(file, title)[1:])) for title in file.messages}


_KNOWN: Dict[str, Dict[str, Any]] = {}


def message_class(file: str, message: str) -> Any:
    """Return the class of a message, with ``SerializeToString`` and ``FromString``."""
    if file not in _KNOWN:
        _KNOWN[file] = _classes(file)
    return _KNOWN[file][message]


def _split(kind: str) -> Tuple[str, str]:
    """Return ``list``, ``map`` or ``one``, and the type of an element."""
    if kind.startswith("[]"):
        return "list", kind[2:]
    return ("map", kind[len("map:"):]) if kind.startswith("map:") else ("one", kind)


def _fill(file: str, title: str, message: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        shape, kind = _split(schema.FILES[file].messages[title][name][1])
        if kind in _SCALARS:
            if shape == "list":
                getattr(message, name).extend(value)
            else:
                setattr(message, name, value)
        elif shape == "map":
            for key, entry in value.items():
                _fill(file, kind, getattr(message, name)[key], entry)
        elif shape == "list":
            for entry in value:
                _fill(file, kind, getattr(message, name).add(), entry)
        else:
            _fill(file, kind, getattr(message, name), value)


def encode(file: str, title: str, values: Mapping[str, Any]) -> bytes:
    """Return the encoded message with these fields."""
    message = message_class(file, title)()
    _fill(file, title, message, values)
    data: bytes = message.SerializeToString()
    return data


def _read(file: str, title: str, message: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for name, (_number, whole) in schema.FILES[file].messages[title].items():
        value = getattr(message, name)
        shape, kind = _split(whole)
        if shape == "map":
            found[name] = {key: _read(file, kind, value[key]) for key in value}
        elif shape == "list":
            found[name] = list(value) if kind in _SCALARS else [_read(file, kind, entry) for entry in value]
        else:
            found[name] = value if kind in _SCALARS else _read(file, kind, value)
    return found


def decode(file: str, title: str, data: bytes) -> Dict[str, Any]:
    """Return all fields of a message. Fields that were not sent have their default; fields that are not in the table are ignored."""
    return _read(file, title, message_class(file, title).FromString(data))
