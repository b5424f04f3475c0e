# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_ping: send pings from the NPUs of a host, from different NPUs in parallel and from one NPU one after the other."""

from __future__ import annotations

import ipaddress
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError, InputError
from .._core.record import record, utc
from .._core.words import npus, some
from . import device_session
from .device_errors import failed, group_by_text
from .hccn_tool import HccnTool, ping_result
from .host import Host, unknown_devices
from .parse_network import HccsPing, Ping, parse_hccs_ping, parse_ping
from .read import MAX_PARALLEL

# Limits: the help texts of hccn_tool (hicann/driver, cmd.c and tool_cmd.c).
SIZES = {"ping": (0, 65507), "hccs_ping": (1792, 3000)}
COUNTS = (1, 1000)
"""Minimum and maximum of hccs_ping. A plain ping always sends 3 packets."""

METHODS = tuple(SIZES)

LEAST_RATE, MOST_RATE = 0.1, 1000.0


class Target(NamedTuple):
    """An address to ping. ``host`` and ``target_device``: whose it is, for the record."""

    device: int
    address: str
    host: Optional[str] = None
    target_device: Optional[int] = None


class Pace:
    """Limits how many pings start per second. ``clock`` and ``sleep`` are replaced by tests."""

    def __init__(self, rate_per_s: Optional[float], clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._pause_s = 1.0 / rate_per_s if rate_per_s else 0.0
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Wait until the next ping may start. Callers of several threads start one after the other."""
        if not self._pause_s:
            return
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._pause_s
        self._sleep(max(0.0, start - now))


def _address_fault(address: str, method: str) -> Optional[str]:
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        return "%r is not an IP address" % address
    return "%s is an IPv6 address, hccs_ping takes the IPv4 address of a vNIC" % address if version == 6 and method == "hccs_ping" else None


def _faults(params: Mapping[str, Any], present: Sequence[int]) -> Iterator[str]:
    method, size, count = params["method"], params["size"], params["count"]
    low, high = SIZES[method]
    if size is not None and not low <= size <= high:
        yield "size: %d is outside the %d to %d bytes of %s" % (size, low, high, method)
    if count is not None and method == "ping":
        yield "count: a ping always sends 3 packets, a count needs method: hccs_ping"
    elif count is not None and not COUNTS[0] <= count <= COUNTS[1]:
        yield "count: %d is outside %d to %d" % ((count,) + COUNTS)
    if params.get("rate") is not None and not LEAST_RATE <= params["rate"] <= MOST_RATE:
        yield "rate: %g is outside %g to %g pings per second" % (params["rate"], LEAST_RATE, MOST_RATE)
    yield from unknown_devices("targets[%s].device", [target["device"] for target in params["targets"]], present)
    seen: Dict[Tuple[int, str], int] = {}
    for index, target in enumerate(params["targets"]):
        fault = _address_fault(target["address"], method)
        if fault:
            yield "targets[%d].address: %s" % (index, fault)
        first = seen.setdefault((target["device"], target["address"]), index)
        if first != index:
            yield "targets[%d] is the same as targets[%d]" % (index, first)


def targets_of(params: Mapping[str, Any], host: Host, devices: Sequence[int]) -> List[Target]:
    """Return the targets of ``devices``. Raises InputError that lists all faults."""
    messages = list(_faults(params, host.devices))
    if messages:
        raise InputError("; ".join(messages))
    return [Target(target["device"], target["address"], target.get("host"), target.get("target_device"))
            for target in params["targets"] if target["device"] in devices]


def arguments(target: Target, method: str, size: Optional[int], count: Optional[int]) -> Tuple[str, ...]:
    """Return the arguments of hccn_tool after the device."""
    command: Tuple[str, ...] = ("-%s" % method, "-g", "address", target.address)
    if ":" in target.address:
        command = ("-ping", "-inet6", "-g", "ipv6_address", target.address)
    return command + (("pkt", "%d" % size) if size is not None else ()) + (("cnt", "%d" % count) if count is not None else ())


def _plain_sample(ping: Ping) -> Dict[str, Any]:
    micro = [milliseconds * 1000 for milliseconds in ping.times_ms]
    sample = _packets(ping.sent, ping.received)
    if micro:
        sample["latency_us"] = {"min": round(min(micro), 3), "avg": round(sum(micro) / len(micro), 3), "max": round(max(micro), 3)}
    return sample


def _hccs_sample(ping: HccsPing) -> Dict[str, Any]:
    sample = _packets(ping.sent, ping.received)
    if ping.received:
        sample["latency_us"] = {"min": ping.min_us, "avg": ping.average_us, "max": ping.max_us, "p95": ping.p95_us}
    if ping.plane_faults:
        sample["plane_faults"] = ping.plane_faults
    return sample


def _packets(sent: int, received: int) -> Dict[str, Any]:
    return {"sent": sent, "received": received, "loss_percent": round(100.0 * (sent - received) / sent, 2) if sent else 0.0}


def _loss_error(ping: Any) -> Optional[Dict[str, Any]]:
    if not ping.lost and ping.sent:
        return None
    reasons = sorted(set(ping.reasons))
    message = "%d of %d packets lost%s" % (ping.lost, ping.sent, ": " + ", ".join(reasons) if reasons else "")
    return HccnError("packets_lost", message, "check link, route, gateway and switch between the two ports").as_dict()


class Pinger:
    """Sends the pings of a module call. ``name`` is part of the ids of its records."""

    def __init__(self, tool: HccnTool, host: Host, params: Mapping[str, Any], name: str) -> None:
        self._tool = tool
        self._method = params["method"]
        self._size = params["size"]
        self._count = params["count"]
        self._context = {"product": host.product} if host.product else None
        self._name = name
        self._pace = Pace(params.get("rate"))

    def command(self, target: Target) -> List[str]:
        return list(self._tool.argv(target.device, *arguments(target, self._method, self._size, self._count)))

    def measure(self, targets: Sequence[Target], refused: Mapping[int, Mapping[str, Any]]) -> List[Dict[str, Any]]:
        """Return a record for each target, in the order given. ``refused``: the error of each busy device."""
        by_device: Dict[int, List[int]] = {}
        for index, target in enumerate(targets):
            by_device.setdefault(target.device, []).append(index)
        found: Dict[int, Dict[str, Any]] = {}
        if by_device:
            with ThreadPoolExecutor(min(MAX_PARALLEL, len(by_device))) as pool:
                for part in pool.map(lambda indices: [(index, self._ping(targets[index], refused)) for index in indices], by_device.values()):
                    found.update(part)
        return [found[index] for index in range(len(targets))]

    def _ping(self, target: Target, refused: Mapping[int, Mapping[str, Any]]) -> Dict[str, Any]:
        if target.device in refused:
            return self._record(target, "not_run", error=refused[target.device])
        self._pace.wait()
        started, clock = time.time(), time.monotonic()
        samples: Optional[List[Dict[str, Any]]] = None
        error: Optional[Dict[str, Any]] = None
        try:
            result = self._tool.run(target.device, *arguments(target, self._method, self._size, self._count))
            ping = ping_result(result, parse_hccs_ping if self._method == "hccs_ping" else parse_ping)
            samples, error = [_hccs_sample(ping) if isinstance(ping, HccsPing) else _plain_sample(ping)], _loss_error(ping)
        except HccnError as caught:
            error = caught.as_dict()
        return self._record(target, "failed" if error else "ok", samples=samples, error=error, command=self.command(target),
                            started_at=utc(started), duration_s=round(time.monotonic() - clock, 3))

    def _record(self, target: Target, status: str, **fields: Any) -> Dict[str, Any]:
        options = {key: value for key, value in (("method", self._method), ("size_bytes", self._size), ("count", self._count)) if value is not None}
        return record("ping", "%s/ping/%d/%s" % (self._name, target.device, target.address), status, tool={"name": "hccn_tool"},
                      source={"device": target.device}, target=_end(target), options=options, context=self._context, **fields)


def _end(target: Target) -> Dict[str, Any]:
    known = (("host", target.host), ("device", target.target_device), ("address", target.address))
    return {key: value for key, value in known if value is not None}


def _sentence(measurements: Sequence[Mapping[str, Any]]) -> str:
    bad = [one for one in measurements if one["status"] != "ok"]
    parts = []
    for places, message in group_by_text([(place, one["error"]["message"]) for place, one in enumerate(bad)]):
        addresses = list(dict.fromkeys(bad[place]["target"]["address"] for place in places))
        parts.append("%s to %s: %s" % (npus(bad[place]["source"]["device"] for place in places), some(addresses), message))
    return "%d of %d pings failed: %s" % (len(bad), len(measurements), "; ".join(parts))


def ping(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of device_ping. In check mode nothing is sent. Raises HccnError if nothing could be done."""
    session = device_session.start(params)
    session.host.refuse_950()
    if params["method"] == "hccs_ping" and session.host.product not in ("A3", None):
        raise HccnError("unsupported_on_product", "hccs_ping is a command of A3 super pods, this host has NPUs of the %s" % session.host.product,
                        "use method: ping")
    targets = targets_of(params, session.host, session.devices)
    pinger = Pinger(session.tool, session.host, params, params["run_id"] or utc())
    measurements = []
    if not check_mode:
        measurements = pinger.measure(targets, session.refusals(sorted({target.device for target in targets}), params["allow_busy"]))
    result: Dict[str, Any] = {"measurements": measurements, "commands": [pinger.command(target) for target in targets]}
    if failed([{"errors": [one["error"]] if "error" in one else []} for one in measurements], params["fail_on"]):
        result.update(failed=True, msg=_sentence(measurements))
    return result
