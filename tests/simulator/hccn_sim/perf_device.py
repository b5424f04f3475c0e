"""The device's side of a test as the tool sees it: state, start, report, reset.

In the fabric "fixed", a test is only a time at which it ends. In the others, it is a process that outlives the tool, like the processes of a real device: it
has an empty environment, a separate session, and a deadline after which it exits.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from .clock import Clock
from .process import alive, spawn, wait
from .json_files import read_json, write_json

if TYPE_CHECKING:
    from .tool import Tool

DONE, RUNNING, ERROR = 1, 2, 3
FIXED_POLLS = 1.5  # duration of a test in the fabric "fixed", in polls
READY_SECONDS, GONE_SECONDS = 10.0, 5.0
GRACE_SECONDS = 10
PROCESS = "import sys; sys.path.insert(0, {folder!r}); from hccn_sim.perf_process import main; main({path!r})"


class PerfDevice:
    """One test at a time; state/roce_test_<device>.json is the device's state of it."""

    def __init__(self, tool: Tool) -> None:
        self.tool, self.device, self.node = tool, tool.device, tool.node
        self.path = record_path(tool.node.state.folder, tool.device.id)

    def status(self) -> int:
        if self.device.get("perf_status"):
            return self.device.number("perf_status")
        if self.node.fabric == "fixed":
            until = self.device.get("pt_until")
            if until and self.tool.clock.now() < float(until):
                return RUNNING
            return self.device.number("perf_end_status", DONE) if until else DONE
        record = self._record()
        gone = record.get("status") == RUNNING and not self._in_hand(record)
        status = int((self._record() if gone else record).get("status", DONE))  # again, since the process may have ended well after the first reading
        return ERROR if gone and status == RUNNING else status

    def start(self, order: dict[str, Any]) -> int:
        """Start a test. Return 1, or the error code of the device."""
        if self.device.get("perf_start"):
            return self.device.number("perf_start")
        if self.node.fabric == "fixed":
            length = float(order["duration"] or FIXED_POLLS) * self.node.seconds("poll_seconds")
            self.device.set(pt_until=f"{self.tool.clock.now() + length:.3f}", pt_order=json.dumps(order))
            return DONE
        with self.node.state.locked():
            if self.status() == RUNNING:
                return RUNNING
            write_json(self.path, {"status": RUNNING, "asked_at": Clock.now(), "order": self._complete(order)})
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        spawn([sys.executable, "-I", "-S", "-c", PROCESS.format(folder=folder, path=self.path)])
        return DONE if wait(lambda: bool(self._record().get("ready")), READY_SECONDS) else ERROR

    def report(self) -> str:
        if self.device.get("perf_report"):
            return self.device.get("perf_report").replace("\\n", "\n")
        if self.node.fabric == "fixed":
            from .perf_report import fixed

            return fixed(json.loads(self.device.get("pt_order")))
        return str(self._record().get("report", ""))

    def reset(self) -> None:
        """End the device's process, identified by pid and start time, and forget the test. A process that is about to start then finds no order."""
        with self.node.state.locked():
            record = self._record()
            if alive(record):
                os.kill(record["pid"], signal.SIGKILL)
            if record:
                os.unlink(self.path)
        wait(lambda: not alive(record), GONE_SECONDS)
        gone = ("pt_until", "pt_order", "pt_type", "pt_client", "perf_status")
        self.device.set(**dict.fromkeys(name for name in gone if self.device.get(name)))

    def _record(self) -> dict[str, Any]:
        return read_json(self.path) or {}

    def _in_hand(self, record: dict[str, Any]) -> bool:
        return alive(record) or ("pid" not in record and Clock.now() - record["asked_at"] < READY_SECONDS)

    def _complete(self, order: dict[str, Any]) -> dict[str, Any]:
        """Return the order with the device's own settings and its network."""
        from .fabric import socket_address

        node, get = self.node, self.device.get
        both = get("rate_mbit")
        own = get("ip6") if ":" in str(order["peer"]) else get("ip")
        return {
            **order,
            "device": self.device.id,
            "state": node.state.folder,
            "own": own,
            "own_socket": socket_address(node, own),
            "peer_socket": socket_address(node, str(order["peer"])),
            "link": self.device.link_up and not self.device.is_sibling(str(order["peer"])),
            "tx_mbit": _slowest(both, get("tx_rate_mbit")),
            "rx_mbit": _slowest(both, get("rx_rate_mbit")),
            "server_seconds": node.seconds("server_seconds"),
            "measure_seconds": node.seconds("measure_seconds"),
            "measure_bytes": int(node.config["measure_bytes"]),
            "rate_scale": float(node.config["rate_scale"]),
            "deadline_seconds": int(node.seconds("server_seconds") + 4 * node.seconds("measure_seconds")) + GRACE_SECONDS,
        }


def _slowest(*rates: str) -> float:
    """Return the lowest limit; 0 is unlimited."""
    return min((float(rate) for rate in rates if rate), default=0.0)


def record_path(state_folder: str, device: int) -> str:
    return os.path.join(state_folder, f"roce_test_{device}.json")
