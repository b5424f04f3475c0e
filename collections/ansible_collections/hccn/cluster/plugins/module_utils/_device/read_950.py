# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the NPUs of a 950 host, whose hccn_tool supports some of the topics, most of them for each port.

Queries whose output is not shown in the manual are not made (see ``UNREAD``). Not verified on hardware.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from .._core.errors import HccnError
from .hccn_tool import HccnTool
from .parse_950 import DevicePort, LinkChanges950, PortInfo, Speed, parse_counters, parse_device_ports, parse_link_changes, parse_port_info, parse_speed, \
    parse_ub_connect
from .read import MAX_PARALLEL, QUERIES, SmiReader, failure_entry


def _speed(found: Sequence[Speed]) -> Dict[str, Any]:
    if not found:
        return {}
    rate = found[0].gbit_s
    return {"mbit_s": None if rate is None else rate * 1000, "lanes": found[0].width, "lanes_capable": found[0].capability, "status": found[0].status}


def _changes(found: LinkChanges950) -> Dict[str, Any]:
    return {"ups": found.ups, "downs": found.downs, "records": [[when, state] for _port, when, state in found.records]}


def _layers(found: PortInfo) -> Dict[str, Any]:
    return {"link": dict(found.link), "physical": dict(found.physical)}


BY_PORT: Mapping[str, Tuple[str, Callable[[str], Any]]] = {
    "health": ("-port_info", lambda text: _layers(parse_port_info(text))),
    "counters": ("-stat", parse_counters),
    "link_changes": ("-link_stat", lambda text: _changes(parse_link_changes(text))),
    "speed": ("-speed", lambda text: _speed(parse_speed(text))),
}
"""Topics that are queried for each port, with command and parser."""

UNREAD = tuple(name for name in tuple(QUERIES) + ("tls",) if name != "link" and name not in BY_PORT)
"""Topics that are not queried with this dialect."""


def _port(tool: HccnTool, device: int, port: DevicePort, topics: Sequence[str], errors: List[Dict[str, Any]]) -> Dict[str, Any]:
    found: Dict[str, Any] = {"udie": port.udie, "port": port.port, "link": port.link, "type": port.kind, "media": port.media}
    for name in topics:
        command, reader = BY_PORT[name]
        try:
            found[name] = reader(tool.query(device, "-g", command, "-u", "%d" % port.udie, "-p", "%d" % port.port).stdout)
        except HccnError as error:
            found[name] = None
            errors.append(dict(failure_entry(name, error), udie=port.udie, port=port.port))
    return found


def _ports(tool: HccnTool, device: int, topics: Sequence[str], errors: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    wanted = [name for name in BY_PORT if name in topics]
    try:
        ports = parse_device_ports(tool.query(device, "-g", "-dev_info").stdout)
    except HccnError as error:
        errors.extend(failure_entry(name, error) for name in wanted)
        return []
    return [_port(tool, device, port, wanted, errors) for port in ports]


def _link(tool: HccnTool, found: Dict[str, Any]) -> None:
    """Add the link states of ``-ub_connect``, the only query that reports ``partial``.

    Its ports have no die number. If two dies have a port of the same number, the states of ``-dev_info`` are kept.
    """
    try:
        connect = parse_ub_connect(tool.query(found["id"], "-g", "-ub_connect").stdout)
    except HccnError as error:
        found["link"] = None
        found["errors"].append(failure_entry("link", error))
        return
    found["link"] = connect.link
    numbers = [port["port"] for port in found["ports"]]
    for port in found["ports"]:
        if numbers.count(port["port"]) == 1:
            port["link"] = connect.ports.get(port["port"], port["link"])
    found["ports"] += [{"port": number, "link": link} for number, link in connect.ports.items() if number not in numbers]


def read_npu(tool: HccnTool, device: int, topics: Sequence[str]) -> Dict[str, Any]:
    """Return all topics of an NPU that hccn_tool reports. Topics that are not queried are None and listed in ``unread``."""
    found: Dict[str, Any] = {"id": device, "ports": [], "errors": [], "unread": [name for name in UNREAD if name in topics]}
    found.update((name, None) for name in found["unread"] if name != "tls")
    if "address" in found:
        found["netmask"] = None
    if "tls" in topics:
        found["tls"] = {"enabled": None, "preset_certificate": None, "alarm_days": None, "certificates": [], "reason": "unsupported_dialect"}
    if any(name in topics for name in BY_PORT):
        found["ports"] = _ports(tool, device, topics, found["errors"])
    if "link" in topics:
        _link(tool, found)
    return found


def read_devices(tool: HccnTool, devices: Sequence[int], topics: Sequence[str], smi: SmiReader) -> List[Dict[str, Any]]:
    """Read the NPUs in parallel, and return a result for each, in the order of ``devices``."""
    if not devices:
        return []
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(devices))) as pool:
        return list(pool.map(lambda device: smi.read(read_npu(tool, device, topics)), devices))
