# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The worker process that links clusters under a deadline, separately from the module, and holds links of ``state: present``.

It reports its pid and then its result as lines of JSON on a pipe. A worker that holds links writes its state, and finally its result, to the file
``<cluster>.json``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import Any, Dict, List, Mapping, Optional

from .._core import procfs
from .._core.detach import detach
from .._core.errors import HccnError
from .._core.untrusted_text import json_object
from .endpoint import Endpoint

_GRACE_S = 5
"""Time beyond the deadline of the module. After it the kernel ends the worker, even in the middle of a call into CANN."""


class _Stop(BaseException):
    """The worker was asked to end."""


def _stop(*_: Any) -> None:
    raise _Stop


def started(pid: int) -> Optional[int]:
    """Return when a process started, in clock ticks; None if it does not run."""
    try:
        found = procfs.stat_of(pid)
    except OSError:
        return None
    return None if found.ended else found.start_ticks


def write(path: str, content: Mapping[str, Any]) -> None:
    """Write the file atomically. Raises OSError."""
    draft = "%s.%d" % (path, os.getpid())
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        json.dump(content, stream)
    os.replace(draft, path)


def read(path: str) -> Optional[Dict[str, Any]]:
    try:
        with open(path, "rb") as stream:
            return json_object(stream.read())
    except OSError:
        return None


class Worker:
    """The code of the worker process."""

    def __init__(self, params: Mapping[str, Any], path: Optional[str], pipe: int) -> None:
        """``path`` is the state file of a worker that holds links; if None, the worker unlinks at once."""
        self._params = params
        self._path = path
        self._pipe = pipe

    def _report(self, **values: Any) -> None:
        os.write(self._pipe, (json.dumps(values) + "\n").encode())

    def run(self, ready: Any) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(self._params["timeout"] + _GRACE_S)
        ready()
        self._report(pid=os.getpid())
        endpoint: Optional[Endpoint] = None
        try:
            endpoint = Endpoint(self._params)
            links = endpoint.link(self._params["remotes"])
            if self._path is None:
                endpoint.unlink(self._params["remotes"], links)
            path = self._path if holds(self._params, links) else None
            if path is not None:
                signal.signal(signal.SIGTERM, _stop)
                write(path, self._note(links))
            self._report(links=links)
            if path is not None:
                self._hold(endpoint, path, links)
        except HccnError as error:
            self._report(error=error.as_dict())
        except OSError as error:
            self._report(error={"code": "state_not_written", "message": "%s cannot be written: %s" % (self._path, error.strerror), "hint": ""})
        finally:
            if endpoint is not None:
                endpoint.close()

    def _note(self, links: List[Dict[str, Any]]) -> Dict[str, Any]:
        return {"pid": os.getpid(), "started": started(os.getpid()), "asked": request_options(self._params), "links": links}

    def _hold(self, endpoint: Endpoint, path: str, links: List[Dict[str, Any]]) -> None:
        os.close(self._pipe)
        signal.alarm(0)
        try:
            time.sleep(self._params["hold"])
        except _Stop:
            pass
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.alarm(self._params["timeout"] + _GRACE_S)
        endpoint.unlink(self._params["remotes"], links)
        write(path, {"links": links})


def holds(params: Mapping[str, Any], links: List[Dict[str, Any]]) -> bool:
    """Return True if the worker must stay: it has a link, or listens for links of others."""
    return bool(params["listen"]) or not links or any(link["status"] != "failed" for link in links)


def request_options(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the options by which two requests are compared."""
    return {key: params[key] for key in ("cluster", "role", "device", "listen", "local", "local_comm_res", "remotes")}


def _lines(pipe: int, until: float) -> List[Dict[str, Any]]:
    """Return the lines of the worker until it closes the pipe, reports its result, or the time is over."""
    data = b""
    while select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(pipe, 65536)
        data += part
        if not part or data.count(b"\n") >= 2:
            break
    return [json.loads(line.decode()) for line in data.split(b"\n") if line]


def work(params: Mapping[str, Any], path: Optional[str]) -> Dict[str, Any]:
    """Run a worker and return its ``pid`` and ``links``. Raises HccnError; a worker that does not finish in time is killed."""
    reading, writing = os.pipe()
    until = time.monotonic() + params["timeout"]
    try:
        detach(Worker(params, path, writing).run, [writing])
        os.close(writing)
        writing = -1
        report: Dict[str, Any] = {}
        for line in _lines(reading, until):
            report.update(line)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    if "error" in report:
        error = report["error"]
        raise HccnError(error["code"], error["message"], error.get("hint", ""))
    if "links" not in report:
        pid = report.get("pid")
        if pid and started(pid) is not None:
            os.kill(pid, signal.SIGKILL)
            raise HccnError("timed_out", "LLM-DataDist did not finish within %d s, and its process was killed" % params["timeout"],
                            "raise timeout, and check whether the device is busy")
        raise HccnError("worker_ended", "the process with LLM-DataDist ended without a result", "see its log, and dmesg for a crash")
    return report
