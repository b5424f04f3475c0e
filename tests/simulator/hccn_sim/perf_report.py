"""The report of a device's test: perftest's report with the columns of the device."""

from __future__ import annotations

from typing import Any

Order = dict[str, Any]  # the order of a test, with the device's own settings
Rows = list[Any]

RULE = "-" * 116
STARS = "*" * 36
TITLES = {"send": "Send", "write": "RDMA_Write", "read": "RDMA_Read"}
MEBI = 1048576
GBIT_PER_MIB = MEBI * 8 / 1e9
ALL_SIZES = [2**power for power in range(1, 24)]
# the fabric "fixed": rate of a full link, and the overhead of a small message
FIXED_MIB, FIXED_PEAK, FIXED_OVERHEAD_BYTES = 23365.53, 1.0002, 20000
FIXED_OWN, FIXED_PEER = "10.250.45.69", "10.250.30.26"
OWN_QP, PEER_QP = "QPN 0x004a PSN 0xe03644", "QPN 0x0012 PSN 0x5785c2"


def sizes(order: Order) -> list[int]:
    return ALL_SIZES if order["all_sizes"] else [order["size"]]


def fixed(order: Order) -> str:
    """Return a report without a test: always the same numbers."""
    bandwidth_rows = []
    for size in sizes(order):
        rate = FIXED_MIB * (size / (size + FIXED_OVERHEAD_BYTES) if order["all_sizes"] else 1)
        bandwidth_rows.append((size, order["iterations"], rate * (1 if order["all_sizes"] else FIXED_PEAK), rate))
    latency_rows = [(size, [3.2 + size / 24500] * 1000) for size in sizes(order)]
    return report(order, bandwidth_rows if order["measure"] == "bw" else latency_rows, FIXED_OWN, FIXED_PEER)


def report(order: Order, rows: Rows, own: str, peer: str) -> str:
    """``rows``: (bytes, iterations, peak MiB/s, average MiB/s), or (bytes, all latencies in microseconds)."""
    table = _bandwidth(order, rows) if order["measure"] == "bw" else _latency(rows)
    endpoints = [f" local address: LID 0000 {OWN_QP}", f" GID: {_gid(own)}", f" remote address: LID 0000 {PEER_QP}", f" GID: {_gid(peer)}"]
    return "\n".join([*_opening(order), *_header(order), RULE, *endpoints, RULE, *table, RULE, ""])


def waiting(order: Order) -> str:
    """Return the output of a server before its client comes."""
    return "\n".join([*_opening(order), ""])


def _opening(order: Order) -> list[str]:
    banner = [] if order["peer"] else ["", STARS, "* Waiting for client to connect... *", STARS]
    return [" new post send flow is not supported, falling back to ibv_post_send", RULE, *banner]


def _header(order: Order) -> list[str]:
    direction = " Bidirectional" if order["bidirectional"] else ""
    what = "BW" if order["measure"] == "bw" else "Latency"
    receives = order["operation"] == "send" and not order["peer"]
    depth = "RX depth        : 512" if receives else f"TX depth        : {128 if order['measure'] == 'bw' else 1}"
    lines = [
        f"{' ' * 19}{TITLES[order['operation']]}{direction} {what} Test",
        "Dual-port       : OFF          Device         : hns_0",
        f"Number of qps   : {order['qps']:<12} Transport type : IB",
        "Connection type : RC           Using SRQ      : OFF",
        depth,
        *(["CQ Moderation   : 1"] if order["measure"] == "bw" else []),
        "Mtu             : 4096[B]",
        "Link type       : Ethernet",
        f"GID index       : {order['gid_index']}",
        "Max inline data : 0[B]",
        "rdma_cm QPs     : OFF",
        "Data ex. method : Ethernet",
    ]
    return [RULE, *(" " + line for line in lines)]


def _gid(address: str) -> str:
    """Return the bytes of an IPv4 address as decimal pairs after the prefix of a mapped address."""
    octets = [f"{int(part):02d}" for part in address.split(".")] if "." in address else ["00"] * 4
    return ":".join(["00"] * 10 + ["255", "255"] + octets)


def _bandwidth(order: Order, rows: Rows) -> list[str]:
    unit, factor = ("Gb", GBIT_PER_MIB) if order["gbits"] else ("MB", 1.0)
    lines = [f" #bytes       #iterations        BW peak[{unit}/sec]            BW average[{unit}/sec]          MsgRate[Mpps]"]
    for size, iterations, peak, average in rows:
        rate = average * MEBI / size / 1e6
        lines.append(f" {size:<13}{iterations:<19}{_rate(peak * factor, order):<27}{_rate(average * factor, order):<28}{rate:.6f}")
    return lines


def _rate(value: float, order: Order) -> str:
    """Small values in Gb/s get more digits."""
    return f"{value:.6f}" if order["gbits"] and 0 < value < 0.1 else f"{value:.2f}"


def _latency(rows: Rows) -> list[str]:
    names = "t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
    lines = [f" #bytes #iterations    {names}"]
    for size, latencies in rows:
        ordered = sorted(latencies)
        count = len(ordered)
        average = sum(ordered) / count
        deviation = (sum((value - average) ** 2 for value in ordered) / count) ** 0.5
        values = (ordered[0], ordered[-1], ordered[count // 2], average, deviation, _share(ordered, 0.99), _share(ordered, 0.999))
        lines.append(f" {size:<7} {count:<13} " + " ".join(f"{value:<14.2f}" for value in values).rstrip())
    return lines


def _share(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
