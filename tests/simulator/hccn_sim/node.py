"""A node: the folder that represents one host, its configuration and its cluster (the folders beside it)."""

from __future__ import annotations

import os

from .clock import Clock
from .conf import Conf
from .json_files import read_json
from .state import State

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import Any

PRODUCTS = {"A2": 8, "A3": 16, "950": 8}  # with the number of devices of a server

DEFAULTS: dict[str, Any] = {
    "product": "A2",
    "devices": None,  # None: the number of the product
    "super_pod_id": 0,
    "super_pod_size": 384,
    "server_index": None,  # index of an A3 server in its super pod; None: in no super pod
    "fabric": "fixed",  # fixed | loopback | interfaces
    "loopback_shift": 0,  # for clusters on the same machine with the same addresses
    "poll_seconds": 1.0,  # the tool's interval between polls of a running test
    "retry_seconds": 1.0,  # the tool's wait before a retry
    "latency_seconds": 0.0,  # duration of every call
    "hang_seconds": 600.0,  # longest wait of the fault "hang"
    "server_seconds": 60.0,  # how long a test's server waits for its client
    "measure_seconds": 0.5,  # bounds of the traffic that a test really moves
    "measure_bytes": 64 * 1024 * 1024,
    "rate_scale": 1.0,  # reported bandwidth by moved one
    "switch_addresses": [],  # they answer ping and net_health, but no device has them
    "uid": 0,  # the user as whom the tool considers itself to run
}


class Node:
    """The host of a call."""

    def __init__(self, root: str, conf_path: str = "", clock: Any = Clock) -> None:
        self.root = root
        self.clock = clock
        self.config = {**DEFAULTS, **(read_json(os.path.join(root, "sim.json")) or {})}
        self.uid = int(self.config["uid"])
        self.conf = Conf(conf_path or os.path.join(root, "etc", "hccn.conf"), self.uid)
        self.state = State(os.path.join(root, "state"))

    @property
    def fabric(self) -> str:
        return str(self.config["fabric"])

    @property
    def product(self) -> str:
        return str(self.config["product"])

    def seconds(self, name: str) -> float:
        return float(self.config[name])

    def devices(self) -> list[int]:
        wanted = self.config["devices"]
        count = int(self.state.get("*", "devices") or (PRODUCTS[self.product] if wanted is None else wanted))
        return [device for device in range(count) if self.state.get(device, "absent") != "1"]

    def neighbours(self) -> list[Node]:
        """Return all nodes of the cluster, including this one."""
        cluster = os.path.dirname(self.root)
        names = sorted(os.listdir(cluster))
        roots = [os.path.join(cluster, name) for name in names if os.path.isdir(os.path.join(cluster, name, "state"))]
        return [Node(root) for root in roots]


def find(called_as: str, environment: dict[str, str]) -> Node:
    """Return the node of a call: HCCN_SIM_ROOT, or the parent of the folder that contains the called file (links are not followed)."""
    root = environment.get("HCCN_SIM_ROOT") or os.path.dirname(os.path.dirname(os.path.abspath(called_as)))
    return Node(os.path.abspath(root), environment.get("HCCN_SIM_CONF", ""))
