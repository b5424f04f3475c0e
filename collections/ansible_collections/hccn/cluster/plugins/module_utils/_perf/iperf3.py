# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""iperf3 between hosts: the bandwidth of TCP through the same network, as a baseline for RDMA.

``-J`` prints one JSON document at the end. With ``-J``, iperf3 3.12 exits with 0 even if it could not connect, so ``error`` in the document decides.
The server serves one client (``-1``) and exits, so it must not be probed by connecting to it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .._core.errors import HccnError, InputError, ParseError
from .._core.process import Result
from .._core.untrusted_text import json_object
from .._core.words import beginning
from . import perftest_options
from .host_server import KILLED_HINT, HostServer
from .perftest_options import Limit, Options

BASE_PORT = 5201
"""The default of iperf3. The server of a device listens on this port plus the number of the device."""

CONNECT_MS = 3000
DEFAULT_SECONDS = 10

LIMITS: Tuple[Limit, ...] = (Limit("duration_s", "-t", 1, 86400), Limit("qps", "-P", 1, 128), Limit("size_bytes", "-l", 1, 1048576),
                             Limit("source_port", "--cport", 1024, 65535))
"""iperf.h: MAX_TIME, MAX_STREAMS, MAX_BLOCKSIZE. Queue pairs become parallel TCP streams, whose source ports are numbered from ``source_port``."""

_NOT_TCP = ("iterations", "mtu", "gid_index", "traffic_class")
_PEER_HINT = "see the error of the other side"


class Iperf3Failure(NamedTuple):
    """``text`` is searched for in ``error`` of the document. ``here``: the cause is on the side that reports it."""

    text: str
    code: str
    hint: str
    here: bool = False


# Source: iperf_error.c of 3.12 and 3.18, whose texts differ.
FAILURES: Tuple[Iperf3Failure, ...] = (
    Iperf3Failure("interrupt - ", "tool_killed", KILLED_HINT, here=True),
    Iperf3Failure("unable to connect to server", "connection_refused", "the server was not running yet, or its port is blocked: check route and firewall"),
    Iperf3Failure("server is busy", "server_busy", "another iperf3 client uses the server"),
    Iperf3Failure("Address already in use", "port_in_use", "another iperf3 listens on this port: end it, or use another port", here=True),
    Iperf3Failure("Cannot assign requested address", "no_such_address", "this host does not have the address", here=True),
    Iperf3Failure("unexpectedly closed the connection", "peer_ended", _PEER_HINT),
    Iperf3Failure("control socket has closed unexpectedly", "peer_ended", _PEER_HINT),
    Iperf3Failure("unable to send control message", "peer_ended", _PEER_HINT),
    Iperf3Failure("unable to receive control message", "peer_ended", _PEER_HINT),
    Iperf3Failure("server has terminated", "peer_ended", _PEER_HINT),
    Iperf3Failure("client has terminated", "peer_ended", _PEER_HINT),
)
_OF_EITHER_SIDE = {failure.code for failure in FAILURES if not failure.here} | {"iperf3_timeout", "tool_failed", "no_traffic", "unexpected_output"}


def validate(options: Options) -> None:
    """Raise InputError for options that iperf3 does not support."""
    if options.measure != "bandwidth":
        raise InputError("iperf3 measures bandwidth only", "use perftest for latency")
    if options.all_sizes:
        raise InputError("iperf3 measures one size at a time")
    given = [name for name in _NOT_TCP if getattr(options, name) is not None]
    if given:
        raise InputError("%s %s no effect with iperf3, which measures TCP" % (" and ".join(given), "has" if len(given) == 1 else "have"))
    perftest_options.validate(options, "iperf3", LIMITS)


class Iperf3(HostServer):
    """iperf3 with the interface that the pair runner requires. Data flows from source to target, and from target to source for the operation ``read``."""

    def __init__(self, options: Options, version: str = "", base_port: int = BASE_PORT) -> None:
        """Raises InputError."""
        validate(options)
        self._options = options
        self._version = version
        super().__init__(base_port)

    def varied(self, changes: Mapping[str, int]) -> "Iperf3":
        """Return the same tool with other options (``Options.varied``). Raises InputError."""
        return Iperf3(self._options.varied(changes), self._version, self._base_port)

    def moved(self, device: int, planned: str) -> Optional[HccnError]:
        """Return None: the addresses of the ports of a host are not checked again."""
        return None

    def about(self, device: int) -> Mapping[str, Any]:
        """Return nothing: one TCP stream is not compared with the line rate."""
        return {}

    def describe(self) -> Mapping[str, Any]:
        """Return the fields ``tool``, ``operation``, ``measure`` and ``options`` of a record."""
        options = self._options
        tool = {"name": "iperf3", "version": self._version} if self._version else {"name": "iperf3"}
        return {"tool": tool, "operation": options.operation, "measure": options.measure, "options": options.as_dict()}

    def server(self, device: int, address: str) -> Tuple[str, ...]:
        """Return argv of the server, which listens on ``address`` only."""
        return ("iperf3", "-s", "-1", "-J", "-B", address, "-p", "%d" % self.port(device))

    def client(self, device: int, address: str, target: int) -> Tuple[str, ...]:
        """Return argv of the client, which connects to ``address``, the server of the device ``target`` of its host."""
        options = self._options
        words = ["iperf3", "-c", address, "-J", "-p", "%d" % self.port(target), "--connect-timeout", "%d" % CONNECT_MS]
        words += ["-t", "%d" % DEFAULT_SECONDS] if options.duration_s is None else []
        words += perftest_options.words(options, LIMITS, both="--bidir")
        return tuple(words + (["-R"] if options.operation == "read" and not options.bidirectional else []))

    def failure(self, result: Result) -> Optional[HccnError]:
        """Return why a finished iperf3 failed, or None. For server and client."""
        try:
            document_of(result)
        except HccnError as error:
            return error
        return None

    def may_retry(self, error: HccnError) -> bool:
        """Return True for a transient failure."""
        return error.code in ("connection_refused", "server_busy")

    def of_one_side(self, error: HccnError) -> bool:
        """Return True if the cause of the failure is on the side that reports it, and not anywhere between the two."""
        return error.code not in _OF_EITHER_SIDE

    def samples(self, result: Result, device: int = 0) -> List[Dict[str, object]]:
        """Return the samples of a finished client. Raises HccnError."""
        return [sample_of(document_of(result))]


def document_of(result: Result) -> Mapping[str, Any]:
    """Return the JSON document of a successful run. Raises HccnError."""
    if result.timed_out:
        raise HccnError("iperf3_timeout", "iperf3 did not end within %.0f s: %s" % (result.duration_s, " ".join(result.argv)),
                        "the other side may have crashed or hung")
    if result.rc < 0:
        raise HccnError("tool_killed", "iperf3 was ended by signal %d" % -result.rc, KILLED_HINT)
    document = json_object(result.stdout)
    if document is None:
        lines = (result.stderr or result.stdout).strip().splitlines() or ["no output"]
        raise HccnError("tool_failed", "iperf3 ended with status %d and no report: %s" % (result.rc, beginning(lines[0], 160)))
    message = document.get("error")
    if message:
        raise next((HccnError(failure.code, str(message), failure.hint) for failure in FAILURES if failure.text in str(message)),
                   HccnError("tool_failed", "iperf3 failed: %s" % message))
    if result.rc != 0:
        raise HccnError("tool_failed", "iperf3 ended with status %d, but its report contains no error" % result.rc)
    return document


def sample_of(document: Mapping[str, Any]) -> Dict[str, object]:
    """Return the sample with the received bandwidth; if both directions were measured, their sum. ``size_bytes`` is the size of a write call.

    Raises ParseError, HccnError ``no_traffic``.
    """
    try:
        size = document["start"]["test_start"]["blksize"]
        end = document["end"]
        sums = [end[name] for name in ("sum_received", "sum_received_bidir_reverse") if name in end]
        total = sum(float(found["bits_per_second"]) for found in sums)
        size = int(size)
    except (KeyError, TypeError, ValueError):
        raise ParseError("iperf3's report has no end.sum_received.bits_per_second or no start.test_start.blksize") from None
    if total <= 0:
        raise HccnError("no_traffic", "iperf3 reports a bandwidth of 0", "no data arrived on the other side")
    return {"size_bytes": size, "bandwidth_gbit_s": round(total / 1e9, 6)}


def parse_version(text: str) -> str:
    """Return the version in the output of ``iperf3 --version``, such as ``3.12``; empty if there is none."""
    words = text.split()
    return words[1] if len(words) > 1 and words[0] == "iperf" else ""
