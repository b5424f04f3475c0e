# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The parts of a result of device_info that rank tables need."""

from __future__ import annotations

from collections import abc
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from .._core.errors import HccnError, InputError
from .._core.words import printable
from . import super_pod

VALUE_SHOWN, TEXT_SHOWN = 60, 400
"""Characters of a host's answer that are shown in a message."""

Result = Union[Mapping[str, Any], HccnError, None]
"""The result of device_info for a host; an error if the result cannot be read; None if there is none."""


class UnusableHost(Exception):
    """The reasons why a host cannot be in the table: a device or None, and a sentence without the name of the host."""

    def __init__(self, *reasons: Tuple[Optional[int], str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


def devices_of(result: Result) -> Sequence[Mapping[str, Any]]:
    """Return the list ``devices`` of a result. Raises UnusableHost if there is none."""
    if result is None:
        raise UnusableHost((None, "no result of device_info: unreachable, or not in that play"))
    if isinstance(result, HccnError):
        raise UnusableHost((None, result.message))
    if not isinstance(result, abc.Mapping):
        raise UnusableHost((None, "the result does not have the format of device_info"))
    if result.get("unreachable"):
        raise UnusableHost((None, "unreachable"))
    if result.get("skipped"):
        raise UnusableHost((None, "device_info was skipped"))
    devices = result.get("devices")
    if not isinstance(devices, (list, tuple)):
        failed = "device_info failed: %s" % printable(result.get("msg", "no reason given"), TEXT_SHOWN)
        raise UnusableHost((None, failed if result.get("failed") else "the result has no devices"))
    if not devices:
        raise UnusableHost((None, "has no devices"))
    return devices


def is_mapping(value: Any) -> bool:
    """Return True for a mapping. ``dict`` is checked first, since this is called for every device of a cluster."""
    return value.__class__ is dict or isinstance(value, abc.Mapping)


def by_id(devices: Sequence[Mapping[str, Any]], key: str = "id") -> Dict[int, Mapping[str, Any]]:
    """Return the devices by id. Raises UnusableHost for a device without an id or with a duplicate id."""
    found: Dict[int, Mapping[str, Any]] = {}
    for device in devices:
        number = device.get(key) if is_mapping(device) else None
        try:
            place = int(number)  # type: ignore[arg-type]
        except (OverflowError, TypeError, ValueError):
            raise UnusableHost((None, "a device has no %s: %s" % (key, printable(repr(number), VALUE_SHOWN)))) from None
        if place in found:
            raise UnusableHost((place, "device %d appears twice" % place))
        found[place] = device
    return found


def devices_by_id(result: Result) -> Dict[int, Mapping[str, Any]]:
    """Return the devices of a result by id. Raises InputError with the reason if there are none."""
    try:
        return by_id(devices_of(result))
    except UnusableHost as error:
        raise InputError(error.reasons[0][1]) from None


def super_pod_of(device: Mapping[str, Any]) -> Optional[Mapping[str, Any]]:
    """Return the topic ``super_pod`` of a device; None if the device is not in a super pod, or the topic was not gathered."""
    pod = device.get("super_pod")
    return pod if pod is not None and is_mapping(pod) and pod.get("server_index") != super_pod.ALONE else None


def vnic_address(device: Mapping[str, Any]) -> Optional[str]:
    """Return the address of the virtual NIC from the topic ``vnic``, else from the position in the super pod; None outside a super pod."""
    vnic, pod = device.get("vnic"), super_pod_of(device)
    if isinstance(vnic, abc.Mapping) and vnic.get("address"):
        return str(vnic["address"])
    return super_pod.vnic_of(int(pod["server_index"]), int(device["id"])) if pod else None


def message_of(error: Any) -> str:
    return printable(error.get("message", error) if isinstance(error, abc.Mapping) else error, TEXT_SHOWN)


def topic_of(error: Any) -> str:
    """Return the topic of an error. Errors without a topic count as errors of the address."""
    return str(error.get("topic", "address")) if isinstance(error, abc.Mapping) else "address"
