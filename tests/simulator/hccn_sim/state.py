"""The devices of a node: values by device and key in state/devices.json, changed under a lock and replaced atomically."""

from __future__ import annotations

import fcntl
import os

from .json_files import read_json, write_json

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Mapping

ALL = "*"


class State:
    """Values are strings. A device's own value has precedence over the one of ``*``."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, "devices.json")
        self._values: dict[str, dict[str, str]] | None = None

    def get(self, device: int | str, key: str, default: str = "") -> str:
        if self._values is None:
            self._values = self._read()
        for name in (str(device), ALL):
            if key in self._values.get(name, {}):
                return self._values[name][key]
        return default

    def keys(self, device: int | str) -> dict[str, str]:
        """Return all values that apply to a device."""
        values = self._values = self._read()
        return {**values.get(ALL, {}), **values.get(str(device), {})}

    def update(self, device: int | str, values: Mapping[str, str | None]) -> None:
        """Set values; None removes. A value for all (``*``) replaces the values of single devices."""
        with self.locked():
            self._values = stored = self._read()
            for key, value in values.items():
                owners = [str(device)] if str(device) != ALL else [*stored, ALL]
                for owner in owners:
                    stored.get(owner, {}).pop(key, None)
                if value is not None:
                    stored.setdefault(str(device), {})[key] = str(value)
            write_json(self.path, stored)

    def add(self, device: int, amounts: dict[str, int]) -> dict[str, int]:
        """Add to counters, which do not fall below 0; return their previous values."""
        with self.locked():
            self._values = stored = self._read()
            before = {key: int(self.get(device, key) or 0) for key in amounts}
            own = stored.setdefault(str(device), {})
            own.update({key: str(max(0, before[key] + amount)) for key, amount in amounts.items()})
            write_json(self.path, stored)
        return before

    def locked(self) -> Lock:
        """Lock the state of this node. It is not reentrant."""
        return Lock(self.folder)

    def _read(self) -> dict[str, dict[str, str]]:
        return read_json(self.path) or {}


class Lock:
    """A lock of a folder. A class, since contextlib is slow to load."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        self._descriptor = os.open(os.path.join(self._folder, "lock"), os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_error: object) -> None:
        os.close(self._descriptor)


def assignments(items: list[str]) -> dict[str, dict[str, str | None]]:
    """Parse ``3.link=0``, ``*.busy=1`` or ``devices=8`` (no device: for all). An empty value removes the key."""
    found: dict[str, dict[str, str | None]] = {}
    for item in items:
        name, equals, value = item.partition("=")
        head, dot, key = name.strip().partition(".")
        if not equals or not name.strip():
            raise ValueError(f"{item!r} is not KEY=VALUE")
        if not (dot and (head == ALL or head.isdigit())):
            head, key = ALL, name.strip()
        found.setdefault(head, {})[key] = value if value else None
    return found
