# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of clusterd_nic_switch: which NPUs, may they be switched, then the switch."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from .._core.errors import HccnError, InputError
from .._core.problems import as_dicts
from . import codes, kube, kube_access, nic_switch, options, precheck, topology
from .channel import Channel

STOPPED, FORESEEN = "stopped", "foreseen"


def _api(params: Mapping[str, Any]) -> kube.Api:
    """Raises HccnError also where a package lacks: a switch may be asked for without Kubernetes."""
    if kube_access.YAML_ERROR is not None:
        raise HccnError("no_kubernetes", "PyYAML is not installed, so no kubeconfig can be read")
    return options.api_of(params)


def change(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """The return values, ``failed`` and ``msg`` among them where it did not go well. Raises HccnError where nothing was sent."""
    nics = topology.select(params["nics"], params["topology"])
    if not params["job_id"]:
        raise InputError("job_id is empty")
    request = nic_switch.request(params["job_id"], nics, params["direction"])
    looked = precheck.look(nics, params["nodes"], lambda: _api(params), params["namespace"] or "", params["job_id"])
    result: Dict[str, Any] = {"changed": False, "request": request, "checked": looked.checked, "unchecked": looked.unchecked,
                              "problems": as_dicts(looked.problems)}
    if looked.problems:
        first = looked.problems[0]
        more = len(looked.problems) - 1
        return dict(result, failed=True, status=STOPPED, msg="nothing was switched: %s (%s)%s" % (
            first.message, first.hint, "" if not more else ", and %d more" % more))
    if check_mode:
        return dict(result, changed=True, status=FORESEEN)
    if not params["confirm"]:
        raise InputError("nothing was switched: a switch that fails can end the training job. Set confirm to true if that may be")
    with Channel(options.server_of(params), params["timeout"]) as channel:
        outcome = nic_switch.switch(channel, request, params["wait"])
    result.update(changed=outcome.distributed, status=outcome.status, info=outcome.info, result=outcome.result)
    if outcome.code is not None:
        result.update(code=outcome.code, code_explained=codes.explain(outcome.code))
    if outcome.status != nic_switch.FINISHED:
        result.update(failed=True, msg=outcome.sentence())
    return result
