# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Save the state of a host beside hccn.conf before a change, so that it survives if any process is killed.

There are two files: the record, and a marker that exists while the change is unfinished. While the marker exists, further saves only add values
that the record lacks, so that it keeps the oldest value of each option. Without the marker, the next save starts a new record. The record is
written before the marker, so that a marker never belongs to an older record. The module device_state, which completes the change, or the role
restore, which reverts it, removes the marker.
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
"""Dictionaries with ``id`` and the options of that device, None for an option that was not set or is not known."""


def path_of(conf: str) -> str:
    """Return the path of the record for a hccn.conf."""
    return os.path.realpath(conf) + ".restore.json"


def marker_of(conf: str) -> str:
    """Return the path of the file that exists while a change is unfinished."""
    return os.path.realpath(conf) + ".restore.unfinished"


def state_of(conf: str) -> Dict[str, Any]:
    """Return the value of ``saved`` in module results."""
    path, marker = path_of(conf), marker_of(conf)
    return {"path": path, "marker": marker, "exists": os.path.exists(path), "unfinished": os.path.exists(marker)}


def save(conf: str, text: Optional[str], network: Entries = (), tls: Entries = ()) -> None:
    """Save the current ``text`` of hccn.conf, options and TLS flags of devices. It must be called before a change and under the lock of hccn.conf.

    If it raises HccnError ``not_saved``, nothing may be set.
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


def complete(conf: str) -> None:
    """Mark the change as complete. Raises HccnError ``not_completed``."""
    marker = marker_of(conf)
    try:
        os.unlink(marker)
        _sync_folder(marker)
    except FileNotFoundError:
        return
    except OSError as error:
        raise HccnError("not_completed", "%s, which marks an unfinished change, cannot be removed: %s" % (marker, error.strerror),
                        "remove it, otherwise the next change keeps the settings that were saved before this one") from None


_HINT = "check the file system, or set keep_previous: false (bring_up_keep_previous: false) if no restore is needed"


def merge(record: Mapping[str, Any], network: Entries, tls: Entries) -> Dict[str, Any]:
    """Return the record with values added that it lacks. Values that it already has are older and are kept."""
    return dict(record, network=_merged(record["network"], network), tls=_merged(record["tls"], tls))


def _merged(old: Entries, new: Entries) -> List[Dict[str, Any]]:
    entries: Dict[int, Dict[str, Any]] = {}
    for entry in [*old, *new]:
        saved = entries.setdefault(entry["id"], {})
        for option, value in entry.items():
            if isinstance(value, dict) and isinstance(saved.get(option), dict):
                saved[option] = dict(value, **saved[option])
            else:
                saved.setdefault(option, value)
    return [entries[device] for device in sorted(entries)]


def _read(path: str) -> Optional[Dict[str, Any]]:
    """Return the record, None if the file does not exist. Raises HccnError ``not_saved`` for any other content, which must not be overwritten."""
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
    descriptor, temporary = tempfile.mkstemp(prefix=".hccn-", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    _sync_folder(path)


def _sync_folder(path: str) -> None:
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
