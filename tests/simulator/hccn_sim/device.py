"""One simulated device: its values, and its answers to calls of the tool."""

from __future__ import annotations


from . import interface
from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .node import Node

# device call: its number in the keys of the state (fail.<number>=<code>); fail.<name> is accepted as well
CALLS = {"lldp": "2", "report": "83", "ping": "9f"}
SET_CALLS = {"netdetect": "1", "gateway": "3", "tls": "19"}
REFUSAL_OF_CODE = {"-67": "link_down"}


class Device:
    """Values of one device by name. The device may refuse at each ``call``."""

    def __init__(self, node: Node, device: int) -> None:
        self.node, self.id = node, device

    def get(self, key: str, default: str = "") -> str:
        return self.node.state.get(self.id, key, default)

    def number(self, key: str, default: int = 0) -> int:
        return int(self.get(key) or default)

    def is_set(self, key: str) -> bool:
        return self.get(key) not in ("", "0")

    def set(self, **values: str | None) -> None:
        self.node.state.update(self.id, dict(values))
        if any(name in interface.FOLLOWED for name in values):
            interface.follow(self.node, self.id)

    @property
    def link_up(self) -> bool:
        return self.get("link", "1") != "0" and interface.has_carrier(self)

    @property
    def is_a3(self) -> bool:
        return self.is_set("mainboard_id") or self.node.product == "A3"

    def is_sibling(self, address: str) -> bool:
        """Return True if the other die of this NPU has the address. There is no path between the ports of the two dies."""
        own = self.node.state.get
        return self.is_a3 and bool(address) and address in (own(self.id ^ 1, "ip"), own(self.id ^ 1, "ip6"))

    def call(self, name: str = "", change: bool = False) -> None:
        """Call the device. Raise the refusal that a busy or broken device, or an injected fault, causes."""
        if self.is_set("busy"):
            raise Refused("busy")
        if self.is_set("dead") or self.is_set("chan_ret"):
            raise Refused("device")
        if change and self.is_set("need_root") and self.node.uid != 0:
            raise Refused("permission")
        if change and self.get("set_refused") in ("1", name):
            raise Refused("device")
        code = self.get(f"fail.{name}") or self.get(f"fail.{CALLS.get(name, '')}") or (change and self.get(f"fail.{SET_CALLS.get(name, '')}") or "")
        if code not in ("", "0"):
            raise Refused(REFUSAL_OF_CODE.get(code, "device"))
