"""The devices of a node: values by device and key in state/devices.json, changed under a lock and replaced atomically."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

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
        with self._changing() as stored:
            for key, value in values.items():
                owners = [str(device)] if str(device) != ALL else [*stored, ALL]
                for owner in owners:
                    stored.get(owner, {}).pop(key, None)
                if value is not None:
                    stored.setdefault(str(device), {})[key] = str(value)

    def add(self, device: int, amounts: dict[str, int]) -> dict[str, int]:
        """Add to counters, which do not fall below 0; return their previous values."""
        with self._changing() as stored:
            before = {key: int(self.get(device, key) or 0) for key in amounts}
            own = stored.setdefault(str(device), {})
            own.update({key: str(max(0, before[key] + amount)) for key, amount in amounts.items()})
        return before

    @contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, str]]]:
        with self.locked():
            self._values = stored = self._read()
            yield stored
            write_json(self.path, stored)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the state of this node. It is not reentrant."""
        os.makedirs(self.folder, exist_ok=True)
        descriptor = os.open(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            with open(self.path, encoding="utf-8") as stream:
                values: dict[str, dict[str, str]] = json.load(stream)
                return values
        except FileNotFoundError:
            return {}


def write_json(path: str, value: Any) -> None:
    """Replace a file atomically, so that readers need no lock."""
    scratch = f"{path}.{os.getpid()}"
    with open(scratch, "w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=1, sort_keys=True)
    os.replace(scratch, path)


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
