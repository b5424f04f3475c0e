# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The TLS switch of the devices: look, plan, set, look again. Sets are serialised: the tool's own lock is not kept while it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from . import conf
from .failures import NOT_PERSISTED
from .read import TlsReader
from .tool import HccnTool


@dataclass(frozen=True)
class Switch:
    """``enabled``: what the device does now, ``persistent``: what hccn.conf makes of it at the next boot; None: not known or not set."""

    enabled: Optional[bool]
    persistent: Optional[bool]

    def as_dict(self) -> Dict[str, Optional[bool]]:
        return {"enabled": self.enabled, "persistent": self.persistent}


def _persistent(text: Optional[str], device: int) -> Optional[bool]:
    value = conf.value_of(text, device, "tls_enable") if text is not None else None
    return {"0": False, "1": True}.get(value or "")


@dataclass
class Change:
    """One device on its way: ``needed`` where device or file differ from what is wanted."""

    device: int
    before: Switch
    after: Switch
    needed: bool
    errors: List[Dict[str, Any]]
    authorities: Sequence[str] = ()

    def as_dict(self) -> Dict[str, Any]:
        changed = self.needed and (not self.errors or self.after != self.before)
        return {"id": self.device, "before": self.before.as_dict(), "after": self.after.as_dict(), "changed": changed,
                "authorities": list(self.authorities), "errors": self.errors}


SET_CERTIFICATE = "hccn_tool -i %d -tls -s path FOLDER pri KEY.pem pub CERTIFICATE.pem ca1 CA1.pem ca2 CA2.pem"


def _authorities(tls: Mapping[str, Any]) -> Sequence[str]:
    """The CAs that a device trusts, each with its issuer where that is another (older tools print issuers only)."""
    named = [(one["subject"] or one["issuer"], one["issuer"]) for one in tls["certificates"] if one["name"].startswith("ca")]
    return sorted({str(name) if name == issuer else "%s, issued by %s" % (name, issuer) for name, issuer in named})


def _expired(device: int, tls: Mapping[str, Any]) -> List[Dict[str, Any]]:
    names = [one["name"] for one in tls["certificates"] if one["expiration"] == "expired"]
    if not names:
        return []
    return [HccnError("certificate_expired", "expired on device %d: %s" % (device, ", ".join(names)), "set valid ones: " + SET_CERTIFICATE % device).as_dict()]


def _hindrances(device: int, answer: Mapping[str, Any], wanted: bool) -> List[Dict[str, Any]]:
    """Why the switch must not be touched. To switch off, no certificate is needed."""
    if not wanted:
        return [error for error in answer["errors"] if error["code"] != "no_certificate"]
    errors = [dict(error, hint="set one: " + SET_CERTIFICATE % device) if error["code"] == "no_certificate" else error for error in answer["errors"]]
    return errors + _expired(device, answer["tls"])


def plan(reader: TlsReader, text: Optional[str], devices: Sequence[int], wanted: bool) -> List[Change]:
    """What each device needs. A key missing in the file counts as a difference: it will be written."""
    changes = []
    for device in devices:
        answer = reader.read(device)
        before = Switch(answer["tls"]["enabled"], _persistent(text, device))
        target = Switch(wanted, wanted)
        errors = _hindrances(device, answer, wanted)
        needed = not errors and before != target
        changes.append(Change(device, before, before if errors else target, needed, errors, _authorities(answer["tls"])))
    return changes


def refuse_all(changes: Sequence[Change], error: HccnError) -> None:
    """Nothing can be set: that is the error of every device that would have been."""
    for change in changes:
        if change.needed:
            change.errors.append(error.as_dict())
            change.needed, change.after = False, change.before


def spare_busy(changes: Sequence[Change], refusals: Mapping[int, Dict[str, Any]]) -> None:
    """Devices at work keep their switch; that is their error."""
    for change in changes:
        if change.needed and change.device in refusals:
            change.errors.append(refusals[change.device])
            change.needed, change.after = False, change.before


def apply(tool: HccnTool, changes: Sequence[Change], wanted: bool, refusals: Callable[[Sequence[int]], Mapping[int, Dict[str, Any]]]) -> None:
    """Set every device that needs it and is idle right before its set; a failure is kept with its device, and the others go on."""
    for change in changes:
        if change.needed:
            spare_busy([change], refusals([change.device]))
        if not change.needed:
            continue
        try:
            tool.set(change.device, "-tls", "-s", "enable", "1" if wanted else "0")
        except HccnError as error:
            change.errors.append(error.as_dict())


def note_written(changes: Sequence[Change], text: Optional[str]) -> None:
    """The queries themselves may have written the key of a device that is not set; then it is not as it was before."""
    for change in changes:
        if not change.needed:
            change.after = Switch(change.after.enabled, _persistent(text, change.device))


def verify(reader: TlsReader, text: Optional[str], changes: Sequence[Change], wanted: bool) -> None:
    """Looks again at every device that was set, and keeps what is true now."""
    for change in changes:
        if not change.needed:
            continue
        answer = reader.read(change.device)
        change.after = Switch(answer["tls"]["enabled"], _persistent(text, change.device))
        if change.after == Switch(wanted, wanted):  # what could not be written stood there already
            change.errors = [error for error in change.errors if error["code"] != NOT_PERSISTED]
        if not change.errors and change.after != Switch(wanted, wanted):
            change.errors += answer["errors"] or [HccnError(
                "not_applied", "the tool said that it was successful, but the switch is %s and hccn.conf says %s"
                % (change.after.enabled, change.after.persistent), "query the device, and see who else writes hccn.conf").as_dict()]
