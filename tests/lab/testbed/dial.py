"""ssh's ProxyCommand with ProxyUseFdpass: dial.py FOLDER ADDRESS PORT connects from inside the lab's network and passes the connection to ssh.

This way, the machine's own network is not touched, and two labs may have the same addresses.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import socket
import sys

CONNECT_SECONDS = 10


def enter(pid: int, kind: str) -> None:
    descriptor = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0) != 0:
        raise OSError(ctypes.get_errno(), f"setns to {kind}: {os.strerror(ctypes.get_errno())}")
    os.close(descriptor)


def started(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
        return int(stream.read().rpartition(")")[2].split()[19])


def main(folder: str, address: str, port: str) -> None:
    with open(os.path.join(folder, "lab.json"), encoding="utf-8") as stream:
        lab = json.load(stream)
    keeper = lab["keeper"]
    if started(keeper["pid"]) != keeper["started"]:
        raise OSError("the lab is down")
    for kind in ("user", "net") if lab["settings"]["rootless"] else ("net",):
        enter(keeper["pid"], kind)
    with socket.create_connection((address, int(port)), CONNECT_SECONDS) as connection, socket.socket(fileno=os.dup(1)) as ssh:
        connection.settimeout(None)
        ssh.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection.fileno()]))])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(f"ssh: connect to host {sys.argv[2]} port {sys.argv[3]}: {error.strerror or error}")
