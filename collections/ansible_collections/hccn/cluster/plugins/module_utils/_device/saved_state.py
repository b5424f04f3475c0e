# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Save the state of a host beside hccn.conf before the first set of a change, so that it survives a kill of any process.

Two files: the record, and a marker that exists while the change is unfinished. While the marker exists, later saves only add to the record: the
oldest value of each option stays. Without it the next save starts a new record. The record is written first, so that a marker never belongs to an
older record. Whoever completes the change (the role bring_up) or puts it back (the role restore) removes the marker.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .._core.record import utc

SCHEMA = "hccn.cluster/restore/2"

Entries = Sequence[Mapping[str, Any]]
"""Dictionaries with ``id`` and the options of that device; ``None`` where an option was not set or is not known."""


def path_of(conf: str) -> str:
    """Return the path of the record of a hccn.conf."""
    return os.path.realpath(conf) + ".restore.json"


def marker_of(conf: str) -> str:
    """Return the path of the file that exists while a change is unfinished."""
    return os.path.realpath(conf) + ".restore.unfinished"


def state_of(conf: str) -> Dict[str, Any]:
    """Return the value of ``saved`` of the modules."""
    path, marker = path_of(conf), marker_of(conf)
    return {"path": path, "marker": marker, "exists": os.path.exists(path), "unfinished": os.path.exists(marker)}


def save(conf: str, text: Optional[str], network: Entries = (), tls: Entries = ()) -> None:
    """Save the current ``text`` of hccn.conf, options and TLS flags of devices. Call it under the lock of hccn.conf, before a set.

    Raises HccnError ``not_saved``: nothing may be set then.
    """
    path, marker = path_of(conf), marker_of(conf)
    try:
        unfinished = os.path.exists(marker)
        found = _read(path) if unfinished else None
        record = merge(found or {"schema": SCHEMA, "saved_at": utc(), "hccn_conf": text, "network": [], "tls": []}, network, tls)
        if record != found:
            _replace(path, json.dumps(record, sort_keys=True, indent=1) + "\n")
        if not unfinished:
            os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            _sync_folder(marker)
    except OSError as error:
        raise HccnError("not_saved", "the current settings cannot be saved in %s: %s; nothing was set" % (path, error.strerror), _HINT) from None


_HINT = "check the file system, or set keep_previous: false (bring_up_keep_previous: false) if no restore is needed"


def merge(record: Mapping[str, Any], network: Entries, tls: Entries) -> Dict[str, Any]:
    """Return the record with the values that it lacks; values that it has are older and stay."""
    return dict(record, network=_merged(record["network"], network), tls=_merged(record["tls"], tls))


def _merged(old: Entries, new: Entries) -> List[Dict[str, Any]]:
    entries: Dict[int, Dict[str, Any]] = {}
    for entry in [*old, *new]:
        has = entries.setdefault(entry["id"], {})
        for option, value in entry.items():
            if isinstance(value, dict) and isinstance(has.get(option), dict):
                has[option] = dict(value, **has[option])
            else:
                has.setdefault(option, value)
    return [entries[device] for device in sorted(entries)]


def _read(path: str) -> Optional[Dict[str, Any]]:
    """Return the record, None if there is none. Raises HccnError ``not_saved`` for any other file, which must not be overwritten."""
    try:
        with open(path, encoding="ascii") as stream:
            record = json.load(stream)
        if record["schema"] == SCHEMA and all(isinstance(entry["id"], int) for key in ("network", "tls") for entry in record[key]):
            return dict(record)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        pass
    raise HccnError("not_saved", "%s is not a record of the settings before an unfinished change; nothing was set" % path,
                    "move the file away if these settings are not needed")


def _replace(path: str, text: str) -> None:
    """Write the file atomically, with mode 0600, and sync it to the disk."""
    descriptor, scratch = tempfile.mkstemp(prefix=".hccn-", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)
    except OSError:
        os.unlink(scratch)
        raise
    _sync_folder(path)


def _sync_folder(path: str) -> None:
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
