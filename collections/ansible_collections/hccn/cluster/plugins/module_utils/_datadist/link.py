# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of datadist_link: make, hold, probe and end links of LLM-DataDist."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Dict, List, Mapping, Optional

from .._core.errors import HccnError, InputError
from . import worker

_POLL_S = 0.05


def _checked(params: Mapping[str, Any]) -> None:
    """Raise InputError for invalid options."""
    ids = [remote["cluster"] for remote in params["remotes"]]
    if params["cluster"] in ids or len(set(ids)) != len(ids):
        raise InputError("remotes must not contain this cluster or duplicates")
    if ids and not params["local"] and not params["local_comm_res"]:
        raise InputError("local is missing: without local_comm_res, the ip and port of this host are required")
    if params["timeout"] < 1 or params["hold"] < 1 or params["timeout_ms"] < 1:
        raise InputError("timeout, hold and timeout_ms must be 1 or more")
    if params["state"] == "probed" and not ids:
        raise InputError("remotes is empty: there is nothing to probe")


def _path(params: Mapping[str, Any]) -> str:
    return os.path.join(params["state_dir"], "%d.json" % params["cluster"])


def _holder(path: str) -> Optional[Dict[str, Any]]:
    """Return the state file of the process that holds the links; None if that process has ended."""
    noted = worker.read(path)
    if noted is None or not isinstance(noted.get("pid"), int) or worker.started(noted["pid"]) != noted.get("started"):
        return None
    return noted


def _result(links: List[Dict[str, Any]], changed: bool, **more: Any) -> Dict[str, Any]:
    result = dict(more, changed=changed, links=links)
    failed = [link for link in links if link["status"] == "failed"]
    if failed:
        first = failed[0]
        explained = first["explained"]
        result.update(failed=True, msg="%d of %d links failed, the first to cluster %d: %s: %s%s" % (
            len(failed), len(links), first["cluster"], explained["name"], explained["meaning"],
            " (%s)" % explained["hint"] if "hint" in explained else ""))
    return result


def _present(params: Mapping[str, Any], path: str, check_mode: bool) -> Dict[str, Any]:
    noted = _holder(path)
    if noted is not None:
        if noted["asked"] != worker.request_options(params):
            raise HccnError("held_otherwise", "process %d holds other links of cluster %d" % (noted["pid"], params["cluster"]),
                            "end it first with state: absent")
        if all(link["status"] != "failed" for link in noted["links"]):
            return _result(noted["links"], False, process=noted["pid"])
    if check_mode:
        return {"changed": True, "links": []}
    if noted is not None:  # one process holds all links of a cluster, so failed links are retried together with the others
        _end(params, path, noted)
    try:
        os.makedirs(params["state_dir"], 0o700, exist_ok=True)
    except OSError as error:
        raise HccnError("state_not_written", "%s cannot be created: %s" % (params["state_dir"], error.strerror), "set state_dir to another folder") from error
    done = worker.work(params, path)
    return _result(done["links"], True, process=done["pid"]) if worker.holds(params, done["links"]) else _result(done["links"], False)


def _absent(params: Mapping[str, Any], path: str, check_mode: bool) -> Dict[str, Any]:
    noted = _holder(path)
    if check_mode or noted is None:
        if noted is None and not check_mode and os.path.exists(path):
            os.unlink(path)
        return {"changed": noted is not None, "links": []}
    left = _end(params, path, noted)
    for link in left:
        if link["status"] != "failed":
            link["status"] = "unlinked"
    return _result([link for link in left if "unlink" in link], True)


def _end(params: Mapping[str, Any], path: str, noted: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """End the process that holds the links, and return their final state. Raises HccnError ``timed_out`` if it had to be killed."""
    os.kill(noted["pid"], signal.SIGTERM)
    until = time.monotonic() + params["timeout"]
    while worker.started(noted["pid"]) == noted["started"]:
        if time.monotonic() >= until:
            os.kill(noted["pid"], signal.SIGKILL)
            os.unlink(path)
            raise HccnError("timed_out", "process %d did not unlink within %d s and was killed" % (noted["pid"], params["timeout"]),
                            "unlink on the other side, too")
        time.sleep(_POLL_S)
    left: List[Dict[str, Any]] = (worker.read(path) or {}).get("links", [])
    os.unlink(path)
    return left


def manage(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of datadist_link, with ``failed`` and ``msg`` if a link failed. Raises HccnError."""
    path = _path(params)
    if params["state"] == "absent":
        return _absent(params, path, check_mode)
    _checked(params)
    if params["state"] == "present":
        return _present(params, path, check_mode)
    if check_mode:
        return {"changed": False, "links": []}
    return _result(worker.work(params, None)["links"], False)
