"""hccn.conf as the real tool edits it: in place (same inode) under flock, with the same defects."""

from __future__ import annotations

import fcntl
import os

from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable

LINE_BYTES = 384  # a longer line is read in pieces
FILE_BYTES = 1024000


class Conf:
    """One file. A caller may be an ordinary user, who can read but not write."""

    def __init__(self, path: str, uid: int) -> None:
        self.path = path
        self.writable_by_user = uid == 0
        self.before_edit: Callable[[], None] = lambda: None

    def read(self, key: str, size: int = LINE_BYTES) -> str | None:
        """Return the first value of ``key``, None if there is none. A value longer than ``size`` is an error."""
        for line in _lines(self._content()):
            if line.startswith("#") or len(line) < 3 or "=" not in line:
                continue
            text = line[:-1] if line.endswith("\n") else line
            name, _equals, value = text.partition("=")
            if name == key:
                if len(value) >= size:
                    raise Refused("generic")
                return value
        return None

    def has(self, key: str) -> bool:
        return self.read(key) is not None

    def write(self, key: str, value: str) -> None:
        """Remove every line that starts with ``key=`` and append the new one. If the file does not end with a newline, the new line is appended to the last
        one."""

        def edit(content: str) -> str:
            kept = "".join(line for line in _lines(content) if not line.startswith(key + "="))
            return f"{kept}{key}={value}\n"

        self._edit(edit)

    def append(self, line: str) -> None:
        """Add a line beside others of the same key (arp, ip_rule, ...)."""
        self._edit(lambda content: "".join(part for part in _lines(content) if part != line + "\n") + line + "\n")

    def delete(self, key: str) -> None:
        """Remove every line that contains ``key=`` anywhere, including comments and longer keys."""
        self._edit(lambda content: "".join(line for line in _lines(content) if key + "=" not in line))

    def delete_lines(self, wanted: Callable[[str], bool]) -> int:
        """Remove the lines for which ``wanted(line)`` is true, and return their number."""
        taken: list[str] = []

        def edit(content: str) -> str:
            taken.extend(line for line in _lines(content) if wanted(line.rstrip("\n")))
            return "".join(line for line in _lines(content) if line not in taken)

        self._edit(edit)
        return len(taken)

    def lines(self) -> list[str]:
        return [line.rstrip("\n") for line in _lines(self._content())]

    def require_write(self, refusal: str) -> None:
        """Some commands open the file for writing before they do anything else."""
        self._content()
        if not (self.writable_by_user and os.access(self.path, os.W_OK)):
            raise Refused(refusal)

    def _content(self) -> str:
        try:
            with open(self.path, "rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX)
                return stream.read().decode("latin-1")
        except FileNotFoundError:
            raise Refused("conf_access") from None
        except PermissionError:
            raise Refused("conf_read") from None

    def _edit(self, change: Callable[[str], str]) -> None:
        self.require_write("conf_write")
        self.before_edit()
        with open(self.path, "rb+") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            content = change(stream.read().decode("latin-1")).encode("latin-1")
            if len(content) >= FILE_BYTES:
                raise Refused("conf_space")
            stream.seek(0)
            stream.truncate()
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())


def _lines(content: str) -> list[str]:
    """Return lines as fgets with a buffer of LINE_BYTES reads them. Only a newline ends a line."""
    found = []
    for line in content.split("\n"):
        pieces = [line[at : at + LINE_BYTES - 1] for at in range(0, len(line), LINE_BYTES - 1)] or [""]
        found.extend(pieces)
        found[-1] += "\n"
    found[-1] = found[-1][:-1]
    found = [line.partition("\0")[0] for line in found]  # a NUL byte ends the text of a line, and its newline is not written again
    return [line for line in found if line]
