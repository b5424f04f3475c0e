# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Set the frequency governor of the CPUs to ``performance`` during a measurement, and restore it in any case.

The old values are written to a file before any change, so that the runner, its guard or the next call on this host can restore them. Source: Linux,
Documentation/admin-guide/pm/cpufreq.rst. A machine without cpufreq (such as most virtual machines) has no policies and is not changed,
and rdma_perf warns with ``UNAVAILABLE``.
"""

from __future__ import annotations

import json
import os
import re
from typing import Dict, List

from .._core.errors import HccnError

PERFORMANCE = "performance"
SAVED = "governor.json"
"""Name of the file with the values to restore, in the state folder of the run."""
UNAVAILABLE = ("cpu_governor is performance, but this host has no CPU frequency governor (no policy in /sys/devices/system/cpu/cpufreq), so none was set: the "
               "firmware or the hypervisor controls the frequency")

_POLICIES = "sys/devices/system/cpu/cpufreq"
_POLICY = re.compile(r"policy\d+")


def read(root: str = "/") -> Dict[str, str]:
    """Return the governor of each policy (``policy0``: CPUs that change together); empty where the machine has no policies."""
    folder = os.path.join(root, _POLICIES)
    names = sorted(name for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if _POLICY.fullmatch(name))
    found = {}
    for name in names:
        try:
            with open(_file(root, name), encoding="ascii") as governor:
                found[name] = governor.read().strip()
        except OSError:
            continue  # a policy whose CPUs are offline
    return found


def raise_all(saved: str, root: str = "/") -> Dict[str, str]:
    """Set all governors to ``performance``; return the values to restore, which are written to the file ``saved`` before the first change.

    An existing file was left by a killed run: for policies that are still at ``performance``, its values are the original ones.
    Raises HccnError ``governor_unchanged`` after restoring all values.
    """
    before, older = read(root), _load(saved)
    was = {name: older.get(name, value) if value == PERFORMANCE else value for name, value in before.items()}
    changing = {name: value for name, value in was.items() if value != PERFORMANCE}
    if not changing:
        return {}
    _save(saved, changing)
    for name in sorted(before):
        if before[name] != PERFORMANCE and not _write(root, name, PERFORMANCE):
            restore(saved, root)
            raise HccnError("governor_unchanged", "the governor of %s cannot be set to %s" % (name, PERFORMANCE),
                            "run as root, and see scaling_available_governors below /%s/%s" % (_POLICIES, name))
    return changing


def restore(saved: str, root: str = "/") -> List[str]:
    """Restore the values in ``saved`` and remove the file; return the policies that failed, which stay in the file. Without the file, do nothing.

    A policy that is no longer at ``performance`` was changed by another program meanwhile, and is left alone.
    """
    if not os.path.exists(saved):
        return []
    now, values = read(root), _load(saved)
    failed = {name: value for name, value in values.items() if now.get(name) == PERFORMANCE and not _write(root, name, value)}
    if failed:
        _save(saved, failed)
    else:
        os.unlink(saved)
    return sorted(failed)


def _file(root: str, policy: str) -> str:
    return os.path.join(root, _POLICIES, policy, "scaling_governor")


def _write(root: str, policy: str, governor: str) -> bool:
    """Return True if the governor was set. sysfs refuses a value with EINVAL."""
    try:
        with open(_file(root, policy), "w", encoding="ascii") as file:
            file.write(governor)
    except OSError:
        return False
    return read(root).get(policy) == governor


def _load(saved: str) -> Dict[str, str]:
    """Return the valid values of the file. An incomplete file has none, since no governor is changed before the file is complete."""
    try:
        with open(saved, encoding="ascii") as file:
            values = json.load(file)
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {name: value for name, value in values.items() if _POLICY.fullmatch(str(name)) and isinstance(value, str)}


def _save(saved: str, values: Dict[str, str]) -> None:
    """Write the file atomically and sync it to the disk."""
    scratch = saved + ".new"
    with open(scratch, "w", encoding="ascii") as file:
        json.dump(values, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, saved)
