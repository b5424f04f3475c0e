# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What hccn.conf says of each NPU, in the terms of what is read from the NPUs, so that both can be compared."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

from .._core.numbers import is_count
from .._core.words import printable
from . import conf
from .parse_network import UNSET_ADDRESSES

TOPICS = {"address": "address", "netmask": "address", "gateway": "gateway", "netdetect": "netdetect", "mtu": "mtu"}
"""Keys of hccn.conf that a device is compared with, and the topic that reads each from the device; ``tls_enable`` is the sixth."""

CONCERNED = frozenset(TOPICS.values()) | {"tls"}
"""Topics of which hccn.conf says something."""


def described(text: Optional[str], devices: Sequence[int]) -> Dict[int, Optional[Dict[str, Any]]]:
    """Return what the file says of each of ``devices``, with the keys that it has for them; None for every device where there is no ``text``."""
    if text is None:
        return dict.fromkeys(devices)
    found = conf.values_by_device(text)
    return {device: _values(found.get(device, {})) for device in devices}


def _values(own: Mapping[str, str]) -> Dict[str, Any]:
    values: Dict[str, Any] = {key: printable(own[key]) for key in TOPICS if key in own}
    if values.get("netdetect") in UNSET_ADDRESSES:
        values["netdetect"] = None
    if "mtu" in values and is_count(values["mtu"]):
        values["mtu"] = int(values["mtu"])
    if "tls_enable" in own:
        values["tls_enabled"] = {"0": False, "1": True}.get(own["tls_enable"])
    return values
