# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Make the result of device_info that a host as declared in the inventory would return, to check addresses and rank tables without the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import super_pod

DEVICES = {"910A": 8, "A2": 8, "A3": 16, "950": 8}
"""NPUs of a server by product; dies on A3."""
SUPER_POD_SIZE = 384


def declared_device_info(config: Sequence[Mapping[str, Any]], product: str, devices: int | None = None, server_index: int | None = None,
                         super_pod_id: int = 0, super_pod_size: int = SUPER_POD_SIZE) -> dict[str, Any]:
    """Return a result of device_info with the addresses of ``config``. Raises InputError for values that no host of the product has."""
    if product not in DEVICES:
        raise InputError(f"product is {product!r}, it must be one of {', '.join(DEVICES)}")
    count = DEVICES[product] if devices is None else devices
    if not 1 <= count <= DEVICES[product]:
        raise InputError(f"devices is {count}, a host of {product} has 1 to {DEVICES[product]}")
    if server_index is not None and product != "A3":
        raise InputError(f"server_index is for A3 super pods, the product is {product}")
    if server_index is not None and not 0 <= server_index <= super_pod.MAX_SERVER_INDEX:
        raise InputError(f"server_index is {server_index}, it must be from 0 to {super_pod.MAX_SERVER_INDEX}")
    declared = {int(entry["id"]): entry for entry in config}
    pod = None if server_index is None else {"super_pod_size": super_pod_size, "super_pod_id": super_pod_id, "server_index": server_index}
    return {"product": product, "devices": [_device(number, declared.get(number, {}), pod) for number in range(count)]}


def _device(number: int, declared: Mapping[str, Any], pod: Mapping[str, Any] | None) -> dict[str, Any]:
    device: dict[str, Any] = {"id": number, "address": declared.get("address"), "netmask": declared.get("netmask"), "errors": []}
    if pod is not None:
        device["super_pod"] = {"sdid": super_pod.sdid_of(int(pod["server_index"]), number), **pod}
    return device
