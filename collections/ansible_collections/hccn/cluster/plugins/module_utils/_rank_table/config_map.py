# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Extract the rank table from a Kubernetes ConfigMap: ``rings-config-JOB`` of Ascend Operator, or a job summary of ClusterD.

The input is the manifest, the object that the API returns, or only its ``data``. YAML is not supported, since a host may not have PyYAML.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Union

from .._core.errors import ParseError
from .._core.numbers import is_count

KEY = "hccl.json"
"""The key of ``data`` that holds the table (Ascend Operator, HCCL-Controller, ClusterD)."""


class Packed(NamedTuple):
    """``table`` is text, or an object if it is already parsed. ``parts`` is the number of ConfigMaps into which ClusterD split the table."""

    table: Union[str, Mapping[str, Any]]
    key: str
    job: Optional[str]
    parts: int


def unpack(document: Mapping[str, Any]) -> Optional[Packed]:
    """Return the table in a ConfigMap; None if the document is not a ConfigMap. Raises ParseError for a ConfigMap without a table."""
    kind = document.get("kind")
    if isinstance(kind, str) and kind.endswith("List"):
        raise ParseError("a Kubernetes %s is not a rank table" % kind, "pass one ConfigMap of its items")
    if kind != "ConfigMap" and KEY not in document:
        return None
    data = document.get("data") if kind == "ConfigMap" else document
    if not isinstance(data, dict) or not data:
        raise ParseError("the ConfigMap has no data")
    key = _key_of(data)
    job = data.get("jobName")
    total = data.get("total")
    return Packed(data[key], key, job if isinstance(job, str) else None, int(total) if isinstance(total, str) and is_count(total) and len(total) < 9 else 1)


def _key_of(data: Mapping[str, Any]) -> str:
    """Return KEY, or the only key that ends in .json (CCE uses ``jobstart_hccl.json``). Raises ParseError."""
    keys = [KEY] if KEY in data else [key for key in data if key.endswith(".json")]
    if len(keys) != 1:
        raise ParseError("the ConfigMap has no key %s, only %s" % (KEY, ", ".join(sorted(map(str, data)))[:200]))
    if not isinstance(data[keys[0]], (str, dict)):
        raise ParseError("%s of the ConfigMap is neither a string nor an object" % keys[0])
    return keys[0]
