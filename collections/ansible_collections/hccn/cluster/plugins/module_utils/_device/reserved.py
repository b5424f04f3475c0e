# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The addresses that the NPUs of a product use internally, and that ``hccn_tool`` therefore refuses."""

from __future__ import annotations

import ipaddress
from typing import Optional, Sequence, Tuple

# Networks of the virtual ports of the NPUs (hicann/driver, src/custom/network/hccn/ascend910B).
RESERVED_A2 = ("192.168.1.0/24", "192.168.2.0/24")
RESERVED_A3_IN_SUPER_POD = ("192.0.0.0/8",)
RESERVED_A3_ALONE = ("192.168.0.0/21",)

SERVERS = 48
"""Maximum number of servers of a super pod. A server outside of one has a higher index, for instance 1023 (same source)."""


def is_in_super_pod(server_index: int) -> bool:
    return server_index < SERVERS


def reserved_networks(product: Optional[str], super_pod: Optional[bool]) -> Tuple[Sequence[str], Sequence[str]]:
    """Return the reserved networks, and networks that may be reserved."""
    if product == "A2":
        return RESERVED_A2, ()
    if product != "A3":
        return (), ()
    if super_pod is None:
        return RESERVED_A3_ALONE, RESERVED_A3_IN_SUPER_POD
    return (RESERVED_A3_IN_SUPER_POD if super_pod else RESERVED_A3_ALONE), ()


def network_containing(address: str, networks: Sequence[str]) -> Optional[str]:
    """Return the first of the networks that contains an IPv4 address."""
    own = ipaddress.IPv4Address(address)
    return next((text for text in networks if own in ipaddress.IPv4Network(text)), None)
