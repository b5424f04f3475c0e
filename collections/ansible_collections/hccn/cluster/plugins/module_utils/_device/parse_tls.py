# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parser of ``-tls -g``.

The line with the TLS flag comes first. Older tools do not print "tls preconfigured[..]". Certificate blocks follow. The status line of an expired
certificate is printed on stderr and all other lines on stdout, so its block has no status (source: hicann/driver tool_tls.c).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from .._core.errors import ParseError
from .._core.numbers import count_of

EXPIRATIONS = ("normal", "near_expiration", "expired")


@dataclass(frozen=True)
class Certificate:
    """A certificate. ``name`` is printed as ``pub cert``, ``ca1 cert`` or ``crl``. Fields that the tool does not print are None."""

    name: str
    subject: Optional[str]
    issuer: Optional[str]
    start_time: Optional[str]
    end_time: Optional[str]
    expiration: str


@dataclass(frozen=True)
class Tls:
    """The TLS flag and the certificates. ``preset_certificate`` is None for tools that do not report it, ``alarm_days`` is the warning time before expiry."""

    enabled: bool
    preset_certificate: Optional[bool]
    alarm_days: Optional[int]
    certificates: Tuple[Certificate, ...]


_FLAG = re.compile(r"tls switch\[(\d)\]")
_PRESET = re.compile(r"tls preconfigured\[(\d)\]")
_ALARM = re.compile(r"tls alarm time threshold\[(\d+)\]")
_BLOCK = re.compile(r"^dev_id:\d+,\s*\[([^\]]+)\]\s*info:", re.MULTILINE)
_FIELD = re.compile(r"^\s*(subject|issuer|start_time|end_time)\[(.*)\]\s*$", re.MULTILINE)
_STATUS = re.compile(r"tls expiration status\[(\d)\]")


def _certificate(name: str, block: str, expired_elsewhere: bool) -> Certificate:
    fields: Dict[str, str] = dict(_FIELD.findall(block))
    status = _STATUS.search(block)
    if status is not None:
        expiration = EXPIRATIONS[count_of(status.group(1))] if count_of(status.group(1)) < len(EXPIRATIONS) else "unknown"
    else:
        expiration = "expired" if expired_elsewhere else "unknown"
    return Certificate(name, fields.get("subject"), fields.get("issuer"), fields.get("start_time"), fields.get("end_time"), expiration)


def parse_tls(stdout: str, stderr: str = "") -> Tls:
    """Parse both streams of ``-tls -g``. Raises ParseError if the TLS flag is missing."""
    flag = _FLAG.search(stdout)
    if flag is None:
        raise ParseError("-tls -g did not report the TLS flag")
    expired = [number for number in _STATUS.findall(stderr) if number == "2"]
    headings = list(_BLOCK.finditer(stdout))
    certificates: List[Certificate] = []
    for index, heading in enumerate(headings):
        end = headings[index + 1].start() if index + 1 < len(headings) else len(stdout)
        certificates.append(_certificate(heading.group(1), stdout[heading.end():end], bool(expired)))
    preset, alarm = _PRESET.search(stdout), _ALARM.search(stdout)
    return Tls(
        flag.group(1) == "1", preset.group(1) == "1" if preset else None, count_of(alarm.group(1)) if alarm else None, tuple(certificates),
    )
