# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_tls: read the TLS flags, plan, set, verify.

Devices are set one after the other, since hccn_tool does not hold its lock while it writes hccn.conf.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from . import conf, conf_file, conf_rules, device_session
from .device_errors import failed, sentence
from .failures import NOT_PERSISTED
from .read import TlsReader, side_effects


@dataclass(frozen=True)
class TlsFlag:
    """``enabled``: the flag of the device, ``persistent``: that of hccn.conf, which applies at the next boot. None: not known or not set."""

    enabled: Optional[bool]
    persistent: Optional[bool]

    def as_dict(self) -> Dict[str, Optional[bool]]:
        return {"enabled": self.enabled, "persistent": self.persistent}


def _persistent(text: Optional[str], device: int) -> Optional[bool]:
    return conf_rules.enabled(conf.value_of(text or "", device, "tls_enable"))


@dataclass
class Change:
    """The change of a device, ``needed`` if the device or hccn.conf differs from the wanted flag."""

    device: int
    before: TlsFlag
    after: TlsFlag
    needed: bool
    errors: List[Dict[str, Any]]
    authorities: Sequence[str] = ()

    def as_dict(self) -> Dict[str, Any]:
        changed = self.needed and (not self.errors or self.after != self.before)
        return {"id": self.device, "before": self.before.as_dict(), "after": self.after.as_dict(), "changed": changed,
                "authorities": list(self.authorities), "errors": self.errors}


SET_CERTIFICATE = "hccn_tool -i %d -tls -s path FOLDER pri KEY.pem pub CERTIFICATE.pem ca1 CA1.pem ca2 CA2.pem"


def _authorities(tls: Mapping[str, Any]) -> Sequence[str]:
    """Return the CAs that a device trusts, with their issuers if these differ (older tools only print issuers)."""
    named = [(one["subject"] or one["issuer"], one["issuer"]) for one in tls["certificates"] if one["name"].startswith("ca")]
    return sorted({str(name) if name == issuer else "%s, issued by %s" % (name, issuer) for name, issuer in named})


def _expired(device: int, tls: Mapping[str, Any]) -> List[Dict[str, Any]]:
    names = [one["name"] for one in tls["certificates"] if one["expiration"] == "expired"]
    if not names:
        return []
    return [HccnError("certificate_expired", "expired on device %d: %s" % (device, ", ".join(names)), "set valid ones: " + SET_CERTIFICATE % device).as_dict()]


def _blocking_errors(device: int, answer: Mapping[str, Any], wanted: bool) -> List[Dict[str, Any]]:
    """Return the errors that prevent the change. Disabling TLS requires no certificate."""
    if not wanted:
        return [error for error in answer["errors"] if error["code"] != "no_certificate"]
    errors = [dict(error, hint="set one: " + SET_CERTIFICATE % device) if error["code"] == "no_certificate" else error for error in answer["errors"]]
    return errors + _expired(device, answer["tls"])


def plan(reader: TlsReader, text: Optional[str], devices: Sequence[int], wanted: bool) -> List[Change]:
    """Return the change of each device. A key that is missing in hccn.conf counts as a difference, so that it is written."""
    changes = []
    for device in devices:
        answer = reader.read(device)
        before = TlsFlag(answer["tls"]["enabled"], _persistent(text, device))
        target = TlsFlag(wanted, wanted)
        errors = _blocking_errors(device, answer, wanted)
        needed = not errors and before != target
        changes.append(Change(device, before, before if errors else target, needed, errors, _authorities(answer["tls"])))
    return changes


def cancel_all(changes: Sequence[Change], error: HccnError) -> None:
    """Add the error to every device that needs a change, and cancel the change."""
    for change in changes:
        if change.needed:
            change.errors.append(error.as_dict())
            change.needed, change.after = False, change.before


def skip_busy(changes: Sequence[Change], refusals: Mapping[int, Dict[str, Any]]) -> None:
    """Cancel the changes of busy devices, and add their refusal as an error."""
    for change in changes:
        if change.needed and change.device in refusals:
            change.errors.append(refusals[change.device])
            change.needed, change.after = False, change.before


def apply(session: device_session.Session, changes: Sequence[Change], wanted: bool, allow_busy: bool) -> None:
    """Set every device that needs a change and is idle right before it. A failure becomes an error of its device and does not affect the others."""
    for change in changes:
        if change.needed:
            skip_busy([change], session.refusals([change.device], allow_busy))
        if not change.needed:
            continue
        still_idle = functools.partial(session.require_idle, change.device, allow_busy)
        try:
            session.tool.set(change.device, "-tls", "-s", "enable", "1" if wanted else "0", before_retry=still_idle)
        except HccnError as error:
            change.errors.append(error.as_dict())


def refresh_persistent(changes: Sequence[Change], text: Optional[str]) -> None:
    """Update the persistent flag of devices that were not set, since queries may have written their keys."""
    for change in changes:
        if not change.needed:
            change.after = TlsFlag(change.after.enabled, _persistent(text, change.device))


def verify(reader: TlsReader, text: Optional[str], changes: Sequence[Change], wanted: bool) -> None:
    """Read the flag of every device that was set."""
    for change in changes:
        if not change.needed:
            continue
        answer = reader.read(change.device)
        change.after = TlsFlag(answer["tls"]["enabled"], _persistent(text, change.device))
        if change.after == TlsFlag(wanted, wanted):  # hccn.conf already had the value that could not be written
            change.errors = [error for error in change.errors if error["code"] != NOT_PERSISTED]
        if not change.errors and change.after != TlsFlag(wanted, wanted):
            change.errors += answer["errors"] or [HccnError(
                "not_applied", "hccn_tool reported success, but the TLS flag is %s and hccn.conf has %s"
                % (change.after.enabled, change.after.persistent), "query the device, and check which other process writes hccn.conf").as_dict()]


def _diff(changes: Sequence[Change]) -> Dict[str, str]:
    def lines(side: str) -> str:
        return "".join("device %d: TLS %s, after a boot %s\n" % (change.device, _on_off(flag.enabled), _on_off(flag.persistent))
                       for change in changes for flag in [getattr(change, side)])

    return {"before_header": "TLS flag", "after_header": "TLS flag", "before": lines("before"), "after": lines("after")}


def _on_off(value: Any) -> str:
    return {True: "on", False: "off"}.get(value, "unknown")


def _save_previous(session: device_session.Session, changes: Sequence[Change], refusals: Mapping[int, Dict[str, Any]]) -> None:
    """Save the flags before any device is set. If that fails, cancel all changes with that error."""
    skip_busy(changes, refusals)
    try:
        session.save_previous(tls=[{"id": change.device, "enabled": change.before.enabled} for change in changes if change.needed])
    except HccnError as error:
        cancel_all(changes, error)


def set_flag(session: device_session.Session, params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of device_tls. Raises HccnError if nothing could be done."""
    wanted = params["state"] == "enabled"
    validate_only = params["validate_only"]
    session.host.refuse_950()
    text = first = session.conf_text()
    # A TLS query may write a key. Disabling TLS does not need the certificates that it returns.
    reader = TlsReader(session.tool, text, session.path, check_mode or (validate_only and not wanted))
    changes = plan(reader, text, session.devices, wanted)
    try:
        conf_file.require_writable(session.path, text)
    except HccnError as error:
        cancel_all(changes, error)

    def refusals(devices: Sequence[int]) -> Mapping[int, Dict[str, Any]]:
        return session.refusals(devices, params["allow_busy"])

    if check_mode or validate_only:
        skip_busy(changes, refusals([change.device for change in changes if change.needed]))
    else:
        if params.get("keep_previous"):
            _save_previous(session, changes, refusals([change.device for change in changes if change.needed]))
        apply(session, changes, wanted, params["allow_busy"])
        text = session.conf_text()
        verify(TlsReader(session.tool, text, session.path, False), text, changes, wanted)
    last = first if check_mode else session.conf_text()
    if not (check_mode or validate_only):
        refresh_persistent(changes, last)
    result = _result(changes, params["fail_on"])
    if check_mode:
        return result
    not_set = [change.device for change in changes if not change.needed or validate_only]
    effects = [effect for effect in side_effects(session.path, first, last) if effect["device"] in not_set]
    if validate_only:
        result.update(side_effects=effects, changed=bool(effects))
    elif effects:
        result.update(side_effects=effects)
    return result


def _result(changes: Sequence[Change], fail_on: str) -> Dict[str, Any]:
    devices: List[Dict[str, Any]] = [change.as_dict() for change in changes]
    result = {"devices": devices, "changed": any(change.before != change.after for change in changes), "diff": _diff(changes)}
    if failed(devices, fail_on):
        result.update(failed=True, msg=sentence(devices))
    return result
