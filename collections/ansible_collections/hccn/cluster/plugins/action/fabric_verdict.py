# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Diagnoses the results of a pairwise RDMA run over all hosts. Needs no connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record, utc
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.packed_result import unpacked
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import diagnosis
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.host_answers import is_lost
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.detection_limit import RELATIVE_FLOOR
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.host_classes import LeftOut
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.unstarted_runs import UnstartedRuns
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard, provenance

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str"},
    "register_name": {"type": "list", "elements": "str"},
    "start_register_name": {"type": "list", "elements": "str", "default": []},
    "probe_register_name": {"type": "str"},
    "nodes": {"type": "dict"},
    "left_out": {"type": "list", "elements": "dict", "default": [], "options": {
        "host": {"type": "str", "required": True}, "device": {"type": "int"}, "code": {"type": "str", "required": True},
        "message": {"type": "str", "required": True}}},
    "run_id": {"type": "str"},
    "floor_gbit_s": {"type": "float"},
    "line_rate_floor": {"type": "float", "default": diagnosis.LINE_RATE_FLOOR},
    "relative_floor": {"type": "float", "default": RELATIVE_FLOOR},
    "plan": {"type": "dict"},
    "further_rounds": {"type": "list", "elements": "list", "default": []},
    "confirmation": {"type": "bool", "default": False},
    "baseline": {"type": "dict"},
    "fail_on": {"type": "str", "choices": list(diagnosis.FAILING_CLASSES), "default": "failed"},
}


class ActionModule(ControllerAction):
    """Runs once, for all hosts."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(
            ARGUMENTS, mutually_exclusive=[("nodes", "register_name")], required_one_of=[("nodes", "register_name")],
            required_by={"register_name": ["hosts"]})
        if not 0 < options["relative_floor"] < 1:
            raise AnsibleActionFail(f"relative_floor is {options['relative_floor']}, it must be between 0 and 1")
        foreign: provenance.Foreign = {}
        results = {host: provenance.measured_by(host, found, foreign) if isinstance(found, Mapping) else found
                   for host, found in self._results(options, task_vars or {}).items()}
        hosts = list(dict.fromkeys(options["hosts"] or results))
        left_out = [LeftOut(**entry) for entry in options["left_out"]]
        plan = extended(options["plan"], options["further_rounds"]) if options["plan"] else None
        try:
            found = diagnosis.diagnose(hosts, results, options["floor_gbit_s"], options["relative_floor"], left_out, plan,
                                       options["line_rate_floor"], options["baseline"])
            further = plan_confirmation_run(plan, found, results) if options["confirmation"] and plan else None
        except InputError as error:
            raise AnsibleActionFail(f"fabric_verdict: {error.sentence()}") from None
        result.update(_returned(found, _run_id(options["run_id"], results)))
        if foreign:
            result.update(foreign_records={host: dict(names) for host, names in foreign.items()}, warnings=provenance.sentences(foreign))
        if further and plan:
            result.update(confirmation=further.as_dict(plan), measurements=[])
            return result
        bad, fabric = found.failing(options["fail_on"])
        if bad or fabric:
            counted = [f"{len(bad)} of {len(hosts)} hosts"] if bad else []
            counted += [f"{len(fabric)} components of the fabric"] if fabric else []
            shown = (fabric + bad)[:10]
            result.update(failed=True, msg=f"{' and '.join(counted)}: " + "; ".join(shown) + (" ..." if len(bad) + len(fabric) > len(shown) else ""))
        return result

    @staticmethod
    def _results(options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results by host, None for a host without any, with the measurements of later runs added to those of the first."""
        if options["nodes"] is not None:
            return dict(options["nodes"])
        hostvars, starts = variables["hostvars"], options["start_register_name"]
        runs = [{host: _first_failure(_registered(hostvars, host, start), _registered(hostvars, host, name)) for host in options["hosts"]}
                for name, start in zip_longest(options["register_name"], starts[:len(options["register_name"])])]
        found = runs[0]
        for host, probed in ((host, _registered(hostvars, host, options.get("probe_register_name"))) for host, result in found.items() if result is None):
            found[host] = probed if probed and is_lost(probed) else None
        for run in runs[1:]:
            unstarted = UnstartedRuns(run)
            for host, result in found.items():
                further, measured = (one.get("measurements") if isinstance(one, Mapping) else None for one in (run[host], result))
                if isinstance(result, Mapping) and isinstance(further, (list, tuple)) and isinstance(measured or (), (list, tuple)):
                    found[host] = {**result, "measurements": [*(measured or ()), *unstarted.filter(further)]}
        return found


def _registered(hostvars: Mapping[str, Any], host: str, name: str | None) -> Any:
    """Return a registered variable of a host, which may have any value; a sentence if it cannot be read. _diagnose/host_answers.py makes that a problem of the
    host."""
    try:
        return unpacked(hostvars[host].get(name)) if name and host in hostvars else None
    except AnsibleError as error:
        return f"the variable {name} cannot be read: {error}"


def _first_failure(started: Any, result: Any) -> Any:
    """Return the result of the start if the run did not start on the host, since it has the reason."""
    if isinstance(started, Mapping) and started.get("msg") and not started.get("measurements"):
        return {**started, "failed": True}
    return result


def _run_id(given: str | None, results: Mapping[str, Any]) -> str:
    """Return the given name of the run, else the name in most results."""
    names_of_hosts = [result.get("run_id") for result in results.values() if isinstance(result, Mapping)]
    names = Counter(name for name in names_of_hosts if isinstance(name, str) and name)
    return given or (names.most_common(1)[0][0] if names else "unnamed")


def _returned(found: diagnosis.Diagnosis, run_id: str) -> dict[str, Any]:
    return {"changed": False, "run_id": run_id, **found.as_dict(), "measurements": records_of(found, run_id)}


def records_of(found: diagnosis.Diagnosis, run_id: str) -> list[dict[str, Any]]:
    """Return the records of the verdicts on all hosts and on the fabric."""
    now = utc()
    records = [
        record("verdict", f"{run_id}/verdict/{verdict.host}", "ok" if verdict.verdict == "good" else "failed", source={"host": verdict.host},
               samples=[{key: value for key, value in verdict.as_dict().items() if key != "host"}], started_at=now)
        for verdict in found.verdicts
    ]
    return records + [record("verdict", f"{run_id}/verdict/fabric/{number}", "failed", hosts=component["hosts"], samples=[component], started_at=now)
                      for number, component in enumerate(found.fabric(), 1)]
