"""The schema of a CustomResourceDefinition as a strict JSON schema, in which fields that a server drops silently are errors."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def strict(node: Any, top: bool = True) -> Any:
    """Close objects with ``properties``, open the top-level ``metadata``, and translate keywords of Kubernetes to JSON schema."""
    if isinstance(node, list):
        return [strict(one, False) for one in node]
    if not isinstance(node, dict):
        return node
    whole = {key: strict(value, False) for key, value in node.items()}
    # A field may have the name of a keyword; it is a keyword only if its value is not a schema.
    if whole.get("x-kubernetes-int-or-string") is True:
        whole = {key: value for key, value in whole.items() if key not in ("anyOf", "type")}
        whole["type"] = ["integer", "string"]
    if whole.get("nullable") is True and isinstance(whole.get("type"), str):
        whole["type"] = [whole["type"], "null"]
    if isinstance(whole.get("properties"), dict) and whole.get("type") == "object":
        whole.setdefault("additionalProperties", False)
        if top:
            whole["properties"]["metadata"] = {"type": "object"}
    return whole


@cache
def validator(definition: Path, version: str) -> jsonschema.Draft202012Validator:
    """Return the validator of one version of a CustomResourceDefinition."""
    document = yaml.load(definition.read_text(), Loader=_LOADER)  # noqa: S506 -- either is the safe loader
    found = [one["schema"]["openAPIV3Schema"] for one in document["spec"]["versions"] if one["name"] == version]
    assert len(found) == 1, definition.name
    return jsonschema.Draft202012Validator(strict(found[0]))


def errors(definition: Path, manifest: dict[str, Any]) -> list[str]:
    """Return path and message of each violation."""
    version = manifest["apiVersion"].split("/")[1]
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(definition, version).iter_errors(manifest)]
