"""Write an initramfs in the cpio format "newc" of the early user space of the kernel. A file may contain several archives in a row."""

from __future__ import annotations

import stat
from typing import BinaryIO


class Archive:
    """Duplicate names are ignored. Parent folders are added."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._names: set[str] = set()

    def folder(self, name: str, mode: int = 0o755) -> None:
        self._entry(name, stat.S_IFDIR | mode, b"")

    def file(self, name: str, content: bytes | str, mode: int = 0o644) -> None:
        self._entry(name, stat.S_IFREG | mode, content.encode() if isinstance(content, str) else content)

    def link(self, name: str, target: str) -> None:
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def close(self) -> None:
        self._entry("TRAILER!!!", 0, b"")

    def _entry(self, name: str, mode: int, content: bytes) -> None:
        if name in self._names:
            return
        above = name.rpartition("/")[0]
        if above:
            self.folder(above)
        self._names.add(name)
        text = name.encode() + b"\0"
        # inode, mode, uid, gid, links, mtime, size, device (major, minor), its own device (major, minor), length of the name, checksum
        numbers = (len(self._names), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(text), 0)
        for part in (b"070701" + b"".join(b"%08X" % number for number in numbers) + text, content):
            self._stream.write(part + bytes(-len(part) % 4))
