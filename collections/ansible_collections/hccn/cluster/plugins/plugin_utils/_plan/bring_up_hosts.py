# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The hosts whose addresses bring_up plans together. A malformed answer of a host does not affect the addresses of other hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._device.host import MAX_DEVICE_ID
from ...module_utils._device.subnets import PRODUCTS

Variables = Callable[[str], Mapping[str, Any]]
"""The variables of a host."""


def hosts_for_address_plan(hosts: Iterable[str], variables: Variables, register_name: str, network: Any, config: Any, subnets: Any) -> list[dict[str, Any]]:
    """Return the hosts as address_plan takes them. ``network``, ``config`` and ``subnets`` are for hosts without variables of their own (``bring_up_*``).

    A host that was not probed, or whose answer is not a list of NPUs, has no devices for which an address could be planned.
    """
    found = []
    for host in hosts:
        own = variables(host)
        probed = _probed(own.get(register_name))
        written = [*(own.get("bring_up_network", network) or []), *(own.get("bring_up_config", config) or [])]
        if probed or written:
            found.append({"host": host, "config": written, "subnets": own.get("bring_up_subnets", subnets), **probed})
    return found


def _probed(answer: Any) -> dict[str, Any]:
    devices = answer.get("devices") if isinstance(answer, Mapping) else None
    if not isinstance(devices, (list, tuple)):
        return {}
    ids = [device.get("id") if isinstance(device, Mapping) else None for device in devices]
    if not all(isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MAX_DEVICE_ID for number in ids) or len(set(ids)) < len(ids):
        return {}
    product = answer.get("product")
    return {"devices": [_place(device) for device in devices], **({"product": product} if product in PRODUCTS else {})}


def _place(device: Mapping[str, Any]) -> dict[str, Any]:
    """Return the id, and the super pod if it was read."""
    pod, errors = device.get("super_pod"), device.get("errors")
    failed = any(isinstance(error, Mapping) and error.get("topic") == "super_pod" for error in errors) if isinstance(errors, (list, tuple)) else bool(errors)
    read = "super_pod" in device and not failed and (pod is None or (isinstance(pod, Mapping) and isinstance(pod.get("server_index"), int)))
    return {"id": device["id"], **({"super_pod": pod} if read else {})}
