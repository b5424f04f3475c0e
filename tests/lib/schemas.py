"""The published JSON Schemas of the collection, for tests that validate written files."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from tests.lib.project import COLLECTION

FOLDER = COLLECTION / "docs/schemas"


def documents() -> dict[str, dict[str, Any]]:
    """Return the schemas by their IDs: urn:hccn.cluster:history:1."""
    return {document["$id"]: document for document in (json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.schema.json")))}


@functools.cache
def validator(name: str) -> Draft202012Validator:
    found = documents()
    registry: Registry[Any] = Registry().with_resources((key, Resource.from_contents(value)) for key, value in found.items())
    return Draft202012Validator(found[f"urn:hccn.cluster:{name.replace(chr(47), chr(58))}"], registry=registry)


def violations(name: str, document: Any) -> list[str]:
    """Return the violations of the schema ``name`` (such as measurement/1)."""
    return [f"{error.json_path}: {error.message[:300]}" for error in validator(name).iter_errors(document)]


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a history file, compressed or not."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.splitlines()]


def history_violations(path: Path) -> list[str]:
    """Return the violations of every line. A record is validated with its own schema, because the message "is not valid under any of the given schemas" does
    not help."""
    found = []
    for number, line in enumerate(lines(path), 1):
        name = "measurement/1" if "kind" in line else "history/1"
        found += [f"{path.name}:{number}: {text}" for text in violations(name, line)]
    return found
