# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check this host for the programs, RDMA drivers and devices that a measurement needs, and name the packages that are missing."""

from __future__ import annotations

import os
import shutil
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core import problems, process
from .._core.errors import HccnError
from .._core.guard import Guard
from .._core.problems import Problem
from .._device.rdma_checks import read_memlock
from .._device.rdma_sysfs import RdmaPort, read_ports
from . import iperf3, mpirun, packages, perftest_report
from .perftest import BASE_PORT, FLOW_LABEL, Perftest, validate
from .perftest_options import MEASURES, OPERATIONS, Options
from .rdma_device import RdmaDevice, blockers, find_device

PERFTEST_PROGRAMS = tuple(Options(operation, measure).program for operation in OPERATIONS for measure in MEASURES)
MPI_PROGRAMS = ("mpirun", "mpirun.mpich", "mpirun.openmpi")
MPI_FOLDERS = ("/usr/lib64/mpich/bin", "/usr/lib64/openmpi/bin")
"""Folders of the packages of openEuler and Kylin, which are not in PATH until an environment module is loaded."""
PROVIDERS = "etc/libibverbs.d"
TOOL_MISSING = "tool_missing"
VERSION_SECONDS = 15.0

Runner = Callable[[Sequence[str], float], process.Result]


def probe(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the values of perf_tools_info. Starts each tool once, with ``--version``. Raises InputError."""
    with Guard():
        return inspect(params, process.run)


def inspect(params: Mapping[str, Any], run: Runner) -> Dict[str, Any]:
    """Return the values of perf_tools_info for its options. Raises InputError."""
    packages.check(params["packages"])
    root, by = params["root"], packages.manager()
    tools = [_tool(name, root, run) for name in params["tools"]]
    lacking = [tool["name"] for tool in tools if not tool["found"]]
    wanted = packages.names(lacking, by, params["packages"])
    found = [_missing(tool, root, packages.command(by, packages.names([tool["name"]], by, params["packages"]))) for tool in tools if not tool["found"]]
    result: Dict[str, Any] = {
        "changed": False, "tools": tools, "missing": lacking, "packages": list(wanted), "package_manager": by.name if by else None,
        "command": list(packages.command(by, wanted)), "distribution": packages.distribution(root),
        "devices": _devices(params, found), "problems": problems.as_dicts(found),
    }
    if problems.fails(found, params["fail_on"]):
        result.update(failed=True, msg="; ".join("%s (%s)" % (problem.message, problem.hint) for problem in found))
    return result


def _tool(name: str, root: str, run: Runner) -> Dict[str, Any]:
    """Return an element of the return value ``tools``. ``lacks`` lists the missing parts of the tool."""
    path, version, lacks = _PROBES[name](name, root, run)
    return {"name": name, "found": not lacks, "path": path, "version": version, "lacks": lacks}


Probed = Tuple[Optional[str], Optional[str], List[str]]


def _perftest(name: str, root: str, run: Runner) -> Probed:
    paths = {program: shutil.which(program) for program in PERFTEST_PROGRAMS}
    lacks = [program for program, path in paths.items() if path is None]
    path = next((path for path in paths.values() if path), None)
    return path, perftest_report.parse_version(_version_output(path, run)) or None if path else None, lacks


def _iperf3(name: str, root: str, run: Runner) -> Probed:
    path = shutil.which(name)
    return path, iperf3.parse_version(_version_output(path, run)) or None if path else None, [] if path else [name]


def _mpi(name: str, root: str, run: Runner) -> Probed:
    """Find the launcher of this flavour. Both flavours are called mpirun; the output of ``--version`` identifies them."""
    places = [place for program in MPI_PROGRAMS for place in mpirun.candidates(program, os.environ.get("PATH", ""))]
    places += [os.path.join(folder, MPI_PROGRAMS[0]) for folder in MPI_FOLDERS]
    for path in dict.fromkeys(place for place in places if os.access(place, os.X_OK)):
        try:
            launcher = mpirun.parse_version(path, _version_output(path, run))
        except HccnError:
            continue
        if launcher.flavour == name:
            return path, launcher.version, []
    return None, None, ["mpirun of %s" % name]


def _rdma(name: str, root: str, run: Runner) -> Probed:
    """Find the user-space drivers, without which libibverbs finds no device."""
    folder = os.path.join(root, PROVIDERS)
    drivers = [entry for entry in (os.listdir(folder) if os.path.isdir(folder) else ()) if entry.endswith(".driver")]
    return (folder, None, []) if drivers else (None, None, ["drivers of libibverbs (/%s)" % PROVIDERS])


_PROBES: Dict[str, Callable[[str, str, Runner], Probed]] = {
    packages.PERFTEST: _perftest, packages.IPERF3: _iperf3, packages.MPICH: _mpi, packages.OPENMPI: _mpi, packages.RDMA: _rdma}


def _version_output(path: str, run: Runner) -> str:
    try:
        return run((path, "--version"), VERSION_SECONDS).stdout
    except HccnError:
        return ""


def _missing(tool: Mapping[str, Any], root: str, command: Sequence[str]) -> Problem:
    distribution = packages.distribution(root).get("name", "this host")
    return Problem(TOOL_MISSING, "error", "%s %s not installed" % (", ".join(tool["lacks"]), "is" if len(tool["lacks"]) == 1 else "are"), where=tool["name"],
                   hint=" ".join(command) or "install %s: %s has no supported package manager (apt-get, dnf or yum)" % (tool["name"], distribution))


def _devices(params: Mapping[str, Any], found: Sequence[Problem]) -> List[Dict[str, Any]]:
    """Return a device for each address in the form of device_info, numbered in the order of ``addresses``. ``errors`` are reasons why it cannot be measured."""
    addresses, rdma = params["addresses"], packages.PERFTEST in params["tools"]
    ports = read_ports(params["root"]) if rdma and addresses else []
    general = [{"topic": "tool", "code": problem.rule, "message": "%s (%s)" % (problem.message, problem.hint)} for problem in found]
    devices: List[Dict[str, Any]] = [{"id": number, "address": address, "errors": list(general)} for number, address in enumerate(addresses)]
    for device in devices if rdma else ():
        _add_rdma(device, ports, params)
    return devices


def _add_rdma(device: Dict[str, Any], ports: Sequence[RdmaPort], params: Mapping[str, Any]) -> None:
    """Add the RDMA port that has the address of a device, and what hinders a measurement with it."""
    try:
        chosen = find_device(ports, device["address"], params["rdma_device"], params["rdma_port"], gid_index=params["gid_index"])
        device["rdma"] = _settings(chosen)
        bad = blockers(chosen, read_memlock(params["root"]), Options())
    except HccnError as error:
        device["errors"].append({"topic": "rdma", "code": error.code, "message": error.sentence()})
        return
    device["errors"] += [{"topic": "rdma", "code": problem.rule, "message": "%s (%s)" % (problem.message, problem.hint)} for problem in bad]


def _settings(chosen: RdmaDevice) -> Dict[str, Any]:
    port = chosen.port
    gid = next((gid for gid in port.gids if gid.index == chosen.gid_index), None)
    return {"device": port.device, "port": port.port, "netdev": port.netdev, "rate_gbit_s": port.rate_gbit_s, "netdev_mtu": port.netdev_mtu,
            "active_mtu": port.active_mtu, "gid_type": gid.type if gid else None, "driver": port.driver, "firmware": port.firmware}


def prepare(options: Options, addresses: Mapping[int, str], rdma_device: Optional[str] = None, rdma_port: Optional[int] = None, root: str = "/",
            base_port: int = BASE_PORT, run: Runner = process.run) -> Tuple[Perftest, List[Problem]]:
    """Return the tool for the devices of this host, and the problems that make every test with it fail.

    ``addresses``: by the number of the device in the plan; ``rdma_device``, ``rdma_port``: of the host, where None is the one that has the address.
    Starts ``PROGRAM --version``, and ``--help`` for a source port. Raises HccnError for a missing program, device, GID or option, InputError for the options.
    """
    validate(options)
    version = _version(options.program, run)
    if options.source_port is not None and FLOW_LABEL + "=" not in _started(options.program, "--help", run):
        raise HccnError("bad_option", "source_port needs the option %s, which %s %s of this host does not have" % (FLOW_LABEL, options.program, version),
                        "install perftest 23.10 or newer, or omit source_port")
    ports, memlock = read_ports(root), read_memlock(root)
    rdma_devices: Dict[int, RdmaDevice] = {}
    found: List[Problem] = []
    for device, address in sorted(addresses.items()):
        rdma_devices[device] = find_device(ports, address, rdma_device, rdma_port, gid_index=options.gid_index)
        found += [problem for problem in blockers(rdma_devices[device], memlock, options) if problem not in found]
    return Perftest(options, rdma_devices, version, base_port), found


def _version(program: str, run: Runner) -> str:
    if shutil.which(program) is None:
        raise HccnError("tool_missing", "%s is not in PATH" % program, packages.hint(packages.PERFTEST))
    return perftest_report.parse_version(_started(program, "--version", run))


def _started(program: str, option: str, run: Runner) -> str:
    """Return what a program prints for an option with which it measures nothing."""
    result = run((program, option), VERSION_SECONDS)
    if result.timed_out:
        raise HccnError("timeout", "%s %s did not end within %.0f s" % (program, option, VERSION_SECONDS),
                        "check whether the host is overloaded, or its RDMA driver hangs")
    return result.stdout
