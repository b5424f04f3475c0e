# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""linux-rdma/perftest between hosts: a server on one RDMA device, a client on another, which prints the result.

Both sides get the same options, since perftest detects few differences. It prints nothing before it ends, a server serves one client, and a client does
not notice that its server has crashed. So the listening socket shows whether a server is ready, and the caller sets a deadline. ``-R`` (rdma_cm) is
never used, since it has no listening TCP socket.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.errors import HccnError
from .._core.process import Result
from .._device.rdma_sysfs import ETHERNET, RdmaPort
from . import perftest_options, perftest_report, perftest_text, route_trace
from .host_server import HostServer
from .perftest_options import MTUS, Limit, Options
from .perftest_report import RequestedTest
from .rdma_device import MAX_GID_INDEX, RdmaDevice

BASE_PORT = 18515
"""The default of perftest. The server of a device listens on this port plus the number of the device, so all devices of a host can be tested at once."""

LIMITS: Tuple[Limit, ...] = (
    Limit("size_bytes", "-s", 1, 2147483647),
    Limit("iterations", "-n", 5, 100000000),
    Limit("duration_s", "-D", 1, 86400),
    Limit("qps", "-q", 1, 16384),
    Limit("mtu", "-m", MTUS[0], MTUS[-1]),
    Limit("traffic_class", "--tclass", 0, 255),
)
"""Tested with 4.5 and 25.01, which accept but misinterpret values of -m and --tclass outside of these limits. The limit of a day is of this collection."""

FLOW_LABEL, FIRST_DYNAMIC_PORT = "--flow_label", 49152
"""perftest sets no port, but the flow label from which the drivers of cards compute one: for a label of 14 bits, this port plus the label (Linux,
rdma_flow_label_to_udp_sport)."""

_OF_EITHER_SIDE = perftest_text.OF_EITHER_SIDE | {perftest_report.TIMEOUT, perftest_report.OPTIONS_DIFFER, "no_rows", "no_traffic"}


def validate(options: Options) -> None:
    """Raise InputError for options that perftest would refuse or silently ignore."""
    perftest_options.validate(options, "perftest", LIMITS + (Limit("gid_index", "-x", 0, MAX_GID_INDEX),
                                                             Limit("source_port", FLOW_LABEL, FIRST_DYNAMIC_PORT, 65535)))


def arguments(options: Options, rdma_device: RdmaDevice, port: int, address: str) -> Tuple[str, ...]:
    """Return the command line of the server at ``address``; the client appends ``address`` to it.

    Both sides report bandwidth in Gbit/s. ``-F`` suppresses warnings about the CPU frequency.
    """
    words = [options.program, "-d", rdma_device.port.device, "-i", "%d" % rdma_device.port.port]
    words += [] if rdma_device.gid_index is None else ["-x", "%d" % rdma_device.gid_index]
    words += ["-F", "-p", "%d" % port] + perftest_options.words(options, LIMITS)
    words += [] if options.source_port is None else ["%s=%d" % (FLOW_LABEL, options.source_port - FIRST_DYNAMIC_PORT)]
    words += ["--report_gbits"] if options.measure == "bandwidth" else []
    return tuple(words + (["--ipv6-addr"] if ":" in address else []))


class Perftest(HostServer):
    """perftest on the RDMA devices of a host, with the interface that the pair runner requires."""

    def __init__(self, options: Options, rdma_devices: Mapping[int, RdmaDevice], version: str = "", base_port: int = BASE_PORT) -> None:
        """``rdma_devices``: the devices of this host by their numbers in the plan. Raises InputError."""
        validate(options)
        self._options = options
        self._rdma_devices = rdma_devices
        self._version = version
        super().__init__(base_port)

    @property
    def ports(self) -> Mapping[int, RdmaPort]:
        """The ports of the RDMA devices, by their numbers in the plan."""
        return {number: device.port for number, device in self._rdma_devices.items()}

    def varied(self, changes: Mapping[str, int]) -> "Perftest":
        """Return the same tool with other options (``Options.varied``). Raises InputError."""
        return Perftest(self._options.varied(changes), self._rdma_devices, self._version, self._base_port)

    def moved(self, device: int, planned: str) -> Optional[HccnError]:
        """Return None: the addresses of the ports of a host are not checked again."""
        return None

    def about(self, device: int) -> Mapping[str, Any]:
        """Return the ``context`` of a record for this device, without the line rate for software RoCE, which reports a fictitious one."""
        port = self._rdma_devices[device].port
        found = {"driver": port.driver, "firmware": port.firmware, "line_rate_gbit_s": port.rate_gbit_s if port.pci_address else None}
        return {name: value for name, value in found.items() if value is not None}

    def describe(self) -> Mapping[str, Any]:
        """Return the fields ``tool``, ``operation``, ``measure`` and ``options`` of a record."""
        options = self._options
        tool = {"name": options.program, "version": self._version} if self._version else {"name": options.program}
        return {"tool": tool, "operation": options.operation, "measure": options.measure, "options": options.as_dict()}

    def server(self, device: int, address: str) -> Tuple[str, ...]:
        """Return argv of the server on ``device``, which has ``address``."""
        return arguments(self._options, self._rdma_devices[device], self.port(device), address)

    def client(self, device: int, address: str, target: int) -> Tuple[str, ...]:
        """Return argv of the client on ``device``, which connects to ``address``, the server on the device ``target`` of its host."""
        return arguments(self._options, self._rdma_devices[device], self.port(target), address) + (address,)

    def routers(self, device: int, address: str, target: str) -> List[str]:
        """Return the routers that the packets of a test from ``device`` with this ``address`` pass. Return none without a source port, for InfiniBand, and for
        a test that also depends on the way back, on which other routers may be."""
        options, rdma_device = self._options, self._rdma_devices[device]
        port = options.source_port
        if port is None or rdma_device.link_type != ETHERNET or options.operation == "read" or options.measure == "latency" or options.bidirectional:
            return []
        return route_trace.routers(address, target, port, rdma_device.netdev)

    def failure(self, result: Result) -> Optional[HccnError]:
        """Return why a finished test failed, or None. Also for a server, whose report need not contain a table."""
        return perftest_report.error_of(result)

    def may_retry(self, error: HccnError) -> bool:
        """Return True for a transient failure."""
        return error.code in (perftest_text.CONNECTION_REFUSED, perftest_text.CLOCK_NOT_MEASURED)

    def of_one_side(self, error: HccnError) -> bool:
        """Return True if the cause of the failure is on the side that reports it, and not anywhere between the two."""
        return error.code not in _OF_EITHER_SIDE

    def samples(self, result: Result, device: int) -> List[Dict[str, object]]:
        """Return the samples of a client that finished on ``device``. Raises HccnError."""
        rdma_device = self._rdma_devices[device]
        requested = RequestedTest(options=self._options, device=rdma_device.port.device, gid_index=rdma_device.gid_index, link_type=rdma_device.link_type)
        return [row.as_sample() for row in perftest_report.judged(result, requested)]
