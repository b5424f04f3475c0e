"""Run modules in forked children, which read their arguments and print their result like a process, but do not start an interpreter.

A file operation of a child can be made to fail: SIGKILL kills the child there, or the operation fails as on a full disk.
"""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

MODULES = ("device_info", "device_tls", "device_network", "device_ping", "hccn_conf", "rdma_perf")
PACKAGE = "ansible_collections.hccn.cluster.plugins.modules"
FILE_OPERATIONS = ("posix_fallocate", "pwrite", "ftruncate", "fsync", "replace")


@dataclass
class Running:
    """A running module."""

    pid: int
    output: BinaryIO
    errors: BinaryIO
    deadline: float
    status: int | None = None

    def wait(self) -> None:
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > self.deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise TimeoutError(f"module {self.pid} did not exit in time")
            else:
                time.sleep(0.005)

    def result(self) -> dict[str, Any] | None:
        """Return what the module printed, None without a result. A traceback is returned as ``traceback``."""
        self.wait()
        printed, errors = (stream.seek(0) or stream.read().decode("utf-8", "surrogateescape") for stream in (self.output, self.errors))
        self.output.close()
        self.errors.close()
        if "Traceback" in errors:
            return {"traceback": errors[-2000:]}
        start = printed.find("{")
        try:
            return dict(json.loads(printed[start:])) if start >= 0 else None
        except ValueError:
            return None


def load() -> None:
    """Import all modules, so that the children need not."""
    for name in MODULES:
        importlib.import_module(f"{PACKAGE}.{name}")


def start(name: str, arguments: Mapping[str, Any], environment: Mapping[str, str], strike: Mapping[str, Any] | None, seconds: float) -> Running:
    """Start a module. ``strike``: ``{operation: n, how: kill|full}`` for the n-th file operation."""
    given, output, errors = (tempfile.TemporaryFile() for _stream in range(3))
    given.write(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
    given.seek(0)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number, stream in enumerate((given, output, errors)):
                os.dup2(stream.fileno(), number)
            os.environ.update(environment)
            _child(name, strike)
        finally:
            os._exit(1)
    given.close()
    return Running(pid, output, errors, time.monotonic() + seconds)


def _child(name: str, strike: Mapping[str, Any] | None) -> None:
    """Run the module in the child process; does not return."""
    sys.argv = [name]
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))  # type: ignore[arg-type]
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), write_through=True)  # type: ignore[arg-type]
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), write_through=True)  # type: ignore[arg-type]
    if strike:
        strike_at(int(strike["operation"]), str(strike["how"]))
    code: Any = 0
    try:
        importlib.import_module(f"{PACKAGE}.{name}").main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code if isinstance(code, int) else 1)


def strike_at(number: int, how: str) -> None:
    """Make the ``number``-th file operation of this process kill it, or fail with a full disk after half of the data was written."""
    count = [0]

    def patched(operation: str) -> Callable[..., Any]:
        real = getattr(os, operation)

        def call(*arguments: Any, **named: Any) -> Any:
            count[0] += 1
            if count[0] != number:
                return real(*arguments, **named)
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if operation == "posix_fallocate":
                descriptor, offset, length = arguments
                real(descriptor, offset, max(1, length - 1))
            if operation == "pwrite":
                descriptor, content, offset = arguments
                return real(descriptor, content[:len(content) // 2], offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return call

    for operation in FILE_OPERATIONS:
        setattr(os, operation, patched(operation))
