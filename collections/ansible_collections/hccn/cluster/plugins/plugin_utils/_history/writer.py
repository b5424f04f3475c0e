# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Writes one run, so that whatever was acknowledged is there after a kill, and a full disk spoils nothing."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Any
from collections.abc import Iterable, Iterator

from .files import FILE_MODE, make_folders, sync_folder
from .format import HistoryError, final_path, line, part_path

# Playbooks of one command that share a given run id within one second.
_SAME_SECOND = 100


class RunWriter:
    """The one writer of one run: ``write`` as results come, then ``finish``.

    ``header`` needs run_id and started_at; the run id gets a number behind it where that second already has a run of this name.
    ``path`` is the file as it lies there now. Every method raises HistoryError (code history_not_writable); the file then ends with
    its last whole line and is to be closed.
    """

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.path = part_path(folder, header["started_at"], header["run_id"])
        self.run_id: str = header["run_id"]
        self._size = 0
        with self._explained():
            make_folders(self.path.parent)
            self._file = self._create(folder, header)
        try:
            with self._explained():
                os.fchmod(self._file, FILE_MODE)
            self.write([{**header, "run_id": self.run_id}])
            with self._explained():
                sync_folder(self.path.parent)
        except HistoryError:
            self.close()
            with contextlib.suppress(OSError):
                self.path.unlink()  # without its header it would be a file that no reader can name
            raise

    def write(self, entries: Iterable[dict[str, Any]]) -> None:
        """Appends the entries as ``append`` does."""
        self.append(map(line, entries))

    def append(self, lines: Iterable[bytes]) -> None:
        """Appends whole lines in one write, and returns when they are on the disk."""
        data = b"".join(lines)
        with self._explained():
            try:
                self._append(data)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
                raise
        self._size += len(data)

    def finish(self, end: dict[str, Any]) -> Path:
        """Writes the end line and gives the file its final name, which is returned."""
        self.write([end])
        final = final_path(self.path)
        with self._explained():
            os.rename(self.path, final)
            self.path = final
            sync_folder(final.parent)
        self.close()
        return final

    def close(self) -> None:
        """Leaves the file as it is; without ``finish`` it stays a .part."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _create(self, folder: Path, header: dict[str, Any]) -> int:
        for number in range(1, _SAME_SECOND + 1):
            self.run_id = header["run_id"] if number == 1 else f"{header['run_id']}-{number}"
            self.path = part_path(folder, header["started_at"], self.run_id)
            with contextlib.suppress(FileExistsError):
                created = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
                # Looked at now, since another one may have given its file the final name just before.
                if not final_path(self.path).exists():
                    return created
                os.close(created)
                self.path.unlink()
        raise OSError(errno.EEXIST, f"this second already has {_SAME_SECOND} runs of this id")

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            # A disk that runs full takes less than it was given; only the next write fails.
            written = os.write(self._file, rest)
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            rest = rest[written:]
        os.fsync(self._file)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HistoryError(
                "history_not_writable",
                f"{self.path}: {error.strerror or error}",
                "Make room or let the user of ansible-playbook write there, or set HCCN_RESULTS_PATH to another folder.",
            ) from error
