"""A connection to this machine without timeouts, like those of kubectl and docker: a frozen host never answers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: mute
short_description: A host that may freeze
description: A connection of the tests.
author: The hccn.cluster authors
options:
  root:
    description: The host's folder. If it contains a file C(frozen), the host no longer answers.
    vars: [{name: root}]
"""


class Connection(ConnectionBase):
    transport = "mute"
    has_pipelining = True

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def _answer(self) -> None:
        if Path(str(self.get_option("root")), "frozen").exists():
            subprocess.run(["sleep", "36000"], check=False)

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        self._answer()
        with subprocess.Popen(["/bin/sh", "-c", cmd], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            output, errors = process.communicate(in_data)
        self._answer()
        return process.returncode, output, errors

    def put_file(self, in_path: str, out_path: str) -> None:
        super().put_file(in_path, out_path)
        self._answer()
        shutil.copy(in_path, out_path)

    def fetch_file(self, in_path: str, out_path: str) -> None:
        super().fetch_file(in_path, out_path)
        self._answer()
        shutil.copy(in_path, out_path)

    def close(self) -> None:
        self._connected = False
