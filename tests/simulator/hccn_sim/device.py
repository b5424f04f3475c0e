"""One simulated device: its values, and what it answers when the tool calls it."""

from __future__ import annotations


from . import interface
from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .node import Node

# device call: its number in the state vocabulary (fail.<number>=<code>); fail.<name> is taken as well
CALLS = {"lldp": "2", "report": "83", "ping": "9f"}
REFUSAL_OF_CODE = {"-67": "link_down"}


class Device:
    """Values of one device by name; ``call`` is the moment when the device may refuse."""

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
        return bool(self.get("mainboard_id")) or self.node.product == "A3"

    def is_sibling(self, address: str) -> bool:
        """Does the other die of this NPU own the address? No port leads from one to the other."""
        own = self.node.state.get
        return self.is_a3 and bool(address) and address in (own(self.id ^ 1, "ip"), own(self.id ^ 1, "ip6"))

    def call(self, name: str = "", change: bool = False) -> None:
        """Asks the device; raises what a busy, broken or refusing device leads to."""
        if self.is_set("busy"):
            raise Refused("busy")
        if self.is_set("dead") or self.is_set("chan_ret"):
            raise Refused("device")
        if change and self.is_set("need_root") and self.node.uid != 0:
            raise Refused("permission")
        if change and self.get("set_refused") in ("1", name):
            raise Refused("device")
        code = self.get(f"fail.{name}") or self.get(f"fail.{CALLS.get(name, '')}")
        if code not in ("", "0"):
            raise Refused(REFUSAL_OF_CODE.get(code, "device"))
