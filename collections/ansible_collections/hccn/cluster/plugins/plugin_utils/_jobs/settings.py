# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The settings that all pods have: the variables of the user, their types and defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError

ASCEND_MOUNTS: tuple[dict[str, Any], ...] = (
    {"name": "ascend-driver", "host_path": "/usr/local/Ascend/driver", "type": "Directory"},
    {"name": "hccn-conf", "host_path": "/etc/hccn.conf", "type": "File"},
    {"name": "hccn-tool", "host_path": "/usr/local/Ascend/driver/tools/hccn_tool", "mount_path": "/usr/bin/hccn_tool", "type": "File"},
)
"""Files of an Ascend host that a container needs: the driver with its libraries, the addresses of the NPUs, and hccn_tool."""

ASCEND = "huawei.com/Ascend910"

_KINDS = {"int": "a whole number", "bool": "true or false", "str": "text", "tuple": "a list", "Mapping": "a dictionary"}
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, kw_only=True)
class PodSettings:
    """The fields are documented in the filters."""

    image: str
    name: str = "hccn-collective"
    namespace: str = "default"
    nodes: tuple[str, ...] = ()
    resource: str = ""
    devices_per_pod: int = 0
    resources: Mapping[str, str] = field(default_factory=dict)
    queue: str = "default"
    scheduler: str = ""
    priority_class: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    one_per_node: bool = True
    host_network: bool = False
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    service_account: str = ""
    security_context: Mapping[str, Any] = field(default_factory=dict)
    mounts: tuple[Mapping[str, Any], ...] = ()
    shm_size: str = ""

    @property
    def deadline(self) -> int:
        """Seconds after which Kubernetes ends a pod."""
        raise NotImplementedError


def dictionary(given: Any, name: str) -> dict[str, Any]:
    """Return the variables that have a value. Raises InputError if ``given`` is not a dictionary."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be a dictionary of variables, not {type(given).__name__}", "give at least image, and nodes")
    return {key: value for key, value in given.items() if value is not None}


def typed(name: str, value: Any, kind: str) -> Any:
    """Convert a value to the type of its field, also from text, since surveys and ``-e`` pass text. Raises InputError."""
    if kind == "int" and not isinstance(value, bool) and re.fullmatch(r"-?[0-9]+", str(value)):
        return int(str(value))
    if kind == "bool" and str(value).lower() in _TRUTH:
        return _TRUTH[str(value).lower()]
    if kind == "str" and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    if kind.startswith("tuple") and isinstance(value, (list, tuple)):
        return tuple(value)
    if kind.startswith("Mapping") and isinstance(value, Mapping):
        return {str(key): str(one) for key, one in value.items()} if kind == "Mapping[str, str]" else dict(value)
    raise InputError(f"{name} is {value!r}, it must be {_KINDS[kind.split('[')[0]]}")
