"""Folders on real file systems that are full or read-only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.lib.project import skip


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Make a full file system at ``folder``; only empty files can be added."""
    with disk(folder, 4):
        fill(folder)
        yield


def fill(folder: Path) -> None:
    """Fill the file system."""
    with (folder / "filler").open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(4096))


@contextmanager
def disk(folder: Path, kilobytes: int, read_only: bool = False) -> Iterator[None]:
    """Mount a small file system at ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={kilobytes}k,nr_inodes=0,mode=0755" + (",ro" if read_only else "")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "hccn-test", str(folder)], capture_output=True, text=True, timeout=30)
    if done.returncode:
        skip("small-disk", done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)


@contextmanager
def full_ext4(folder: Path, kilobytes: int, free_kilobytes: int) -> Iterator[Callable[[], None]]:
    """Mount an ext4 file system at ``folder``. Yield a function that fills it up to ``free_kilobytes``. Unlike tmpfs, ext4 keeps the bytes that
    a failed write has added to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    image = folder.parent / f"{folder.name}.img"
    with image.open("wb") as stream:
        stream.truncate(kilobytes * 1024)
    for argv in (["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-b", "1024", "-m", "0", "-N", "32", str(image)],
                 ["mount", "-o", "loop", str(image), str(folder)]):
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
        except FileNotFoundError:
            skip("small-disk", f"{argv[0]} is missing")
        if done.returncode:
            skip("small-disk", done.stderr.strip())
    try:
        yield lambda: _fill(folder / "filler", free_kilobytes)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)
        image.unlink()


def _fill(path: Path, free_kilobytes: int) -> None:
    with path.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 1024)
        except OSError:
            os.fsync(stream.fileno())
        stream.truncate(path.stat().st_size - free_kilobytes * 1024)
        os.fsync(stream.fileno())
