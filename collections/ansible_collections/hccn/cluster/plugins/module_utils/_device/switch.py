# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_tls."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from .._core.errors import HccnError
from . import conf_file, session, tls
from .device_errors import failed, sentence
from .read import TlsReader, side_effects


def _diff(changes: Sequence[tls.Change]) -> Dict[str, str]:
    def lines(side: str) -> str:
        return "".join("device %d: TLS %s, after a boot %s\n" % (change.device, _word(switch.enabled), _word(switch.persistent))
                       for change in changes for switch in [getattr(change, side)])

    return {"before_header": "TLS switch", "after_header": "TLS switch", "before": lines("before"), "after": lines("after")}


def _word(value: Any) -> str:
    return {True: "on", False: "off"}.get(value, "unknown")


def _save_previous(here: session.Session, changes: Sequence[tls.Change], refusals: Mapping[int, Dict[str, Any]]) -> None:
    """What the devices have is saved before any of them is set. Where that fails, they stay as they are; that is their error."""
    tls.spare_busy(changes, refusals)
    try:
        here.save_previous(tls=[{"id": change.device, "enabled": change.before.enabled} for change in changes if change.needed])
    except HccnError as error:
        tls.refuse_all(changes, error)


def switch(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """The return values of device_tls. Raises HccnError where nothing could be done."""
    wanted = params["state"] == "enabled"
    only_look = params["only_look"]
    here = session.start(params)
    here.host.refuse_950()
    text = first = here.conf_text()
    # Certificates are asked for at the price of a key that the query writes; to switch off none is needed.
    reader = TlsReader(here.tool, text, here.path, check_mode or (only_look and not wanted))
    changes = tls.plan(reader, text, here.devices, wanted)
    try:
        conf_file.require_end(here.path, text)
    except HccnError as error:
        tls.refuse_all(changes, error)

    def refusals(devices: Sequence[int]) -> Mapping[int, Dict[str, Any]]:
        return here.refusals(devices, params["allow_busy"])

    if check_mode or only_look:
        tls.spare_busy(changes, refusals([change.device for change in changes if change.needed]))
    else:
        if params.get("keep_previous"):
            _save_previous(here, changes, refusals([change.device for change in changes if change.needed]))
        tls.apply(here.tool, changes, wanted, refusals)
        text = here.conf_text()
        tls.verify(TlsReader(here.tool, text, here.path, False), text, changes, wanted)
    last = first if check_mode else here.conf_text()
    if not (check_mode or only_look):
        tls.note_written(changes, last)
    result = _result(changes, params["fail_on"])
    if check_mode:
        return result
    unset = [change.device for change in changes if not change.needed or only_look]
    effects = [effect for effect in side_effects(here.path, first, last) if effect["device"] in unset]
    if only_look:
        result.update(side_effects=effects, changed=bool(effects))
    elif effects:
        result.update(side_effects=effects)
    return result


def _result(changes: Sequence[tls.Change], fail_on: str) -> Dict[str, Any]:
    devices: List[Dict[str, Any]] = [change.as_dict() for change in changes]
    result = {"devices": devices, "changed": any(change.before != change.after for change in changes), "diff": _diff(changes)}
    if failed(devices, fail_on):
        result.update(failed=True, msg=sentence(devices))
    return result
