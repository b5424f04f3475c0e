# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The state of the NPUs of a run: TLS, link, health, optics and counters, with unusual values marked."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.words import natural
from .fields import Record, error_of, flag, host_of, mapping, number, samples, text, unique

LISTED = 64
"""Up to this number of NPUs, all are listed; of more, only those with unusual values."""
WATCHED = ("roce_new_pkt_rty_num", "mac_rx_fcs_err_pkt_num", "roce_rx_err_pkt_num", "roce_tx_err_pkt_num", "mac_rx_bad_pkt_num", "mac_tx_bad_pkt_num",
           "roce_out_of_order_num")
"""Counters that should not grow: retransmissions and damaged packets."""
COLUMNS = ("address", "tls", "link", "health", "optics", "counters", "link_downs", "errors")
LOW_LIGHT = 0.5
"""Share of the median over all NPUs below which the received optical power is unusual."""


@dataclass(frozen=True)
class Device:
    """The last state of an NPU. Texts of values that were not read are empty.

    ``counters``: those of WATCHED that are not 0 or that grew during the run, as ``name 7`` or ``name +7``. ``odd``: the columns with unusual values.
    """

    id: str
    address: str
    tls: str
    link: str
    health: str
    optics: str
    counters: list[str]
    link_downs: str
    errors: str
    odd: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceHost:
    """The NPUs of one host."""

    host: str
    product: str
    devices: list[Device]


@dataclass(frozen=True)
class Devices:
    """``hosts``: all NPUs, or the unusual ones if there are more than LISTED; ``hidden`` NPUs are not listed, ``hidden_odd`` of them unusual.

    ``tls``, ``links``, ``health``: the number of NPUs by state, an empty text for unknown ones. ``columns``: those with a value for any listed NPU.
    ``common``: column and value that all NPUs share. ``differing``: columns with different values; ``differ``: the NPUs that are unusual or differ from most
    others in such a column, with their host, unusual ones first, at most LISTED; ``left``: the numbers of unusual and of other NPUs that are not among them.
    """

    count: int
    columns: list[str]
    hosts: list[DeviceHost]
    hidden: int
    hidden_odd: int
    odd: int
    tls: list[tuple[str, int]]
    links: list[tuple[str, int]]
    health: list[tuple[str, int]]
    common: list[tuple[str, str]]
    differing: list[str]
    differ: list[tuple[str, Device]]
    left: tuple[int, int]


def build(records: list[Record]) -> Devices:
    """Return the NPUs of device ``records``, in the order of the history. A value that a later record lacks is taken from an earlier one."""
    first: dict[tuple[str, str], Record] = {}
    last: dict[tuple[str, str], Record] = {}
    merged: dict[tuple[str, str], Record] = {}
    for record in records:
        key = host_of(record), text(mapping(record.get("source")).get("device"))
        seen = (samples(record) or [{}])[0]
        if isinstance(seen.get("counters"), dict):
            first.setdefault(key, seen["counters"])
        last[key] = record
        merged.setdefault(key, {}).update({name: value for name, value in seen.items() if value is not None})
    light = _median_light(merged.values())
    usual = Counter(flag(seen.get("tls")) for seen in merged.values()).most_common(1)
    found = {key: _device(key[1], last[key], merged[key], first.get(key), light, usual[0][0] if usual else "") for key in last}
    odd = {key for key, device in found.items() if device.odd}
    shown = set(found) if len(found) <= LISTED else set(sorted(odd)[:LISTED])
    return Devices(
        count=len(found),
        columns=[name for name in COLUMNS if any(getattr(found[key], name) for key in shown)],
        hosts=[_host(host, {key[1]: found[key] for key in shown if key[0] == host}, last) for host in unique(key[0] for key in shown)],
        hidden=len(found) - len(shown),
        hidden_odd=len(odd - shown),
        odd=len(odd),
        tls=_counted(device.tls for device in found.values()),
        links=_counted(device.link.lower() for device in found.values()),
        health=_counted(device.health.lower() for device in found.values()),
        **_differences(found, odd),
    )


def _differences(found: dict[tuple[str, str], Device], odd: set[tuple[str, str]]) -> dict[str, Any]:
    """Return ``common``, ``differing`` and ``differ``. A column in which hardly any NPUs agree, such as the temperature, tells nothing about one of them."""
    common, differing = [], []
    differ = set(odd)
    for name in (column for column in COLUMNS if column != "address"):
        values = {key: _cell(device, name) for key, device in found.items()}
        usual, count = Counter(values.values()).most_common(1)[0] if values else ("", 0)
        if count == len(values):
            common += [(name, usual)] if usual else []
            continue
        differing.append(name)
        if count > len(values) / 2:
            differ |= {key for key, value in values.items() if value != usual}
    order = sorted(differ, key=lambda key: (key not in odd, natural(key[0]), natural(key[1])))[:LISTED]
    return {"common": common, "differing": differing, "differ": [(key[0], found[key]) for key in order],
            "left": (len(odd.difference(order)), len(found.keys() - odd - set(order)))}


def _cell(device: Device, name: str) -> str:
    value = getattr(device, name)
    return ", ".join(value) if isinstance(value, list) else str(value)


def _counted(values: Iterable[str]) -> list[tuple[str, int]]:
    return Counter(values).most_common()


def _host(host: str, devices: dict[str, Device], last: dict[tuple[str, str], Record]) -> DeviceHost:
    products = unique(filter(None, (text(mapping(last[host, device].get("context")).get("product")) for device in devices)))
    return DeviceHost(host, ", ".join(products), [devices[device] for device in unique(devices)])


def _device(name: str, record: Record, seen: Record, first: Record | None, light: float | None, usual_tls: str) -> Device:
    optical = mapping(seen.get("optical"))
    received = _light(optical)
    counters = _counters(mapping(seen.get("counters")), first)
    downs = number(mapping(seen.get("link_changes")).get("downs"))
    error = error_of(record)["message"]
    tls, link, health = flag(seen.get("tls")), text(seen.get("link")), text(seen.get("health"))
    odd = [key for key, unusual in (
        ("tls", bool(tls) and bool(usual_tls) and tls != usual_tls),
        ("link", link.lower() not in ("", "up")),
        ("health", health.lower() not in ("", "success")),
        ("optics", received is not None and light is not None and received < LOW_LIGHT * light),
        ("counters", bool(counters)),
        ("errors", bool(error)),
    ) if unusual]
    return Device(
        id=name,
        address=text(seen.get("address") or mapping(record.get("source")).get("address")),
        tls=tls, link=link, health=health, optics=_optics(optical, received), counters=counters,
        link_downs="" if downs is None else f"{downs:.0f}", errors=error, odd=tuple(odd),
    )


def _optics(optical: Record, received: float | None) -> str:
    """Return temperature and received power of the weakest lane: ``41 °C, rx 0.81 mW``."""
    temperature = number(optical.get("temperature_c"))
    parts = [f"{temperature:.0f} °C" if temperature is not None else "", f"rx {received:.2f} mW" if received is not None else ""]
    return ", ".join(filter(None, parts)) or ("–" if optical.get("present") is False else "")


def _light(optical: Record) -> float | None:
    lanes = [value for key, value in optical.items() if key.startswith("rx_power") and "thres" not in key]
    return min((found for found in map(number, lanes) if found is not None), default=None)


def _median_light(seen: Iterable[Record]) -> float | None:
    found = [light for light in (_light(mapping(one.get("optical"))) for one in seen) if light is not None]
    return statistics.median(found) if found else None


def _counters(now: Record, first: Record | None) -> list[str]:
    """Return the growth of the counters during the run, or their values if they were read only once."""
    found = []
    for name in WATCHED:
        value, before = number(now.get(name)), number((first or {}).get(name))
        if value is None:
            continue
        if first is not now and before is not None and value > before:
            found.append(f"{name} +{value - before:.0f}")
        elif value:
            found.append(f"{name} {value:.0f}")
    return found
