# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parsers of the queries about the port of a device: speed, MAC, MTU, counters, link changes, neighbour, optical module, vNIC.

Labels differ between versions: "[devid N]" or "[device N]", and older tools have no "link down count" (source: hicann/driver, manuals, logs).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Tuple, Union

from .._core.errors import ParseError
from .._core.numbers import count_of
from .._core.words import beginning
from .parse_network import search

_SPEED = re.compile(r"^Speed:\s*(?:(\d+)\s*Mb/s|Unknown!)\s*$", re.MULTILINE)


def parse_speed(text: str) -> Optional[int]:
    """Parse ``-speed -g``, and return Mbit/s, None if the tool does not know the speed."""
    found = search(_SPEED, text, "-speed -g").group(1)
    return count_of(found) if found else None


_NETWORK_VERSION = re.compile(r"^Network (Driver|Firmware) Version:\s*(\S+)\s*$", re.MULTILINE)


def parse_version(text: str) -> Dict[str, str]:
    """Parse ``-version -g``, and return the versions ``driver`` and ``firmware`` of the network of a device."""
    search(_NETWORK_VERSION, text, "-version -g")
    return {name.lower(): value for name, value in _NETWORK_VERSION.findall(text)}


_MAC = re.compile(r"^mac addr:\s*((?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})\s*$", re.MULTILINE)


def parse_mac(text: str) -> str:
    """Parse ``-mac -g``, and return the address in lower case."""
    return search(_MAC, text, "-mac -g").group(1).lower()


_MTU = re.compile(r"^mtu:\s*(\d+)\s*$", re.MULTILINE)


def parse_mtu(text: str) -> int:
    """Parse ``-mtu -g``, and return bytes."""
    return count_of(search(_MTU, text, "-mtu -g").group(1))


@dataclass(frozen=True)
class Vnic:
    """The port in the inner network of an A3 super pod. ``link`` is up or down."""

    link: str
    address: str
    netmask: str


_VNIC = re.compile(r"^vnic link status:\s*(UP|DOWN)\s*^vnic ipaddr:\s*(\S+)\s*^vnic netmask:\s*(\S+)", re.MULTILINE)


def parse_vnic(text: str) -> Vnic:
    """Parse ``-vnic -g``."""
    found = search(_VNIC, text, "-vnic -g")
    return Vnic(found.group(1).lower(), found.group(2), found.group(3))


_COUNTER = re.compile(r"^(\w+):\s*(\d+)\s*$", re.MULTILINE)


def parse_counters(text: str) -> Dict[str, int]:
    """Parse ``-stat -g``, and return the counters by the names that the tool prints. They are cleared by ``-stat -c`` or a reset."""
    search(re.compile(r"^packet statistics:", re.MULTILINE), text, "-stat -g")
    return {name: count_of(value) for name, value in _COUNTER.findall(text)}


@dataclass(frozen=True)
class LinkChanges:
    """The link changes of a port. ``records``: (time as printed, up or down), newest first. ``downs`` is None for tools that do not count them."""

    ups: int
    downs: Optional[int]
    records: Tuple[Tuple[str, str], ...]


_UPS = re.compile(r"^\[dev(?:id|ice) \d+\]link up count\s*:\s*(\d+)", re.MULTILINE)
_DOWNS = re.compile(r"^\[dev(?:id|ice) \d+\]link down count\s*:\s*(\d+)", re.MULTILINE)
_CHANGE = re.compile(r"^\[dev(?:id|ice) \d+\]\s+(\S.*?\d{4})\s+LINK (UP|DOWN)\s*$", re.MULTILINE)


def parse_link_changes(text: str) -> LinkChanges:
    """Parse ``-link_stat -g``."""
    ups, downs = search(_UPS, text, "-link_stat -g"), _DOWNS.search(text)
    records = tuple((moment, state.lower()) for moment, state in _CHANGE.findall(text))
    return LinkChanges(count_of(ups.group(1)), count_of(downs.group(1)) if downs else None, records)


@dataclass(frozen=True)
class Neighbour:
    """The LLDP neighbour of a port. Parts that it does not send are None. All texts come from the neighbour and are not trusted."""

    system_name: Optional[str]
    port: Optional[str]
    chassis: Optional[str]
    management_address: Optional[str]
    system_description: Optional[str]


_TLV = re.compile(r"^(\S.*?) TLV\s*$", re.MULTILINE)


def _tlvs(text: str) -> Dict[str, str]:
    headings = list(_TLV.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {heading.group(1): text[heading.end():end].strip() for heading, end in zip(headings, ends)}


def _value(tlv: Optional[str]) -> Optional[str]:
    """Return the first line without its label, such as ``Ifname: `` or ``MAC: ``."""
    return re.sub(r"^(?:Ifname|MAC|IPv4|IPv6|Local|Interface name):\s*", "", tlv.splitlines()[0].strip()) if tlv else None


def parse_neighbour(text: str) -> Optional[Neighbour]:
    """Parse ``-lldp -g``, which prints nothing without a neighbour: the result is then None."""
    if not text.strip():
        return None
    tlvs = _tlvs(text)
    if not tlvs:
        raise ParseError("-lldp -g printed no TLV: %r" % beginning(text.strip(), 120))
    description = tlvs.get("System Description")
    return Neighbour(_value(tlvs.get("System Name")), _value(tlvs.get("Port ID")), _value(tlvs.get("Chassis ID")),
                     _value(tlvs.get("Management Address")), " ".join(description.split()) if description else None)


Reading = Union[float, str, None]

_OPTICAL = re.compile(r"^([^:\n]+?)\s*:[ \t]*(.*?)\s*$", re.MULTILINE)
_QUANTITY = re.compile(r"^(-?\d+(?:\.\d+)?)\s*(mW|mA|mV|C|dB|nm)$")
_UNITS: Mapping[str, str] = {"mW": "mw", "mA": "ma", "mV": "mv", "C": "c", "dB": "db", "nm": "nm"}
_UNIT_OF_KEY = (
    (re.compile(r"[tr]x_?power(\d+|_(high|low)_thres)"), "mw"), (re.compile(r"tx_bias\d+"), "ma"), (re.compile(r"vcc(_(high|low)_thres)?"), "mv"),
    (re.compile(r"temperature|temp_(high|low)_thres"), "c"), (re.compile(r"(host|media)_snr_lane\d+"), "db"), (re.compile(r"xsfp_wave_length"), "nm"),
)
"""The units of quantities, for those that the module does not report."""


def parse_optical(text: str) -> Dict[str, Reading]:
    """Parse ``-optical -g``. Keys are in snake_case with their unit (``tx_power0_mw``), and numbers are floats.

    The values ``NA``, ``not supported`` and ``get failed`` are None. ``present`` is True or False.
    """
    search(re.compile(r"^optical info:", re.MULTILINE), text, "-optical -g")
    found: Dict[str, Reading] = {}
    for label, value in _OPTICAL.findall(text):
        key = re.sub(r"\W+", "_", label.strip().lower())
        quantity = _QUANTITY.match(value)
        if key == "optical_info":
            continue
        if key == "present":
            found[key] = value == "present"
        elif quantity is not None:
            found["%s_%s" % (key, _UNITS[quantity.group(2)])] = float(quantity.group(1))
        elif value in ("NA", "not supported", "get failed", ""):
            unit = next((unit for pattern, unit in _UNIT_OF_KEY if pattern.fullmatch(key)), None)
            found["%s_%s" % (key, unit) if unit else key] = None
        else:
            found[key] = value
    return found
