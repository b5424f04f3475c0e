"""Make answers of modules, and records, from the documentation of the modules and the published schema, so that a new module needs no separate sample."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

import yaml

from tests.lib.project import COLLECTION


@functools.cache
def documentation(module: str, part: str) -> Any:
    """Return a block of the documentation of a module, parsed as YAML."""
    text = (COLLECTION / f"plugins/modules/{module}.py").read_text()
    start = text.index(f'{part} = r"""') + len(f'{part} = r"""')
    return yaml.safe_load(text[start:text.index('"""', start)]) or {}


def modules() -> list[str]:
    """Return the names of all modules, including those that run as actions, because the history keeps their results too."""
    return sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))


def answer_of(module: str) -> dict[str, Any]:
    """Return an answer with every documented field: its sample, or a value of its type."""
    found = {name: _value(field) for name, field in documentation(module, "RETURN").items()}
    if "measurements" in found:
        found["measurements"] = [record_of(kind) for kind in ("rdma", "matrix", "collective", "device", "ping", "verdict", "plan")]
    return json.loads(json.dumps({"changed": False, **found}, default=str))


def _value(field: dict[str, Any]) -> Any:
    if "sample" in field:
        return copy.deepcopy(field["sample"])
    inner = {name: _value(one) for name, one in (field.get("contains") or {}).items()}
    kind = field.get("type", "str")
    if kind == "list":
        return [inner] if inner else [{"str": "text", "int": 1, "dict": {"key": "value"}}.get(field.get("elements", "str"), "text")]
    return {"dict": inner or {"key": "value"}, "int": 1, "float": 1.5, "bool": True}.get(kind, "text")


@functools.cache
def _schema() -> dict[str, Any]:
    return json.loads((COLLECTION / "docs/schemas/measurement-1.schema.json").read_text())


def record_of(kind: str) -> dict[str, Any]:
    """Return a record with every field of the published schema."""
    made = {name: _of_schema(name, field) for name, field in _schema()["properties"].items()}
    return {**made, "schema": "hccn.cluster/measurement/1", "id": f"r/{kind}/forward/1", "kind": kind, "status": "ok", "hosts": ["n2", "n3"],
            "samples": [_sample(kind)]}


def _of_schema(name: str, field: dict[str, Any]) -> Any:
    if "enum" in field:
        return field["enum"][0]
    kinds = field.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        inner = {key: _of_schema(key, one) for key, one in (field.get("properties") or {}).items()}
        return inner or ({"code": [0]} if "additionalProperties" in field else {"key": "value"})
    if kind == "array":
        return [_of_schema(name, field["items"])] if isinstance(field.get("items"), dict) else []
    return {"integer": 1, "number": 1.5, "boolean": True}.get(kind, "2026-01-02T03:04:05.000Z" if name.endswith("_at") else "text")


def _sample(kind: str) -> dict[str, Any]:
    if kind == "verdict":
        return {"class": "slow", "message": "text", "evidence": ["text"]}
    if kind == "matrix":
        return {"size_bytes": 65536, "bandwidth_gbit_s": [195.0, None]}
    return {"size_bytes": 65536, "bandwidth_gbit_s": 195.0, "latency_us": {"typical": 2.0}, "link": "up", "lldp": {"system_name": "leaf"}, "health": "success"}
