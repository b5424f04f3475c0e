"""A connection that contacts no host: modules are built and sent as with ssh, and their results come from files. Only the controller has a cost."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: canned
short_description: Answers of files
description: A connection of the benchmarks.
author: The hccn.cluster authors
options:
  name:
    description: The host's name in the inventory.
    vars: [{name: inventory_hostname}]
"""

MODULE = re.compile(rb"ansible_collections\.hccn\.cluster\.plugins\.modules\.(\w+)")
FOLDER = re.compile(r"echo (ansible-tmp-[\w.-]+)=")
GATHER = re.compile(rb'"gather": (\[[^\]]*\])')
STAT = re.compile(rb"ansible\.(?:legacy|builtin|modules)\.(stat|copy|slurp|file)")


def answer_name(module: str, topics: list[str] | None) -> str:
    """Return the name of the answer of a module that reads these topics."""
    return "-".join([module, *([] if topics is None else sorted(topics) or ["nothing"])])


class Connection(ConnectionBase):
    transport = "canned"
    has_pipelining = True

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        if in_data:
            found = MODULE.search(in_data)
            name = found.group(1).decode() if found else self._plain(in_data)
            topics = GATHER.search(in_data)
            return 0, self._answer(answer_name(name, json.loads(topics.group(1)) if topics else None)), b""
        folder = FOLDER.search(cmd)
        if folder:
            return 0, f"{folder.group(1)}=/root/.ansible/tmp/{folder.group(1)}\n".encode(), b""
        found_file = MODULE.search(cmd.encode()) or re.search(rb"AnsiballZ_(\w+)\.py", cmd.encode())
        if found_file:
            return 0, self._answer(found_file.group(1).decode()), b""
        return 0, b"/root\n" if "echo ~" in cmd else b"", b""

    @staticmethod
    def _plain(payload: bytes) -> str:
        found = STAT.search(payload)
        return found.group(1).decode() if found else "nothing"

    def _answer(self, module: str) -> bytes:
        """Return the answer of this host, or else the answer for all hosts."""
        folder = Path(os.environ["BENCH_ANSWERS"])
        own = folder / str(self.get_option("name")) / f"{module}.json"
        return (own if own.exists() else folder / f"{module}.json").read_bytes()

    def put_file(self, in_path: str, out_path: str) -> None:
        Path(in_path).read_bytes()

    def fetch_file(self, in_path: str, out_path: str) -> Any:
        raise NotImplementedError("this connection fetches no files")

    def close(self) -> None:
        self._connected = False
