"""The process that owns a lab. All processes, mounts, links and namespaces of the lab end with it.

There are two processes. The guard ends the lab when its standard input closes, unless it received the order to keep the lab. Its child, the keeper, is the
first process of a PID namespace with all hosts, in a network namespace with all switches. It reads an order as JSON from standard input and writes one line of
JSON to standard output: pids, or an error.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import IO, Any, NoReturn

from . import host, image, kernel, links, rootless
from .plan import BOOT_SECONDS, CONTROLLER, Host, LabError, Settings, Unavailable, settings

KEEP = b"keep\n"
CONNECT_SECONDS = 1.0
SSHD_GREETING = b"SSH-"


def main() -> None:
    """Start guard and keeper. ``order``: folder, settings, lock (a descriptor that stays open while the lab is alive)."""
    order = json.loads(sys.stdin.buffer.readline())
    wanted = settings(order["settings"])
    os.set_inheritable(order["lock"], False)
    os.umask(0o022)
    try:
        if wanted.rootless:
            rootless.become_root_of_own()
        kernel.unshare(kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
    except OSError as error:
        answer({"unavailable": f"the kernel allows no namespaces here ({error}): run as root, outside of a container or in a privileged one"})
        sys.exit(1)
    child = os.fork()
    if child == 0:
        kernel.die_with_parent()
        keep(order["folder"], wanted)
    guard(child)


def guard(child: int) -> NoReturn:
    """End the keeper when standard input closes. After the order to keep the lab, it lives until its pid is killed."""
    descriptor = os.pidfd_open(child)
    watched = select.poll()
    watched.register(descriptor, select.POLLIN)
    watched.register(0, select.POLLIN | select.POLLHUP)
    while True:
        for ready, _event in watched.poll():
            if ready == descriptor:
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
            watched.unregister(0)
            if os.read(0, len(KEEP)) != KEEP:
                os.kill(child, signal.SIGKILL)


def keep(folder: str, wanted: Settings) -> NoReturn:
    """Build the lab, answer, and stay (keeper process)."""
    try:
        answer(build(folder, wanted))
    except Unavailable as error:
        answer({"unavailable": str(error)})
        os._exit(1)
    except (LabError, OSError, subprocess.SubprocessError) as error:
        stderr = getattr(error, "stderr", None)
        answer({"error": f"{error}{': ' + stderr.strip() if stderr else ''}"})
        os._exit(1)
    leave_standard_files()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps exited children
    while True:
        signal.pause()


def answer(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def leave_standard_files() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def build(folder: str, wanted: Settings) -> dict[str, Any]:
    """Build the lab and return pids and start times as seen from the machine, and the seconds of each step."""
    own = host.pid_outside()
    started = time.monotonic()
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    files = image.make(folder, wanted)
    reports, go = os.pipe(), os.pipe()
    middle = [spawn(one, files, reports, go) for one in wanted.hosts]
    os.close(reports[1])
    reports_stream = os.fdopen(reports[0], encoding="utf-8", errors="replace")
    pids = hear(reports_stream, wanted.hosts)
    for pid in middle:
        os.waitpid(pid, 0)
    namespaces = time.monotonic()
    lay_cables(wanted, pids)
    cabled = time.monotonic()
    os.write(go[1], b"g" * len(wanted.hosts))
    hear(reports_stream, wanted.hosts)
    wait_for_sshd(wanted.hosts, pids)
    ready = time.monotonic()
    return {
        "keeper": {"pid": own, "started": kernel.start_time(own)},
        "hosts": [{"pid": pids[one.index], "started": kernel.start_time(pids[one.index])} for one in wanted.hosts],
        "seconds": {"namespaces": namespaces - started, "links": cabled - namespaces, "sshd": ready - cabled},
    }


def lay_cables(wanted: Settings, pids: dict[int, int]) -> None:
    links.system({"ipv6/conf/default/disable_ipv6": "1", "ipv4/ip_forward": "1"})
    cables = [line for one in wanted.hosts for line in links.cables(one, inside(pids[one.index]))]
    links.batch("ip", links.switches(wanted) + cables + links.of_controller(wanted))
    links.batch("tc", [links.shaped(links.port(one, device), wanted.link_rate) for one in wanted.hosts for device in range(one.devices)])
    try:
        links.batch("tc", links.ecmp(wanted))
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"the kernel cannot divide traffic among spines: {error.stderr.strip()}") from error


def spawn(one: Host, files: image.Image, reports: tuple[int, int], go: tuple[int, int]) -> int:
    """Fork twice, because the process that creates a PID namespace is not in it, only its child is. Return the pid of the intermediate process, which exits at
    once."""
    middle = os.fork()
    if middle:
        return middle
    os.close(go[1])
    try:
        kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWPID)
        if os.fork():
            os._exit(0)
        host.boot(one, files, reports[1], go[0])
    except BaseException as error:  # report any error to the lab
        print(f"{one.name}: {error} {getattr(error, 'stderr', None) or ''}".strip(), file=sys.stderr, flush=True)
        os.write(reports[1], b"!\n")
    os._exit(1)


def hear(stream: IO[str], hosts: list[Host]) -> dict[int, int]:
    """Return the next message of each host by its index: the pid of its first process after the fork, then again when its network is up. Raise LabError."""
    pids: dict[int, int] = {}
    while len(pids) < len(hosts):
        line = stream.readline().rstrip("\n")
        if line in ("", "!"):
            raise LabError("a host exited during its start")
        index, pid = line.split()
        pids[int(index)] = int(pid)
    return pids


def inside(pid: int) -> int:
    """Return the pid of a host's process in the keeper's PID namespace."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as stream:
        numbers = next(line for line in stream if line.startswith("NSpid:")).split()[1:]
    return int(numbers[-2])


def wait_for_sshd(hosts: list[Host], pids: dict[int, int]) -> None:
    """Wait until sshd of every host answers. Raise LabError."""
    deadline = time.monotonic() + BOOT_SECONDS + len(hosts)
    for one in hosts:
        while not _greets(one.address):
            if kernel.start_time(pids[one.index]) is None:
                raise LabError(f"{one.name} exited during its start: check {host.SSHD} with -t")
            if time.monotonic() > deadline:
                raise LabError(f"{one.name}: sshd does not answer")
            time.sleep(0.01)


def _greets(address: str) -> bool:
    with socket.socket() as probe:
        probe.settimeout(CONNECT_SECONDS)
        try:
            probe.bind((CONTROLLER, 0))
            probe.connect((address, host.SSH_PORT))
            return probe.recv(len(SSHD_GREETING)) == SSHD_GREETING
        except OSError:
            return False
