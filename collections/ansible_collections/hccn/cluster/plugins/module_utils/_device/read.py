# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the devices of a host: TLS queries one after the other, all other queries in parallel with one thread for each device.

``-tls -g`` may write: the first query of a device adds ``tls_enable_N`` to hccn.conf, and if the file has no final newline it appends the key to
the last line. Therefore the file is read first, and a query that would damage it is skipped.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._core.numbers import is_count
from .._core.record import record, utc
from .._core.words import printable
from . import conf, conf_file, conf_rules, device_errors
from .hccn_tool import HccnTool
from .host import Host
from .npu_smi import NpuSmi
from .parse_network import UNSET_ADDRESSES, parse_address, parse_gateway, parse_health, parse_link, parse_netdetect
from .parse_npu_smi import Chip
from .parse_port import (parse_counters, parse_link_changes, parse_mac, parse_mtu, parse_neighbour, parse_optical, parse_speed, parse_version,
                         parse_vnic)
from .parse_qos import dscp_ranges, parse_dscp_to_tc, parse_pfc
from .parse_tls import parse_tls

MAX_PARALLEL = 16
"""Maximum number of devices that are read in parallel: the dies of an A3 server."""


class Topic(NamedTuple):
    """A query with its arguments, its parser, and the error code for a setting that is not set."""

    arguments: Tuple[str, ...]
    parse: Callable[[str], Any]
    unset: str = ""


QUERIES: Mapping[str, Topic] = {
    "address": Topic(("-ip", "-g"), parse_address, "address_not_set"),
    "gateway": Topic(("-gateway", "-g"), parse_gateway, "gateway_not_set"),
    "netdetect": Topic(("-netdetect", "-g"), parse_netdetect),
    "link": Topic(("-link", "-g"), parse_link),
    "health": Topic(("-net_health", "-g"), parse_health),
    "lldp": Topic(("-lldp", "-g"), parse_neighbour),
    "optical": Topic(("-optical", "-g"), parse_optical),
    "counters": Topic(("-stat", "-g"), parse_counters),
    "link_changes": Topic(("-link_stat", "-g"), parse_link_changes),
    "mac": Topic(("-mac", "-g"), parse_mac),
    "mtu": Topic(("-mtu", "-g"), parse_mtu),
    "speed": Topic(("-speed", "-g"), parse_speed),
    "vnic": Topic(("-vnic", "-g"), parse_vnic),
    "network_version": Topic(("-version", "-g"), parse_version),
    "dscp_to_tc": Topic(("-dscp_to_tc", "-g"), lambda text: dscp_ranges(parse_dscp_to_tc(text))),
    "pfc": Topic(("-pfc", "-g"), parse_pfc),
}

SMI_KEYS: Mapping[str, Tuple[str, ...]] = {"processes": ("processes",), "versions": ("versions", "serial"), "super_pod": ("super_pod",)}
"""The return keys of each topic that is read by npu-smi instead of hccn_tool."""

SMI_TOPICS = tuple(SMI_KEYS)

DEFAULT_TOPICS = ("address", "gateway", "netdetect", "tls", "link", "health")
TOPICS = DEFAULT_TOPICS + tuple(name for name in QUERIES if name not in DEFAULT_TOPICS) + SMI_TOPICS

NOT_RECORDED = ("id", "errors", "tls", "conf", "serial")
"""Keys of a device that its record does not contain, or not in full, to keep the record small."""

WOULD_WRITE = "would_write"
_TLS_UNKNOWN: Dict[str, Any] = {"enabled": None, "preset_certificate": None, "alarm_days": None, "certificates": []}


def failure_entry(topic: str, error: HccnError) -> Dict[str, Any]:
    """Return an element of ``errors`` of a device."""
    return dict(error.as_dict(), topic=topic)


def _query(tool: HccnTool, device: int, name: str) -> Dict[str, Any]:
    """Return the keys of a topic and ``errors``. After a failure the values are None."""
    topic = QUERIES[name]
    value: Any = None
    errors: List[Dict[str, Any]] = []
    try:
        value = topic.parse(tool.query(device, *topic.arguments).stdout)
    except HccnError as error:
        if not topic.unset or error.code != topic.unset:
            errors.append(failure_entry(name, error))
    if name == "address":
        return {"address": value.address if value else None, "netmask": value.netmask if value else None, "errors": errors}
    return {name: asdict(value) if hasattr(value, "__dataclass_fields__") else value, "errors": errors}


NOT_READY = "timeout"
"""Error code of a device that did not answer. It is then not asked again, since every other query would take as long."""


def not_ready(device: int) -> HccnError:
    """Return the error of what was not read, since the device did not answer the query before."""
    return HccnError(NOT_READY, "not asked, since device %d did not answer the query before" % device,
                     "the device may be not ready (npu-smi info), or another process holds hccn.conf locked (lslocks)")


def not_asked(topic: str, device: int) -> Dict[str, Any]:
    return failure_entry(topic, not_ready(device))


def _unknown(name: str) -> Dict[str, Any]:
    return {"address": None, "netmask": None} if name == "address" else {name: None}


def is_not_ready(errors: Sequence[Mapping[str, Any]]) -> bool:
    return any(error["code"] == NOT_READY for error in errors)


def read_plain(tool: HccnTool, device: int, topics: Sequence[str]) -> Dict[str, Any]:
    """Return all topics of a device that hccn_tool reports, except TLS."""
    found: Dict[str, Any] = {"id": device, "errors": []}
    for name in topics:
        if name not in QUERIES:
            continue
        if is_not_ready(found["errors"]):
            found.update(_unknown(name))
            found["errors"].append(not_asked(name, device))
        else:
            answer = _query(tool, device, name)
            found["errors"] += answer.pop("errors")
            found.update(answer)
    return found


class SmiReader:
    """Reads the topics of npu-smi. The process table takes one call for the whole host."""

    def __init__(self, smi: NpuSmi, host: Host, topics: Sequence[str]) -> None:
        self._smi = smi
        self._chips = {chip.device: chip for chip in host.chips}
        self._topics = [name for name in SMI_TOPICS if name in topics]
        self._table: Any = None
        if "processes" in self._topics:
            try:
                self._table = smi.processes()
            except HccnError as error:
                self._table = error

    def read(self, found: Dict[str, Any]) -> Dict[str, Any]:
        """Return ``found`` of a device with the requested topics added."""
        for name in self._topics:
            chip = self._chips.get(found["id"])
            try:
                if chip is None:
                    raise HccnError("tool_missing", "npu-smi does not show device %d" % found["id"], "install npu-smi, or give its path")
                found.update(getattr(self, "_" + name)(chip))
            except HccnError as error:
                found.update(dict.fromkeys(SMI_KEYS[name]))
                if error.code != "unsupported_on_product":
                    found["errors"].append(failure_entry(name, error))
        return found

    def _processes(self, chip: Chip) -> Dict[str, Any]:
        if isinstance(self._table, HccnError):
            raise self._table
        processes = [one for one in self._table if (one.npu, one.chip) == (chip.npu, chip.chip)]
        return {"processes": [{"pid": one.pid, "name": one.name, "memory_mb": one.memory_mb} for one in processes]}

    def _versions(self, chip: Chip) -> Dict[str, Any]:
        board = self._smi.board(chip)
        return {"versions": {"driver": board.software, "firmware": board.firmware}, "serial": board.serial}

    def _super_pod(self, chip: Chip) -> Dict[str, Any]:
        return {"super_pod": asdict(self._smi.super_pod(chip))}


def lacks_tls_flag(text: str, device: int) -> bool:
    """Return whether hccn.conf lacks the TLS flag of a device, so that a TLS query would write it."""
    return conf.value_of(text, device, "tls_enable") is None


class TlsReader:
    """Makes the TLS queries of a host. ``text`` is hccn.conf before them, None if there is no file that the queries could write."""

    def __init__(self, tool: HccnTool, text: Optional[str], path: str, check_mode: bool) -> None:
        self._tool = tool
        self._text = text
        self._path = path
        self._check_mode = check_mode

    def _skip_reason(self, device: int) -> Optional[str]:
        """Return the reason to skip the query, ``no_final_newline``, ``nul_bytes`` or ``would_write``, or None."""
        if self._text is None or not lacks_tls_flag(self._text, device):
            return None
        return conf.ending_problem(self._text) or (WOULD_WRITE if self._check_mode else None)

    def read(self, device: int, ready: bool = True) -> Dict[str, Any]:
        """Return ``{tls: {...}, errors: [...]}``. If ``tls.enabled`` is None, ``tls.reason`` is the reason. A device that is not ready is not asked."""
        if not ready:
            return {"tls": dict(_TLS_UNKNOWN, reason=NOT_READY), "errors": [not_asked("tls", device)]}
        reason = self._skip_reason(device)
        if reason and reason != WOULD_WRITE:
            error = conf_file.ending_error(self._path, self._text or "", "the TLS query would append tls_enable_%d to its last line" % device)
            return {"tls": dict(_TLS_UNKNOWN, reason=reason), "errors": [failure_entry("tls", error)]}
        if reason:
            return {"tls": dict(_TLS_UNKNOWN, reason=reason), "errors": []}
        try:
            result = self._tool.query(device, "-tls", "-g")
            tls = asdict(parse_tls(result.stdout, result.stderr))
        except HccnError as error:
            return {"tls": dict(_TLS_UNKNOWN, reason=error.code), "errors": [failure_entry("tls", error)]}
        return {"tls": dict(tls, certificates=list(tls["certificates"])), "errors": []}


def read_devices(tool: HccnTool, devices: Sequence[int], topics: Sequence[str], tls: TlsReader, smi: SmiReader) -> List[Dict[str, Any]]:
    """Return a result for each device, in the order of ``devices``: its id, a key for each topic, ``errors``."""
    if not devices:
        return []
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(devices))) as pool:
        found = list(pool.map(lambda device: device_errors.refuse_templates(smi.read(read_plain(tool, device, topics))), devices))
    if "tls" in topics:
        for result in found:
            answer = tls.read(result["id"], not is_not_ready([error for error in result["errors"] if error.get("topic") in QUERIES]))
            result["errors"] += answer["errors"]
            result["tls"] = answer["tls"]
    return found


def side_effects(path: str, before: Optional[str], after: Optional[str]) -> List[Dict[str, Any]]:
    """Return the keys that TLS queries wrote into hccn.conf: those that ``after`` contains and ``before`` does not."""
    known = {setting.full_key for setting in conf.settings(before or "")}
    return [
        {"device": setting.device, "path": path, "key": setting.full_key, "value": setting.value, "cause": "hccn_tool -tls -g"}
        for setting in conf.settings(after or "") if setting.key == "tls_enable" and setting.full_key not in known
    ]


def records(results: Sequence[Mapping[str, Any]], host: Host, started: float, cann: Optional[str] = None) -> List[Dict[str, Any]]:
    """Return records of kind ``device`` for the history, one for each device with values or errors."""
    context = {key: value for key, value in (("product", host.product), ("chip", host.chip), ("cann", cann)) if value is not None}
    kept = []
    for result in results:
        sample = {key: value for key, value in result.items() if key not in NOT_RECORDED}
        if "tls" in result:
            sample["tls"] = result["tls"]["enabled"]
        if not sample and not result["errors"]:
            continue
        source = {"device": result["id"]}
        if result.get("address"):
            source["address"] = result["address"]
        first = result["errors"][0] if result["errors"] else None
        kept.append(record("device", "%s/device/%d" % (utc(started), result["id"]), "failed" if first else "ok", tool={"name": "hccn_tool"},
                           source=source, context=context, samples=[sample], error=first, started_at=utc(started)))
    return kept


TOPIC_OF_KEY = {"address": "address", "netmask": "address", "gateway": "gateway", "netdetect": "netdetect", "mtu": "mtu"}
"""Keys of hccn.conf that are compared with the device, and their topics. ``tls_enable`` is compared as well, but read by TlsReader."""

TOPICS_IN_CONF = frozenset(TOPIC_OF_KEY.values()) | {"tls"}
"""Topics that hccn.conf also contains."""


def values_in_conf(text: Optional[str], devices: Sequence[int]) -> Dict[int, Optional[Dict[str, Any]]]:
    """Return the values of hccn.conf for each of ``devices``, None for every device if there is no ``text``."""
    if text is None:
        return dict.fromkeys(devices)
    found = conf.values_by_device(text)
    return {device: _conf_values(found.get(device, {})) for device in devices}


def _conf_values(settings: Mapping[str, str]) -> Dict[str, Any]:
    values: Dict[str, Any] = {key: printable(settings[key]) for key in TOPIC_OF_KEY if key in settings}
    if values.get("netdetect") in UNSET_ADDRESSES:
        values["netdetect"] = None
    if "mtu" in values and is_count(values["mtu"]):
        values["mtu"] = int(values["mtu"])
    if "tls_enable" in settings:
        values["tls_enabled"] = conf_rules.enabled(settings["tls_enable"])
    return values
