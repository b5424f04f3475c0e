# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings about the ports of NPUs from optics, counters and link changes, and evidence that is attached to other findings about the same NPU.

A run reads a port several times. A counter that grew between the first and the last reading is evidence; one that is only high may be years old.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...module_utils._core.words import printable
from . import causes, reading
from .evidence import Evidence, evidence
from .finding import MOST_EVIDENCE, Device, Finding, finding, of_npus, rank

Readings = Sequence[tuple[str, Mapping[str, Any]]]
"""Stage and result of device_info by host, in the order in which they were read."""

FAULTY_PACKETS = ("mac_rx_fcs_err_pkt_num", "mac_rx_bad_pkt_num", "mac_tx_bad_pkt_num")
"""Counters whose growth is a fault by itself: packets that were damaged on the wire."""
SUSPICIOUS = ("roce_rx_err_pkt_num", "roce_tx_err_pkt_num", "roce_verification_err_num", "roce_out_of_order_num", "roce_new_pkt_rty_num",
              "mac_tx_pfc_pkt_num", "mac_rx_pfc_pkt_num", "mac_tx_mac_pause_num", "mac_rx_mac_pause_num", "roce_rx_cnp_pkt_num", "roce_tx_cnp_pkt_num")
"""Counters whose growth explains a slow or failed NPU, but occurs in a healthy fabric, too: retransmissions, PFC and ECN."""

DIM_DB = 5.0
"""Decibels below the median of the other NPUs from which on a lane is dim. Modules of one kind differ by about 3 dB."""
LEAST_PEERS = 4
MORE_FLAPS = 3
"""Link failures beyond the median of the other NPUs that are worth a note."""

_POWER = re.compile(r"(rx|tx)_power(\d?)_mw")

ATTACHED_TO = frozenset({"slow_npu", "failed_npu", "slow_host", "failed_host", "regression", "link_down", "errors_growing", "link_flaps", "optics_out_of_range",
                         "optics_dim", "unreachable_npu"})
"""Causes of findings to which the switch port and the counters of their NPUs are attached."""
MOST_ATTACHED = 4
"""NPUs of a finding up to which switch ports are attached; beyond, they are too many to read."""


@dataclass
class Ports:
    """``findings`` about ports, and pieces for other findings about an NPU: ``grown`` counters, and ``wiring`` (switch port and versions)."""

    findings: list[Finding] = field(default_factory=list)
    grown: dict[Device, list[Evidence]] = field(default_factory=dict)
    wiring: dict[Device, list[Evidence]] = field(default_factory=dict)


def of_readings(readings: Readings) -> Ports:
    """Return what the readings of a run say about the ports."""
    found = Ports()
    history: dict[Device, list[Mapping[str, Any]]] = {}
    stages: dict[Device, str] = {}
    products: dict[Device, str] = {}
    for stage, results in readings:
        for host, result in results.items():
            for number, device in reading.devices(result).items():
                history.setdefault((host, number), []).append(device)
                stages[host, number] = stage
                products[host, number] = reading.text(reading.mapping(result).get("product"))
    last = {npu: _last(devices) for npu, devices in history.items()}
    usual = _Usual(last, products)
    for npu, devices in history.items():
        found.findings += _joined([*_optics(npu, last[npu].get("optical"), usual, stages[npu]), *_faulty_packets(npu, devices, stages[npu]),
                                   *_flaps(npu, devices, usual, stages[npu])])
        found.grown[npu] = list(_grown(npu, devices, SUSPICIOUS))
        found.wiring[npu] = list(_wiring(npu, last[npu]))
    return found


def _joined(found: Sequence[Finding]) -> list[Finding]:
    """Return one finding for the port: the worst, with the evidence of all."""
    if len(found) < 2:
        return list(found)
    worst = min(found, key=rank)
    return [replace(worst, evidence=tuple(dict.fromkeys(piece for one in (worst, *found) for piece in one.evidence))[:MOST_EVIDENCE])]


def attached(findings: Iterable[Finding], ports: Ports) -> list[Finding]:
    """Return the findings with the evidence of their NPUs: first that of the finding itself, then grown counters, then switch ports and versions."""
    return [_attached(one, ports) if one.cause in ATTACHED_TO and one.devices else one for one in findings]


def _attached(one: Finding, ports: Ports) -> Finding:
    more = [piece for npu in one.devices for piece in ports.grown.get(npu, ())]
    places = [piece for npu in one.devices for piece in ports.wiring.get(npu, ())] if len(one.devices) <= MOST_ATTACHED else []
    known = [piece for piece in one.evidence if piece not in places]
    room = max(0, MOST_EVIDENCE - len(places))
    return replace(one, evidence=tuple(dict.fromkeys([*known, *more]))[:room] + tuple(places[:MOST_EVIDENCE]))


def _last(devices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the last known value of each topic."""
    return {key: value for device in devices for key, value in device.items() if value is not None}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None


class _Usual:
    """The median of the received power and of the link failures over the NPUs of a product, each with the number of the other NPUs; none if they are too
    few."""

    def __init__(self, last: Mapping[Device, Mapping[str, Any]], products: Mapping[Device, str]) -> None:
        self._products = products
        powers: dict[str, list[float]] = {}
        downs: dict[str, list[float]] = {}
        for npu, device in last.items():
            received = [value for side, _lane, value in _powers(device.get("optical")) if side == "rx" and value > 0]
            powers.setdefault(products[npu], []).extend([statistics.median(received)] if received else [])
            number = _number(reading.mapping(device.get("link_changes")).get("downs"))
            downs.setdefault(products[npu], []).extend([] if number is None else [number])
        self._power, self._downs = _medians(powers), _medians(downs)

    def power(self, npu: Device) -> tuple[float, int] | None:
        return self._power.get(self._products[npu])

    def downs(self, npu: Device) -> tuple[float, int] | None:
        return self._downs.get(self._products[npu])


def _medians(values: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, int]]:
    return {product: (statistics.median(found), len(found) - 1) for product, found in values.items() if len(found) > LEAST_PEERS}


def _powers(optical: Any) -> Iterator[tuple[str, int, float]]:
    """Yield side (rx or tx), lane and power of each lane."""
    for key, value in reading.mapping(optical).items():
        matched = _POWER.fullmatch(str(key))
        number = _number(value) if matched else None
        if matched and number is not None:
            yield matched.group(1), int(matched.group(2) or 0), number


def _optics(npu: Device, optical: Any, usual: _Usual, stage: str) -> list[Finding]:
    values = {str(key): number for key, value in reading.mapping(optical).items() for number in [_number(value)] if number is not None}
    found: list[Finding] = []
    beyond = [*_power_limits(npu, optical, values), *_module_limits(npu, values)]
    if beyond:
        found.append(finding("optics_out_of_range", of_npus([npu]), f"its optical module is out of range: {_without_place(beyond[0])}", devices=[npu],
                             evidence=beyond, stage=stage))
    dim = [] if beyond else list(_dim(npu, optical, usual))
    if dim:
        found.append(finding("optics_dim", of_npus([npu]), f"its optical module receives little light: {_without_place(dim[0])}", devices=[npu], evidence=dim,
                             stage=stage))
    return found


def _without_place(piece: Evidence) -> str:
    return piece.partition(": ")[2]


def _power_limits(npu: Device, optical: Any, values: Mapping[str, float]) -> Iterator[Evidence]:
    host, device = npu
    for side, lane, value in _powers(optical):
        low, high = values.get(f"{side}power_low_thres_mw"), values.get(f"{side}power_high_thres_mw")
        if low is None or high is None or not low < high:
            continue
        if not low <= value <= high:
            word, limit = ("low", low) if value < low else ("high", high)
            yield evidence(f"{side}_power_{word}", host=host, device=device, lane=lane, value_mw=value, limit_mw=limit)


def _module_limits(npu: Device, values: Mapping[str, float]) -> Iterator[Evidence]:
    host, device = npu
    hot, limit = values.get("temperature_c"), values.get("temp_high_thres_c")
    if hot is not None and limit is not None and 0 < limit < hot:
        yield evidence("optics_hot", host=host, device=device, value_c=hot, limit_c=limit)
    supply, low, high = (values.get(key) for key in ("vcc_mv", "vcc_low_thres_mv", "vcc_high_thres_mv"))
    if supply is not None and low is not None and high is not None and low < high and not low <= supply <= high:
        yield evidence("optics_voltage", host=host, device=device, value_mv=supply, low_mv=low, high_mv=high)


def _dim(npu: Device, optical: Any, usual: _Usual) -> Iterator[Evidence]:
    known = usual.power(npu)
    for side, lane, value in _powers(optical):
        if side == "rx" and known and 0 < value < known[0] and 10 * math.log10(known[0] / value) > DIM_DB:
            yield evidence("rx_power_dim", host=npu[0], device=npu[1], lane=lane, value_mw=value, below_db=round(10 * math.log10(known[0] / value), 1),
                           peers=known[1], median_mw=round(known[0], 4))


def _flaps(npu: Device, devices: Sequence[Mapping[str, Any]], usual: _Usual, stage: str) -> list[Finding]:
    host, device = npu
    read = [reading.mapping(found["link_changes"]) for found in devices if isinstance(found.get("link_changes"), Mapping)]
    downs = [number for number in (_number(changes.get("downs")) for changes in read) if number is not None]
    if not downs:
        return []
    last = list(_last_change(npu, read[-1]))
    grown = int(downs[-1] - downs[0])
    if grown > 0:
        pieces = [evidence("link_flapped", host=host, device=device, growth=grown), *last]
        return [finding("link_flaps", of_npus([npu]), f"its link went down {_times(grown)} during the run", devices=[npu], evidence=pieces, stage=stage)]
    known = usual.downs(npu)
    if known is None or downs[-1] < known[0] + MORE_FLAPS:
        return []
    pieces = [evidence("link_flaps", host=host, device=device, downs=int(downs[-1]), peers=known[1], median=round(known[0], 1)), *last]
    return [finding("link_flaps", of_npus([npu]), f"its link went down {_times(int(downs[-1]))} since its counters were cleared, those of other NPUs "
                    f"{_times(round(known[0]))}", devices=[npu], evidence=pieces, stage=stage, severity=causes.NOTE)]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _last_change(npu: Device, changes: Mapping[str, Any]) -> Iterator[Evidence]:
    records = changes.get("records")
    newest = records[0] if isinstance(records, (list, tuple)) and records else None
    if isinstance(newest, (list, tuple)) and len(newest) == 2 and all(isinstance(part, str) for part in newest):
        yield evidence("link_change", host=npu[0], device=npu[1], state=newest[1], time=newest[0])


def _faulty_packets(npu: Device, devices: Sequence[Mapping[str, Any]], stage: str) -> list[Finding]:
    pieces = list(_grown(npu, devices, FAULTY_PACKETS))
    if not pieces:
        return []
    first = pieces[0].values
    message = f"{first['counter']} grew by {first['growth']} during the run"
    return [finding("errors_growing", of_npus([npu]), message, devices=[npu], evidence=pieces, stage=stage)]


def _grown(npu: Device, devices: Sequence[Mapping[str, Any]], names: Iterable[str]) -> Iterator[Evidence]:
    """Yield a piece for each counter that grew. If a counter shrank, it was cleared meanwhile and says nothing."""
    read = [reading.mapping(found["counters"]) for found in devices if isinstance(found.get("counters"), Mapping)]
    for name in names if len(read) > 1 else ():
        values = [value for value in (_number(counters.get(name)) for counters in read) if value is not None]
        if len(values) > 1 and values == sorted(values) and values[-1] > values[0]:
            before, after = int(values[0]), int(values[-1])
            yield evidence("counter_grew", host=npu[0], device=npu[1], counter=name, growth=after - before, before=before, after=after)


def _wiring(npu: Device, device: Mapping[str, Any]) -> Iterator[Evidence]:
    lldp, versions = reading.mapping(device.get("lldp")), reading.mapping(device.get("versions"))
    switch = reading.text(lldp.get("system_name")) or reading.text(lldp.get("chassis"))
    port = reading.text(lldp.get("port"))
    if switch and port:
        yield evidence("switch_port", host=npu[0], device=npu[1], switch=printable(switch), port=printable(port))
    if reading.text(versions.get("driver")) and reading.text(versions.get("firmware")):
        yield evidence("versions", host=npu[0], device=npu[1], driver=reading.text(versions["driver"]), firmware=reading.text(versions["firmware"]))
