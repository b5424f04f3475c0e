# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The options and the entry point of the modules for collectives: judge a log, plan in check mode, or run."""

from __future__ import annotations

from typing import Any, Dict, Sequence

from .._core.errors import HccnError
from . import bisection, collective, collective_study
from .collective import Outcome
from .collective_plan import Request, plan
from .collective_study import Study, StudyOptions


def argument_spec(operations: Sequence[str], data_types: Sequence[str], reductions: Sequence[str], defaults: Dict[str, Any], **own: Any) -> Dict[str, Any]:
    """Return the argument spec of a module. ``defaults``: begin, end, warmup and data_type, which differ by tool; ``own``: options of this tool only."""
    spec: Dict[str, Any] = {
        "operation": {"type": "str", "default": "all_reduce", "choices": list(operations)},
        "hosts": {"type": "list", "elements": "str", "default": []},
        "host_names": {"type": "list", "elements": "str", "default": []},
        "ranks_per_host": {"type": "int", "default": 8},
        "sizes": {"type": "dict", "options": {
            "begin": {"type": "str", "default": defaults["begin"]},
            "end": {"type": "str", "default": defaults["end"]},
            "factor": {"type": "int", "default": 2},
        }},
        "iterations": {"type": "int", "default": 20},
        "warmup": {"type": "int", "default": defaults["warmup"]},
        "data_type": {"type": "str", "default": defaults["data_type"], "choices": list(data_types)},
        "reduction": {"type": "str", "default": "sum", "choices": list(reductions)},
        "root": {"type": "int", "default": 0},
        "check": {"type": "bool", "default": True},
        "mpirun": {"type": "str", "default": "mpirun"},
        "environment": {"type": "dict", "default": {}},
        "timeout": {"type": "int", "default": 600},
        "check_hosts": {"type": "bool", "default": True},
        "groups": {"type": "list", "elements": "str", "choices": list(collective_study.GROUPS), "default": [collective_study.ALL]},
        "isolate": {"type": "bool", "default": False},
        "floor_gbyte_s": {"type": "float"},
        "relative_floor": {"type": "float", "default": collective_study.RELATIVE_FLOOR},
        "isolate_budget": {"type": "int", "default": bisection.BUDGET},
        "ssh_identity": {"type": "path"},
        "ssh_known_hosts": {"type": "list", "elements": "str", "default": []},
        "allow_busy": {"type": "bool", "default": False},
        "log": {"type": "path"},
        "run_id": {"type": "str"},
        "attempt": {"type": "int", "default": 1},
    }
    spec.update(own)
    return spec


PLAIN = ("operation", "ranks_per_host", "iterations", "warmup", "data_type", "reduction", "root", "check")
"""Options of a module with the same name in CollectiveOptions."""


def tool_options(params: Dict[str, Any], *own: str) -> Dict[str, Any]:
    """Return the arguments of CollectiveOptions or its subclass; ``own``: options of this tool only."""
    return dict({name: params[name] for name in PLAIN + own}, **params["sizes"] or {})


def request_fields(params: Dict[str, Any]) -> Dict[str, Any]:
    """Return the fields of a request that do not depend on the tool."""
    return {
        "hosts": tuple(params["hosts"]), "names": tuple(params["host_names"]), "mpirun": params["mpirun"],
        "environment": {name: str(value) for name, value in params["environment"].items()}, "timeout": params["timeout"],
        "check_hosts": params["check_hosts"], "run_id": params["run_id"] or collective.new_run_id(), "attempt": params["attempt"],
        "allow_busy": params["allow_busy"], "identity": params["ssh_identity"] or "", "known_hosts": tuple(params["ssh_known_hosts"]),
    }


def study_options(params: Dict[str, Any]) -> StudyOptions:
    return StudyOptions(groups=tuple(params["groups"]), isolate=params["isolate"], floor_gbyte_s=params["floor_gbyte_s"],
                        relative_floor=params["relative_floor"], budget=params["isolate_budget"])


def call(module: Any, request: Request) -> None:
    """Run the module and exit. ``module``: an AnsibleModule with the options of ``argument_spec``."""
    try:
        wanted = study_options(module.params)
        if module.params["log"]:
            wanted.check_floor()
            read = collective.judge_log_file(request, module.params["log"], bool(module.params["sizes"]))
            _end(module, read, {} if wanted.floor_gbyte_s is None else _study_values(collective_study.of_log(read, wanted.floor_gbyte_s), request.run_id))
        elif module.check_mode:
            wanted.check(request)
            made = plan(request)
            module.exit_json(changed=False, measurements=[], command=list(made.argv), hostfile=made.hostfile)
        elif wanted.plain:
            _end(module, collective.run(request), {})
        else:
            study = collective_study.run(request, wanted)
            _end(module, study.failed or study.outcomes[0], _study_values(study, request.run_id))
    except HccnError as error:
        module.fail_json(msg=error.message, hint=error.hint)


def _study_values(study: Study, run_id: str) -> Dict[str, Any]:
    """Return the values that a study adds to the result of a run. ``measurements`` replaces that of the run and contains all records."""
    records = [outcome.record for outcome in study.outcomes]
    found: Dict[str, Any] = {"measurements": records + collective_study.finding_records(study, run_id), "findings": study.findings, "slow": study.slow}
    if study.limit_gbyte_s is not None:
        found["limit_gbyte_s"] = float("%.6g" % study.limit_gbyte_s)
    return found


def _end(module: Any, outcome: Outcome, more: Dict[str, Any]) -> None:
    for warning in outcome.warnings:
        module.warn(warning)
    result = dict(outcome.result(), **more)
    if outcome.failed:
        module.fail_json(msg=outcome.sentence, **result)
    module.exit_json(**result)
