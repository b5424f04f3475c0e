# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Write a run so that acknowledged records survive a kill, and a full disk damages none of them."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Any
from collections.abc import Iterable, Iterator

from .files import FILE_MODE, make_folders, sync_folder
from .format import HistoryError, final_path, line, part_path

# Maximum number of playbooks of one command that start in the same second with the same run id.
_SAME_SECOND = 100


class RunWriter:
    """Writes the file of a run. Call ``append`` as results arrive, then ``finish``.

    ``header`` must have run_id and started_at. If a run with this id started in the same second, a number is appended to the id. ``path`` is the current
    path of the file. All methods raise HistoryError (history_not_writable); the file then ends with its last complete line and must be closed.
    """

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.path = part_path(folder, header["started_at"], header["run_id"])
        self.run_id: str = header["run_id"]
        self._size = 0
        with self._history_errors():
            make_folders(self.path.parent)
            self._file = self._create(folder, header)
        try:
            with self._history_errors():
                os.fchmod(self._file, FILE_MODE)
            self.write([{**header, "run_id": self.run_id}])
            with self._history_errors():
                sync_folder(self.path.parent)
        except HistoryError:
            self.close()
            with contextlib.suppress(OSError):
                self.path.unlink()  # without its header no reader could identify it
            raise

    def write(self, entries: Iterable[dict[str, Any]]) -> None:
        """Append entries."""
        self.append(map(line, entries))

    def append(self, lines: Iterable[bytes]) -> None:
        """Append complete lines in one write and sync them to the disk."""
        data = b"".join(lines)
        with self._history_errors():
            try:
                self._append(data)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
                raise
        self._size += len(data)

    def finish(self, end: dict[str, Any]) -> Path:
        """Write the end line, give the file its final name and return its path."""
        self.write([end])
        final = final_path(self.path)
        with self._history_errors():
            os.rename(self.path, final)
            self.path = final
            sync_folder(final.parent)
        self.close()
        return final

    def close(self) -> None:
        """Close the file; without ``finish`` it remains a .part."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _create(self, folder: Path, header: dict[str, Any]) -> int:
        for number in range(1, _SAME_SECOND + 1):
            self.run_id = header["run_id"] if number == 1 else f"{header['run_id']}-{number}"
            self.path = part_path(folder, header["started_at"], self.run_id)
            with contextlib.suppress(FileExistsError):
                created = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
                # Checked after creation, since another run may have got the final name just before.
                if not final_path(self.path).exists():
                    return created
                os.close(created)
                self.path.unlink()
        raise OSError(errno.EEXIST, f"{_SAME_SECOND} runs with this id have already started in this second")

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            # When a disk becomes full, a write may be partial, and only the next one fails.
            written = os.write(self._file, rest)
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            rest = rest[written:]
        os.fsync(self._file)

    @contextlib.contextmanager
    def _history_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HistoryError(
                "history_not_writable",
                f"{self.path}: {error.strerror or error}",
                "Free disk space, give the user who runs ansible-playbook write access, or set HCCN_RESULTS_PATH to another folder.",
            ) from error
