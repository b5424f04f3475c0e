"""One process of ib_write_bw, ib_read_bw or ib_send_bw.

PERFTEST_SIM_ROOT is the folder with the made-up sysfs (``card.py``), in whose ``perftest_calls`` each call is noted, and PERFTEST_SIM_ADDRESS the address of
the host, on which its servers listen. No data is transferred: the bandwidth is a share of the rate of the slower port. With a file ``perftest_newer`` in that
folder, the release has flow labels. As with the real tool, all output comes at the end, a server serves one client, and the printed values are those of the
client.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

VERSION, NEWER = "6.06", "6.24"
FLOW_LABEL = "--flow_label"
SHARE = 0.97
TITLES = {"ib_write_bw": "RDMA_Write", "ib_read_bw": "RDMA_Read", "ib_send_bw": "Send"}
MOST_FOR_PEAK = 20000
RULE = "-" * 87
WAITING = f"\n{'*' * 36}\n* Waiting for client to connect... *\n{'*' * 36}"
SECONDS = 60


class Failure(Exception):
    """What the program prints on stderr before it ends with status 1."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise Failure(f"{self.prog}: {message}\n Parser function exited with Error")


def options(program: str, argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog=program, add_help=False, allow_abbrev=False)
    for flag, name, default in (("-i", "port", 1), ("-x", "gid_index", None), ("-p", "tcp_port", 18515), ("-s", "size", 65536), ("-n", "iterations", 5000),
                                ("-q", "qps", 1), ("-m", "mtu", 4096), ("--tclass", "traffic_class", 0)):
        parser.add_argument(flag, dest=name, type=int, default=default)
    if is_newer():
        parser.add_argument(FLOW_LABEL, type=int, default=0)
    parser.add_argument("-d", dest="device", required=True)
    for flag in ("-F", "-b", "--report_gbits"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("server", nargs="?")
    return parser.parse_args(argv)


def is_newer() -> bool:
    return (Path(os.environ["PERFTEST_SIM_ROOT"]) / "perftest_newer").exists()


def port_of(asked: argparse.Namespace) -> tuple[float, str]:
    """Return rate and link layer of the chosen port."""
    devices = Path(os.environ["PERFTEST_SIM_ROOT"]) / "sys/class/infiniband"
    if not (devices / asked.device).is_dir():
        raise Failure(f"IB device {asked.device} not found\n Unable to find the Infiniband/RoCE device")
    folder = devices / asked.device / "ports" / str(asked.port)
    if not folder.is_dir():
        raise Failure(f" Unable to query port {asked.port} attributes\n Couldn't set the link layer\n Couldn't get context for the device")
    if "ACTIVE" not in (folder / "state").read_text():
        raise Failure(f" Port number {asked.port} state is Down\n Couldn't set the link layer\n Couldn't get context for the device")
    return float((folder / "rate").read_text().split()[0]), (folder / "link_layer").read_text().strip()


def report(program: str, asked: argparse.Namespace, layer: str, gbit_s: float, values: dict[str, int]) -> str:
    """Return the report of one side. ``values``: size, iterations and queue pairs of the client."""
    total = values["iterations"] * values["qps"]
    peak = 0.0 if values["iterations"] > MOST_FOR_PEAK else gbit_s
    lines = [" WARNING: BW peak won't be measured in this run."] if peak == 0 else []
    lines += [
        RULE, f"                    {TITLES[program]}{' Bidirectional' if asked.b else ''} BW Test",
        f" Dual-port       : OFF\t\tDevice         : {asked.device}",
        f" Number of qps   : {asked.qps}\t\tTransport type : IB", " Connection type : RC\t\tUsing SRQ      : OFF", " PCIe relax order: ON",
        " ibv_wr* API     : OFF", *([" TX depth        : 128"] if asked.server else []), " CQ Moderation   : 1", f" Mtu             : {asked.mtu}[B]",
        f" Link type       : {'Ethernet' if layer == 'Ethernet' else 'IB'}", *([] if asked.gid_index is None else [f" GID index       : {asked.gid_index}"]),
        " Max inline data : 0[B]", " rdma_cm QPs\t : OFF", " Data ex. method : Ethernet", RULE]
    gid = [" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:11"] if layer == "Ethernet" else []
    for side in ("local", "remote"):
        for number in range(asked.qps):
            lines += [f" {side} address: LID 0000 QPN 0x{number:04x} PSN 0x123780 RKey 0x000450 VAddr 0x007fd0a90ea000", *gid]
    lines += [RULE, " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
              f" {values['size']:<7}    {total:<10}       {peak:<7.2f}            {gbit_s:<7.2f}\t\t   {gbit_s * 1000 / 8 / values['size']:<7.6f}", RULE, ""]
    return "\n".join(lines)


def serve(asked: argparse.Namespace, rate: float) -> tuple[float, dict[str, int]]:
    """Return the bandwidth and the values of the client that came."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.settimeout(SECONDS)
        try:
            listener.bind((os.environ["PERFTEST_SIM_ADDRESS"], asked.tcp_port))
        except OSError:
            raise Failure(f"Couldn't listen to port {asked.tcp_port}") from None
        listener.listen(1)
        client, _address = listener.accept()
    with client, client.makefile("rw") as stream:
        values = json.loads(stream.readline())
        stream.write(json.dumps({"rate": rate}) + "\n")
        stream.flush()
        return json.loads(stream.readline())["gbit_s"], values


def share_of_path(asked: argparse.Namespace) -> float:
    """Return the share of the rate on the path to the server. One of two paths to each server in ``perftest_slow_paths`` is slow, that of odd flow labels."""
    slow = Path(os.environ["PERFTEST_SIM_ROOT"]) / "perftest_slow_paths"
    return 0.6 if slow.exists() and asked.server in slow.read_text().split() and getattr(asked, "flow_label", 0) % 2 else 1.0


def call(asked: argparse.Namespace, rate: float) -> tuple[float, dict[str, int]]:
    """Return the bandwidth and the values of this client."""
    values = {"size": asked.size, "iterations": asked.iterations, "qps": asked.qps}
    try:
        server = socket.create_connection((asked.server, asked.tcp_port), SECONDS)
    except OSError:
        raise Failure(f"Couldn't connect to {asked.server}:{asked.tcp_port}\nUnable to open file descriptor for socket connection") from None
    with server, server.makefile("rw") as stream:
        stream.write(json.dumps(values) + "\n")
        stream.flush()
        gbit_s = SHARE * min(rate, json.loads(stream.readline())["rate"]) * (2 if asked.b else 1) * share_of_path(asked)
        stream.write(json.dumps({"gbit_s": gbit_s}) + "\n")
        stream.flush()
    return gbit_s, values


def main(argv: list[str]) -> int:
    program = os.path.basename(argv[0])
    if "--version" in argv:
        print(f"Version: {NEWER if is_newer() else VERSION}")
        return 1  # as the real tool
    if "--help" in argv:
        print("Usage:\n  -d, --ib-dev=<dev>  Use IB device <dev>" + (f"\n      {FLOW_LABEL}=<fl0,fl1,...>  Set the flow_label" if is_newer() else ""))
        return 1
    try:
        asked = options(program, argv[1:])
        with (Path(os.environ["PERFTEST_SIM_ROOT"]) / "perftest_calls").open("a") as calls:
            calls.write(" ".join([program, *argv[1:]]) + "\n")
        if program not in TITLES:
            raise Failure(f"{program} is not simulated")
        rate, layer = port_of(asked)
        gbit_s, values = call(asked, rate) if asked.server else serve(asked, rate)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    print(("" if asked.server else WAITING + "\n") + report(program, asked, layer, gbit_s, values), end="")
    return 0
