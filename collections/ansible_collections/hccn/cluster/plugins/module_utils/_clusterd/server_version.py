# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The version of ClusterD, which no call of its API returns: as the user gives it, or from the image of its pods."""

from __future__ import annotations

import re
from typing import Any, Dict, Optional, Tuple

from .._core.errors import HccnError, InputError
from .._core.words import printable
from .._rank_table.json_fields import entries
from . import kube

NAMESPACE, APP = "mindx-dl", "app=clusterd"
"""The namespace of ClusterD, and the label of its pods, in the YAML files of MindCluster."""
MASTER = "master"
"""The development version, which is newer than all releases."""
_NUMBERS = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:[.\-_].*)?$", re.IGNORECASE)

HOST_IP_SINCE = (7, 3)
"""From this version on, ``host_ip`` replaces ``server_id`` in rank tables."""


def parse(text: str) -> Tuple[int, int]:
    """Return the first two numbers of a version such as ``7.1.RC1``, ``v26.0.1`` or ``master``. Raises InputError."""
    found = _NUMBERS.match(text.strip())
    if found:
        return int(found.group(1)), int(found.group(2))
    if text.strip().lower() == MASTER:
        return (9999, 0)
    raise InputError("clusterd_version: %s is no version of ClusterD" % printable(text), "give it as 7.1.RC1, 7.3.0, 26.0.1 or master")


def _of_pod(pod: Dict[str, Any]) -> Optional[str]:
    spec = pod.get("spec")
    for container in entries(spec, "containers") if isinstance(spec, dict) else ():
        name, colon, tag = str(container.get("image") or "").partition("@")[0].rpartition(":")
        if colon and name.rpartition("/")[2] == "clusterd" and (_NUMBERS.match(tag) or tag == MASTER):
            return tag
    return None


def probe(api: kube.Api) -> Optional[str]:
    """Return the tag of the image of ClusterD, None if its pods are not visible, have different tags, or a tag that is no version."""
    try:
        tags = {_of_pod(pod) for pod in api.items("v1", "pods", NAMESPACE, APP)}
    except HccnError:
        return None
    return tags.pop() if len(tags) == 1 else None
