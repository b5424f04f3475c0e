# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_state: the logic of hccn_conf, device_network, device_tls in check mode and device_info, in one call."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

from .._core.errors import HccnError
from . import declare, device_session, info, network, read, saved_state, tls_flag

Values = Dict[str, Any]

SETTING_PARTS = ("hccn_conf", "network")
"""The return keys with the values of modules that set the host, in the order in which they run. The key ``tls`` is a prediction."""


def bring(params: Mapping[str, Any], check_mode: bool, backup: Callable[[str], str]) -> Values:
    """Return the values of device_state. ``backup``: as for hccn_conf. Raises HccnError if nothing could be done."""
    session = device_session.start(params)
    result: Values = {}
    wanted = _conf_params(params)
    declares = params["settings"] is not None or params["config"] is not None

    def declared(conf_params: Mapping[str, Any]) -> Values:
        return _part(lambda: declare.declare(conf_params, check_mode, backup, session.host))

    def gathered() -> Values:
        if params["keep_previous"] and "tls" in params["gather"] and not check_mode:
            _save_before_tls_queries(session)
        if params["complete"] and not check_mode:
            saved_state.complete(params["hccn_conf"])
        return info.gather(session, params, check_mode)

    if declares:
        result["hccn_conf"] = declared(wanted)
    if params["network"] and not _failed(result):
        result["network"] = _part(lambda: network.configure(session, dict(params, config=params["network"], fail_on="any"), check_mode))
        if declares and result["hccn_conf"]["pending"] and not check_mode and not _failed(result):
            result["hccn_conf"] = _verified(result["hccn_conf"], declared(dict(wanted, settings=None, config=None, pending_network=[])))
    if params["tls_state"] is not None and not _failed(result):
        result["tls"] = _prediction(session, params)
    failed = _failed(result)
    result.update({"devices": []}, **(_part(gathered) if failed is None else {key: failed[key] for key in ("failed", "msg", "error") if key in failed}))
    diffs = [result[part].pop("diff", []) for part in SETTING_PARTS if part in result]
    result["diff"] = [one for diff in diffs for one in (diff if isinstance(diff, list) else [diff])]
    result["changed"] = any(result[part].get("changed") for part in SETTING_PARTS if part in result)
    return result


def _part(run: Callable[[], Values]) -> Values:
    """Return the values of a part, with ``failed``, ``msg`` and ``error`` if it could not be done."""
    try:
        return run()
    except HccnError as error:
        return {"failed": True, "msg": error.sentence(), "error": error.as_dict()}


def _failed(result: Mapping[str, Any]) -> Optional[Values]:
    """Return the part that failed. A TLS flag that could not be set is a prediction, not a failure."""
    return next((result[part] for part in SETTING_PARTS if result.get(part, {}).get("failed")), None)


def _conf_params(params: Mapping[str, Any]) -> Values:
    return dict(params, path=params["hccn_conf"], state="present", create=False, recover=False, pending_network=params["network"], fail_on="any")


def _save_before_tls_queries(session: device_session.Session) -> None:
    """Save hccn.conf if TLS queries would write missing keys into it."""
    text = session.conf_text()
    if text is not None and any(read.lacks_tls_flag(text, device) for device in session.devices):
        session.save()


def _verified(before: Values, after: Values) -> Values:
    """Return the values of hccn_conf after the addresses were set, with the change that was made before."""
    return dict(before, **{key: value for key, value in after.items() if key not in ("changed", "diff", "previous", "backup_file")})


def _prediction(session: device_session.Session, params: Mapping[str, Any]) -> Values:
    """Return what device_tls returns in check mode, which writes nothing into hccn.conf."""
    state = params["tls_state"]
    found = _part(lambda: tls_flag.set_flag(session, dict(params, state=state, validate_only=False, fail_on="any"), True))
    found.pop("diff", None)  # the call that sets the flag shows it
    return dict({"devices": []}, state=state, **found)
