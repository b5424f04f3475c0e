"""The packages that a lab needs on the machine: Debian's openssh-server, iproute2 and util-linux."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.lib.waiting import happens

from .plan import Unavailable

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PACKAGES = {"sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux"}
ROOTLESS = {"newuidmap": "uidmap", "newgidmap": "uidmap"}
INSTALL_SECONDS = 300
DATABASE = "/var/lib/dpkg"


def missing(wanted: Mapping[str, str]) -> list[str]:
    """Return the packages whose programs are missing."""
    return sorted({package for program, package in wanted.items() if not shutil.which(program, path=PATH)})


def ensure_packages(rootless: bool = False) -> None:
    """Install the packages that every lab needs (see ensure)."""
    ensure({**PACKAGES, **(ROOTLESS if rootless else {})}, "a testbed")


def ensure(wanted: Mapping[str, str], user: str) -> None:
    """Install missing packages if this process is root and apt-get is available. ``wanted``: package by program. Raise Unavailable."""
    with _installing(user) as can_install:
        packages = missing(wanted)
        if packages and can_install:
            _install(packages)
            packages = missing(wanted)
    if packages:
        raise Unavailable(f"{user} needs {', '.join(packages)}, which are missing: apt-get install {' '.join(packages)}")


@contextmanager
def _installing(user: str) -> Iterator[bool]:
    """Wait until no other process of a test run installs, and return whether this one can. A program exists before its package is set up."""
    if os.geteuid() or not shutil.which("apt-get") or not os.path.isdir(DATABASE):
        yield False
        return
    folder = os.open(DATABASE, os.O_RDONLY)
    try:
        if not happens(lambda: _locked(folder), 2 * INSTALL_SECONDS):
            raise Unavailable(f"{user}: another process installs packages, and did not end in {2 * INSTALL_SECONDS} s")
        yield True
    finally:
        os.close(folder)


def _locked(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _install(packages: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    for argv in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "-oDPkg::Lock::Timeout=200", "install", "--yes", "--no-install-recommends", *packages]):
        try:
            done = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{' '.join(argv)} did not finish in {INSTALL_SECONDS} s") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
            raise Unavailable(f"{' '.join(argv)}: {lines[-1]}")
