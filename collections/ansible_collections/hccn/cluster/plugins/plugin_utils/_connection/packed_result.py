# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Keep the large results that roles register in a compressed form.

Ansible keeps each registered result until the end of the run, and forks a worker for each later task of each host. A fork copies the page tables of all that is
kept: 43 ms of CPU for each GiB. What eight NPUs answer takes 0.3 MiB as Python objects, and a few KiB packed. Results beyond MOST_BYTES are not packed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...module_utils._core.compressed import compress, decompress

PACKED = "hccn_packed"
"""The key of the packed values. Hosts must not send it, see _trust.clean_answers."""
VALUES = ("devices", "measurements", "hccn_conf", "network", "tls", "side_effects")
"""Keys of values about each NPU."""
MOST_BYTES = 16 << 20
"""Limit of the values as JSON. The state of 16 NPUs has 200 KiB, a record of a measurement 0.7 KiB."""
REGISTERED = frozenset(("bring_up_probe", "bring_up_devices", "rank_table_npus", "check_fabric_probe", "check_fabric_ports", "check_fabric_ports_after",
                        "check_fabric_result", "check_reachability_probe", "check_reachability_pings"))
"""The names under which roles register what all NPUs of a host answered or measured."""


def to_register(result: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Return a result as it is registered under a name: packed if the name is in REGISTERED."""
    return packed(result) if name in REGISTERED else result


def packed(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with its VALUES as one text, compressed JSON."""
    text = json.dumps({name: result[name] for name in VALUES if name in result}, separators=(",", ":"))
    if len(text) > MOST_BYTES:
        return dict(result)
    rest = {name: value for name, value in result.items() if name not in VALUES}
    return {**rest, PACKED: compress(text)}


def unpacked(result: Any) -> Any:
    """Return the result that ``packed`` packed; return other values unchanged. A text that ``packed`` did not make is left out."""
    if not isinstance(result, Mapping) or PACKED not in result:
        return result
    rest = {name: value for name, value in result.items() if name != PACKED}
    try:
        found = json.loads(decompress(str(result[PACKED]), MOST_BYTES))
        return {**rest, **{name: found[name] for name in VALUES if name in found}}
    except (ValueError, TypeError, RecursionError):
        return rest
