# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings of the role tls, which sets TLS on all hosts or on none. Its tasks do not fail, so the findings come from registered results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...module_utils._core.words import some
from . import reading
from .finding import Finding, finding, of_host
from .stages import THE_CLUSTER

STAGE = "tls"


def of_tls(hosts: Sequence[str], registered: Callable[[str, str], Any]) -> list[Finding]:
    """Return the findings of the hosts on which TLS could not be set, and of those that are therefore not as declared."""
    failed = next((names for host in hosts for names in [reading.texts(registered(host, "tls_failed_hosts"))] if names), [])
    if not failed:
        return []
    results = {host: {name: reading.mapping(registered(host, name)) for name in ("tls_dry_run", "tls_devices", "tls_put_back")} for host in hosts}
    found = [_on(host, message) for host, result in results.items() for message in _messages(result)]
    others = [host for host, result in results.items() if host not in failed and _is_not_as_declared(result)]
    if others:
        found.append(finding("tls_not_set", THE_CLUSTER, f"TLS was left or put back as it was on {some(others)}, since it could not be set on {some(failed)}",
                             stage=STAGE))
    return found


def _on(host: str, message: str) -> Finding:
    return finding("tls_not_set", of_host(host), message, [host], stage=STAGE)


def _messages(result: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return why TLS could not be set or put back. A lost host has a finding of its own."""
    of_set = "" if reading.is_true(result["tls_devices"].get("unreachable")) else reading.text(result["tls_devices"].get("msg"))
    of_put_back = [text for one in reading.mappings(result["tls_put_back"].get("results")) for text in [reading.text(one.get("msg"))] if text]
    return ([f"TLS could not be set: {of_set}"] if of_set else []) + [f"TLS could not be put back as it was: {text}" for text in of_put_back]


def _is_not_as_declared(result: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return True if a host needed a change that was not made or was put back."""
    was_left = reading.is_true(result["tls_devices"].get("skipped"))
    was_put_back = bool(result["tls_put_back"]) and not reading.is_true(result["tls_put_back"].get("skipped"))
    source = result["tls_dry_run"] if was_left else result["tls_devices"] if was_put_back else {}
    return any(reading.is_true(device.get("changed")) for device in reading.mappings(source.get("devices")))
