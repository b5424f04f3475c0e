# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Evaluate a change of TLS on all hosts of a play or on none: the state of all hosts, and the outcome on one host.

Results of device_tls are untrusted data of a host. An invalid result counts as not set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._findings import reading

PROBED, SET, PUT_BACK = "tls_dry_run", "tls_devices", "tls_put_back"
"""The variables in which the role registers the results of device_tls: before any change, for the change, and for the rollback."""

STATES = {True: "enabled", False: "disabled"}


@dataclass(frozen=True)
class Rollout:
    """The state of all hosts of a play.

    ``all_probed``: no host was lost before it was probed; ``changing``: hosts of this batch that do not have the requested state yet;
    ``authorities``: the distinct lists of CA certificates of the NPUs; ``failed``: hosts without the requested state. ``settled``: the hosts of this batch
    have the requested state.
    """

    all_probed: bool
    changing: list[str]
    authorities: list[list[str]]
    failed: list[str]
    settled: bool


def rollout(hosts: Sequence[str], active: Iterable[str], batch: Sequence[str], variables: Callable[[str], Mapping[str, Any]],
            register_name: str = PROBED) -> Rollout:
    """Return the state of ``hosts``. ``active``: those that are not lost; ``batch``: the active hosts of this batch; ``variables``: those of a host.

    ``register_name``: the variable with the result of device_tls before any change, or with a result of device_state that contains it.
    """
    present, here = set(active), set(batch)
    probed: set[str] = set()
    changing: set[str] = set()
    refused: set[str] = set()
    enables = False
    failed: list[str] = []
    authorities: dict[tuple[str, ...], None] = {}
    for host in hosts:
        own = variables(host)
        dry_run = _dry_run(own, register_name)
        devices = _entries(dry_run)
        if register_name in own:
            probed.add(host)
        if "msg" in dry_run or not devices:
            refused.add(host)
        enables = enables or dry_run.get("state") == STATES[True]
        if any(map(_is_changed, devices)):
            changing.add(host)
        authorities.update((tuple(reading.texts(device.get("authorities"))), None) for device in devices)
        # A host that was lost after it was set still counts as set. Hosts of later batches have no result yet.
        lost = host not in present or (host in here and host not in probed)
        if not _is_set(own[SET]) if SET in own else lost:
            failed.append(host)
    authorities.pop((), None)
    settled = not here & (changing | refused) and not (enables and len(authorities) > 1)
    return Rollout(len(present) == len(hosts) and here <= probed, [host for host in batch if host in changing], list(map(list, authorities)), failed, settled)


def _dry_run(own: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = reading.mapping(own.get(name))
    return reading.mapping(found.get("tls", found))


def _entries(result: Any) -> list[Mapping[str, Any]]:
    return reading.mappings(reading.mapping(result).get("devices"))


def _is_changed(device: Mapping[str, Any]) -> bool:
    return bool(device.get("changed"))


def _enabled(device: Mapping[str, Any], when: str) -> Any:
    return reading.mapping(device.get(when)).get("enabled")


def _is_set(result: Any) -> bool:
    """Return True if all NPUs have the requested state. A host whose task was skipped has nothing to set."""
    answer = reading.mapping(result)
    devices = answer.get("devices") or []
    if "msg" in answer or not isinstance(devices, (list, tuple)):
        return False
    wanted = answer.get("state") == STATES[True]
    return all(_enabled(reading.mapping(device), "after") == wanted for device in devices)


@dataclass(frozen=True)
class Outcome:
    """The outcome on one host.

    ``complete``: no host failed; ``bad``: the host failed, or is not as declared because others failed; ``line``: a sentence for the operator;
    ``put_back``: the ids of the changed NPUs by their previous state.
    """

    complete: bool
    bad: bool
    line: str
    put_back: dict[str, list[str]]


def outcome(host: str, state: str, failed: Sequence[str], rolls_back: bool, probed: Any, result: Any, put_back: Any) -> Outcome:
    """Return the outcome on ``host``, for which ``state`` was requested.

    ``failed``: hosts of a Rollout; ``rolls_back``: whether a host is rolled back if others failed; ``probed``, ``result`` and ``put_back``: the results of
    device_tls before any change, for the change, and for the rollback.
    """
    changed = list(filter(_is_changed, _entries(result)))
    left = _is_skipped(result) and any(map(_is_changed, _entries(probed)))
    restored = bool(failed) and rolls_back and not _is_skipped(put_back)
    obstacles = [str(one["msg"]) for one in reading.mappings(reading.mapping(put_back).get("results")) if "msg" in one]
    if restored and obstacles:
        line = f"TLS could not be put back as it was: {'; '.join(obstacles)}"
    elif left:
        line = "TLS left as it was, since not every host can change"
    elif restored:
        line = f"TLS put back as it was on {len(changed)} NPUs"
    else:
        devices = _entries(probed if _is_skipped(result) else result)  # skipped if no host would change
        count = sum(_enabled(device, "after") == (state == STATES[True]) for device in devices)
        line = f"TLS {state} on {count} of {len(devices)} NPUs, {len(changed)} of them set now"
    message = reading.mapping(result).get("msg")
    line += (f". {message}" if message is not None else "") + (f". Failed: {', '.join(failed)}" if failed else "")
    return Outcome(not failed, bool(failed) and (host in failed or bool(changed) or left), f"{host}: {line}", _by_state_before(changed))


def of_host(host: str, own: Mapping[str, Any], failed: Sequence[str], rolls_back: bool) -> Outcome:
    """Return the outcome on ``host`` by its variables ``own``, which has the requested state in the result before any change."""
    state = STATES[reading.mapping(own.get(PROBED)).get("state") == STATES[True]]
    return outcome(host, state, failed, rolls_back, own.get(PROBED), own.get(SET), own.get(PUT_BACK))


def _is_skipped(result: Any) -> bool:
    """Return True if the task was skipped, or has no result because it was not reached."""
    return not result or bool(reading.mapping(result).get("skipped"))


def _by_state_before(devices: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the ids of the NPUs by previous state. An unknown state counts as disabled."""
    found: dict[str, list[str]] = {STATES[True]: [], STATES[False]: []}
    for device in devices:
        found[STATES[_enabled(device, "before") is True]].append(str(device.get("id")))
    return {state: ids for state, ids in found.items() if ids}
