# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Name the package that contains a tool, and the commands of the package manager of this host. Nothing is installed here.

Packages are chosen by the package manager, not by the name of the distribution: openEuler and Kylin use dnf (older releases yum), Debian and Ubuntu apt-get.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import Dict, Iterable, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import InputError

PERFTEST, IPERF3, MPICH, OPENMPI, RDMA = "perftest", "iperf3", "mpich", "openmpi", "rdma"
TOOLS = (PERFTEST, IPERF3, MPICH, OPENMPI, RDMA)

_DEBIAN: Mapping[str, Tuple[str, ...]] = {
    PERFTEST: ("perftest",), IPERF3: ("iperf3",), MPICH: ("mpich",), OPENMPI: ("openmpi-bin",), RDMA: ("rdma-core", "ibverbs-providers")}
_RPM: Mapping[str, Tuple[str, ...]] = {
    PERFTEST: ("perftest",), IPERF3: ("iperf3",), MPICH: ("mpich",), OPENMPI: ("openmpi",), RDMA: ("rdma-core", "libibverbs")}

_NAME = re.compile(r"[A-Za-z0-9@/][A-Za-z0-9@/+._:~=*-]*")
"""Names of packages, optionally with a version, an architecture or a path in the syntax of these package managers."""
_OS_RELEASE = re.compile(r"^(ID|VERSION_ID|PRETTY_NAME)=(.*)$", re.MULTILINE)


class Manager(NamedTuple):
    """``name``: as in Ansible; ``install``: argv before the packages; ``packages``: names of packages by tool.

    ``update``: argv that makes the next installation use current package lists; ``dry_run``: argv before the packages that installs nothing.
    """

    name: str
    install: Tuple[str, ...]
    packages: Mapping[str, Tuple[str, ...]]
    update: Tuple[str, ...]
    dry_run: Tuple[str, ...]


MANAGERS = (
    Manager("apt", ("apt-get", "install", "--yes"), _DEBIAN, ("apt-get", "update"), ("apt-get", "install", "--simulate")),
    Manager("dnf", ("dnf", "install", "--assumeyes"), _RPM, ("dnf", "clean", "expire-cache"), ("dnf", "install", "--assumeno")),
    Manager("yum", ("yum", "install", "--assumeyes"), _RPM, ("yum", "clean", "expire-cache"), ("yum", "install", "--assumeno")),
)


def manager(path: Optional[str] = None) -> Optional[Manager]:
    """Return the package manager whose program is on this host, searched for in ``path`` or PATH."""
    return next((known for known in MANAGERS if shutil.which(known.install[0], path=path)), None)


def check(own: Mapping[str, Sequence[str]]) -> None:
    """Check the option ``packages``. Raises InputError for invalid names: one that begins with "-" would be an option of the package manager."""
    for tool, wanted in own.items():
        if not isinstance(wanted, (list, tuple)):
            raise InputError("packages.%s must be a list of names" % tool)
        for name in wanted:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise InputError("packages.%s: %r is not a valid name of a package" % (tool, name))


def names(tools: Iterable[str], by: Optional[Manager], own: Mapping[str, Sequence[str]]) -> Tuple[str, ...]:
    """Return the packages of the tools without duplicates. ``own``: names of the site by tool, which take precedence over those of the distribution."""
    found: Dict[str, None] = {}
    for tool in tools:
        found.update(dict.fromkeys(own.get(tool) or (by.packages[tool] if by else ())))
    return tuple(found)


def command(by: Optional[Manager], packages: Sequence[str]) -> Tuple[str, ...]:
    """Return argv that installs the packages; empty if there are none, or if there is no supported package manager."""
    return by.install + tuple(packages) if by and packages else ()


def hint(tool: str) -> str:
    """Return the hint for a missing tool: ``apt-get install --yes perftest``."""
    by = manager()
    return " ".join(command(by, names([tool], by, {}))) or "install %s" % tool


def parse_os_release(text: str) -> Dict[str, str]:
    """Return ``id``, ``version`` and ``name`` of os-release(5); missing values are absent."""
    keys = {"ID": "id", "VERSION_ID": "version", "PRETTY_NAME": "name"}
    return {keys[key]: value.strip().strip("\"'") for key, value in _OS_RELEASE.findall(text) if value.strip().strip("\"'")}


def distribution(root: str = "/") -> Dict[str, str]:
    """Return the distribution of this host, empty if it is unknown."""
    for name in ("etc/os-release", "usr/lib/os-release"):
        try:
            with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
                return parse_os_release(file.read())
        except OSError:
            continue
    return {}
