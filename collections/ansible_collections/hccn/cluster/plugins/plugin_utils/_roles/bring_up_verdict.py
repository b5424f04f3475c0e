# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The verdict of the role bring_up on one host."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._connection.packed_result import unpacked
from .._findings import reading
from . import tls_rollout


@dataclass(frozen=True)
class Verdict:
    """``bad``: the host has a defect; ``line``: a sentence for the operator."""

    bad: bool
    line: str


NOT_ASKED = ("would_write", "no_final_newline", "nul_bytes", "unsupported_dialect")
"""Reasons of device_info not to query the TLS flag."""


def _tls_text(devices: Sequence[Mapping[str, Any]]) -> str:
    """Return on how many NPUs TLS is on, and for how many this is unknown because the query was not made."""
    flags = [reading.mapping(device.get("tls")) for device in devices]
    skipped = sum(flag.get("enabled") is None and flag.get("reason") in NOT_ASKED for flag in flags)
    if flags and skipped == len(flags):
        return "TLS not asked"
    return f"TLS on {sum(flag.get('enabled') is True for flag in flags)} of them" + (f", not asked on {skipped}" if skipped else "")


def verdict(host: str, probed: Any, differing: Mapping[str, Any], tls: Mapping[str, Any]) -> Verdict:
    """Return the verdict on ``host``.

    ``probed``: the result of device_state; ``differing``: the result of tls_differences, with the hosts whose TLS flags differ from those of most hosts;
    ``tls``: the result of tls_outcome for the host, empty if TLS is not managed.
    """
    answer = reading.mapping(unpacked(probed))
    devices = reading.mappings(answer.get("devices"))
    bad = [device for device in devices if device.get("link") != "up" or device.get("errors")]
    differs = host in differing.get("hosts", ())
    up = sum(device.get("link") == "up" for device in devices)
    line = (f"{host}: {len(devices)} NPUs ({answer.get('product') or 'unknown product'}), {up} links up, {_tls_text(devices)}, "
            f"hccn.conf with {len(reading.mappings(reading.mapping(answer.get('hccn_conf')).get('problems')))} problems")
    if bad:
        line += f", bad: {', '.join(map(str, sorted(set(reading.ids([device.get('id') for device in bad])))))}"
    if differs:
        line += (". The TLS flag differs between the hosts: NPUs with different flags cannot connect (HCCL: EI0016 or EI0006). "
                 f"Enabled on: {', '.join(differing['enabled'])}. Set bring_up_tls_state to enabled or disabled, or run the playbook hccn.cluster.tls.")
    if not tls.get("complete", True):
        line += f". {tls['line']}"
    return Verdict(differs or bool(bad) or bool(tls.get("bad")), line)


def lines(hosts: Iterable[str], variables: Callable[[str], Mapping[str, Any]], differing: Mapping[str, Any], tls_failed: Sequence[str],
          rolls_back: bool) -> list[str]:
    """Return the line of each host that was read.

    ``variables`` returns those of a host; ``differing``: as for verdict; ``tls_failed`` and ``rolls_back``: as for tls_rollout.outcome.
    """
    found = []
    for host in hosts:
        own = variables(host)
        probed = reading.mapping(own.get("bring_up_devices"))
        if reading.mappings(probed.get("devices")):
            managed = reading.mapping(own.get(tls_rollout.PROBED)).get("state") is not None
            tls = dataclasses.asdict(tls_rollout.of_host(host, own, tls_failed, rolls_back)) if managed else {}
            found.append(verdict(host, probed, differing, tls).line)
    return found
