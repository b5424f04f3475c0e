# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Problems of hccn.conf that end when device_network sets what the inventory declares: found by checking the file as it will be then.

Otherwise the file would have to be right before it may be set right: a leftover gateway of another network would fail every run before its keys
are replaced.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.problems import Problem
from . import conf, conf_check
from .network_config import network_of
from .network_items import AUTO_PORT, ITEMS

Identity = Tuple[str, Optional[int], str]


def _values(entry: Mapping[str, Any]) -> Dict[str, str]:
    """The keys of hccn.conf that an entry of ``config`` of device_network sets, by their names without the device."""
    found: Dict[str, str] = {}
    for item in ITEMS:
        for option, key in zip(item.options, item.keys):
            value = entry.get(option)
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                found[key] = AUTO_PORT if key == "roce_port" and value == "auto" else str(value)
    return found


def _loses_gateway(text: str, device: int, values: Mapping[str, str]) -> bool:
    """Will an address that is not yet in the file take away the file's gateway, which lies outside of its network?"""
    old = {key: conf.value_of(text, device, key) for key in ("address", "netmask", "gateway")}
    if old["gateway"] is None or "gateway" in values or not {"address", "netmask"} <= set(values):
        return False
    if (old["address"], old["netmask"]) == (values["address"], values["netmask"]):
        return False  # then there may be nothing to set
    try:
        return ipaddress.ip_address(old["gateway"]) not in network_of(values["address"], values["netmask"])
    except ValueError:
        return True


def foreseen(text: str, config: Sequence[Mapping[str, Any]]) -> str:
    """Return the text as device_network with ``config`` will leave it, as far as conf_check reads it."""
    wishes: Dict[Tuple[int, str], List[str]] = {}
    for entry in config:
        device = entry.get("id")
        if isinstance(device, int) and not isinstance(device, bool):
            values = _values(entry)
            wishes.update({(device, key): [value] for key, value in values.items()})
            if _loses_gateway(text, device, values):
                wishes[(device, "gateway")] = []
    return conf.edit(text, wishes)


def _identity(problem: Problem) -> Identity:
    """Lines move when others go."""
    return problem.rule, problem.device, problem.message


def pending(problems: Sequence[Problem], text: str, config: Sequence[Mapping[str, Any]]) -> List[Problem]:
    """Return those of the ``problems`` of ``text`` that are gone when ``config`` is set."""
    if not problems or not config:
        return []
    left = {_identity(problem) for problem in conf_check.check(foreseen(text, config))}
    return [problem for problem in problems if _identity(problem) not in left]
