# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of the module ssh_trust."""

from __future__ import annotations

from typing import Any, Dict, List

from .._core import process
from .._core.errors import HccnError, InputError
from . import ssh_trust
from .ssh_trust import Trust

_VERSION_SECONDS = 10


def argument_spec() -> Dict[str, Any]:
    return {
        "run_id": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["key", "present", "absent"], "required": True},
        "public_key": {"type": "str", "no_log": False},
        "seconds": {"type": "int", "default": 3600},
        "owner": {"type": "str"},
        "ended": {"type": "list", "elements": "str", "default": []},
        "authorized_keys": {"type": "path", "default": "~/.ssh/authorized_keys", "no_log": False},
        "key_dir": {"type": "path", "default": "~/.ssh", "no_log": False},
    }


def perform(params: Dict[str, Any], check_mode: bool, now: float) -> Dict[str, Any]:
    """Return the result of the module. Raises HccnError, OSError."""
    run_id, state, owner = params["run_id"], params["state"], params["owner"] or "unknown"
    ssh_trust.check(run_id, owner)
    if params["seconds"] < 1:
        raise InputError("seconds is %d, it must be 1 or more" % params["seconds"])
    if " " in params["key_dir"]:
        raise InputError("key_dir is %r, it must not contain spaces: launchers split their arguments at them" % params["key_dir"])
    path, folder = params["authorized_keys"], params["key_dir"]
    found = ssh_trust.lines(path) + ssh_trust.keys(folder)
    unwanted = [one for one in dict.fromkeys(ssh_trust.expired(found, now) + params["ended"] + ([run_id] if state == "absent" else []))
                if one in {trust.run_id for trust in found} and (state == "absent" or one != run_id)]
    trust = Trust(run_id, owner, int(now) + params["seconds"])
    result: Dict[str, Any] = {"changed": bool(unwanted), "removed": unwanted}
    if not check_mode:
        _remove(path, folder, unwanted)
    if state == "key":
        result["changed"] = True
        if not check_mode:
            identity, public_key = ssh_trust.make_key(folder, trust)
            result.update(identity=identity, public_key=public_key)
    elif state == "present":
        result["changed"] = result["changed"] or run_id not in {one.run_id for one in ssh_trust.lines(path)}
        result["host_keys"] = ssh_trust.host_keys()
        if not check_mode:
            ssh_trust.allow(path, params["public_key"], trust, _release())
    kept = [one for one in found if one.run_id not in unwanted]
    result["others"] = ssh_trust.others(kept, run_id)
    return result


def _remove(path: str, folder: str, run_ids: List[str]) -> None:
    ssh_trust.forbid(path, run_ids)
    ssh_trust.remove_keys(folder, run_ids)


def _release() -> Any:
    try:
        result = process.run(["ssh", "-V"], _VERSION_SECONDS)
    except HccnError:
        return None
    return ssh_trust.release_of(result.stderr + result.stdout)
